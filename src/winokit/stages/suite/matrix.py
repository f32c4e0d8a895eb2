"""The results of a suite: cells, matrix and rankings, as data, on the terminal, in files.

Tests are those of `winokit compare`, of what the cell shows: paired by problem, over units, and an abstention is not a
right answer. They are corrected together, over every pair of entrants on every dataset, on problems and on groups
(Holm). Chance is what an entrant's own choices would get if right answers changed places; whether a value is above it
is corrected over all rows of its view.

The files are the page, `suite.json` and CSV with flat rows, Markdown, and LaTeX tables as papers print them.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
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
"""What may be said of a cell; an empty one has nothing to run: no predictions are stored for it."""
FROM_BEFORE = "↻"
"""The mark of a cell whose answers were not all asked now."""
VIEWS = {
    "accuracy": ("Accuracy", "accuracy", ("all",), "accuracy"),
    "group_accuracy": ("Whole groups", "groups", ("complete",), "group_accuracy"),
    "consistency": ("Consistency", "switching", ("switchable",), "consistency"),
    "artifacts": ("Artifacts", "artifacts", ("no-cands", "part-sent", "local-context"), "accuracy"),
}
"""By name, the title of a view and the rows it shows: of several subsets the one furthest above chance."""
MOST_COMPARED = 26
"""Entrants of which every two are compared, as many as there are letters; more are ranked."""
MEASURES = ("accuracy", "group_accuracy")
"""What entrants are compared by."""
SPECIAL = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    **{"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}"},
    **{"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", "·": r"\textperiodcentered{}"},
}


@dataclass(frozen=True)
class Entrant:
    """A row of the matrix: a model, the way it is scored and the shots it is shown."""

    model: SuiteModel
    scoring: str | None
    shots: int
    name: str
    number: int
    """Its row, from 1."""


@dataclass
class SuiteCell:
    """One entrant on one dataset, and what became of it."""

    entrant: Entrant
    data: SuiteData
    predictions: Path | None = None
    folder: Path | None = None
    state: str = WAITING
    why: str | None = None
    share: float = 0.0
    """How much of it is done."""
    seconds: float = 0.0
    parameters: float | None = None
    """How many the model has, where it says."""
    run: Run | None = field(default=None, repr=False)
    """The audit: its rows, and its predictions for the problems as they are."""
    of_run: str | None = None
    """When the audit was made, if that was earlier and it was read from its folder."""

    @property
    def dataset(self) -> str:
        """The name of its dataset, with how much of it is asked."""
        return self.data.asked.card.name

    @property
    def folder_link(self) -> str | None:
        """Its folder, seen from the suite's, where there is something in it."""
        return None if self.folder is None or self.state != DONE else "/".join(self.folder.parts[-3:])

    @property
    def replayed(self) -> dict[str, Any]:
        """By model, counts and dates of answers that its audit took from the cache."""
        return dict(self.run.settings.get("replayed", {})) if self.run is not None else {}

    @property
    def from_before(self) -> str:
        """Sentence on answers that were not asked now, with their dates.

        Empty if all were asked now.
        """
        sentences = (
            [] if self.of_run is None else [f"the audit of {minute_words(self.of_run)} UTC, read from its folder"]
        )
        return "; ".join([*sentences, *replay_sentences(self.replayed)])

    def to_json(self) -> dict[str, Any]:
        """Entry of the cell in `suite.json`."""
        names = {"entrant": self.entrant.name, "model": self.entrant.model.title, "dataset": self.dataset}
        asked_as = {"scoring": self.entrant.scoring, "shots": self.entrant.shots}
        about = {"state": self.state, "why": self.why, "seconds": round(self.seconds, 3), "folder": self.folder_link}
        before = {"of_run": self.of_run, "replayed": self.replayed}
        family = {"parameters": self.parameters, "family": self.entrant.model.family}
        return {**names, **asked_as, **about, **before, **family}


Watch = Callable[[Sequence[SuiteCell]], None]
"""Called with all cells whenever one of them changes."""


@dataclass(repr=False)
class SuiteRun(Brief):
    """Every cell, and where the page is."""

    settings: dict[str, Any]
    cells: list[SuiteCell]
    plan: dict[str, Any] | None = None
    """Of a dry run: what would be asked."""
    page: Path | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """A value of the matrix: where it stands against chance, and among the entrants on its dataset."""

    cell: SuiteCell
    row: Metric
    p: float | None
    """That it is chance, corrected over the view; None if its right answers cannot change places."""
    stands: str
    letters: str = ""
    """Those who share one cannot be distinguished; none where nothing is compared by the measure."""
    alone: bool = False
    """Whether it is ahead of every other."""

    @property
    def above(self) -> float:
        """Distance from the null of its own choices."""
        return self.row.value - (self.row.level or 0.0)


@dataclass(frozen=True)
class Ranking:
    """The entrants on one dataset, the best first, and the bands of those that cannot be distinguished."""

    dataset: str
    standings: list[Standing]
    bands: list[frozenset[int]]
    """For each letter the places in the ranking that have it."""


class SuiteMatrix:
    """Everything that the page, the tables and `suite.json` show."""

    def __init__(self, run: SuiteRun) -> None:
        self.run = run
        self.cells = {(cell.entrant.name, cell.dataset): cell for cell in run.cells}
        self.entrants = list({name: cell.entrant for (name, _), cell in self.cells.items()}.values())
        self.datasets = list(dict.fromkeys(dataset for _, dataset in self.cells))
        self.is_large = len(self.entrants) > MOST_COMPARED
        """Whether there are too many entrants to compare every two: then they are ranked, on boards."""
        self.pairs = [] if self.is_large else list(self._compare_pairs())
        """Each dataset with a test on it, corrected for the number of all."""
        self.views: dict[str, dict[tuple[str, str], Standing]] = {}
        """By view, entrant and dataset, a standing. Empty views are left out."""
        for name in VIEWS:
            view = self._make_view(name)
            if view:
                self.views[name] = view
        self.rankings: dict[str, list[Ranking]] = {}
        for measure in MEASURES:
            if measure in self.views:
                self.rankings[measure] = [self._rank_dataset(measure, dataset) for dataset in self.datasets]

    def _compare_pairs(self) -> Iterator[tuple[str, ScorerPair]]:
        """The tests of every dataset that two entrants or more were asked about."""
        tests: dict[tuple[str, tuple[str, str, str]], Comparison] = {}
        for dataset in self.datasets:
            runs = {name: cell.run for (name, of), cell in self.cells.items() if of == dataset and cell.run is not None}
            if len(runs) > 1:
                tests |= {(dataset, names): test for names, test in compare_runs(runs).items()}
        for (dataset, names), verdict in zip(tests, verdicts(list(tests.values())), strict=True):
            yield dataset, ScorerPair(*names, verdict)

    def _make_view(self, name: str) -> dict[tuple[str, str], Standing]:
        _, protocol, subsets, metric = VIEWS[name]
        rows = []
        for key, cell in self.cells.items():
            if cell.run is None:
                continue
            for subset in subsets:
                row = cell.run.find_or_none(protocol, subset, metric)
                if row is not None:
                    rows.append((key, cell, row))
        p_values = [row.p for _, _, row in rows if row.p is not None]
        corrected = iter(holm(p_values))
        view: dict[tuple[str, str], Standing] = {}
        for key, cell, row in rows:
            p = None if row.p is None else next(corrected)
            standing = Standing(cell, row, p, UNKNOWN if p is None else tested(row, p, SMALL))
            view[key] = max(view.get(key, standing), standing, key=lambda standing: standing.above)
        return view

    def _rank_dataset(self, measure: str, dataset: str) -> Ranking:
        """Rank the entrants on a dataset by their tests, and add letters to the view.

        Who answers nothing is last.
        """
        view = {name: standing for (name, of), standing in self.views[measure].items() if of == dataset}
        tests = [pair for of, pair in self.pairs if of == dataset and pair.measure == measure]
        leads: dict[str, list[float]] = {name: [] for name in view}
        for pair in tests:
            leads[pair.first].append(pair.found.difference)
            leads[pair.second].append(-pair.found.difference)
        refusers = set(chain.from_iterable(pair.refusers for pair in tests))

        def rank_key(name: str) -> tuple[bool, float, float]:
            # On average, how far ahead of those it was compared with: their values may be of other problems.
            mean_lead = round(fmean(leads[name] or [0.0]), 9)
            return name in refusers, -mean_lead, -view[name].row.value

        names = sorted(view, key=rank_key)
        ranks = {name: at for at, name in enumerate(names)}
        distinguished = sorted((ranks[pair.first], ranks[pair.second]) for pair in tests if pair.ahead)
        bands = [] if self.is_large else compact_letters(len(names), distinguished)
        ahead = Counter(pair.ahead for pair in tests)
        for name, at in ranks.items():
            letters = "".join(letter_name(letter) for letter, band in enumerate(bands) if at in band)
            alone = len(names) > 1 and not self.is_large and ahead[name] == len(names) - 1
            self.views[measure][name, dataset] = replace(view[name], letters=letters, alone=alone)
        return Ranking(dataset, [self.views[measure][name, dataset] for name in names], bands)

    def to_json(self) -> dict[str, Any]:
        """Content of `suite.json`: rows, cells and tests.

        Rows have letters if entrants were compared.
        """
        standings: dict[int, Standing] = {}
        for view in self.views.values():
            standings |= {id(standing.row): standing for standing in view.values()}
        rows: list[Metric] = []
        for cell in self.cells.values():
            if cell.run is not None:
                rows += cell.run.metrics
        for place, row in enumerate(rows):
            if (standing := standings.get(id(row))) is not None:
                about = {"p_corrected": standing.p, "letters": standing.letters or None}
                rows[place] = replace(row, details={**row.details, **about})
        tests = []
        for dataset, pair in self.pairs:
            named = {"dataset": dataset, "first": pair.first, "second": pair.second, "measure": pair.measure}
            test = pair.found
            interval = pair.found.interval
            ends = {"difference": test.difference, "low": interval.low, "high": interval.high}
            tests.append(named | ends | {"p": test.p, "p_corrected": pair.p_corrected, "n": test.n})
        cells = [cell.to_json() for cell in self.cells.values()]
        return {"suite": self.run.settings, "metrics": rows_to_json(rows), "cells": cells, "tests": tests}


def write_suite(run: SuiteRun, folder: Path) -> Path:
    """Write suite.json, suite.csv, suite.md, suite.tex and the page into a folder, and return the page."""
    matrix = SuiteMatrix(run)
    content = matrix.to_json()
    titles = {name: VIEWS[name][0] for name in matrix.views}
    rows = content["metrics"]
    write_whole(folder / "suite.json", result_bytes(content))
    write_whole(folder / "suite.csv", csv_bytes([rows[0] if rows else (), *(row.values() for row in rows)]))
    sentences = replay_sentences(run.settings.get("replayed", {}))
    for name in ("suite.md", "suite.tex"):
        write_whole(
            folder / name,
            rendered_plain(f"stages/suite/{name}.j2", matrix=matrix, titles=titles, tex=tex, sentences=sentences),
        )
    sizes = {cell.entrant.name: log10(cell.parameters) for cell in run.cells if cell.parameters}
    decades = range(floor(min(sizes.values())), ceil(max(sizes.values())) + 1) if sizes else range(0)
    from winokit.stages.suite.boards import boards_of  # which needs the matrix

    boards = {"boards": boards_of(matrix), "columns": COLUMNS}
    page_values = {
        **boards,
        "titles": titles,
        "sizes": sizes,
        "decades": decades,
        "scale": Forest(()),
        "sentences": sentences,
    }
    settings = tuple(flat(run.settings))
    return write_page(folder / INDEX, "stages/suite/page.html.j2", matrix=matrix, settings=settings, **page_values)


def tex(text: str) -> str:
    r"""A text as LaTeX takes it.

    >>> tex("gpt_2 · 50%")
    'gpt\\_2 \\textperiodcentered{} 50\\%'
    """
    return "".join(SPECIAL.get(sign, sign) for sign in text)


def lines(result: SuiteRun) -> Lines:
    """Yield the matrix, failed cells, and the page.

    For a dry run, it is what would be asked.
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
    """Yield lines on cells of earlier runs, and on answers from the cache."""
    if any(cell.from_before for cell in result.cells):
        yield f"{FROM_BEFORE} not all of it was asked now:"
    read_times = [minute_words(cell.of_run) for cell in result.cells if cell.of_run is not None]
    if read_times:
        times = min(read_times) if min(read_times) == max(read_times) else f"{min(read_times)} to {max(read_times)}"
        yield f"{plural(len(read_times), 'cell')} read from earlier audits, of {times} UTC"
    yield from replay_sentences(result.settings.get("replayed", {}))


def as_json(result: SuiteRun) -> dict[str, Any]:
    """Content of suite.json, and the page.

    For a dry run, it is what would be asked.
    """
    if result.plan is not None:
        return result.plan
    return {**SuiteMatrix(result).to_json(), "page": result.page and str(result.page)}


def code(result: SuiteRun) -> int:
    """1 where a cell failed: a script must not take the rest for the whole."""
    return int(any(cell.state == FAILED for cell in result.cells))


def _make_matrix(cells: Sequence[SuiteCell]) -> Table:
    rows: dict[str, list[str | Text]] = {}
    for cell in cells:
        rows.setdefault(cell.entrant.name, [cell.entrant.name]).append(_format_cell(cell))
    return table(["accuracy", *dict.fromkeys(cell.dataset for cell in cells)], rows.values())


def _format_cell(cell: SuiteCell) -> Text:
    """Accuracy of a cell, or its state. It is dim at chance."""
    row = None if cell.run is None else cell.run.find_or_none("accuracy", "all", "accuracy")
    if row is not None:
        mark = f" {FROM_BEFORE}" if cell.from_before else ""
        return dim(f"{say(row)} {say_interval(row)}{mark}", stands(row) in (AT, UNKNOWN))
    return dim({RUNNING: f"{100 * cell.share:.0f} %", EMPTY: "–"}.get(cell.state, cell.state), cell.state != RUNNING)


@contextmanager
def live(doing: str) -> Iterator[Watch]:
    """Show the matrix as it grows, or print a line per finished cell.

    The matrix is for terminals.
    """
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True, highlight=False, emoji=False)
    begun = time.monotonic()
    board: list[SuiteCell] = []
    announced: set[int] = set()

    def drawn() -> Table:
        matrix = _make_matrix(board)
        matrix.caption = time_left(board, time.monotonic() - begun)
        return matrix

    def moved(cells: Sequence[SuiteCell]) -> None:
        board[:] = cells
        planned = sum(cell.state != EMPTY for cell in cells)
        for cell in cells if not console.is_terminal else ():
            if cell.state in (DONE, FAILED) and id(cell) not in announced:
                announced.add(id(cell))
                place = f"{doing} {len(announced)} of {planned}"
                line = f"{place}: {cell.entrant.name} on {cell.dataset}: {cell.why or _format_cell(cell)}"
                console.print(line, soft_wrap=True, markup=False)

    with Live(console=console, transient=True, get_renderable=drawn) if console.is_terminal else nullcontext():
        yield moved


def time_left(cells: Sequence[SuiteCell], elapsed: float) -> str:
    """Share done, and the time left at the pace so far.

    Every problem counts as much as any other.
    """
    sizes = []
    for cell in cells:
        if cell.state != EMPTY:
            share = 1.0 if cell.state == FAILED else cell.share
            sizes.append((share, len(cell.data.asked)))
    done = sum(share * size for share, size in sizes) / max(sum(size for _, size in sizes), 1)
    minutes, seconds = divmod(round(elapsed * (1 - done) / done) if done else 0, 60)
    return f"{100 * done:.0f} % done, about {minutes}:{seconds:02d} left at this pace" if done else "starting"
