"""What the command line shows of a suite: the matrix while it grows, and when it is done."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from winokit.drawing.tables import Lines, Table, Text, dim, plan_lines, table
from winokit.drawing.wording import plural, say, say_interval
from winokit.results import AT, stands
from winokit.stages.suite.cells import DONE, EMPTY, FAILED, RUNNING, SuiteCell, SuiteRun, Watch
from winokit.stages.suite.matrix import SuiteMatrix
from winokit.stages.suite.page import suite_json


def lines(result: SuiteRun) -> Lines:
    """The matrix, what failed, and where the page is; of a dry run, what would be asked."""
    if result.plan is not None:
        yield from plan_lines(result.plan)
        return
    yield _matrix(result.cells)
    failed = [cell for cell in result.cells if cell.state == FAILED]
    for cell in failed:
        yield f"failed: {cell.entrant.name} on {cell.dataset}: {cell.why}"
    if failed:
        yield f"{plural(len(failed), 'cell')} failed; run the same command to try again"
    if result.page is not None:
        yield f"page: {result.page}"


def as_json(result: SuiteRun) -> dict[str, Any]:
    """What suite.json holds, and where the page is; of a dry run, what would be asked."""
    if result.plan is not None:
        return result.plan
    return {**suite_json(SuiteMatrix(result)), "page": result.page and str(result.page)}


def code(result: SuiteRun) -> int:
    """1 where a cell failed: a script must not take the rest for the whole."""
    return int(any(cell.state == FAILED for cell in result.cells))


def _matrix(cells: Sequence[SuiteCell]) -> Table:
    rows: dict[str, list[str | Text]] = {}
    for cell in cells:
        rows.setdefault(cell.entrant.name, [cell.entrant.name]).append(_said(cell))
    return table(["accuracy", *dict.fromkeys(cell.dataset for cell in cells)], rows.values())


def _said(cell: SuiteCell) -> Text:
    """The accuracy of a cell, dim where chance would do as well; else what there is to say."""
    row = None if cell.run is None else cell.run.find("accuracy", "all", "accuracy")
    if row is not None:
        return dim(f"{say(row)} {say_interval(row)}", stands(row) == AT)
    return dim({RUNNING: f"{100 * cell.share:.0f} %", EMPTY: "–"}.get(cell.state, cell.state), cell.state != RUNNING)


@contextmanager
def live(doing: str) -> Iterator[Watch]:
    """The matrix as it grows with the time left, where a person looks; elsewhere a line per cell that is done."""
    from rich.console import Console
    from rich.live import Live

    console, begun = Console(stderr=True, highlight=False), time.monotonic()
    board: list[SuiteCell] = []
    told: set[int] = set()

    def drawn() -> Table:
        matrix = _matrix(board)
        matrix.caption = time_left(board, time.monotonic() - begun)
        return matrix

    def moved(cells: Sequence[SuiteCell]) -> None:
        board[:] = cells
        for cell in cells if not console.is_terminal else ():
            if cell.state in (DONE, FAILED) and id(cell) not in told:
                told.add(id(cell))
                place = f"{doing} {len(told)} of {sum(one.state != EMPTY for one in cells)}"
                line = f"{place}: {cell.entrant.name} on {cell.dataset}: {cell.why or _said(cell)}"
                console.print(line, soft_wrap=True, markup=False)

    with Live(console=console, transient=True, get_renderable=drawn) if console.is_terminal else nullcontext():
        yield moved


def time_left(cells: Sequence[SuiteCell], elapsed: float) -> str:
    """How much is done, and about how long the rest takes at the pace so far; one problem is taken for another."""
    sizes = [
        (1.0 if cell.state == FAILED else cell.share, len(cell.data.asked)) for cell in cells if cell.state != EMPTY
    ]
    done = sum(share * size for share, size in sizes) / max(sum(size for _, size in sizes), 1)
    minutes, seconds = divmod(round(elapsed * (1 - done) / done) if done else 0, 60)
    return f"{100 * done:.0f} % done, about {minutes}:{seconds:02d} left at this pace" if done else "starting"
