"""`winokit report`: the page of a run, written anew from its folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from winokit.data.runs import Run
from winokit.settings import Help, verb
from winokit.stages.audit.page import write_report
from winokit.stages.train.page import is_training, write_train_page


@verb
def report(run: Annotated[str | Path, Help("The folder of a run.", metavar="RUN", typed=Path)]) -> Path:
    """Write the report of an audit or a training run anew."""
    folder = Path(run)
    return write_train_page(folder) if is_training(folder) else write_report(Run.load(folder), folder / "report")


def lines(page: Path) -> Iterator[str]:
    """Where the report lies."""
    yield f"report: {page}"


def as_json(page: Path) -> dict[str, str]:
    """Where the report lies."""
    return {"report": str(page)}
