"""The page of a transfer: what training on one dataset does for others, and to the gap between genders."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from winokit.drawing.page import INDEX, flat, write_page
from winokit.drawing.protocols import LIU, RUDINGER, SAKAGUCHI, SAKAGUCHI_FIRST
from winokit.drawing.wording import percent, plural
from winokit.files import write_whole
from winokit.stages.transfer.table import markdown, tables_of
from winokit.stages.transfer.verdict import verdict_of_transfer

if TYPE_CHECKING:
    from winokit.stages.transfer.run import Transfer


def write_transfer_page(transfer: Transfer, folder: Path) -> Path:
    """Write the page and, beside its folder, the tables in Markdown; return the page."""
    tables = tables_of(transfer)
    gender = any("Gender" in table.title for table in tables)
    write_whole(folder.parent / "tables.md", markdown(tables).encode())
    write_page(
        folder / INDEX,
        "stages/transfer/page.html.j2",
        transfer=transfer,
        verdict=verdict_of_transfer(transfer),
        arms=[
            # What an arm is trained on, without its own name again.
            (name, ", then ".join(f"{stage} problems" for stage in stages).removeprefix(f"{name}, "))
            for name, stages in transfer.run["arms"].items()
        ],
        tables=tables,
        choices=_choices(transfer),
        settings=[_setting(one) for one in transfer.run["settings"]],
        run=flat({name: value for name, value in transfer.run.items() if name != "settings"}),
        sources=(SAKAGUCHI_FIRST, SAKAGUCHI, LIU, *((RUDINGER,) if gender else ())),
    )
    return folder / INDEX


def _choices(transfer: Transfer) -> list[tuple[str, str, str, list[tuple[str, bool]]]]:
    """Arm, test set, what was chosen on, and what each setting had there with whether it was taken."""
    choices = []
    for cell in transfer.cells:
        rows = [row for row in cell.rows if row.protocol == "choice"]
        if rows:
            marks = [(percent(row.value), at == cell.chosen) for at, row in enumerate(rows, 1)]
            choices.append((cell.arm, cell.test, str(rows[0].details["chosen_on"]), marks))
    return choices


def _setting(one: dict[str, Any]) -> str:
    """A setting in words: what may differ between them."""
    kept = "last weights" if one["keep"] == "last" else "best weights"
    steps = "" if one["steps"] is None else f", at most {one['steps']:,} steps"
    return (
        f"learning rate {one['learning_rate']:g}, {plural(one['epochs'], 'epoch')}{steps}, "
        f"{one['batch_size']} a batch, seed {one['seed']}, {kept}"
    )
