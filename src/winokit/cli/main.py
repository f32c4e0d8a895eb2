"""The `winokit` command: verbs that load when they are typed, errors as one line, exit codes.

0 done; 1 `check`, `verify` or `gate` found something, or a cell of a `suite` failed; 2 bad input or usage;
130 interrupted.
"""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

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
    """A call of the library (`module:function` below `winokit.stages`), what the bar says meanwhile, and what it does.

    The module `shown`, by default the call's own, or the `table` beside a `run`, has `lines(result)`, what a person
    reads, `as_json(result)`, `code(result)` where the exit code is not always 0, `questions(given)` where a person is
    asked for what is missing, and `live(doing)` where there is more to watch than a bar.
    """

    call: str
    doing: str
    about: str
    shown: str = ""
    names: str = ""
    """The registry (`module:name`) for each of whose names there is a command; `call` then gives the call of a name."""

    def command(self, name: str, *of: str) -> Command:
        """The verb under its name with its options, derived from the call's parameters; or its command of a name."""
        from winokit.cli.options import command, greedy_options, progress_bar, spread

        home, call = self.call.partition(":")[0], _found(f"winokit.stages.{self.call}")
        shown = import_module(f"winokit.stages.{self.shown or re.sub('run$', 'table', home)}")
        app = typer.Typer(**PLAIN)
        derived = command(
            call(*of) if of else call,
            shown.lines,
            shown.as_json,
            doing=self.doing,
            code=getattr(shown, "code", lambda result: 0),
            questions=getattr(shown, "questions", lambda given: {}),
            bar=getattr(shown, "live", progress_bar),
        )
        greedy = [] if of else greedy_options(call)

        class Spreading(TyperCommand):
            def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
                return super().parse_args(ctx, spread(args, greedy))

        app.command(name, cls=Spreading)(derived)
        return typer.main.get_command(app)


VERBS: dict[str, Verb] = {
    "audit": Verb(
        "audit.run:audit", "auditing", "Audit a score with every protocol the data allows, and leave a report to open."
    ),
    "compare": Verb(
        "compare.run:compare", "comparing", "Compare runs: paired tests, corrected for their number, and a page."
    ),
    "gate": Verb(
        "gate:gate",
        "comparing",
        "Fail where a new model has lost more than is allowed: a paired test over groups for each metric.",
    ),
    "suite": Verb(
        "suite.run:suite",
        "suite",
        "Run models x datasets x scorings x shots, and leave one page: which can be told apart.",
    ),
    "report": Verb("report:report", "writing", "Write the report of an audit or a training run anew."),
    "stats": Verb("stats:stats", "counting", "Count problems, groups, words and vocabulary."),
    "check": Verb("check:check", "checking", "Find leaks, broken twins, duplicates and broken rules."),
    "convert": Verb("convert:convert", "converting", "Write a dataset in another format."),
    "tasks": Verb(
        "tasks.run:tasks",
        "writing tasks",
        "Write every variant of an audit as tasks of lm-evaluation-harness or Inspect.",
        shown="tasks.run",
    ),
    "variants": Verb(
        "variants:variants", "writing variants", "Write the variants of an audit as files, ours or as papers have them."
    ),
    "datasets": Verb("datasets:datasets", "looking", "List known datasets, their licences and where to get them."),
    "score": Verb("score:score", "scoring", "Score every problem with a model and write predictions.jsonl."),
    "embed": Verb("embed:embed", "embedding", "Embed every problem and write one row each to a .npy file."),
    "train": Verb(
        "train.run:train",
        "training",
        "Fine-tune a model, choose weights on a dev set, test it, and leave a folder that loads as hf:DIR.",
        shown="train.run",
    ),
    "search": Verb(
        "search.run:search",
        "trials",
        "Fine-tune a model many times under each formalization; say how the scores lie and what the best is worth.",
    ),
    "curve": Verb(
        "curve.run:curve",
        "learning curve",
        "Train on more and more, several times over, and fit the line: single and group accuracy with intervals.",
    ),
    "transfer": Verb(
        "transfer.run:transfer",
        "transfer",
        "Train arms, choose settings for each test set on another set, and test: WinoGrande's Tables 5 and 6.",
    ),
    "release": Verb(
        "evolve.run:release",
        "making the release",
        "Make a benchmark of filtered twins that others can use.",
        shown="release.run",
    ),
    "verify": Verb(
        "release.verify:verify",
        "verifying",
        "Verify a release: its files by their hashes, and what must hold of any release.",
    ),
    "grade": Verb(
        "grade.run:grade",
        "grading",
        "Grade predictions against the hidden test of a release, or make its leaderboard.",
        shown="grade.run",
    ),
    "debias": Verb(
        "debias.run:debias_by",
        "debiasing",
        "Filter a dataset: AFLite, or its baselines, and a page on what that changed.",
        names="winokit.methods.aflite.methods:METHODS",
    ),
}
"""Each verb and what it does: listing them imports nothing."""
FAMILIES = {
    "hunt": ("winokit.cli.hunt:app", "Hunt for knowledge in a corpus of text."),
    "collect": ("winokit.cli.collect:app", "Collect twins and judgements from people."),
}
"""Verbs that are several calls: the place of their commands, and what they do."""


class Verbs(TyperGroup):
    """The verbs of the tables, each imported when it is asked for."""

    def list_commands(self, ctx: Context) -> list[str]:
        """Every verb, in the order of a benchmark's life."""
        return [*VERBS, *FAMILIES]

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:
        """The verb of a name."""
        if cmd_name in FAMILIES:
            app = typer.Typer(**PLAIN, no_args_is_help=True, help=FAMILIES[cmd_name][1], name=cmd_name)
            app.add_typer(_found(FAMILIES[cmd_name][0]))  # its commands become ours, in our style
            return typer.main.get_command(app)
        verb = VERBS.get(cmd_name)
        if verb is None:
            return None
        return MethodCommands(verb, cmd_name) if verb.names else verb.command(cmd_name)

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
        """List the verbs without importing them."""
        with formatter.section("Commands"):
            verbs, families = VERBS.items(), FAMILIES.items()
            formatter.write_dl(
                [(name, verb.about) for name, verb in verbs] + [(name, text) for name, (_, text) in families]
            )


class MethodCommands(TyperGroup):
    """A verb with a command for each name of a registry, those of other packages too."""

    def __init__(self, verb: Verb, name: str) -> None:
        style = {name: PLAIN[name] for name in ("rich_markup_mode", "context_settings")}
        super().__init__(name=name, help=verb.about, no_args_is_help=True, **style)
        self.verb, self.known = verb, _found(verb.names)

    def list_commands(self, ctx: Context) -> list[str]:
        """Every name, in the registry's order."""
        return list(self.known)

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:
        """The command of a name."""
        return self.verb.command(cmd_name, cmd_name) if cmd_name in self.known else None


def _found(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


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
