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
    """Return the text of the file: the help of every command as JSON."""
    table = {name: _describe_command(command) for name, command in _iterate_commands()}
    return json.dumps(table, indent=1, ensure_ascii=False) + "\n"


def _iterate_commands() -> Iterator[tuple[str, Any]]:
    """Yield the name and the object of each of our commands, groups before their members."""
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


def _describe_command(command: Any) -> dict[str, Any]:
    """Collect the usage, the text, and the short and full options of a command."""
    context = Context(command, info_name=command.name, **{**PLAIN["context_settings"], **command.context_settings})
    return {
        "usage": command.collect_usage_pieces(context),
        "text": command.help,
        "usual": _collect_sections(command, context, everything=False),
        "everything": _collect_sections(command, context, everything=True),
    }


def _collect_sections(command: Any, context: Context, *, everything: bool) -> dict[str, list[tuple[str, str]]]:
    """Collect the sections of a command's help: arguments and options, or a group's options and commands.

    Without `everything`, only the options that are usually needed.
    """
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
