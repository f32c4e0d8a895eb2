"""Show the stored help of winokit's verbs without importing a verb.

`make docs` writes the help of all verbs to a file, so that showing it imports neither NumPy nor SciPy. A test fails if
the file differs from the verbs.
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
"""Title of the section of a group's help that lists its commands."""
ASKING = ("-h", "--help", HELP_ALL)
"""Options that ask for help."""

Rows = Sequence[Sequence[str]]
"""Lines of a section of help: pairs of a name and its description."""


@dataclass(frozen=True)
class CommandHelp:
    """Contents of the help of a command."""

    usage: Sequence[str]
    """Words after the name of the command in the usage line."""
    text: str
    """Description of the command."""
    usual: Mapping[str, Rows]
    """Sections that `--help` shows, by title."""
    everything: Mapping[str, Rows]
    """Sections that `--help-all` shows, by title."""


@cache
def stored_help() -> Mapping[str, CommandHelp]:
    """Read the stored help of winokit's commands, by name: "audit", "debias aflite"."""
    table: Mapping[str, Mapping[str, Any]] = json.loads(STORED.read_text("utf-8"))
    return {name: CommandHelp(**facts) for name, facts in table.items()}


def is_asked_for(words: Sequence[str]) -> bool:
    """Whether words after a command ask for help.

    Words after `--` do not count.
    """
    options = words[: words.index("--")] if "--" in words else words
    return any(word in ASKING for word in options)


def find_stored(words: Sequence[str]) -> tuple[str, CommandHelp] | None:
    """Find the command whose stored help is asked for.

    The help is returned with its name. None if they do not ask for help, or if there is no stored help for the command.

    >>> found = find_stored(["debias", "aflite", "--help"]), find_stored(["debias", "--help"])
    >>> [name for name, _ in found]
    ['debias aflite', 'debias']
    >>> find_stored(["debias", "nothing", "--help"])
    """
    for word_count in (2, 1):
        name = " ".join(words[:word_count])
        other_words = words[word_count:]
        stored = stored_help().get(name)
        if stored is None or not is_asked_for(other_words):
            continue
        is_group = COMMANDS in stored.usual
        if not is_group or other_words[0] in ASKING:
            return name, stored
    return None


def write_sections(sections: Mapping[str, Rows], formatter: "HelpFormatter") -> None:
    """Write sections of help, except those without rows."""
    for title, rows in sections.items():
        if rows:
            with formatter.section(title):
                formatter.write_dl([(name, text) for name, text in rows])


class HelpCommand(TyperCommand):
    """A command that shows its stored help and does nothing else."""

    def __init__(self, name: str, stored: CommandHelp) -> None:
        super().__init__(name=name, help=stored.text, callback=lambda: None, rich_markup_mode=None)
        self.stored = stored
        self.sections = stored.usual

    def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:
        """Print the help and exit.

        Every section is printed with `--help-all`, else the usual ones.
        """
        if HELP_ALL in args:
            self.sections = self.stored.everything
        typer.echo(ctx.get_help())
        ctx.exit()

    def collect_usage_pieces(self, ctx: "Context") -> list[str]:
        """Return the words of the usage line after the command's name."""
        return list(self.stored.usage)

    def format_options(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """Write arguments, options and settings."""
        write_sections(self.sections, formatter)
