"""WinoGrande's Tables 5 and 6 from a transfer: arms by test sets, and Winogender's gotchas and gaps by arm.

Sakaguchi et al. (2019) put what others report into the same tables; here the columns are what was run.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from winokit.drawing.tables import Lines, dim, table
from winokit.drawing.wording import NOTHING, percent, say, say_interval
from winokit.methods.metrics.letters import letter_name
from winokit.results import AT, Metric, stands

if TYPE_CHECKING:
    from winokit.stages.transfer.run import Transfer, TransferCell

SINGLE, GROUPS = ("accuracy", "all", "accuracy"), ("group_accuracy", "complete", "groups")
"""Metric, subset and protocol of the rows in Table 5."""


def lines(transfer: "Transfer") -> Lines:
    """What a person reads: the tables, grey where chance would do as well, with their feet, and where the page is."""
    for one in tables_of(transfer):
        yield table(
            [*one.heads, *one.columns],
            [[*heads, *(dim(str(cell), cell.at_chance) for cell in cells)] for heads, cells in one.lines],
            left=len(one.heads),
            title=one.title,
        )
        yield from (*one.feet, "")
    yield from (f"! {warning}" for warning in transfer.warnings)
    if transfer.page is not None:
        yield f"{transfer.page.parents[1] / 'tables.md'}, results.json; page: {transfer.page}"


def as_json(transfer: "Transfer") -> dict[str, Any]:
    """What scripts read."""
    where = {} if transfer.page is None else {"out": str(transfer.page.parents[1]), "report": str(transfer.page)}
    return transfer.to_json() | where


class ShownCell(NamedTuple):
    """A row as a table shows it, or what stands there without one, with the letter of a footnote."""

    row: Metric | None
    text: str = NOTHING
    foot: str = ""

    @property
    def at_chance(self) -> bool:
        """Whether guessing is inside its interval."""
        return self.row is not None and stands(self.row) == AT

    def __str__(self) -> str:
        shown = self.text if self.row is None else f"{say(self.row)} {say_interval(self.row)}".strip()
        return shown + (f" ({self.foot})" if self.foot else "")


@dataclass(frozen=True, slots=True)
class TransferTable:
    """A table with what its columns are and what must be said below."""

    title: str
    heads: tuple[str, ...]
    columns: tuple[str, ...]
    under: tuple[str, ...]
    """Of each column what stands below its name."""
    lines: tuple[tuple[tuple[str, ...], tuple[ShownCell, ...]], ...]
    """Of each row the headings at its left, then numbers."""
    feet: tuple[str, ...] = ()


def tables_of(transfer: "Transfer") -> list[TransferTable]:
    """Table 5 by accuracy, the same by group accuracy where there are groups, and Table 6 where there is gender."""
    tables = [_table_5(transfer, "Accuracy", SINGLE)]
    if any(cell.row(*GROUPS) for cell in transfer.cells):
        tables.append(_table_5(transfer, "Whole groups right", GROUPS))
    for test in transfer.tests:
        cells = [transfer.cell(arm.name, test.name) for arm in transfer.arms]
        gendered = [cell for cell in cells if cell.row("accuracy", "female", "gender")]
        if gendered:
            tables.append(_table_6(test.name, gendered))
    return tables


def _table_5(transfer: "Transfer", title: str, named: tuple[str, str, str]) -> TransferTable:
    feet: dict[str, str] = {}
    columns: dict[str, str] = {}
    for test in transfer.tests:
        rows = [row for cell in transfer.cells if cell.test == test.name and (row := cell.row(*named))]
        size = f"n = {rows[0].n:,}, guessing {percent(rows[0].chance)}" if rows else ""
        choice = "nothing chosen" if test.chosen_on is None else f"chosen on {test.chosen_on.name}"
        if rows or named == SINGLE:
            columns[test.name] = ", ".join(filter(None, (size, choice if named == SINGLE else "")))
    lines = []
    for arm in transfer.arms:
        shown = []
        for name in columns:
            cell = transfer.cell(arm.name, name)
            row = cell.row(*named)
            why = None if row is not None or cell.why is None else f"{arm.name} on {name}: {cell.why}."
            shown.append(ShownCell(row, foot="" if why is None else feet.setdefault(why, letter_name(len(feet)))))
        lines.append(((arm.name,), tuple(shown)))
    below = tuple(f"{mark} {text}" for text, mark in feet.items())
    return TransferTable(title, ("trained on",), tuple(columns), tuple(columns.values()), tuple(lines), below)


def _table_6(test: str, cells: "Sequence[TransferCell]") -> TransferTable:
    lines = []
    for cell in cells:
        plain = [ShownCell(cell.row("accuracy", gender, "gender")) for gender in ("female", "male", "neutral")]
        gaps = [ShownCell(cell.row("delta", gender, "gender")) for gender in ("female", "male")]
        lines.append(((cell.arm, "all"), (*plain, *gaps)))
        for said, flag in (("no", "not_gotcha"), ("yes", "gotcha")):
            rows = [cell.row("accuracy", f"{gender}.{flag}", "gender") for gender in ("female", "male")]
            if any(rows):
                lines.append((("", said), (*map(ShownCell, rows), *[ShownCell(None, "")] * 3)))
    row = cells[0].row("accuracy", "female", "gender")
    feet = (
        "Gotcha: the occupation's statistics point away from the answer. ΔF and ΔM: accuracy where they do not, minus "
        "accuracy where they do, in points; 0 is best.",
        *([f"{row.note[0].upper()}{row.note[1:]}."] if row is not None and row.note else []),
    )
    columns = ("female", "male", "neutral", "ΔF", "ΔM")
    return TransferTable(f"Gender, on {test}", ("trained on", "gotcha"), columns, ("",) * 5, tuple(lines), feet)
