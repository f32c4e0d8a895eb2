"""`winokit compare`: paired tests with multiplicity, one table, one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from winokit.cli.common import Json, console, print_json


def compare(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs.", metavar="RUN", show_default=False)],
    out: Annotated[Path, typer.Option("--out", help="The folder of the page.")] = Path("comparison"),
    json: Json = False,
) -> None:
    """Compare runs: paired tests, corrected for their number, and a page.

    Runs are compared on the problems they share; one run with several models is compared within itself.
    """
    from dataclasses import asdict

    from winokit.data.runs import Run
    from winokit.stages.compare.page import paired, write_comparison
    from winokit.stages.compare.run import compare_runs

    loaded = {path.name if len({p.name for p in runs}) == len(runs) else str(path): Run.load(path) for path in runs}
    comparisons = compare_runs(loaded)
    page = write_comparison(loaded, comparisons, out)
    pairs = paired(comparisons)
    if json:
        print_json([asdict(pair) for pair in pairs])
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in ("first", "second", "measure", "difference", "95 % interval", "p (Holm)", "n", "to tell apart"):
        table.add_column(name, justify="left" if name in ("first", "second", "measure") else "right", overflow="fold")
    for pair in pairs:
        found = pair.found
        interval = f"{found.interval.low:+.3f} to {found.interval.high:+.3f}"
        needed = "–" if found.n_to_tell_apart is None else f"{found.n_to_tell_apart:,}"
        numbers = (f"{found.difference:+.3f}", interval, f"{pair.p_corrected:.4f}", f"{found.n:,}", needed)
        table.add_row(pair.first, pair.second, pair.measure, *numbers)
    console().print(table)
    typer.echo(f"page: {page}")
