"""Commands of `winokit hunt`: the index of text in which the model `hunter:INDEX` searches for evidence."""

from dataclasses import asdict

import typer

from winokit.cli.options import command
from winokit.stages import hunt

app = typer.Typer(
    help="Index a corpus of text for the model hunter:INDEX.", no_args_is_help=True, rich_markup_mode=None
)
app.command("index")(command(hunt.index, hunt.index_lines, asdict, doing="indexing"))
