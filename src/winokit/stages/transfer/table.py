"""The tables of a transfer for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from winokit.stages.transfer.tables import ShownCell, TransferTable, said

if TYPE_CHECKING:
    from rich.table import Table as RichTable


def terminal_table(table: TransferTable) -> RichTable:
    """A table; dim where chance would do as well."""
    from rich.table import Table as RichTable

    made = RichTable(box=None, pad_edge=False, header_style="bold", title=table.title, title_justify="left")
    for head in table.heads:
        made.add_column(head, no_wrap=True)
    for column in table.columns:
        made.add_column(column, justify="right", overflow="fold")
    for line in table.lines:
        made.add_row(*line.heads, *(_said(cell) for cell in line.cells))
    return made


def _said(cell: ShownCell) -> str:
    text = said(cell).replace("[", r"\[")
    return f"[dim]{text}[/dim]" if cell.at_chance else text
