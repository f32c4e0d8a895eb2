"""The results of a suite: data, terminal output and files.

Tests are those of `winokit compare`, of what the cell shows: paired by problem, over units, and an abstention is not a
right answer. They are corrected together, over every pair of entrants on every dataset, on problems and on groups
(Holm). Chance is what an entrant's own choices would get if right answers changed places; whether a value is above it
is corrected over all rows of its view.

The files are the page, `suite.json` and CSV with flat rows, Markdown, and LaTeX tables as papers print them.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from math import ceil, floor, log10
from pathlib import Path
from statistics import fmean
from typing import Any

from winokit.data.runs import Run
from winokit.drawing.board import COLUMNS
from winokit.drawing.decision import SMALL
from winokit.drawing.page import INDEX, flat, rendered_plain, write_page
from winokit.drawing.plots import Forest
from winokit.drawing.tables import Lines, Table, Text, dim, plan_lines, table
from winokit.drawing.wording import plural, say, say_interval
from winokit.files import csv_bytes, result_bytes, write_whole
from winokit.methods.metrics.corrections import holm
from winokit.methods.metrics.judge_pairs import Comparison, verdicts
from winokit.methods.metrics.letters import compact_letters, letter_name
from winokit.methods.scoring.replay import minute_words, replay_sentences
from winokit.results import AT, UNKNOWN, Brief, Metric, rows_to_json, stands, tested
from winokit.stages.compare.pairs import ScorerPair, compare_runs
from winokit.stages.suite.settings import SuiteData, SuiteModel

WAITING = "waiting"
RUNNING = "running"
DONE = "done"
FAILED = "failed"
EMPTY = "empty"
"""The states of a cell. An empty one has nothing to run: no predictions are stored for it."""
FROM_BEFORE = "↻"
"""The mark of a cell whose answers were not all asked now."""
VIEWS = {
    "accuracy": ("Accuracy", "accuracy", ("all",), "accuracy"),
    "group_accuracy": ("Whole groups", "groups", ("complete",), "group_accuracy"),
    "consistency": ("Consistency", "switching", ("switchable",), "consistency"),
    "artifacts": ("Artifacts", "artifacts", ("no-cands", "part-sent", "local-context"), "accuracy"),
}
"""By name of a view: its title, then protocol, subsets and metric of the rows it shows.

Of several subsets, a cell shows the one furthest above chance.
"""
MOST_COMPARED = 26
"""The largest number of entrants that are compared in pairs: as many as there are letters. More are only ranked."""
MEASURES = ("accuracy", "group_accuracy")
"""The metrics by which entrants are compared and ranked."""
SPECIAL = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    **{"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}"},
    **{"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", "·": r"\textperiodcentered{}"},
}
"""LaTeX for the signs that are special in it."""


@dataclass(frozen=True)
class Entrant:
    """A row of the matrix: a model under a scoring and shots.

    Shots are solved problems that the model is shown before each problem.
    """

    model: SuiteModel
    scoring: str | None
    """None for the default of the model's kind, and for stored predictions."""
    shots: int
    name: str
    number: int
    """The row of the entrant, from 1."""


@dataclass
class SuiteCell:
    """One entrant on one dataset: the state and results of its audit."""

    entrant: Entrant
    data: SuiteData
    predictions: Path | None = None
    """The file of stored predictions to audit, for a model that is not asked."""
    folder: Path | None = None
    """The folder of the audit. None if nothing is written."""
    state: str = WAITING
    why: str | None = None
    """The reason why the cell failed or is empty."""
    share: float = 0.0
    """Share of the audit that is done, from 0 to 1."""
    seconds: float = 0.0
    """Duration of the audit."""
    parameters: float | None = None
    """Number of the model's parameters. None if it is unknown."""
    run: Run | None = field(default=None, repr=False)
    """The audit: its rows, and its predictions for the problems as they are. None until it is done."""
    of_run: str | None = None
    """The time of an earlier audit, if that was read from its folder. None if the audit was made now."""

    @property
    def dataset(self) -> str:
        """The name of the dataset.

        If only some problems are asked, their number is in it.
        """
        return self.data.asked.card.name

    @property
    def folder_link(self) -> str | None:
        """The path of the cell's folder, relative to the suite's.

        None until the cell is done, and if nothing is written.
        """
        if self.folder is None or self.state != DONE:
            return None
        return "/".join(self.folder.parts[-3:])

    @property
    def replayed(self) -> dict[str, Any]:
        """Counts and dates of answers taken from the cache, by model."""
        if self.run is None:
            return {}
        return dict(self.run.settings.get("replayed", {}))

    @property
    def from_before(self) -> str:
        """Sentence on answers that were not asked now, with their dates.

        Empty if all were asked now.
        """
        sentences = []
        if self.of_run is not None:
            sentences.append(f"the audit of {minute_words(self.of_run)} UTC, read from its folder")
        sentences += replay_sentences(self.replayed)
        return "; ".join(sentences)

    def to_json(self) -> dict[str, Any]:
        """Entry of the cell in `suite.json`."""
        return {
            "entrant": self.entrant.name,
            "model": self.entrant.model.title,
            "dataset": self.dataset,
            "scoring": self.entrant.scoring,
            "shots": self.entrant.shots,
            "state": self.state,
            "why": self.why,
            "seconds": round(self.seconds, 3),
            "folder": self.folder_link,
            "of_run": self.of_run,
            "replayed": self.replayed,
            "parameters": self.parameters,
            "family": self.entrant.model.family,
        }


Watch = Callable[[Sequence[SuiteCell]], None]
"""Called with all cells whenever one of them changes."""


@dataclass(repr=False)
class SuiteRun(Brief):
    """The result of a suite: settings, cells and page."""

    settings: dict[str, Any]
    cells: list[SuiteCell]
    plan: dict[str, Any] | None = None
    """Counts of what would be asked, if this was a dry run."""
    page: Path | None = None
    """None if no page was written."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A value of the matrix, compared with chance and other entrants.

    The other entrants are those on the same dataset.
    """

    cell: SuiteCell
    row: Metric
    p: float | None
    """The p-value against chance, corrected over the view. None if right answers cannot change places."""
    stands: str
    """Whether the value is above, below or at chance, or unknown, by that p-value."""
    letters: str = ""
    """Entrants of a dataset that share a letter cannot be distinguished. Empty if they are not compared."""
    alone: bool = False
    """Whether the entrant is ahead of every other one on the dataset."""

    @property
    def above(self) -> float:
        """Distance of the value from its level of chance, negative below it.

        A level that is not known counts as 0.
        """
        level = self.row.level or 0.0
        return self.row.value - level


@dataclass(frozen=True)
class Ranking:
    """The entrants on one dataset, the best first.

    Bands are of entrants that cannot be distinguished.
    """

    dataset: str
    standings: list[Standing]
    bands: list[frozenset[int]]
    """For each letter, the ranks (from 0) of the entrants that have it."""


class SuiteMatrix:
    """Everything that the page, the tables and `suite.json` show."""

    def __init__(self, run: SuiteRun) -> None:
        self.run = run
        self.cells = {(cell.entrant.name, cell.dataset): cell for cell in run.cells}
        entrants_by_name = {cell.entrant.name: cell.entrant for cell in self.cells.values()}
        self.entrants = list(entrants_by_name.values())
        self.datasets = list(dict.fromkeys(dataset for _, dataset in self.cells))
        self.is_large = len(self.entrants) > MOST_COMPARED
        """Whether there are too many entrants to compare every two: then they are ranked, on boards."""
        self.pairs = [] if self.is_large else list(self._compare_pairs())
        """Tests of two entrants, each with its dataset, corrected for the number of all. Empty for a large suite."""
        self.views: dict[str, dict[tuple[str, str], Standing]] = {}
        """The standings of each view, by entrant and dataset. Empty views are left out."""
        for name in VIEWS:
            view = self._make_view(name)
            if view:
                self.views[name] = view
        self.rankings: dict[str, list[Ranking]] = {}
        """The rankings by each measure, one per dataset."""
        for measure in MEASURES:
            if measure in self.views:
                self.rankings[measure] = [self._rank_dataset(measure, dataset) for dataset in self.datasets]

    def _compare_pairs(self) -> Iterator[tuple[str, ScorerPair]]:
        """Yield the paired tests of every two entrants, with their dataset.

        Only entrants that were asked about the same dataset are compared.
        """
        tests: dict[tuple[str, tuple[str, str, str]], Comparison] = {}
        for dataset in self.datasets:
            runs = self._list_runs(dataset)
            if len(runs) > 1:
                for names, test in compare_runs(runs).items():
                    tests[dataset, names] = test
        corrected_verdicts = verdicts(list(tests.values()))
        for (dataset, names), verdict in zip(tests, corrected_verdicts, strict=True):
            yield dataset, ScorerPair(*names, verdict)

    def _list_runs(self, dataset: str) -> dict[str, Run]:
        """Finished audits on a dataset, by the name of the entrant."""
        runs = {}
        for cell in self.cells.values():
            if cell.dataset == dataset and cell.run is not None:
                runs[cell.entrant.name] = cell.run
        return runs

    def _make_view(self, name: str) -> dict[tuple[str, str], Standing]:
        """Standings of a view, by entrant and dataset.

        Cells without a row for the view are left out. P-values are corrected over all rows (Holm). Of several subsets,
        a cell has the one furthest above chance.
        """
        rows = self._list_view_rows(name)
        p_values = [row.p for _, row in rows if row.p is not None]
        corrected = iter(holm(p_values))
        view: dict[tuple[str, str], Standing] = {}
        for cell, row in rows:
            p = None if row.p is None else next(corrected)
            stands_at = UNKNOWN if p is None else tested(row, p, SMALL)
            standing = Standing(cell, row, p, stands_at)
            key = (cell.entrant.name, cell.dataset)
            if key not in view or standing.above > view[key].above:
                view[key] = standing
        return view

    def _list_view_rows(self, name: str) -> list[tuple[SuiteCell, Metric]]:
        """List the rows of a view with their cells.

        A cell has a row per subset of the view, if it has results for it.
        """
        _, protocol, subsets, metric = VIEWS[name]
        rows = []
        for cell in self.cells.values():
            if cell.run is None:
                continue
            for subset in subsets:
                row = cell.run.find_or_none(protocol, subset, metric)
                if row is not None:
                    rows.append((cell, row))
        return rows

    def _rank_dataset(self, measure: str, dataset: str) -> Ranking:
        """Rank the entrants on a dataset by a measure.

        Their standings in the view get letters, and the leader is marked. They are ordered by their average lead in the
        paired tests. Who answers nothing is last.
        """
        tests = [pair for name, pair in self.pairs if name == dataset and pair.measure == measure]
        names = self._order_entrants(measure, dataset, tests)
        ranks = {name: rank for rank, name in enumerate(names)}
        bands: list[frozenset[int]] = []
        if not self.is_large:
            distinguished = sorted((ranks[pair.first], ranks[pair.second]) for pair in tests if pair.ahead)
            bands = compact_letters(len(names), distinguished)
        lead_counts = Counter(pair.ahead for pair in tests)
        standings = []
        for name, rank in ranks.items():
            letters = [letter_name(letter) for letter, band in enumerate(bands) if rank in band]
            has_rivals = len(names) > 1 and not self.is_large
            is_alone = has_rivals and lead_counts[name] == len(names) - 1
            standing = replace(self.views[measure][name, dataset], letters="".join(letters), alone=is_alone)
            self.views[measure][name, dataset] = standing
            standings.append(standing)
        return Ranking(dataset, standings, bands)

    def _order_entrants(self, measure: str, dataset: str, tests: Sequence[ScorerPair]) -> list[str]:
        """List the entrants that have a value on a dataset, best first.

        `tests` are the paired tests on it by the measure.
        """
        values: dict[str, float] = {}
        for (name, name_of_dataset), standing in self.views[measure].items():
            if name_of_dataset == dataset:
                values[name] = standing.row.value
        leads: dict[str, list[float]] = {name: [] for name in values}
        for pair in tests:
            leads[pair.first].append(pair.found.difference)
            leads[pair.second].append(-pair.found.difference)
        refusers = set(chain.from_iterable(pair.refusers for pair in tests))

        def rank_key(name: str) -> tuple[bool, float, float]:
            # The average lead over those it was compared with comes before the value: values may be of other problems.
            mean_lead = round(fmean(leads[name] or [0.0]), 9)
            return name in refusers, -mean_lead, -values[name]

        return sorted(values, key=rank_key)

    def to_json(self) -> dict[str, Any]:
        """Content of `suite.json`: settings, metric rows, cells and tests.

        Rows of a view have their corrected p-value, and letters if entrants were compared.
        """
        return {
            "suite": self.run.settings,
            "metrics": rows_to_json(self._list_rows()),
            "cells": [cell.to_json() for cell in self.cells.values()],
            "tests": [_make_test_entry(dataset, pair) for dataset, pair in self.pairs],
        }

    def _list_rows(self) -> list[Metric]:
        """Rows of all cells.

        Rows of a view have `p_corrected` and `letters` among their details.
        """
        standings: dict[int, Standing] = {}  # by the identity of the row
        for view in self.views.values():
            standings |= {id(standing.row): standing for standing in view.values()}
        rows = []
        for cell in self.cells.values():
            if cell.run is None:
                continue
            for row in cell.run.metrics:
                standing = standings.get(id(row))
                if standing is None:
                    rows.append(row)
                    continue
                view_details = {"p_corrected": standing.p, "letters": standing.letters or None}
                rows.append(replace(row, details={**row.details, **view_details}))
        return rows


def _make_test_entry(dataset: str, pair: ScorerPair) -> dict[str, Any]:
    """Entry of a paired test in `suite.json`."""
    test = pair.found
    return {
        "dataset": dataset,
        "first": pair.first,
        "second": pair.second,
        "measure": pair.measure,
        "difference": test.difference,
        "low": test.interval.low,
        "high": test.interval.high,
        "p": test.p,
        "p_corrected": pair.p_corrected,
        "n": test.n,
    }


def write_suite(run: SuiteRun, folder: Path) -> Path:
    """Write suite.json, suite.csv, suite.md, suite.tex and the page into a folder.

    Returns the path of the page.
    """
    from winokit.stages.suite.boards import boards_of  # which needs the matrix

    matrix = SuiteMatrix(run)
    content = matrix.to_json()
    write_whole(folder / "suite.json", result_bytes(content))
    rows = content["metrics"]
    heads = rows[0] if rows else ()
    write_whole(folder / "suite.csv", csv_bytes([heads, *(row.values() for row in rows)]))
    titles = {name: VIEWS[name][0] for name in matrix.views}
    sentences = replay_sentences(run.settings.get("replayed", {}))
    for name in ("suite.md", "suite.tex"):
        text = rendered_plain(f"stages/suite/{name}.j2", matrix=matrix, titles=titles, tex=tex, sentences=sentences)
        write_whole(folder / name, text)
    sizes = {cell.entrant.name: log10(cell.parameters) for cell in run.cells if cell.parameters}
    return write_page(
        folder / INDEX,
        "stages/suite/page.html.j2",
        matrix=matrix,
        settings=tuple(flat(run.settings)),
        boards=boards_of(matrix),
        columns=COLUMNS,
        titles=titles,
        sizes=sizes,
        decades=_list_decades(list(sizes.values())),
        scale=Forest(()),
        sentences=sentences,
    )


def _list_decades(logarithms: Sequence[float]) -> range:
    """Exponents of the powers of ten that enclose some numbers.

    The numbers are given as their logarithms to base ten. Empty without numbers.
    """
    if not logarithms:
        return range(0)
    return range(floor(min(logarithms)), ceil(max(logarithms)) + 1)


def tex(text: str) -> str:
    r"""Escape a text for LaTeX.

    >>> tex("gpt_2 · 50%")
    'gpt\\_2 \\textperiodcentered{} 50\\%'
    """
    return "".join(SPECIAL.get(sign, sign) for sign in text)


def lines(result: SuiteRun) -> Lines:
    """Yield terminal output: the matrix, failed cells and the page's path.

    For a dry run, the counts of what would be asked.
    """
    if result.plan is not None:
        yield from plan_lines(result.plan)
        return
    yield _make_matrix(result.cells)
    yield from _describe_replays(result)
    failed = [cell for cell in result.cells if cell.state == FAILED]
    for cell in failed:
        yield f"failed: {cell.entrant.name} on {cell.dataset}: {cell.why}"
    if failed:
        yield f"{plural(len(failed), 'cell')} failed; run the same command to try again"
    if result.page is not None:
        yield f"page: {result.page}"


def _describe_replays(result: SuiteRun) -> Iterator[str]:
    """Yield lines on audits and answers that are from before.

    There are none if all was asked now.
    """
    if any(cell.from_before for cell in result.cells):
        yield f"{FROM_BEFORE} not all of it was asked now:"
    read_times = [minute_words(cell.of_run) for cell in result.cells if cell.of_run is not None]
    if read_times:
        first = min(read_times)
        last = max(read_times)
        times = first if first == last else f"{first} to {last}"
        yield f"{plural(len(read_times), 'cell')} read from earlier audits, of {times} UTC"
    yield from replay_sentences(result.settings.get("replayed", {}))


def as_json(result: SuiteRun) -> dict[str, Any]:
    """JSON output of the command: suite.json, and the page's path.

    The path is None if no page was written. For a dry run, the counts of what would be asked.
    """
    if result.plan is not None:
        return result.plan
    page = None if result.page is None else str(result.page)
    return {**SuiteMatrix(result).to_json(), "page": page}


def code(result: SuiteRun) -> int:
    """Exit code of the command: 1 if a cell failed.

    So a script does not take the rest for everything.
    """
    return int(any(cell.state == FAILED for cell in result.cells))


def _make_matrix(cells: Sequence[SuiteCell]) -> Table:
    """Table for the terminal: a row per entrant, a column per dataset."""
    rows: dict[str, list[str | Text]] = {}
    for cell in cells:
        name = cell.entrant.name
        rows.setdefault(name, [name]).append(_format_cell(cell))
    datasets = dict.fromkeys(cell.dataset for cell in cells)
    return table(["accuracy", *datasets], rows.values())


def _format_cell(cell: SuiteCell) -> Text:
    """Accuracy of a cell with its interval, dim at chance.

    Without a result, the cell's state.
    """
    row = None if cell.run is None else cell.run.find_or_none("accuracy", "all", "accuracy")
    if row is not None:
        mark = f" {FROM_BEFORE}" if cell.from_before else ""
        return dim(f"{say(row)} {say_interval(row)}{mark}", stands(row) in (AT, UNKNOWN))
    state = cell.state
    if state == RUNNING:
        return dim(f"{100 * cell.share:.0f} %", False)
    return dim("–" if state == EMPTY else state, True)


@contextmanager
def live(doing: str) -> Iterator[Watch]:
    """Show the growing matrix on a terminal, or print finished cells.

    Lines of finished cells are for output that is no terminal. Both go to standard error. The context gives the
    function to call with all cells whenever one changes. `doing` is the first word of a line.
    """
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True, highlight=False, emoji=False)
    begun = time.monotonic()
    board: list[SuiteCell] = []
    announced_ids: set[int] = set()

    def draw_matrix() -> Table:
        matrix = _make_matrix(board)
        matrix.caption = time_left(board, time.monotonic() - begun)
        return matrix

    def update(cells: Sequence[SuiteCell]) -> None:
        board[:] = cells
        if not console.is_terminal:
            announce_finished(cells)

    def announce_finished(cells: Sequence[SuiteCell]) -> None:
        planned = sum(cell.state != EMPTY for cell in cells)
        for cell in cells:
            is_finished = cell.state in (DONE, FAILED)
            if is_finished and id(cell) not in announced_ids:
                announced_ids.add(id(cell))
                count = f"{doing} {len(announced_ids)} of {planned}"
                result = cell.why or _format_cell(cell)
                line = f"{count}: {cell.entrant.name} on {cell.dataset}: {result}"
                console.print(line, soft_wrap=True, markup=False)

    if not console.is_terminal:
        yield update
        return
    with Live(console=console, transient=True, get_renderable=draw_matrix):
        yield update


def time_left(cells: Sequence[SuiteCell], elapsed: float) -> str:
    """Phrase on the share of work done and the time left.

    The pace so far is assumed to continue. `elapsed` is in seconds. Every problem counts as much as any other.
    """
    total = 0
    done_problems = 0.0
    for cell in cells:
        if cell.state != EMPTY:
            size = len(cell.data.asked)
            total += size
            done_problems += size if cell.state == FAILED else cell.share * size
    done = done_problems / max(total, 1)
    if not done:
        return "starting"
    minutes, seconds = divmod(round(elapsed * (1 - done) / done), 60)
    return f"{100 * done:.0f} % done, about {minutes}:{seconds:02d} left at this pace"
