"""Exactly what a report shows, as plain data: the template lays it out and decides nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from winokit.data.known import WHOLE, identify
from winokit.data.runs import LeftOut, Run
from winokit.drawing import plots
from winokit.drawing.decision import Verdict
from winokit.drawing.figures import (
    Figure,
    draw_confusion,
    draw_forest,
    draw_histogram,
    draw_stacks,
    forest_height,
    write_figures,
)
from winokit.drawing.page import INDEX, flat, write_page
from winokit.drawing.protocols import ABOUT, Citation, about, base, place, title
from winokit.drawing.scorers import Scorer, borrowed, owner, scorers
from winokit.drawing.wording import POINTS, kind, say, say_chance, say_interval
from winokit.files import write_whole
from winokit.problem import Card, collector_off
from winokit.results import Metric, stands
from winokit.stages.audit.findings import MetricRows
from winokit.stages.audit.problems import problem_scripts
from winokit.stages.audit.published import PublishedFact, published
from winokit.stages.audit.verdict import verdict

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True)
class AuditTile:
    """One of the few numbers at the top."""

    label: str
    row: Metric
    stands: str


@dataclass(frozen=True, slots=True)
class JudgedScorer:
    """A scorer, the verdict on it and its main numbers."""

    scorer: Scorer
    verdict: Verdict
    tiles: tuple[AuditTile, ...]


@dataclass(frozen=True, slots=True)
class PublishedLine:
    """One line of a published table: our own row, or a fact."""

    system: str
    value: float
    kind: str
    ours: plots.ForestMark | None = None
    fact: PublishedFact | None = None


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """Ours and theirs for one metric, best first."""

    title: str
    scale: plots.Forest
    chance: float | None
    lines: tuple[PublishedLine, ...]


@dataclass(frozen=True, slots=True)
class NumberedRow:
    """One row of results.json as the table of all numbers says it."""

    row: Metric
    protocol: str
    title: str
    scorer: str
    value: str
    interval: str
    chance: str


@dataclass(frozen=True, slots=True)
class AuditPage:
    """The whole page."""

    dataset: str
    card: Card
    n: int
    groups: int
    scorers: tuple[Scorer, ...]
    judged: tuple[JudgedScorer, ...]
    forest: plots.Forest
    finer: plots.Forest
    stacks: tuple[plots.GroupStack, ...]
    switching: plots.Forest
    switched: tuple[plots.SwitchTable, ...]
    artifacts: plots.Forest
    differences: plots.Forest
    histograms: tuple[plots.Histogram, ...]
    confusions: tuple[plots.Confusion, ...]
    published: tuple[PublishedTable, ...]
    numbers: tuple[NumberedRow, ...]
    left_out: tuple[tuple[str, LeftOut], ...]
    settings: tuple[tuple[str, str], ...]
    citations: tuple[tuple[str, tuple[Citation, ...]], ...]
    sources: tuple[Citation, ...]
    notes: tuple[str, ...]


def report_of(run: Run) -> AuditPage:
    """Everything the page of a run shows."""
    known = scorers(run)
    return AuditPage(
        dataset=run.metrics[0].dataset if run.metrics else run.dataset.card.name,
        card=run.dataset.card,
        n=len(run.dataset),
        groups=len(run.dataset.groups),
        scorers=known,
        judged=tuple(_judged(run, scorer, known) for scorer in known),
        forest=plots.forest(run.metrics, known),
        finer=plots.forest(run.metrics, known, fine=True),
        stacks=plots.stacks(run, known),
        switching=plots.forest(run.metrics, known, "switching"),
        switched=plots.switch_tables(run, known),
        artifacts=plots.forest(run.metrics, known, "artifacts"),
        differences=plots.difference_forest(run.metrics, known),
        histograms=plots.histograms(run, known),
        confusions=plots.confusions(run, known),
        published=tuple(_published(run, known)),
        numbers=tuple(_numbered(row, known) for row in sorted(run.metrics, key=place)),
        left_out=tuple((about(row.protocol).title, row) for row in run.left_out if row.n),
        settings=tuple(flat(run.settings)),
        citations=tuple(_citations(run)),
        sources=tuple(dict.fromkeys(source for _, sources in _citations(run) for source in sources)),
        notes=run.dataset.notes,
    )


def _judged(run: Run, scorer: Scorer, known: Sequence[Scorer]) -> JudgedScorer:
    rows = [row for row in run.metrics if owner(row, known) == scorer]
    return JudgedScorer(scorer, verdict(rows), tuple(_tiles(rows)))


def _tiles(metrics: Sequence[Metric]) -> Iterator[AuditTile]:
    """Accuracy, whole groups, consistency, and the artifact baseline furthest above chance."""
    rows = MetricRows(metrics)
    wanted = (
        ("Accuracy", rows.find("accuracy", "all")),
        ("Whole groups right", rows.find("groups", "complete", "group_accuracy")),
        ("Answer follows a switch", rows.find("switching", "switchable", "consistency")),
    )
    yield from (AuditTile(label, row, stands(row)) for label, row in wanted if row is not None)
    baselines = [row for row in metrics if row.protocol == "artifacts" and row.metric == "accuracy"]
    if baselines:
        best = max(baselines, key=lambda row: row.value - (row.chance or 0))
        yield AuditTile(f"Baseline {best.subset}", best, stands(best))


def _published(run: Run, known: Sequence[Scorer]) -> Iterator[PublishedTable]:
    """Tables of what is published for these problems, where the run has the row too, else accuracy alone.

    The problems themselves are looked at: a part of a known set, or other problems under its name, have no such table.
    """
    identity = identify(run.dataset.problems)
    if identity is None or identity.how != WHOLE:
        return
    tables: dict[tuple[str, str, str], list[PublishedFact]] = {}
    for fact in published(identity.known.name):
        tables.setdefault((fact.protocol, fact.subset, fact.metric), []).append(fact)
    for name, facts in tables.items():
        ours = [row for row in run.metrics if (row.protocol, row.subset, row.metric) == name]
        if not ours and name != ("accuracy", "all", "accuracy"):
            continue
        sort = kind(name[2], 0.5)
        lines = [PublishedLine(_whose(row, known), row.value, sort, ours=_mark(row, known)) for row in ours]
        lines += [PublishedLine(fact.system, fact.value, sort, fact=fact) for fact in facts]
        heading = f"{about(name[0]).title}: {_heading(name)}"
        scale = plots.Forest((), -1.0 if sort == POINTS else 0.0)
        chance = next((row.chance for row in ours), None)
        yield PublishedTable(heading, scale, chance, tuple(sorted(lines, key=lambda line: -line.value)))


def _mark(row: Metric, known: Sequence[Scorer]) -> plots.ForestMark:
    scorer = owner(row, known)
    return plots.ForestMark(0 if scorer is None else known.index(scorer), row, stands(row))


def _heading(name: tuple[str, str, str]) -> str:
    named = title(Metric("", "", "", None, *name, value=0.0, n=0))
    return named[0].lower() + named[1:]


def _whose(row: Metric, known: Sequence[Scorer]) -> str:
    scorer = owner(row, known)
    if scorer is None:
        return row.model
    scoring = borrowed(row, scorer)
    return f"{scorer.name} · {scoring}" if scoring else scorer.name


def _numbered(row: Metric, known: Sequence[Scorer]) -> NumberedRow:
    return NumberedRow(
        row, about(row.protocol).title, title(row), _whose(row, known), say(row), say_interval(row), say_chance(row)
    )


def _citations(run: Run) -> Iterator[tuple[str, tuple[Citation, ...]]]:
    """For each protocol that was run, whom to cite for it."""
    used = {base(row.protocol) for row in run.metrics}
    for name, entry in ABOUT.items():
        if name in used:
            yield entry.title, entry.sources


def figures_of(page: AuditPage) -> dict[str, Figure]:
    """The figures of a report by name."""
    names = [scorer.name for scorer in page.scorers]
    found: dict[str, Figure] = {}
    forests = (
        ("forest", page.forest),
        ("finer", page.finer),
        ("switching", page.switching),
        ("artifacts", page.artifacts),
        ("differences", page.differences),
    )
    for name, forest in forests:
        if forest.blocks:
            found[name] = Figure([_forest(forest, names)], 7.5, forest_height(forest))
    if page.stacks:
        found["groups"] = Figure([lambda ax: draw_stacks(ax, page.stacks)], 7.5, 1.2 + 0.75 * len(page.stacks))
    if page.histograms:
        found["margins"] = Figure([_histogram(one) for one in page.histograms], 4.5, 3.2)
    if page.confusions:
        found["position"] = Figure([_confusion(one) for one in page.confusions], 3.4, 3.0)
    return found


def _forest(forest: plots.Forest, names: Sequence[str]) -> Callable[[Axes], None]:
    return lambda ax: draw_forest(ax, forest, names)


def _histogram(one: plots.Histogram) -> Callable[[Axes], None]:
    return lambda ax: draw_histogram(ax, one)


def _confusion(one: plots.Confusion) -> Callable[[Axes], None]:
    return lambda ax: draw_confusion(ax, one)


@collector_off()
def write_report(run: Run, folder: Path) -> Path:
    """Write the report of a run into a folder and return its first page.

    Besides index.html there are `figures/`, every plot as PNG and SVG, and `problems/`, the rows of the table of
    problems; the page does without either.
    """
    page = report_of(run)
    scripts = []
    for script, text in problem_scripts(run, page.scorers):
        write_whole(folder / script.file, text.encode("ascii"))
        scripts.append(script)
    figures = write_figures(figures_of(page), folder / "figures")
    write_page(folder / INDEX, "stages/audit/page.html.j2", page=page, scripts=scripts, figures=figures)
    return folder / INDEX
