"""The `winokit` command: verbs put together, errors as one line, exit codes.

0 done; 1 `check` or `verify` found something; 2 bad input or usage; 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

import winokit
from winokit.cli import (
    audit,
    check,
    collect,
    compare,
    convert,
    curve,
    datasets,
    debias,
    embed,
    grade,
    hunt,
    release,
    report,
    score,
    search,
    stats,
    train,
    transfer,
    verify,
)
from winokit.errors import WinokitError

app = typer.Typer(
    name="winokit",
    help="Build, check, debias, score and audit Winograd-style benchmarks.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(audit.audit)
app.command()(compare.compare)
app.command()(report.report)
app.command()(stats.stats)
app.command()(check.check)
app.command()(convert.convert)
app.command()(datasets.datasets)
app.command()(score.score)
app.command()(embed.embed)
app.command()(train.train)
app.command()(search.search)
app.command()(curve.curve)
app.command()(transfer.transfer)
app.command()(release.release)
app.command()(verify.verify)
app.command()(grade.grade)
app.add_typer(debias.app, name="debias")
app.add_typer(hunt.app, name="hunt")
app.add_typer(collect.app, name="collect")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"winokit {winokit.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and stop.")
    ] = False,
) -> None:
    """Build, check, debias, score and audit Winograd-style benchmarks."""


def main() -> None:
    """Run the command line; everything the library refuses becomes one line and exit code 2."""
    try:
        app()
    except WinokitError as error:
        typer.echo(f"winokit: {' '.join(str(error).split())}", err=True)
        sys.exit(2)
    except KeyboardInterrupt:
        typer.echo("winokit: interrupted", err=True)
        sys.exit(130)
    except BrokenPipeError:  # the reader of our output has gone, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
