"""Show the stored help of our verbs without importing a verb.

`make docs` writes it to a file, so that showing it imports neither NumPy nor SciPy.

The file is derived from the verbs. A test fails if it says anything else than they do.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand

if TYPE_CHECKING:
    from typer._click import Context, HelpFormatter

STORED = Path(__file__).with_name("help.json")
HELP_ALL = "--help-all"
COMMANDS = "Commands"
"""The section of a group's help that lists its commands."""
ASKING = ("-h", "--help", HELP_ALL)

Rows = Sequence[Sequence[str]]
"""Names and what they are for."""


@dataclass(frozen=True)
class CommandHelp:
    """Contents of the help of a command."""

    usage: Sequence[str]
    text: str
    usual: Mapping[str, Rows]
    """The sections that `--help` shows."""
    everything: Mapping[str, Rows]
    """The sections that `--help-all` shows."""


@cache
def stored_help() -> Mapping[str, CommandHelp]:
    """The help of each of our commands by its name: "audit", "debias aflite"."""
    table: Mapping[str, Mapping[str, Any]] = json.loads(STORED.read_text("utf-8"))
    return {name: CommandHelp(**facts) for name, facts in table.items()}


def is_asked_for(words: Sequence[str]) -> bool:
    """Whether the words after a command ask for help."""
    options = words[: words.index("--")] if "--" in words else words
    return any(word in ASKING for word in options)


def find_stored(words: Sequence[str]) -> tuple[str, CommandHelp] | None:
    """Find the command whose stored help is asked for, and that help.

    None if what is typed asks for no help, or for that of another command.

    >>> found = find_stored(["debias", "aflite", "--help"]), find_stored(["debias", "--help"])
    >>> [name for name, _ in found]
    ['debias aflite', 'debias']
    >>> find_stored(["debias", "nothing", "--help"])
    """
    for count in (2, 1):
        name = " ".join(words[:count])
        others = words[count:]
        stored = stored_help().get(name)
        if stored is None or not is_asked_for(others):
            continue
        is_group = COMMANDS in stored.usual
        if not is_group or others[0] in ASKING:
            return name, stored
    return None


def write_sections(sections: Mapping[str, Rows], formatter: "HelpFormatter") -> None:
    """Write the sections that have rows."""
    for title, rows in sections.items():
        if rows:
            with formatter.section(title):
                formatter.write_dl([(name, text) for name, text in rows])


class HelpCommand(TyperCommand):
    """A command that only shows its stored help."""

    def __init__(self, name: str, stored: CommandHelp) -> None:
        super().__init__(name=name, help=stored.text, callback=lambda: None, rich_markup_mode=None)
        self.stored = stored
        self.sections = stored.usual

    def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:
        """Show the help and exit."""
        if HELP_ALL in args:
            self.sections = self.stored.everything
        typer.echo(ctx.get_help())
        ctx.exit()

    def collect_usage_pieces(self, ctx: "Context") -> list[str]:
        """Words after the name of the command in the first line."""
        return list(self.stored.usage)

    def format_options(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """Write arguments, options and settings."""
        write_sections(self.sections, formatter)
