"""Writes `src/winokit/cli/help.json`: the help of our verbs, which is shown without importing them.

`make docs` writes it, and a test fails if it is not what this would write.
"""

import json
from collections.abc import Iterator
from typing import Any

from typer._click import Context

from winokit.cli.help import STORED
from winokit.cli.main import VERBS

METHODS = ("aflite", "pmi", "random")
"""Our methods of debiasing. Those of other packages have help of their own."""


def write_help() -> str:
    """The text of the file."""
    table = {name: _describe(command) for name, command in _commands()}
    return json.dumps(table, indent=1, ensure_ascii=False) + "\n"


def _commands() -> Iterator[tuple[str, Any]]:
    for name, verb in VERBS.items():
        if verb.names:
            for method in METHODS:
                yield f"{name} {method}", verb.command(method, method)
        elif verb.call:
            yield name, verb.command(name)


def _describe(command: Any) -> dict[str, Any]:
    context = Context(command, info_name=command.name, **command.context_settings)
    return {
        "usage": command.collect_usage_pieces(context),
        "text": command.help,
        "usual": command.sections(context, everything=False),
        "everything": command.sections(context, everything=True),
    }


if __name__ == "__main__":
    STORED.write_text(write_help(), "utf-8")
