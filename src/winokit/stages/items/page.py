"""The page of items: chart, queue, pairs, families and canaries."""

from collections.abc import Mapping
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
"""Size of the chart, and of the room for its axes at every side, in pixels."""
MOST_FAMILIES = 100
"""Families that the page lists; more are in items.json."""
MOST_SINGERS = 20
"""Models that give canaries back and are listed on the page."""
LEVELS = (-1.0, -0.5, 0.0, 0.5, 1.0)
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Correlations and shares that are marked on the axes."""


@dataclass(frozen=True)
class ItemPoint:
    """One item on the chart, placed from the left and the top.

    Places are in pixels.
    """

    x: float
    y: float
    place: int | None
    """The rank of the item in the queue, from 1. None if it is not listed there."""
    words: str
    """The text that is shown on hovering."""


@dataclass(frozen=True)
class QueueCard:
    """One suspect of the queue: its problems, judgements and reasons."""

    place: int
    """The rank of the suspect in the queue, from 1."""
    problems: tuple[Problem, ...]
    items: tuple[JudgedItem, ...]
    """The judgement of each problem."""
    pair: JudgedPair | None
    """The judgement of the pair. None if the suspect is a single problem."""
    reasons: Mapping[str, str]
    """Sentences by the name of a rule."""
    twins: tuple[tuple[Problem, JudgedItem | None], ...]
    """Other problems of the group, each with its judgement, or None if no model was asked it."""


class ItemsPage:
    """The contents of the page of items: chart, queue, tables and sentences."""

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
        """Cards of the first suspects, as many as are to be listed."""
        cards = []
        for place, suspect in enumerate(self.judged.suspects[: self.run.top], 1):
            problems = tuple(self.judged.asked.problems[row] for row in suspect.rows)
            items = tuple(self.items_by_row[row] for row in suspect.rows)
            is_pair = len(suspect.rows) > 1
            pair = self.pairs_by_row.get(suspect.rows[0]) if is_pair else None
            twins = self._find_twins(problems)
            cards.append(QueueCard(place, problems, items, pair, suspect.reasons, twins))
        return cards

    def _find_twins(self, problems: tuple[Problem, ...]) -> tuple[tuple[Problem, JudgedItem | None], ...]:
        """Other problems of a suspect's group, each with its judgement.

        The judgement is None if no model was asked the problem.
        """
        suspect_ids = {problem.id for problem in problems}
        group = self.run.dataset.groups.get(problems[0].group or "", ())
        twins = [twin for twin in group if twin.id not in suspect_ids]
        return tuple((twin, self.items_by_id.get(twin.id)) for twin in twins)

    @cached_property
    def points(self) -> dict[int, ItemPoint]:
        """Points of the items that have an item-rest correlation, by row."""
        place_of: dict[int, int] = {}
        for card in self.cards:
            place_of |= {item.row: card.place for item in card.items}
        points = {}
        for item in self.judged.items:
            if item.rest is None:
                continue
            text = self.judged.asked.problems[item.row].text
            words = f"{text} – {say_estimate(item.right)} right, item-rest {item.rest.value:+.2f}"
            x = across(item.right.value)
            y = upwards(item.rest.value)
            points[item.row] = ItemPoint(x, y, place_of.get(item.row), words)
        return points

    @cached_property
    def lines(self) -> list[tuple[ItemPoint, ItemPoint]]:
        """Lines of the chart, each joining the points of twins.

        Pairs of which a twin has no point have no line.
        """
        lines = []
        for pair in self.judged.pairs:
            ends = [self.points[row] for row in pair.rows if row in self.points]
            if len(ends) == 2:
                lines.append((ends[0], ends[1]))
        return lines

    @cached_property
    def axes(self) -> tuple[list[tuple[float, str]], list[tuple[float, str]]]:
        """Places in pixels and labels of both axes.

        The first is that of the share right, the second that of the correlation.
        """
        shares = [(across(share), f"{100 * share:.0f} %") for share in SHARES]
        levels = [(upwards(level), f"{level:+.1f}") for level in LEVELS]
        return shares, levels

    @property
    def families(self) -> list[FamilyRow]:
        """The strongest families, as many as the page lists."""
        return self.run.families[:MOST_FAMILIES]

    @cached_property
    def band_rows(self) -> list[tuple[str, float, float | None, float, int]]:
        """Rows of the table of pairs, one per band of families.

        A row has the band, three shares as means over pairs, and the number of families. The shares are told apart,
        right way round (None if none is told apart), and both wrong.
        """
        rows: list[tuple[str, float, float | None, float, int]] = []
        for band in BANDS:
            shares_of_pairs = [pair.bands[band] for pair in self.judged.pairs if band in pair.bands]
            if not shares_of_pairs:
                continue
            told_apart = sum(shares.told_apart for shares in shares_of_pairs) / len(shares_of_pairs)
            both_wrong = sum(shares.both_wrong for shares in shares_of_pairs) / len(shares_of_pairs)
            right_way_round = None
            if told_apart > 0:
                right_way_round = (told_apart - both_wrong) / told_apart
            family_count = max(shares.families for shares in shares_of_pairs)
            rows.append((band, told_apart, right_way_round, both_wrong, family_count))
        return rows

    @property
    def singers(self) -> list[tuple[str, object]]:
        """Models that give canaries back, each with its name.

        Canaries are labels that people found wrong. The models are as many as the page lists, and none without
        canaries.
        """
        if self.run.canaries is None:
            return []
        scorers = self.judged.matrix.scorers
        listed_singers = self.run.canaries.singers[:MOST_SINGERS]
        return [(scorers[singer.scorer].model, singer) for singer in listed_singers]


def across(share: float) -> float:
    """Place of a share on the chart, in pixels from the left."""
    inner_width = WIDTH - 2 * EDGE
    return round(EDGE + share * inner_width, 1)


def upwards(level: float) -> float:
    """Place of a correlation on the chart, in pixels from the top."""
    inner_height = HEIGHT - 2 * EDGE
    return round(EDGE + (1 - level) / 2 * inner_height, 1)


def say_estimate(estimate: Estimate | None) -> str:
    """A share with its interval in percent, or a dash for None."""
    if estimate is None:
        return "–"
    return f"{100 * estimate.value:.1f} % [{100 * estimate.low:.0f}, {100 * estimate.high:.0f}]"


def say_correlation(estimate: Estimate | None) -> str:
    """A correlation with its interval, or a dash for None."""
    if estimate is None:
        return "–"
    return f"{estimate.value:+.2f} [{estimate.low:+.2f}, {estimate.high:+.2f}]"


def write_items(run: ItemsRun, folder: Path) -> Path:
    """Write items.json and both pages into a folder.

    Returns the path of the page of items. The other page is the board.
    """
    write_whole(folder / RESULT, result_bytes(items_json(run)))
    write_board(run, folder)
    settings = (
        ("dataset", run.dataset.card.name),
        ("models", f"{len(run.judged.matrix.scorers):,}"),
        ("families", f"{run.judged.family_count:,}"),
    )
    return write_page(
        folder / INDEX,
        "stages/items/page.html.j2",
        page=ItemsPage(run),
        size=(WIDTH, HEIGHT, EDGE),
        say_estimate=say_estimate,
        say_correlation=say_correlation,
        board=BOARD_PAGE,
        sources=(),
        settings=settings,
    )
