"""`winokit audit`: what is this score worth?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from winokit.cli.common import DATA_HELP, Json, print_json, progress_bar, tell
from winokit.cli.score import MODEL_HELP, CacheFile, Limit, open_cache


def audit(
    data: Annotated[str, typer.Argument(help=DATA_HELP, metavar="DATA")] = "open",
    model: Annotated[
        list[str] | None, typer.Option("--model", help=f"{MODEL_HELP} Repeatable. Default: builtin.", metavar="SPEC")
    ] = None,
    scoring: Annotated[
        list[str] | None, typer.Option("--scoring", help="How to score; repeatable.", metavar="NAME")
    ] = None,
    predictions: Annotated[
        list[Path] | None,
        typer.Option(
            "--predictions",
            help="Predictions instead of a model: winokit's, labels, csv, lm-evaluation-harness or Inspect logs.",
            metavar="FILE",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="The run's folder. Default: runs/DATA.", metavar="RUN")
    ] = None,
    protocol: Annotated[
        list[str] | None,
        typer.Option("--protocol", help="Only this protocol, on a subset if asked (artifacts@non_associative)."),
    ] = None,
    perturbed: Annotated[
        list[str] | None, typer.Option("--perturbed", help="Perturbed versions of DATA; repeatable.", metavar="DATA")
    ] = None,
    labels: Annotated[
        list[Path] | None, typer.Option("--labels", help="Trichelair et al.'s labels to join; repeatable.")
    ] = None,
    as_: Annotated[str | None, typer.Option("--as", help="Another view: binary, choice, judgements.")] = None,
    shots: Annotated[int, typer.Option(help="Solved problems to put before each, never its twin.", min=0)] = 0,
    seed: Annotated[int, typer.Option(help="Seed of the shots.", min=0)] = 0,
    limit: Limit = None,
    cache: CacheFile = None,
    json: Json = False,
) -> None:
    """Audit a score with every protocol the data allows, and leave a report to open.

    With no arguments: the built-in model on the bundled twins.
    """
    from winokit.data.loading import load
    from winokit.data.runs import check_folder
    from winokit.results import rows_to_json
    from winokit.stages.audit.protocols import PROTOCOLS
    from winokit.stages.audit.run import AuditSettings
    from winokit.stages.audit.run import audit as run_audit

    dataset = load(data, as_=as_, labels=labels or ())
    tell(dataset.notes)
    settings = AuditSettings(
        protocols=protocol or tuple(PROTOCOLS), shots=shots, seed=seed, perturbed=tuple(perturbed or ())
    )
    folder = out or Path("runs") / dataset.card.file_name
    check_folder(folder)
    with open_cache(cache) as kept, progress_bar("auditing") as progress:
        run = run_audit(
            dataset,
            model,
            scoring=scoring,
            predictions=predictions or (),
            settings=settings,
            limit=limit,
            cache=kept,
            progress=progress,
        )
    tell(note for note in run.settings["notes"] if note not in dataset.notes)
    tell(f"{one.subset}: {one.n:,} rows not used: {one.why}" for one in run.left_out if one.protocol == "predictions")
    run.save(folder)
    from winokit.stages.audit.page import write_report
    from winokit.stages.audit.table import summary_table

    page = write_report(run, folder / "report")
    if json:
        print_json({"run": run.settings, "metrics": rows_to_json(run.metrics), "report": str(page)})
        return
    from winokit.cli.common import console

    console().print(summary_table(run))
    typer.echo(f"report: {page}")
