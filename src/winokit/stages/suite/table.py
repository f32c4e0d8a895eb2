"""What the command line shows of a suite: the matrix while it grows, and when it is done."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from winokit.drawing.tables import Lines, dim, plan_lines, table
from winokit.drawing.wording import plural, say, say_interval
from winokit.results import AT, Metric, stands
from winokit.stages.suite.cells import DONE, EMPTY, FAILED, RUNNING, SuiteCell, SuiteRun, Watch
from winokit.stages.suite.exports import suite_json
from winokit.stages.suite.matrix import SuiteMatrix

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text


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
        yield f"{plural(len(failed), 'cell')} failed; the same command tries them again"
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
    datasets = list(dict.fromkeys(cell.dataset for cell in cells))
    rows: dict[str, list[str | Text]] = {}
    for cell in cells:
        rows.setdefault(cell.entrant.name, [cell.entrant.name]).append(_said(cell))
    return table(["accuracy", *datasets], rows.values())


def _accuracy(cell: SuiteCell) -> Metric | None:
    return None if cell.run is None else cell.run.find("accuracy", "all", "accuracy")


def _said(cell: SuiteCell) -> str | Text:
    row = _accuracy(cell)
    if row is not None:
        return dim(f"{say(row)} {say_interval(row)}", stands(row) == AT)
    return f"{cell.share:.0%}" if cell.state == RUNNING else {EMPTY: "–", DONE: "done"}.get(cell.state, cell.state)


@contextmanager
def live(doing: str) -> Iterator[Watch]:
    """The matrix as it grows with the time left, where a person looks; elsewhere a line per cell that is done."""
    from rich.console import Console, Group
    from rich.live import Live

    console, begun = Console(stderr=True, highlight=False), time.monotonic()
    if console.is_terminal:
        with Live(console=console, transient=True, auto_refresh=False) as shown:
            drawn = 0.0

            def draw(cells: Sequence[SuiteCell]) -> None:
                nonlocal drawn
                if time.monotonic() - drawn > 0.2:
                    drawn = time.monotonic()
                    shown.update(Group(_matrix(cells), time_left(cells, drawn - begun)), refresh=True)

            yield draw
        return
    told: set[int] = set()

    def tell_done(cells: Sequence[SuiteCell]) -> None:
        for cell in cells:
            if cell.state in (DONE, FAILED) and id(cell) not in told:
                told.add(id(cell))
                row = _accuracy(cell)
                said = cell.why if cell.state == FAILED else f"{say(row)} {say_interval(row)}" if row else "done"
                place = f"{doing} {len(told)} of {sum(one.state != EMPTY for one in cells)}"
                console.print(f"{place}: {cell.entrant.name} on {cell.dataset}: {said}", soft_wrap=True, markup=False)

    yield tell_done


def time_left(cells: Sequence[SuiteCell], elapsed: float) -> str:
    """How much is done, and about how long the rest takes at the pace so far; one problem is taken for another."""
    sizes = [
        (1.0 if cell.state == FAILED else cell.share, len(cell.data.asked)) for cell in cells if cell.state != EMPTY
    ]
    done = sum(share * size for share, size in sizes) / max(sum(size for _, size in sizes), 1)
    if not done:
        return "starting"
    minutes, seconds = divmod(round(elapsed * (1 - done) / done), 60)
    return f"{done:.0%} done, about {minutes}:{seconds:02d} left at this pace"
