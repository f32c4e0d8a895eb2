"""Contents of the page of an audit as plain data: the template lays them out and decides nothing."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
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
from winokit.drawing.protocols import ABOUT, Citation, about, base, place, title
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
"""Number of failed pairs that are shown below the first."""
DRAWN_APART = ("switching", "artifacts")
"""Protocols with a section of their own."""
FOLDED = ("dependence", "strict", "special-word", "position", "length", "structure")
"""Protocols that are folded away, unless somebody asked for them by name."""
MANY = 12
"""With more scorers than this, a page lists all by accuracy, and draws only the best."""
SHOWN = len(COLOURS)
"""Number of scorers that are drawn then."""


class AuditPage:
    """Everything the page of a run shows."""

    def __init__(self, run: Run) -> None:
        self.judged = judge(run)
        """For each scorer the verdict and the few numbers at the top; the best first where there are many."""
        self.ranked = len(self.judged) > MANY
        run_scorers = scorers(run)
        self.scorers = run_scorers
        metrics, reading_rows = _split_readings(run.metrics)
        if self.ranked:
            self.scorers = tuple(judged.scorer for judged in self.judged[:SHOWN])
            metrics = _select_scorer_rows(metrics, self.scorers, run_scorers)
            reading_rows = _select_scorer_rows(reading_rows, self.scorers, run_scorers)
        self.readings = readings_of(run)
        self.dataset = run.metrics[0].dataset if run.metrics else run.dataset.card.name
        self.card = run.dataset.card
        self.n = len(run.dataset)
        self.groups = len(run.dataset.groups)
        self.whole = all_whole(run.dataset)
        failures = find_failures(run, self.scorers, 1 + FAILURES)
        self.failed = next(iter(failures), None)
        self.failures = failures[1:]
        self.hills = draw_hills([judged.tiles.get(ACCURACY) for judged in self.judged])
        self.forest = forest(metrics, self.scorers)
        self.protocols = forest(_list_main_rows(run, metrics), self.scorers)
        self.folded = _make_folded_forests(run, metrics, self.scorers)
        self.finer = forest(metrics, self.scorers, fine=True)
        self.stacks = plots.stacks(run, self.scorers)
        self.switching = forest(metrics, self.scorers, "switching")
        self.switched = plots.switch_tables(run, self.scorers)
        self.artifacts = forest(metrics, self.scorers, "artifacts")
        self.differences = difference_forest(metrics, self.scorers)
        self.histograms = plots.histograms(run, self.scorers)
        self.confusions = plots.confusions(run, self.scorers)
        self.published = tuple(_make_published_tables(run, self.scorers, metrics))
        self.unlike = [table for table in self.published if table.others]
        self.numbers = [*sorted(metrics, key=place), *reading_rows]
        self.rows = len(run.metrics)
        self.left_out = [row for row in run.left_out if row.n]
        self.settings = tuple(_list_settings(run))
        self.is_sampled = any(row.sample is not None for row in run.predictions)
        self.notes = run.notes or run.dataset.notes
        self.replayed = run.replay_notes
        self.undecided = undecided(run)
        self.silent = _describe_silent_scorers(run, self.judged)
        self.scale = Forest(())
        self.labels = labels(self.judged)
        self.asked = rows_asked_for(run, self.scorers, first_numbers(self.judged))
        self.coin = name_coin(next(iter(self.labels.values()), None)).capitalize()
        self.citations = _list_citations(run)
        self.sources = list(dict.fromkeys(chain.from_iterable(sources for _, sources in self.citations)))

    def whose(self, row: Metric) -> str:
        """Name of the scorer of a row.

        The scoring of the row is added if the scorer has another.
        """
        scorer = owner(row, self.scorers)
        if scorer is None:
            return row.model
        scoring = borrowed(row, scorer)
        return f"{scorer.name} · {scoring}" if scoring else scorer.name


def _split_readings(rows: Iterable[Metric]) -> tuple[list[Metric], list[Metric]]:
    """Split rows into those of protocols and those of readings."""
    by_kind = grouped((row.protocol == READINGS, row) for row in rows)
    return by_kind.get(False, []), by_kind.get(True, [])


def _select_scorer_rows(
    rows: Iterable[Metric], shown_scorers: Sequence[ShownScorer], run_scorers: Sequence[ShownScorer]
) -> list[Metric]:
    """Select the rows of the scorers that are shown.

    `run_scorers` are all scorers of the run, to which rows belong.
    """
    return [row for row in rows if owner(row, run_scorers) in shown_scorers]


def _list_main_rows(run: Run, metrics: Iterable[Metric]) -> list[Metric]:
    """List the rows for the main plot of protocols.

    Rows that are folded away or in a section of their own are left out.
    """
    elsewhere = {*DRAWN_APART, *_list_folded_protocols(run)}
    return [row for row in metrics if base(row.protocol) not in elsewhere]


def _list_folded_protocols(run: Run) -> tuple[str, ...]:
    """Names of the protocols that are folded away.

    Empty if a user named protocols.
    """
    return () if run.settings.get(PROTOCOLS_NAMED) else FOLDED


def _make_folded_forests(run: Run, metrics: Sequence[Metric], shown_scorers: Sequence[ShownScorer]) -> list[Forest]:
    """Make a plot for each protocol that is folded away.

    Protocols without rows have none.
    """
    forests = [forest(metrics, shown_scorers, protocol) for protocol in _list_folded_protocols(run)]
    return [drawn for drawn in forests if drawn.blocks]


def _list_settings(run: Run) -> Iterator[tuple[str, str]]:
    """Settings of a run by dotted names, without its notes."""
    return flat({name: value for name, value in run.settings.items() if name != "notes"})


def _describe_silent_scorers(run: Run, judged: Iterable["JudgedScorer"]) -> dict[str, UndecidedRun | None]:
    """Describe why scorers leave problems undecided, by the name of the scorer.

    Only scorers whose verdict has that cause are described.
    """
    return {each.scorer.name: undecided_of(run, each) for each in judged if is_silent(each)}


def _list_citations(run: Run) -> list[tuple[str, tuple[Citation, ...]]]:
    """Title and papers of each protocol that the run has rows of."""
    protocols = {base(row.protocol) for row in run.metrics}
    return [(caption.title, caption.sources) for name, caption in ABOUT.items() if name in protocols]


def readings_of(run: Run) -> "ReadingsSection | None":
    """Return the section on readings, or None for a run without them."""
    if all(row.protocol != READINGS for row in run.metrics):
        return None
    from winokit.stages.audit.readings_page import ReadingsSection

    return ReadingsSection(run)


@dataclass(frozen=True, slots=True)
class JudgedScorer:
    """A scorer with its verdict and its main numbers.

    `tiles` has the rows of these numbers by label.
    """

    scorer: ShownScorer
    verdict: Verdict
    tiles: Mapping[str, Metric]

    @property
    def mark(self) -> ForestMark | None:
        """Mark of its accuracy in a plot, or None without an accuracy."""
        row = self.tiles.get(ACCURACY)
        return None if row is None else ForestMark(0, row, stands(row))


def judge(run: Run) -> list[JudgedScorer]:
    """Return the verdict on each scorer.

    They are in the order of the run, or with more than twelve by accuracy, the best first.
    """
    run_scorers = scorers(run)
    rows = grouped((owner(row, run_scorers), row) for row in run.metrics)
    judged = []
    for scorer in run_scorers:
        scorer_rows = rows.get(scorer, [])
        scorer_verdict = verdict(scorer_rows, run.settings.get("margin"))
        judged.append(JudgedScorer(scorer, scorer_verdict, dict(_make_tiles(scorer_rows))))
    if len(judged) > MANY:
        judged.sort(key=_rank_by_accuracy)
    return judged


def _rank_by_accuracy(judged: JudgedScorer) -> float:
    """Sort key that puts the most accurate scorers first.

    Scorers without an accuracy come last.
    """
    return -judged.mark.value if judged.mark else 1.0


def first_numbers(judged: Iterable[JudgedScorer]) -> list[Metric]:
    """Rows of the main numbers of all scorers."""
    return list(chain.from_iterable(scorer.tiles.values() for scorer in judged))


def rows_asked_for(run: Run, shown_scorers: Sequence[ShownScorer], tiles: Sequence[Metric]) -> tuple[ForestBlock, ...]:
    """Rows of the protocols that a user named, by protocol.

    Rows in `tiles` and those of readings are left out. So are secondary metrics and finer subsets, unless nothing else
    remains. Every row if there are no tiles. Empty if there are tiles and no protocol was named.
    """
    if tiles and not run.settings.get(PROTOCOLS_NAMED):
        return ()
    tile_ids = {id(row) for row in tiles}
    rows = [row for row in run.metrics if row.protocol != READINGS and id(row) not in tile_ids]
    main_rows = [row for row in rows if row.metric not in SECONDARY and "." not in row.subset]
    return every_row(main_rows or rows, shown_scorers)


def is_silent(judged: JudgedScorer) -> bool:
    """Whether the cause of a verdict is that problems are left undecided."""
    cause = judged.verdict.cause
    return cause is not None and "abstained" in cause.claims


def undecided_of(run: Run, judged: JudgedScorer) -> UndecidedRun | None:
    """Describe why a scorer leaves problems undecided.

    None if it leaves none.
    """
    scorer = judged.scorer
    return undecided_by(run, scorer.model, scorer.scoring)


def labels(judged: Iterable[JudgedScorer]) -> dict[str, Metric]:
    """Labels of the main numbers, each with the row of highest chance.

    Chance is lower for scorers that abstain.
    """
    rows = grouped(chain.from_iterable(scorer.tiles.items() for scorer in judged))
    return {label: max(label_rows, key=lambda row: row.chance or 0.0) for label, label_rows in rows.items()}


def _make_tiles(metrics: Sequence[Metric]) -> Iterator[tuple[str, Metric]]:
    """Labels and rows of the numbers at the top, of one scorer.

    They are accuracy, whole groups right, pairs told apart, those of them the right way round, consistency, and the
    artifact baseline furthest above chance. Missing rows are left out.
    """
    rows = MetricRows(metrics)
    right_way_round = rows.twins if rows.told_apart is not None else None
    tile_rows = (
        (ACCURACY, rows.single),
        (f"{rows.groups_word.title()}s right", rows.whole_groups),
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
    """Values of one metric of this run and of papers, best first."""

    title: str
    scale: Forest
    chance: float | None
    lines: tuple[ForestMark | PublishedFact, ...]
    """A mark for a row of this run, or a published fact. Empty if all published values are of other problems."""
    others: tuple[str, ...] = ()
    """Papers whose values are not shown, each with the reason."""


RowName = tuple[str, str, str]
"""Protocol, subset and metric of a row."""


def _make_published_tables(
    run: Run, shown_scorers: Sequence[ShownScorer], metrics: Sequence[Metric]
) -> Iterator[PublishedTable]:
    """Make a table for each metric that is published for these problems.

    Metrics that the run has no row of are passed over, except accuracy. The problems themselves are compared: there is
    no table for a part of a known set, or for other problems under its name.
    """
    identity = identify(run.dataset.problems)
    if identity is None or identity.how != WHOLE:
        return
    facts_by_name = grouped(
        ((fact.protocol, fact.subset, fact.metric), fact) for fact in published(identity.known.name)
    )
    for name, facts in facts_by_name.items():
        rows = [row for row in metrics if (row.protocol, row.subset, row.metric) == name]
        if rows or name == ("accuracy", "all", "accuracy"):
            yield _make_published_table(run, name, rows, facts, shown_scorers)


def _make_published_table(
    run: Run,
    name: RowName,
    rows: Sequence[Metric],
    facts: Sequence[PublishedFact],
    shown_scorers: Sequence[ShownScorer],
) -> PublishedTable:
    """Make the table of one metric from rows and published facts.

    A fact is shown if its variant is made as here, and of as many problems.
    """
    style = str(run.settings.get("style", "default"))
    counts = {row.n for row in rows} or {_count_labelled(run)}
    alike = [fact for fact in facts if fact.is_like(counts, style)]
    unlike = [fact for fact in facts if fact not in alike]
    reasons = dict.fromkeys(f"{fact.source.short} {fact.why_unlike(counts, style)}" for fact in unlike)
    lines: list[ForestMark | PublishedFact] = []
    if alike:
        lines += [_mark_row(row, shown_scorers) for row in rows]
        lines += alike
    protocol, subset, metric = name
    row_title = title(Metric("", "", "", None, protocol, subset, metric, value=0.0, n=0))
    lowest = -1.0 if kind(metric, 0.5) == POINTS else 0.0
    return PublishedTable(
        f"{about(protocol).title}: {row_title[0].lower()}{row_title[1:]}",
        Forest((), lowest),
        rows[0].chance if rows else None,
        tuple(sorted(lines, key=lambda line: -line.value)),
        tuple(reasons),
    )


def _count_labelled(run: Run) -> int:
    """Number of problems of a run that have an answer."""
    return sum(problem.answer is not None for problem in run.dataset)


def _mark_row(row: Metric, shown_scorers: Sequence[ShownScorer]) -> ForestMark:
    """Mark of a row in the colour of its scorer.

    A row of no scorer that is shown has the colour of the first.
    """
    scorer = owner(row, shown_scorers)
    index = 0 if scorer is None else shown_scorers.index(scorer)
    return ForestMark(index, row, stands(row))


@collector_off()
def write_report(run: Run, folder: Path) -> Path:
    """Write the report of a run into a folder.

    Returns the path of its index.html. Scripts are written beside it: `problems/` has the rows of the table of
    problems, `transcripts/` the prompts and replies. Transcripts of an earlier run are removed. The page can be read
    without either.
    """
    page = AuditPage(run)
    scripts = []
    for script, text in problem_scripts(run, page.scorers):
        write_whole(folder / script.file, text.encode("ascii"))
        scripts.append(script)
    for path in (folder / "transcripts").glob("*.js"):  # of an earlier run
        path.unlink(missing_ok=True)
    for file, text in transcript_scripts(run, page.scorers):
        write_whole(folder / file, text.encode("ascii"))
    return write_page(folder / INDEX, "stages/audit/page.html.j2", page=page, scripts=scripts)
