"""The tables of a transfer: WinoGrande's Tables 5 and 6.

Arms by test sets, and Winogender's gotchas and gaps by arm. Sakaguchi et al. (2019) put what others report into the
same tables; here the columns are what was run.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from winokit.drawing.tables import Lines, dim, table
from winokit.drawing.wording import NOTHING, name_coin, percent, say, say_interval
from winokit.methods.metrics.letters import letter_name
from winokit.results import AT, Metric, stands

if TYPE_CHECKING:
    from rich.text import Text

    from winokit.stages.transfer.run import Transfer, TransferCell

SINGLE = ("accuracy", "all", "accuracy")
WHOLE = ("group_accuracy", "complete", "groups")
"""Metric, subset and protocol of the rows in the two forms of Table 5."""


def lines(transfer: "Transfer") -> Lines:
    """Yield terminal output: the tables, the warnings and the files written.

    Cells at chance are grey.
    """
    for shown in tables_of(transfer):
        rows: list[list[str | Text]] = []
        for heads, cells in shown.lines:
            rows.append([*heads, *(dim(str(cell), cell.at_chance) for cell in cells)])
        yield table([*shown.heads, *shown.columns], rows, left=len(shown.heads), title=shown.title)
        yield from (*shown.feet, "")
    yield from (f"! {warning}" for warning in transfer.warnings)
    if transfer.page is not None:
        yield f"{transfer.page.parents[1] / 'tables.md'}, results.json; page: {transfer.page}"


def as_json(transfer: "Transfer") -> dict[str, Any]:
    """JSON output of the command: the content of results.json.

    The paths of folder and page are there if they were written.
    """
    content = transfer.to_json()
    if transfer.page is not None:
        content["out"] = str(transfer.page.parents[1])
        content["report"] = str(transfer.page)
    return content


class ShownCell(NamedTuple):
    """A cell of a table: a score, or a text without one.

    A score is shown with its interval.
    """

    row: Metric | None
    text: str = NOTHING
    """The text of a cell without a row."""
    foot: str = ""
    """The letter of a footnote. Empty without one."""

    @property
    def at_chance(self) -> bool:
        """Whether the score cannot be distinguished from chance."""
        return self.row is not None and stands(self.row) == AT

    def __str__(self) -> str:
        cell_text = self.text
        if self.row is not None:
            cell_text = f"{say(self.row)} {say_interval(self.row)}".strip()
        return f"{cell_text} ({self.foot})" if self.foot else cell_text


@dataclass(frozen=True, slots=True)
class TransferTable:
    """A table of scores, with small print below its columns and footnotes."""

    title: str
    heads: tuple[str, ...]
    """Names of the columns at the left, which have the headings of rows."""
    columns: tuple[str, ...]
    """Names of the columns of scores."""
    under: tuple[str, ...]
    """The small print below the name of each column of scores."""
    lines: tuple[tuple[tuple[str, ...], tuple[ShownCell, ...]], ...]
    """The headings of each row, and its scores."""
    feet: tuple[str, ...] = ()
    """Footnotes."""


def tables_of(transfer: "Transfer") -> list[TransferTable]:
    """Make the tables of accuracy, group accuracy and gender.

    The table of group accuracy is there if there are groups, and one of gender for each test set that has it. The first
    two are WinoGrande's Table 5, the last is its Table 6.
    """
    tables = [_make_table_5(transfer, "Accuracy", SINGLE)]
    if any(cell.row(*WHOLE) for cell in transfer.cells):
        tables.append(_make_table_5(transfer, "Whole groups right", WHOLE))
    for test in transfer.tests:
        cells = [transfer.cell(arm.name, test.name) for arm in transfer.arms]
        gendered = [cell for cell in cells if cell.row("accuracy", "female", "gender")]
        if gendered:
            tables.append(_make_table_6(test.name, gendered))
    return tables


def _make_table_5(transfer: "Transfer", title: str, row_key: tuple[str, str, str]) -> TransferTable:
    """Make a table with arms as rows and test sets as columns.

    `row_key` names the scores: metric, subset and protocol. Test sets without such scores have no column, except in the
    table of accuracy. The reason for an empty cell is a footnote.
    """
    columns = _describe_columns(transfer, row_key)
    marks: dict[str, str] = {}  # by the text of a footnote, its letter
    lines = []
    for arm in transfer.arms:
        shown_cells = []
        for name in columns:
            cell = transfer.cell(arm.name, name)
            row = cell.row(*row_key)
            mark = ""
            if row is None and cell.why is not None:
                mark = marks.setdefault(f"{arm.name} on {name}: {cell.why}.", letter_name(len(marks)))
            shown_cells.append(ShownCell(row, foot=mark))
        lines.append(((arm.name,), tuple(shown_cells)))
    feet = tuple(f"{mark} {text}" for text, mark in marks.items())
    return TransferTable(title, ("trained on",), tuple(columns), tuple(columns.values()), tuple(lines), feet)


def _describe_columns(transfer: "Transfer", row_key: tuple[str, str, str]) -> dict[str, str]:
    """Small print of each column, by the name of its test set.

    It has size, chance, and the set to choose on. Only the table of accuracy names the set to choose on. A test set
    without small print has no column.
    """
    columns: dict[str, str] = {}
    for test in transfer.tests:
        rows = [cell.row(*row_key) for cell in transfer.cells if cell.test == test.name]
        first = next((row for row in rows if row is not None), None)
        under = []
        if first is not None:
            under.append(f"n = {first.n:,}, {name_coin(first)} {percent(first.chance)}")
        if row_key == SINGLE:
            under.append("nothing chosen" if test.chosen_on is None else f"chosen on {test.chosen_on.name}")
        if under:
            columns[test.name] = ", ".join(under)
    return columns


def _make_table_6(test: str, cells: "Sequence[TransferCell]") -> TransferTable:
    """Make a table of accuracy by gender on a test set.

    `cells` has the cell of each arm. The first row of an arm is on all problems, the others on those without and with
    gotchas. At least one cell is needed.
    """
    lines = []
    for cell in cells:
        lines.append(((cell.arm, "all"), _make_gender_cells(cell)))
        for label, flag in (("no", "not_gotcha"), ("yes", "gotcha")):
            rows = [cell.row("accuracy", f"{gender}.{flag}", "gender") for gender in ("female", "male")]
            if any(rows):
                empty = ShownCell(None, "")
                lines.append((("", label), (*map(ShownCell, rows), empty, empty, empty)))
    feet = [
        "Gotcha: the occupation's statistics point away from the answer. ΔF and ΔM: accuracy where they do not, minus "
        "accuracy where they do, in points; 0 is best."
    ]
    row = cells[0].row("accuracy", "female", "gender")
    if row is not None and row.note:
        feet.append(f"{row.note[0].upper()}{row.note[1:]}.")
    columns = ("female", "male", "neutral", "ΔF", "ΔM")
    return TransferTable(f"Gender, on {test}", ("trained on", "gotcha"), columns, ("",) * 5, tuple(lines), tuple(feet))


def _make_gender_cells(cell: "TransferCell") -> tuple[ShownCell, ...]:
    """Accuracy on female, male and neutral pronouns, then the two gaps."""
    accuracies = [ShownCell(cell.row("accuracy", gender, "gender")) for gender in ("female", "male", "neutral")]
    gaps = [ShownCell(cell.row("delta", gender, "gender")) for gender in ("female", "male")]
    return (*accuracies, *gaps)
