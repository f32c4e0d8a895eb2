"""`winokit collect`: a study in which people write and judge problems."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from typing import Any

import typer

from winokit.cli.options import command
from winokit.collect import verbs

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Collect twins and judgements from people.")


def sure(given: Mapping[str, Any]) -> dict[str, tuple[str, type]]:
    """What is asked before a worker is taken out."""
    question = f"Delete the sentences and judgements of {given['worker']}? They cannot be put back."
    return {} if given["yes"] else {"yes": (question, bool)}


LINES, RECORD = attrgetter("lines"), attrgetter("record")
app.command()(command(verbs.init, LINES, RECORD, doing="making"))
app.command()(command(verbs.serve, lambda nothing: (), None, doing="serving"))
app.command()(command(verbs.invite, LINES, RECORD, doing="inviting"))
app.command()(command(verbs.status, LINES, RECORD, doing="counting"))
app.command()(command(verbs.export, LINES, RECORD, doing="exporting"))
app.command()(command(verbs.withdraw, LINES, RECORD, doing="taking out", questions=sure))
