"""`winokit search`: many fine-tuning runs over a space of settings, and what the best of them is worth."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from winokit.cli.common import DATA_HELP, As, Json, Lenient, print_json, progress_bar, tell
from winokit.cli.training_options import FORMALIZATION_HELP, DropOverlap, Variant
from winokit.errors import MissingExtra
from winokit.results import Metric, rows_to_json

if TYPE_CHECKING:
    from rich.table import Table

    from winokit.stages.search.findings import SearchFinding, SearchFindings

PARTS = 100
NEEDED = ("torch", "transformers", "optuna")


def search(
    data: Annotated[str, typer.Argument(help=DATA_HELP, metavar="DATA", show_default=False)],
    model: Annotated[
        str, typer.Option("--model", help="builtin, or hf:NAME_OR_DIR: any encoder.", metavar="SPEC")
    ] = "builtin",
    formalization: Annotated[
        list[str] | None,
        typer.Option("--formalization", help=f"{FORMALIZATION_HELP} Repeatable. Default: all six.", metavar="NAME"),
    ] = None,
    dev: Annotated[str | None, typer.Option(help="Choose on this.", metavar="DATA")] = None,
    holdout: Annotated[
        int | None, typer.Option(help="Hold N problems of DATA out as the dev set, twins together.", metavar="N", min=1)
    ] = None,
    test: Annotated[
        list[str] | None,
        typer.Option("--test", help="Test the chosen trial and the ensemble on this; repeatable.", metavar="DATA"),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="The folder to write. Default: searched/DATA.")] = None,
    trials: Annotated[
        int | None, typer.Option(help="Trials of each formalization. Default: 60; of a grid, all.", min=1, metavar="N")
    ] = None,
    sampler: Annotated[str, typer.Option(help="random, or grid: each combination once, in random order.")] = "random",
    learning_rate: Annotated[
        str | None, typer.Option(help="1e-5,2e-5 or 1e-6..1e-4. Default: 1e-5,2e-5,3e-5.", metavar="VALUES")
    ] = None,
    batch_size: Annotated[str | None, typer.Option(help="Default: 8,16,32,64.", metavar="VALUES")] = None,
    epochs: Annotated[str | None, typer.Option(help="Default: 10,20,40.", metavar="VALUES")] = None,
    warmup: Annotated[
        str | None, typer.Option(help="Shares of the steps over which the rate rises. Default: 0.06.", metavar="VALUES")
    ] = None,
    weight_decay: Annotated[str | None, typer.Option(help="Default: 0.001.", metavar="VALUES")] = None,
    steps: Annotated[int | None, typer.Option(help="At most so many steps in any trial.", min=1)] = None,
    accumulate: Annotated[int, typer.Option(help="Batches to a step.", min=1)] = 1,
    evaluate_every: Annotated[
        int | None, typer.Option(help="Steps between evaluations. Default: once an epoch.", min=1)
    ] = None,
    patience: Annotated[int, typer.Option(help="Stop a run after so many evaluations without a better one.")] = 20,
    precision: Annotated[str, typer.Option(help="auto (bfloat16 on a GPU), float32 or bfloat16.")] = "auto",
    seed: Annotated[int, typer.Option(help="Decides the settings and the seed of every trial, and the holdout.")] = 0,
    workers: Annotated[int, typer.Option(help="Trials at a time, each in a process of its own.", min=1)] = 1,
    devices: Annotated[
        str | None, typer.Option(help="cuda:0,cuda:1: given to workers in turn. Default: the best there is.")
    ] = None,
    threads: Annotated[
        int | None, typer.Option(help="CPU threads of each worker. Default: an equal share of the cores.", min=1)
    ] = None,
    engine: Annotated[str, typer.Option(help="local, or ray for a cluster.")] = "local",
    address: Annotated[str | None, typer.Option(help="The Ray cluster's address. Default: this machine.")] = None,
    variant: Variant = None,
    arm: Annotated[
        str | None, typer.Option(help="original->variant or variant->variant: trained on, tested on.")
    ] = None,
    human: Annotated[
        float | None, typer.Option(help="Per cent that people get right, where the dataset does not say.")
    ] = None,
    drop_overlap: DropOverlap = False,
    limit: Annotated[int | None, typer.Option(help="Train on the first N problems only.", min=1, metavar="N")] = None,
    as_: As = None,
    lenient: Lenient = False,
    json: Json = False,
) -> None:
    """Fine-tune a model many times under each formalization; say how the scores lie and what the best is worth.

    The same command goes on where it was interrupted; with a higher --trials it adds to what is done.
    """
    if not all(find_spec(name) for name in NEEDED):
        raise MissingExtra("winokit search", "train")
    from dataclasses import replace

    from winokit.methods.training.arms import VariantArm
    from winokit.methods.training.settings import TrainSettings
    from winokit.stages.search.page import write_search_page
    from winokit.stages.search.run import search as search_settings
    from winokit.stages.search.space import SearchSpace
    from winokit.stages.train.run import load_sets

    space = SearchSpace.of(
        sampler,
        learning_rate=learning_rate,
        batch_size=batch_size,
        epochs=epochs,
        warmup=warmup,
        weight_decay=weight_decay,
    )
    settings = TrainSettings(
        steps=steps,
        accumulate=accumulate,
        seed=seed,
        evaluate_every=evaluate_every,
        patience=patience,
        precision=precision,  # type: ignore[arg-type]
    )
    loaded = load_sets(data, dev, holdout, test or [], seed, limit=limit, as_=as_, lenient=lenient)
    checked = replace(loaded, arm=VariantArm.of(variant, arm)).checked(drop_overlap=drop_overlap)
    folder = out or Path("searched") / loaded.train.card.file_name
    with progress_bar("trials") as progress:
        findings = search_settings(
            checked,
            folder,
            model,
            space,
            formalization or (),
            trials,
            settings=settings,
            seed=seed,
            workers=workers,
            devices=tuple(devices.split(",")) if devices else (),
            threads=threads,
            engine=engine,
            address=address,
            human=human,
            progress=_in_parts(progress),
        )
    page = write_search_page(findings, folder / "report")
    tell([*checked.notes, *findings.notes])
    if json:
        said = {"out": str(folder), "report": str(page), "run": findings.run}
        print_json({**said, "metrics": rows_to_json(findings.metrics), "notes": findings.notes})
        return
    from winokit.cli.common import console

    console().print(table(findings))
    for line in sentences(findings):
        typer.echo(line)
    typer.echo(f"{folder / 'trials.csv'}, results.json, study.db; page: {page}")


def _in_parts(bar: Callable[[int, int], None] | None) -> Callable[[float, int], None] | None:
    """A bar that counts whole things, told of trials that are done in part."""
    return None if bar is None else lambda done, total: bar(round(PARTS * done), PARTS * total)


def table(findings: SearchFindings) -> Table:
    """A line a formalization: how trials lie, the best of them with its correction, and test sets."""
    from rich.table import Table

    made = Table(box=None, pad_edge=False, header_style="bold")
    made.add_column("formalization", no_wrap=True)
    headings = ["trials", "degenerate", "median", "quartiles", "best", "std", "kurtosis", "corrected"]
    for test in findings.answered.values():
        headings += [f"chosen on {test.card.name}", f"five on {test.card.name}"]
    for heading in headings:
        made.add_column(heading, justify="right")
    for one in findings.found:
        made.add_row(one.formalization, *_cells(one, findings))
    return made


def _cells(one: SearchFinding, findings: SearchFindings) -> list[str]:
    spread, luck = one.spread, one.luck
    if spread is None or luck is None:
        return ["0", str(one.degenerate)]
    cells = [
        str(spread.n),
        str(one.degenerate),
        _percent(spread.median),
        f"{100 * spread.lower_quartile:.1f} to {100 * spread.upper_quartile:.1f}",
        _percent(spread.best),
        "" if spread.std is None else f"{100 * spread.std:.1f}",
        "" if spread.excess_kurtosis is None else f"{spread.excess_kurtosis:.1f}",
        "" if luck.corrected is None else _percent(luck.corrected),
    ]
    return cells + [_of_row(one.score(which, name)) for name in findings.answered for which in ("chosen", "ensemble")]


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def _of_row(row: Metric | None) -> str:
    if row is None or row.low is None or row.high is None:
        return "" if row is None else _percent(row.value)
    return rf"{_percent(row.value)} \[{100 * row.low:.1f}, {100 * row.high:.1f}]"


def sentences(findings: SearchFindings) -> list[str]:
    """What the table's numbers are to be held against."""
    luck = findings.overall
    lines = f"guessing {_percent(findings.chance)}, commonest answer {_percent(findings.majority)}"
    people = "" if findings.human is None else f", people {_percent(findings.human)}"
    return [
        f"{findings.dev.card.name}: {lines}{people}",
        f"best of {luck.trials:,} trials {_percent(luck.best)}; of as many guessers {_percent(luck.guessing)} "
        f"(p {'< 0.001' if luck.p_guessing < 0.001 else f'= {luck.p_guessing:.3f}'})"
        + ("" if luck.corrected is None else f"; on problems it was not chosen on {_percent(luck.corrected)} expected"),
    ]
