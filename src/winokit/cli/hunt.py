"""`winokit hunt`: two calls of the library under one verb."""

from dataclasses import asdict

import typer

from winokit.cli.options import command
from winokit.stages import hunt

app = typer.Typer(help="Hunt for knowledge in a corpus of text.", no_args_is_help=True, rich_markup_mode=None)
app.command("index")(command(hunt.index, hunt.index_lines, asdict, doing="indexing"))
app.command("ask")(command(hunt.hunt, hunt.hunt_lines, hunt.hunt_json, doing="hunting"))
