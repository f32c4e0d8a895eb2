"""Writes `src/winokit/cli/help.json`: the help of our verbs, which is shown without importing them.

`make docs` writes it, and a test fails if it is not what this would write.
"""

import json
from collections.abc import Iterator
from typing import Any

from typer._click import Context

from winokit.cli.help import COMMANDS, STORED
from winokit.cli.main import PLAIN, VERBS, FullLines, group_of

METHODS = ("aflite", "pmi", "random")
"""Our methods of debiasing. Those of other packages have help of their own."""


def write_help() -> str:
    """The text of the file."""
    table = {name: _describe(command) for name, command in _commands()}
    return json.dumps(table, indent=1, ensure_ascii=False) + "\n"


def _commands() -> Iterator[tuple[str, Any]]:
    for name, verb in VERBS.items():
        if verb.call and not verb.names:
            yield name, verb.command(name)
            continue
        if verb.install:
            continue
        group = group_of(name, verb)
        yield name, group
        for member in METHODS if verb.names else group.list_commands(Context(group)):
            yield f"{name} {member}", group.get_command(Context(group), member)


def _describe(command: Any) -> dict[str, Any]:
    context = Context(command, info_name=command.name, **{**PLAIN["context_settings"], **command.context_settings})
    return {
        "usage": command.collect_usage_pieces(context),
        "text": command.help,
        "usual": _sections(command, context, everything=False),
        "everything": _sections(command, context, everything=True),
    }


def _sections(command: Any, context: Context, *, everything: bool) -> dict[str, list[tuple[str, str]]]:
    """The sections of a command's help: arguments and options, or a group's options and commands."""
    if hasattr(command, "sections"):
        sections: dict[str, list[tuple[str, str]]] = command.sections(context, everything=everything)
        return sections
    sections = {"Arguments": [], "Options": []}
    for param in command.get_params(context):
        section = "Arguments" if param.param_type_name == "argument" else "Options"
        sections[section] += filter(None, [param.get_help_record(context)])
    if isinstance(command, FullLines):
        sections[COMMANDS] = list(command.summaries(context))
    return sections


if __name__ == "__main__":
    STORED.write_text(write_help(), "utf-8")
