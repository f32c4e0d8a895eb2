"""The page of a transfer: scores on all test sets, and choices."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from winokit.drawing.page import INDEX, flat, rendered_plain, write_page
from winokit.drawing.protocols import CITATIONS
from winokit.drawing.wording import percent
from winokit.files import write_whole
from winokit.stages.transfer.table import tables_of
from winokit.stages.transfer.verdict import verdict_of_transfer

if TYPE_CHECKING:
    from winokit.stages.transfer.run import Transfer


def write_transfer_page(transfer: "Transfer", folder: Path) -> Path:
    """Write the page into a folder, and tables.md beside that folder.

    Returns the path of the page.
    """
    tables = tables_of(transfer)
    write_whole(folder.parent / "tables.md", rendered_plain("stages/transfer/tables.md.j2", tables=tables))
    sources = ["SAKAGUCHI_FIRST", "SAKAGUCHI", "LIU"]
    has_gender = any("Gender" in table.title for table in tables)
    if has_gender:
        sources.append("RUDINGER")
    shown_settings = {name: value for name, value in transfer.run.items() if name != "settings"}
    return write_page(
        folder / INDEX,
        "stages/transfer/page.html.j2",
        transfer=transfer,
        verdict=verdict_of_transfer(transfer),
        arms=_describe_arms(transfer),
        tables=tables,
        choices=list(_describe_choices(transfer)),
        grid=transfer.run["settings"],
        settings=flat(shown_settings),
        sources=[CITATIONS[name] for name in sources],
    )


def _describe_arms(transfer: "Transfer") -> list[tuple[str, str]]:
    """Each arm's name and a phrase on what it is trained on."""
    arms = []
    for name, stages in transfer.run["arms"].items():
        description = ", then ".join(f"{stage} problems" for stage in stages)
        # The arm's own name is not repeated.
        arms.append((name, description.removeprefix(f"{name}, ")))
    return arms


def _describe_choices(transfer: "Transfer") -> Iterator[tuple[str, str, str, list[tuple[str, bool]]]]:
    """Yield each choice of a setting with the scores it rests on.

    A choice is the arm, the test set, the set to choose on, and marks. A mark is the score of a setting on the set to
    choose on, and whether it is the chosen one.
    """
    for cell in transfer.cells:
        rows = [row for row in cell.rows if row.protocol == "choice"]
        if not rows:
            continue
        marks = [(percent(row.value), number == cell.chosen) for number, row in enumerate(rows, 1)]
        yield cell.arm, cell.test, str(rows[0].details["chosen_on"]), marks
