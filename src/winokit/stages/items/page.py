"""The page of items: share right against item-rest, the queue with both sentences, pairs, families, canaries."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from winokit.drawing.page import INDEX, write_page
from winokit.drawing.wording import plural
from winokit.files import result_bytes, write_whole
from winokit.methods.metrics.judge_items import BANDS, Estimate, JudgedItem, JudgedPair
from winokit.problem import Problem
from winokit.stages.items.board import write_board
from winokit.stages.items.records import items_json
from winokit.stages.items.run import BOARD_PAGE, RESULT, FamilyRow, ItemsRun
from winokit.stages.items.table import canary_sentences, item_sentences

WIDTH = 720
HEIGHT = 400
EDGE = 34
"""Of the chart, and of the room for its axes."""
MOST_FAMILIES = 100
"""Families that the page lists; more are in items.json."""
MOST_SINGERS = 20
LEVELS = (-1.0, -0.5, 0.0, 0.5, 1.0)
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class ItemPoint:
    """One item on the chart."""

    x: float
    y: float
    place: int | None
    """Its place in the queue; None if it is no suspect."""
    words: str


@dataclass(frozen=True)
class QueueCard:
    """One suspect with its sentences and what is known of them."""

    place: int
    problems: tuple[Problem, ...]
    items: tuple[JudgedItem, ...]
    pair: JudgedPair | None
    reasons: Mapping[str, str]
    twins: tuple[tuple[Problem, JudgedItem | None], ...]
    """Other problems of its group, which are no suspects with it, and what is said of them."""


class ItemsPage:
    """Everything the page shows."""

    def __init__(self, run: ItemsRun) -> None:
        self.run = run
        self.judged = run.judged
        self.sentences = list(item_sentences(run))
        self.canary_sentences = list(canary_sentences(run))
        self.items_by_row = {item.row: item for item in self.judged.items}
        self.items_by_id = {self.judged.asked.problems[item.row].id: item for item in self.judged.items}
        self.pairs_by_row: dict[int, JudgedPair] = {}
        for pair in self.judged.pairs:
            self.pairs_by_row |= dict.fromkeys(pair.rows, pair)
        self.pair_count = plural(len(self.judged.pairs), "pair")

    @cached_property
    def cards(self) -> list[QueueCard]:
        """The first suspects."""
        cards = []
        for place, suspect in enumerate(self.judged.suspects[: self.run.top], 1):
            problems = tuple(self.judged.asked.problems[row] for row in suspect.rows)
            items = tuple(self.items_by_row[row] for row in suspect.rows)
            pair = self.pairs_by_row.get(suspect.rows[0]) if len(suspect.rows) > 1 else None
            cards.append(QueueCard(place, problems, items, pair, suspect.reasons, self._find_twins(problems)))
        return cards

    def _find_twins(self, problems: tuple[Problem, ...]) -> tuple[tuple[Problem, JudgedItem | None], ...]:
        """The rest of the group of a suspect, asked or not."""
        own_ids = {problem.id for problem in problems}
        group = self.run.dataset.groups.get(problems[0].group or "", ())
        return tuple((twin, self.items_by_id.get(twin.id)) for twin in group if twin.id not in own_ids)

    @cached_property
    def points(self) -> dict[int, ItemPoint]:
        """The items that have a correlation, by row."""
        place_of: dict[int, int] = {}
        for card in self.cards:
            place_of |= {item.row: card.place for item in card.items}
        points = {}
        for item in self.judged.items:
            if item.rest is not None:
                text = self.judged.asked.problems[item.row].text
                words = f"{text} – {say_estimate(item.right)} right, item-rest {item.rest.value:+.2f}"
                x = across(item.right.value)
                y = upwards(item.rest.value)
                points[item.row] = ItemPoint(x, y, place_of.get(item.row), words)
        return points

    @cached_property
    def lines(self) -> list[tuple[ItemPoint, ItemPoint]]:
        """The points of twins, to be joined."""
        joined = []
        for pair in self.judged.pairs:
            ends = [self.points[row] for row in pair.rows if row in self.points]
            if len(ends) == 2:
                joined.append((ends[0], ends[1]))
        return joined

    @cached_property
    def axes(self) -> tuple[list[tuple[float, str]], list[tuple[float, str]]]:
        """Places and labels of the axes, the share right and the correlation."""
        shares = [(across(share), f"{100 * share:.0f} %") for share in SHARES]
        levels = [(upwards(level), f"{level:+.1f}") for level in LEVELS]
        return shares, levels

    @property
    def families(self) -> list[FamilyRow]:
        """The strongest families."""
        return self.run.families[:MOST_FAMILIES]

    @cached_property
    def band_rows(self) -> list[tuple[str, float, float | None, float, int]]:
        """Rows by band: pairs told apart, right way round, both wrong, and families."""
        return list(self._sum_bands())

    def _sum_bands(self) -> Iterator[tuple[str, float, float | None, float, int]]:
        for band in BANDS:
            shares = [pair.bands[band] for pair in self.judged.pairs if band in pair.bands]
            if shares:
                told = sum(each.told_apart for each in shares) / len(shares)
                wrong = sum(each.both_wrong for each in shares) / len(shares)
                right_way = (told - wrong) / told if told > 0 else None
                yield band, told, right_way, wrong, max(each.families for each in shares)

    @property
    def singers(self) -> list[tuple[str, object]]:
        """The models that give canaries back, by name."""
        if self.run.canaries is None:
            return []
        scorers = self.judged.matrix.scorers
        return [(scorers[singer.scorer].model, singer) for singer in self.run.canaries.singers[:MOST_SINGERS]]


def across(share: float) -> float:
    """The place of a share on the chart, from the left."""
    return round(EDGE + share * (WIDTH - 2 * EDGE), 1)


def upwards(level: float) -> float:
    """The place of a correlation on the chart, from the top."""
    return round(EDGE + (1 - level) / 2 * (HEIGHT - 2 * EDGE), 1)


def say_estimate(estimate: Estimate | None) -> str:
    """A share with its interval in percent, or a dash."""
    if estimate is None:
        return "–"
    return f"{100 * estimate.value:.1f} % [{100 * estimate.low:.0f}, {100 * estimate.high:.0f}]"


def say_correlation(estimate: Estimate | None) -> str:
    """A correlation with its interval, or a dash."""
    if estimate is None:
        return "–"
    return f"{estimate.value:+.2f} [{estimate.low:+.2f}, {estimate.high:+.2f}]"


def write_items(run: ItemsRun, folder: Path) -> Path:
    """Write items.json and the page into a folder, and return the page."""
    write_whole(folder / RESULT, result_bytes(items_json(run)))
    write_board(run, folder)
    return write_page(
        folder / INDEX,
        "stages/items/page.html.j2",
        page=ItemsPage(run),
        size=(WIDTH, HEIGHT, EDGE),
        say_estimate=say_estimate,
        say_correlation=say_correlation,
        board=BOARD_PAGE,
        sources=(),
        settings=(
            ("dataset", run.dataset.card.name),
            ("models", f"{len(run.judged.matrix.scorers):,}"),
            ("families", f"{run.judged.family_count:,}"),
        ),
    )
