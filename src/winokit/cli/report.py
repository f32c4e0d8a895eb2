"""`winokit report`: write a run's report anew."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    run: Annotated[Path, typer.Argument(help="The folder of a run.", metavar="RUN", show_default=False)],
) -> None:
    """Write the report of an audit or a training run anew."""
    from winokit.stages.train.page import is_training, write_train_page

    if is_training(run):
        typer.echo(f"report: {write_train_page(run)}")
        return
    from winokit.data.runs import Run
    from winokit.stages.audit.page import write_report

    typer.echo(f"report: {write_report(Run.load(run), run / 'report')}")
