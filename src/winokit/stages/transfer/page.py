"""The page of a transfer.

It shows what training on one dataset does for others, and whether gender statistics move that.
"""

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
    """Write the page and the tables in Markdown, and return the page.

    tables.md is beside the page's folder.
    """
    tables = tables_of(transfer)
    gender = any("Gender" in table.title for table in tables)
    sources = ("SAKAGUCHI_FIRST", "SAKAGUCHI", "LIU", *(("RUDINGER",) if gender else ()))
    choices = []  # arm, test set, what was chosen on, and what each setting had there with whether it was taken
    for cell in transfer.cells:
        rows = [row for row in cell.rows if row.protocol == "choice"]
        if rows:
            marks = [(percent(row.value), at == cell.chosen) for at, row in enumerate(rows, 1)]
            choices.append((cell.arm, cell.test, str(rows[0].details["chosen_on"]), marks))
    write_whole(folder.parent / "tables.md", rendered_plain("stages/transfer/tables.md.j2", tables=tables))
    arms = []
    for name, stages in transfer.run["arms"].items():
        description = ", then ".join(f"{stage} problems" for stage in stages)
        # The arm's own name is not repeated.
        arms.append((name, description.removeprefix(f"{name}, ")))
    return write_page(
        folder / INDEX,
        "stages/transfer/page.html.j2",
        transfer=transfer,
        verdict=verdict_of_transfer(transfer),
        arms=arms,
        tables=tables,
        choices=choices,
        grid=transfer.run["settings"],
        settings=flat({name: value for name, value in transfer.run.items() if name != "settings"}),
        sources=[CITATIONS[name] for name in sources],
    )
