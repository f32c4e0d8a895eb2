"""The `winokit` command: verbs that load when they are typed, errors as one line, exit codes.

0 done; 1 `check` or `verify` found something; 2 bad input or usage; 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

import winokit
from winokit.errors import WinokitError

if TYPE_CHECKING:
    from typer._click import Command, Context, HelpFormatter


PLAIN: dict[str, Any] = {
    "add_completion": False,
    "rich_markup_mode": None,
    "pretty_exceptions_enable": False,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}
"""How every command looks: plain text, our own errors."""


@dataclass(frozen=True)
class Verb:
    """A call of the library (`module:function`), the module that shows its result, and what the bar says meanwhile.

    The showing module has `lines(result)`, what a person reads, `as_json(result)`, `code(result)` where the exit
    code is not always 0, and `questions(given)` where a person is asked for what is missing.
    """

    call: str
    shown: str
    doing: str
    names: str = ""
    """The registry (`module:name`) for each of whose names there is a command; `call` then gives the call of a name."""

    def command(self, *name: str) -> typer.Typer:
        """The verb with its options, derived from the call's parameters; or its command of a name."""
        from winokit.cli.options import command

        shown = import_module(self.shown)
        app = typer.Typer(**PLAIN)
        derived = command(
            _found(self.call)(*name) if name else _found(self.call),
            shown.lines,
            shown.as_json,
            doing=self.doing,
            code=getattr(shown, "code", lambda result: 0),
            questions=getattr(shown, "questions", lambda given: {}),
        )
        app.command()(derived)
        return app


VERBS: dict[str, tuple[Verb | str, str]] = {
    "audit": (
        Verb("winokit.stages.audit.run:audit", "winokit.stages.audit.table", "auditing"),
        "Audit a score with every protocol the data allows, and leave a report to open.",
    ),
    "compare": (
        Verb("winokit.stages.compare.run:compare", "winokit.stages.compare.table", "comparing"),
        "Compare runs: paired tests, corrected for their number, and a page.",
    ),
    "report": (
        Verb("winokit.stages.report:report", "winokit.stages.report", "writing"),
        "Write the report of an audit or a training run anew.",
    ),
    "stats": (
        Verb("winokit.stages.stats:stats", "winokit.stages.stats", "counting"),
        "Count problems, groups, words and vocabulary.",
    ),
    "check": (
        Verb("winokit.stages.check:check", "winokit.stages.check", "checking"),
        "Find leaks, broken twins, duplicates and broken rules.",
    ),
    "convert": (
        Verb("winokit.stages.convert:convert", "winokit.stages.convert", "converting"),
        "Write a dataset in another format.",
    ),
    "datasets": (
        Verb("winokit.stages.datasets:datasets", "winokit.stages.datasets", "looking"),
        "List known datasets, their licences and where to get them.",
    ),
    "score": (
        Verb("winokit.stages.score:score", "winokit.stages.score", "scoring"),
        "Score every problem with a model and write predictions.jsonl.",
    ),
    "embed": (
        Verb("winokit.stages.embed:embed", "winokit.stages.embed", "embedding"),
        "Embed every problem and write one row each to a .npy file.",
    ),
    "train": (
        Verb("winokit.stages.train.run:train", "winokit.stages.train.run", "training"),
        "Fine-tune a model, choose weights on a dev set, test it, and leave a folder that loads as hf:DIR.",
    ),
    "search": (
        Verb("winokit.stages.search.run:search", "winokit.stages.search.table", "trials"),
        "Fine-tune a model many times under each formalization; say how the scores lie and what the best is worth.",
    ),
    "curve": (
        Verb("winokit.stages.curve.run:curve", "winokit.stages.curve.table", "learning curve"),
        "Train on more and more, several times over, and fit the line: single and group accuracy with intervals.",
    ),
    "transfer": (
        Verb("winokit.stages.transfer.run:transfer", "winokit.stages.transfer.table", "transfer"),
        "Train arms, choose settings for each test set on another set, and test: WinoGrande's Tables 5 and 6.",
    ),
    "release": (
        Verb("winokit.stages.evolve.run:release", "winokit.stages.release.table", "making the release"),
        "Make a benchmark of filtered twins that others can use.",
    ),
    "verify": (
        Verb("winokit.stages.release.verify:verify", "winokit.stages.release.verify", "verifying"),
        "Verify a release: its files by their hashes, and what must hold of any release.",
    ),
    "grade": (
        Verb("winokit.stages.grade.run:grade", "winokit.stages.grade.table", "grading"),
        "Grade predictions against the hidden test of a release, or make its leaderboard.",
    ),
    "debias": (
        Verb(
            "winokit.stages.debias.run:debias_by",
            "winokit.stages.debias.table",
            "debiasing",
            names="winokit.methods.aflite.methods:METHODS",
        ),
        "Filter a dataset: AFLite, or its baselines, and a page on what that changed.",
    ),
    "hunt": ("winokit.cli.hunt:app", "Hunt for knowledge in a corpus of text."),
    "collect": ("winokit.cli.collect:app", "Collect twins and judgements from people."),
}
"""Each verb, or the place of a command with options of its own, and what it does: listing them imports nothing."""


class Verbs(TyperGroup):
    """The verbs of the table, each imported when it is asked for."""

    def list_commands(self, ctx: Context) -> list[str]:
        """Every verb, in the order of a benchmark's life."""
        return list(VERBS)

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:
        """The verb of a name."""
        if cmd_name not in VERBS:
            return None
        home, about = VERBS[cmd_name]
        if isinstance(home, Verb) and home.names:
            return MethodCommands(home, cmd_name, about)
        made: Any = home.command() if isinstance(home, Verb) else _written(home)
        found = typer.main.get_command(made)
        found.name = cmd_name
        return found

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
        """List the verbs without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in VERBS.items()])


class MethodCommands(TyperGroup):
    """A verb with a command for each name of a registry, those of other packages too."""

    def __init__(self, verb: Verb, name: str, about: str) -> None:
        style = {name: PLAIN[name] for name in ("rich_markup_mode", "context_settings")}
        super().__init__(name=name, help=about, no_args_is_help=True, **style)
        self.verb, self.known = verb, _found(verb.names)

    def list_commands(self, ctx: Context) -> list[str]:
        """Every name, in the registry's order."""
        return list(self.known)

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:
        """The command of a name."""
        if cmd_name not in self.known:
            return None
        found = typer.main.get_command(self.verb.command(cmd_name))
        found.name = cmd_name
        return found


def _found(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def _written(home: str) -> typer.Typer:
    """A command with options of its own."""
    written: Any = _found(home)
    app = typer.Typer(**PLAIN)
    if isinstance(written, typer.Typer):
        app.add_typer(written)  # its commands become ours, in our style
        app.info.help, app.info.no_args_is_help = written.info.help, True
    else:
        app.command()(written)
    return app


app = typer.Typer(name="winokit", cls=Verbs, no_args_is_help=True, **PLAIN)


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
