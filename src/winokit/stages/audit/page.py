"""Exactly what a report shows, as plain data: the template lays it out and decides nothing."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from winokit.data.known import WHOLE, identify
from winokit.data.runs import PROTOCOLS_NAMED, Run
from winokit.drawing.decision import Verdict
from winokit.drawing.null_hills import draw_hills
from winokit.drawing.page import INDEX, flat, write_page
from winokit.drawing.plots import (
    COLOURS,
    SECONDARY,
    Forest,
    ForestBlock,
    ForestMark,
    ShownScorer,
    borrowed,
    difference_forest,
    every_row,
    forest,
    owner,
    scorers,
)
from winokit.drawing.protocols import ABOUT, about, base, place, title
from winokit.drawing.wording import POINTS, kind, name_coin
from winokit.files import write_whole
from winokit.methods.scoring.base import all_whole
from winokit.problem import collector_off, grouped
from winokit.results import READINGS, Metric, stands
from winokit.stages.audit import plots
from winokit.stages.audit.failures import find_failures
from winokit.stages.audit.problems import problem_scripts, transcript_scripts
from winokit.stages.audit.published import PublishedFact, published
from winokit.stages.audit.scored_rows import MetricRows
from winokit.stages.audit.undecided import UndecidedRun, undecided, undecided_by
from winokit.stages.audit.verdict import verdict

if TYPE_CHECKING:
    from winokit.stages.audit.readings_page import ReadingsSection

ACCURACY = "Accuracy"
FAILURES = 6
"""Pairs that are shown below the first."""
DRAWN_APART = ("switching", "artifacts")
"""Protocols with a section of their own."""
FOLDED = ("dependence", "strict", "special-word", "position", "length", "structure")
"""Protocols that are folded away, unless somebody asked for them by name."""
MANY = 12
SHOWN = len(COLOURS)
"""Of more scorers than the first number, a page lists all by accuracy, and draws the best, as many as have colours."""


class AuditPage:
    """Everything the page of a run shows."""

    def __init__(self, run: Run) -> None:
        self.judged = judge(run)
        """For each scorer the verdict and the few numbers at the top; the best first where there are many."""
        self.ranked = len(self.judged) > MANY
        everyone = scorers(run)
        self.scorers = known = tuple(each.scorer for each in self.judged[:SHOWN]) if self.ranked else everyone
        metrics = [row for row in run.metrics if owner(row, everyone) in known] if self.ranked else run.metrics
        self.readings = readings_of(run)
        of_readings = [row for row in metrics if row.protocol == READINGS]
        metrics = [row for row in metrics if row.protocol != READINGS]
        self.dataset = run.metrics[0].dataset if run.metrics else run.dataset.card.name
        self.card, self.n, self.groups = run.dataset.card, len(run.dataset), len(run.dataset.groups)
        self.whole = all_whole(run.dataset)
        failures = find_failures(run, known, 1 + FAILURES)
        self.failed = failures[0] if failures else None
        self.failures = failures[1:]
        self.hills = draw_hills(each.tiles.get(ACCURACY) for each in self.judged)
        self.forest = forest(metrics, known)
        self.protocols = forest(_sort_rows(run, metrics), known)
        self.folded = _make_folded_forests(run, metrics, known)
        self.finer = forest(metrics, known, fine=True)
        self.stacks = plots.stacks(run, known)
        self.switching = forest(metrics, known, "switching")
        self.switched = plots.switch_tables(run, known)
        self.artifacts = forest(metrics, known, "artifacts")
        self.differences = difference_forest(metrics, known)
        self.histograms = plots.histograms(run, known)
        self.confusions = plots.confusions(run, known)
        self.published = tuple(_make_published_tables(run, known, metrics))
        self.unlike = [table for table in self.published if table.others]
        self.numbers = [*sorted(metrics, key=place), *of_readings]
        self.rows = len(run.metrics)
        self.left_out = [row for row in run.left_out if row.n]
        self.settings = tuple(flat({name: value for name, value in run.settings.items() if name != "notes"}))
        self.is_sampled = any(row.sample is not None for row in run.predictions)
        self.notes = run.notes or run.dataset.notes
        self.replayed = run.replay_notes
        self.undecided = undecided(run)
        self.silent = {each.scorer.name: undecided_of(run, each) for each in self.judged if is_silent(each)}
        self.scale = Forest(())
        self.labels = labels(self.judged)
        self.asked = rows_asked_for(run, known, first_numbers(self.judged))
        self.coin = name_coin(next(iter(self.labels.values()), None)).capitalize()
        used = {base(row.protocol) for row in run.metrics}
        self.citations = [(caption.title, caption.sources) for name, caption in ABOUT.items() if name in used]
        self.sources = list(dict.fromkeys(source for _, sources in self.citations for source in sources))

    def whose(self, row: Metric) -> str:
        """The scorer of a row, with the scoring where it is not the scorer's own."""
        scorer = owner(row, self.scorers)
        if scorer is None:
            return row.model
        scoring = borrowed(row, scorer)
        return f"{scorer.name} · {scoring}" if scoring else scorer.name


def _sort_rows(run: Run, metrics: Iterable[Metric]) -> list[Metric]:
    """The rows that are neither folded away nor in a section of their own."""
    elsewhere = {*DRAWN_APART, *_list_folded_protocols(run)}
    return [row for row in metrics if base(row.protocol) not in elsewhere]


def _list_folded_protocols(run: Run) -> tuple[str, ...]:
    return () if run.settings.get(PROTOCOLS_NAMED) else FOLDED


def _make_folded_forests(run: Run, metrics: Sequence[Metric], known: Sequence[ShownScorer]) -> list[Forest]:
    """A forest for each protocol that is folded away and has rows to draw."""
    forests = [forest(metrics, known, protocol) for protocol in _list_folded_protocols(run)]
    return [each for each in forests if each.blocks]


def readings_of(run: Run) -> "ReadingsSection | None":
    """Return the section on readings, or None without them."""
    if all(row.protocol != READINGS for row in run.metrics):
        return None
    from winokit.stages.audit.readings_page import ReadingsSection

    return ReadingsSection(run)


@dataclass(frozen=True, slots=True)
class JudgedScorer:
    """A scorer, the verdict on it, and the few numbers at the top, by their names."""

    scorer: ShownScorer
    verdict: Verdict
    tiles: Mapping[str, Metric]

    @property
    def mark(self) -> ForestMark | None:
        """Its accuracy, for a plot of its own."""
        row = self.tiles.get(ACCURACY)
        return None if row is None else ForestMark(0, row, stands(row))


def judge(run: Run) -> list[JudgedScorer]:
    """Return the verdict on each scorer.

    If they are too many for a page, the most accurate come first.
    """
    run_scorers = scorers(run)
    rows = grouped((owner(row, run_scorers), row) for row in run.metrics)
    owned = [(scorer, rows.get(scorer, [])) for scorer in run_scorers]
    judged = [
        JudgedScorer(scorer, verdict(own, run.settings.get("margin")), dict(_make_tiles(own))) for scorer, own in owned
    ]
    return sorted(judged, key=lambda each: -each.mark.value if each.mark else 1.0) if len(judged) > MANY else judged


def first_numbers(judged: Iterable[JudgedScorer]) -> list[Metric]:
    """The few numbers of all scorers."""
    return [row for each in judged for row in each.tiles.values()]


def rows_asked_for(run: Run, known: Sequence[ShownScorer], tiles: Sequence[Metric]) -> tuple[ForestBlock, ...]:
    """Return rows of protocols that were named, without those in `tiles`.

    Every row if there are no tiles.
    """
    if tiles and not run.settings.get(PROTOCOLS_NAMED):
        return ()
    tile_ids = {id(row) for row in tiles}
    rows = [row for row in run.metrics if row.protocol != READINGS and id(row) not in tile_ids]
    main_rows = [row for row in rows if row.metric not in SECONDARY and "." not in row.subset]
    return every_row(main_rows or rows, known)


def is_silent(judged: JudgedScorer) -> bool:
    """Whether the cause of a verdict is that problems are left undecided."""
    cause = judged.verdict.cause
    return cause is not None and "abstained" in cause.claims


def undecided_of(run: Run, judged: JudgedScorer) -> UndecidedRun | None:
    """Why one scorer leaves problems undecided, with some of its replies."""
    scorer = judged.scorer
    return undecided_by(run, scorer.model, scorer.scoring)


def labels(judged: Iterable[JudgedScorer]) -> dict[str, Metric]:
    """The names of the few numbers, each with a row that has what chance gives: to a scorer that abstains, less."""
    rows = grouped(tile for each in judged for tile in each.tiles.items())
    return {label: max(own, key=lambda row: row.chance or 0.0) for label, own in rows.items()}


def _make_tiles(metrics: Sequence[Metric]) -> Iterator[tuple[str, Metric]]:
    """Accuracy, twins told apart and right, consistency, and the artifact baseline furthest above chance."""
    rows = MetricRows(metrics)
    group = rows.whole_groups
    right_way_round = rows.twins if rows.told_apart is not None else None
    tile_rows = (
        (ACCURACY, rows.single),
        (f"{rows.groups_word.title()}s right", group),
        ("Told apart", rows.told_apart),
        ("Right way round", right_way_round),
        ("Follows a switch", rows.find("switching", "switchable", "consistency")),
    )
    yield from ((label, row) for label, row in tile_rows if row is not None)
    baselines = [row for row in metrics if row.protocol == "artifacts" and row.metric == "accuracy"]
    if baselines:
        best = max(baselines, key=lambda row: row.value - (row.level or 0))
        yield "Artifacts", best


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """Ours and theirs for one metric, best first: a mark of a row of this run, or a fact."""

    title: str
    scale: Forest
    chance: float | None
    lines: tuple[ForestMark | PublishedFact, ...]
    """None where every number that is published was computed on other problems."""
    others: tuple[str, ...] = ()
    """Whose numbers are not shown, and why."""


def _make_published_tables(
    run: Run, known: Sequence[ShownScorer], metrics: Sequence[Metric]
) -> Iterator[PublishedTable]:
    """Tables of what is published for these problems, where the run has the row too, else accuracy alone.

    The problems themselves are looked at: a part of a known set, or other problems under its name, have no such table.
    A number stands beside ours where its variant is made as here, and of as many problems.
    """
    identity = identify(run.dataset.problems)
    if identity is None or identity.how != WHOLE:
        return
    style = str(run.settings.get("style", "default"))
    tables = grouped(((fact.protocol, fact.subset, fact.metric), fact) for fact in published(identity.known.name))
    for name, facts in tables.items():
        ours = [row for row in metrics if (row.protocol, row.subset, row.metric) == name]
        if not ours and name != ("accuracy", "all", "accuracy"):
            continue
        counts = {row.n for row in ours} or {sum(problem.answer is not None for problem in run.dataset)}
        alike = [fact for fact in facts if fact.is_like(counts, style)]
        unlike = [fact for fact in facts if fact not in alike]
        reasons = dict.fromkeys(f"{fact.source.short} {fact.why_unlike(counts, style)}" for fact in unlike)
        owners = [owner(row, known) for row in ours]
        places = [0 if scorer is None else known.index(scorer) for scorer in owners]
        marks = [ForestMark(place, row, stands(row)) for place, row in zip(places, ours, strict=True)]
        lines: list[ForestMark | PublishedFact] = [*marks, *alike] if alike else []
        measured = title(Metric("", "", "", None, *name, value=0.0, n=0))
        yield PublishedTable(
            f"{about(name[0]).title}: {measured[0].lower()}{measured[1:]}",
            Forest((), -1.0 if kind(name[2], 0.5) == POINTS else 0.0),
            next((row.chance for row in ours), None),
            tuple(sorted(lines, key=lambda line: -line.value)),
            tuple(reasons),
        )


@collector_off()
def write_report(run: Run, folder: Path) -> Path:
    """Write the report of a run into a folder and return its first page.

    Besides index.html there are `problems/`, the rows of the table of problems, and `transcripts/`, what was said about
    them; the page does without either.
    """
    page = AuditPage(run)
    scripts = []
    for script, text in problem_scripts(run, page.scorers):
        write_whole(folder / script.file, text.encode("ascii"))
        scripts.append(script)
    for path in (folder / "transcripts").glob("*.js"):  # the run that was here had it
        path.unlink(missing_ok=True)
    for file, text in transcript_scripts(run, page.scorers):
        write_whole(folder / file, text.encode("ascii"))
    return write_page(folder / INDEX, "stages/audit/page.html.j2", page=page, scripts=scripts)
