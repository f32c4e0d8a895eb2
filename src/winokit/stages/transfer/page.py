"""The page of a transfer: what training on one dataset does for others, and to the gap between genders."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from winokit.drawing.decision import Verdict
from winokit.drawing.page import INDEX, flat, write_page
from winokit.drawing.protocols import LIU, RUDINGER, SAKAGUCHI, SAKAGUCHI_FIRST, Citation
from winokit.drawing.wording import percent, plural
from winokit.files import write_whole
from winokit.stages.transfer.run import Transfer
from winokit.stages.transfer.tables import TransferTable, markdown, tables_of
from winokit.stages.transfer.verdict import verdict_of_transfer

TABLES = "tables.md"


@dataclass(frozen=True, slots=True)
class ChosenSetting:
    """One line of the table of choices."""

    arm: str
    test: str
    chosen_on: str
    marks: tuple[tuple[str, bool], ...]
    """What each setting had there, and whether it was taken."""


@dataclass(frozen=True, slots=True)
class TransferPage:
    """Everything the page shows."""

    model: str
    formalization: str
    verdict: Verdict
    arms: tuple[tuple[str, str], ...]
    tables: tuple[TransferTable, ...]
    choices: tuple[ChosenSetting, ...]
    settings: tuple[str, ...]
    run: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    sources: tuple[Citation, ...]


def write_transfer_page(found: Transfer, folder: Path) -> Path:
    """Write the page and, beside its folder, the tables in Markdown; return the page."""
    page = transfer_page(found)
    write_whole(folder.parent / TABLES, markdown(page.tables).encode())
    write_page(folder / INDEX, "stages/transfer/page.html.j2", page=page)
    return folder / INDEX


def transfer_page(found: Transfer) -> TransferPage:
    """Everything the page of a transfer shows."""
    tables = tuple(tables_of(found))
    gender = any("Gender" in table.title for table in tables)
    return TransferPage(
        model=str(found.run["model"]),
        formalization=str(found.run["formalization"]),
        verdict=verdict_of_transfer(found),
        arms=tuple((name, _stages(name, stages)) for name, stages in found.run["arms"].items()),
        tables=tables,
        choices=tuple(_choices(found)),
        settings=tuple(_settings(found)),
        run=tuple(flat({name: value for name, value in found.run.items() if name != "settings"})),
        notes=found.notes,
        warnings=found.warnings,
        sources=(SAKAGUCHI_FIRST, SAKAGUCHI, LIU, *((RUDINGER,) if gender else ())),
    )


def _stages(arm: str, stages: Sequence[str]) -> str:
    """What an arm is trained on, without its own name again."""
    return ", then ".join(f"{stage} problems" for stage in stages).removeprefix(f"{arm}, ")


def _choices(found: Transfer) -> Iterator[ChosenSetting]:
    for cell in found.cells:
        rows = [row for row in cell.rows if row.protocol == "choice"]
        if rows:
            marks = tuple((percent(row.value), at == cell.chosen) for at, row in enumerate(rows, 1))
            yield ChosenSetting(cell.arm, cell.test, str(rows[0].details["chosen_on"]), marks)


def _settings(found: Transfer) -> Iterator[str]:
    """Each setting in words: what may differ between them."""
    for one in found.run["settings"]:
        kept = "last weights" if one["keep"] == "last" else "best weights"
        steps = "" if one["steps"] is None else f", at most {one['steps']:,} steps"
        yield (
            f"learning rate {one['learning_rate']:g}, {plural(one['epochs'], 'epoch')}{steps}, "
            f"{one['batch_size']} a batch, seed {one['seed']}, {kept}"
        )
