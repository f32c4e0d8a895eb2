"""WinoGrande's Tables 5 and 6 from a transfer: arms by test sets, and Winogender's gotchas and gaps by arm.

Sakaguchi et al. (2019) put what others report into the same tables; here the columns are what was run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from winokit.drawing.wording import NOTHING, percent, say, say_interval
from winokit.results import AT, Metric, stands
from winokit.stages.transfer.run import Transfer

GOTCHA = (("no", "not_gotcha"), ("yes", "gotcha"))


@dataclass(frozen=True, slots=True)
class ShownCell:
    """A number as a table shows it, with its interval, and a footnote where there is none."""

    text: str
    interval: str = ""
    exact: float | None = None
    at_chance: bool = False
    foot: str = ""


@dataclass(frozen=True, slots=True)
class TransferLine:
    """A row: headings at its left, then numbers."""

    heads: tuple[str, ...]
    cells: tuple[ShownCell, ...]


@dataclass(frozen=True, slots=True)
class TransferTable:
    """A table with what its columns are and what must be said below."""

    title: str
    heads: tuple[str, ...]
    columns: tuple[str, ...]
    under: tuple[str, ...]
    """Of each column what stands below its name."""
    lines: tuple[TransferLine, ...]
    feet: tuple[str, ...] = ()


def tables_of(found: Transfer) -> list[TransferTable]:
    """Table 5 by accuracy, the same by group accuracy where there are groups, and Table 6 where there is gender."""
    tables = [_table_5(found, "Accuracy", "accuracy", ("accuracy", "all"))]
    if any(cell.row("group_accuracy", "complete", "groups") for cell in found.cells):
        tables.append(_table_5(found, "Whole groups right", "group_accuracy", ("groups", "complete")))
    return [*tables, *_tables_6(found)]


def _table_5(found: Transfer, title: str, metric: str, named: tuple[str, str]) -> TransferTable:
    protocol, subset = named
    feet: dict[str, str] = {}
    tests = [t for t in found.tests if metric == "accuracy" or _any(found, t.name, metric, subset, protocol)]
    lines = []
    for arm in found.arms:
        cells = []
        for test in tests:
            cell = found.cell(arm.name, test.name)
            row = cell.row(metric, subset, protocol)
            if row is None and cell.why is not None:
                mark = feet.setdefault(f"{arm.name} on {test.name}: {cell.why}.", _mark(len(feet)))
                cells.append(ShownCell(NOTHING, foot=mark))
            else:
                cells.append(_shown(row))
        lines.append(TransferLine((arm.name,), tuple(cells)))
    under = [_under(found, test.name, metric, subset, protocol) for test in tests]
    told = tuple(f"{mark} {text}" for text, mark in feet.items())
    return TransferTable(title, ("trained on",), tuple(test.name for test in tests), tuple(under), tuple(lines), told)


def _any(found: Transfer, test: str, metric: str, subset: str, protocol: str) -> bool:
    return any(cell.row(metric, subset, protocol) for cell in found.cells if cell.test == test)


def _under(found: Transfer, test: str, metric: str, subset: str, protocol: str) -> str:
    """How many problems a column has, what guessing gives, and what was chosen on."""
    rows = [cell.row(metric, subset, protocol) for cell in found.cells if cell.test == test]
    known = next((row for row in rows if row is not None), None)
    size = f"n = {known.n:,}, guessing {percent(known.chance)}" if known else ""
    chosen = next((one.chosen_on for one in found.tests if one.name == test), None)
    choice = "nothing chosen" if chosen is None else f"chosen on {chosen.name}"
    return ", ".join(part for part in (size, choice if metric == "accuracy" else "") if part)


def _tables_6(found: Transfer) -> Iterator[TransferTable]:
    for test in found.tests:
        arms = [arm.name for arm in found.arms if found.cell(arm.name, test.name).row("accuracy", "female", "gender")]
        if arms:
            yield _table_6(found, test.name, arms)


def _table_6(found: Transfer, test: str, arms: Sequence[str]) -> TransferTable:
    lines = []
    for arm in arms:
        cell = found.cell(arm, test)
        plain = [_shown(cell.row("accuracy", gender, "gender")) for gender in ("female", "male", "neutral")]
        gaps = [_shown(cell.row("delta", gender, "gender")) for gender in ("female", "male")]
        lines.append(TransferLine((arm, "all"), (*plain, *gaps)))
        for said, flag in GOTCHA:
            rows = [cell.row("accuracy", f"{gender}.{flag}", "gender") for gender in ("female", "male")]
            if any(rows):
                lines.append(
                    TransferLine(("", said), (*map(_shown, rows), ShownCell(""), ShownCell(""), ShownCell("")))
                )
    cell = found.cell(arms[0], test)
    row = cell.row("accuracy", "female", "gender")
    notes = [] if row is None or not row.note else [f"{row.note[0].upper()}{row.note[1:]}."]
    feet = (
        "Gotcha: the occupation's statistics point away from the answer. ΔF and ΔM: accuracy where they do not, minus "
        "accuracy where they do, in points; nought is best.",
        *notes,
    )
    columns = ("female", "male", "neutral", "ΔF", "ΔM")
    return TransferTable(f"Gender, on {test}", ("trained on", "gotcha"), columns, ("",) * 5, tuple(lines), feet)


def _shown(row: Metric | None) -> ShownCell:
    if row is None:
        return ShownCell(NOTHING)
    return ShownCell(say(row), say_interval(row), row.value, stands(row) == AT)


def _mark(number: int) -> str:
    """Letters for footnotes: a, b, … z, aa, ab …"""
    letters = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("a") + rest) + letters
    return letters


def said(cell: ShownCell) -> str:
    """A cell as plain text."""
    return f"{cell.text} {cell.interval}".strip() + (f" ({cell.foot})" if cell.foot else "")


def markdown(tables: Sequence[TransferTable]) -> str:
    """The tables for a paper's draft or a README."""
    blocks = []
    for table in tables:
        heads = [*table.heads, *table.columns]
        lines = [f"## {table.title}", "", _bar(heads), _bar(["---"] * len(table.heads) + ["---:"] * len(table.columns))]
        if any(table.under):
            lines.append(_bar(["" for _ in table.heads] + list(table.under)))
        for line in table.lines:
            lines.append(_bar([*line.heads, *map(said, line.cells)]))
        lines += ["", *(f"{foot}  " for foot in table.feet)]
        blocks.append("\n".join(lines).rstrip())
    return "\n\n".join(blocks) + "\n"


def _bar(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
