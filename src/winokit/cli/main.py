"""The `winokit` command. A verb is imported when it is typed, and errors are one line.

Exit codes: 0 done; 1 `check`, `verify` or `gate` found something, or a cell of a `suite` failed; 2 bad input or usage;
130 interrupted.
"""

from __future__ import annotations

import errno
import os
import re
import sys
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from typer.core import TyperCommand, TyperGroup

import winokit
from winokit.cli.help import COMMANDS, HELP_ALL, HelpCommand, find_stored, write_sections
from winokit.errors import BadInput, MissingPackage, WinokitError
from winokit.files import PROJECT_FILE, our_toml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import ModuleType

    from typer._click import Command, Context, HelpFormatter

    from winokit.registry import Registry


PLAIN: dict[str, Any] = {
    "add_completion": False,
    "rich_markup_mode": None,
    "pretty_exceptions_enable": False,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}
"""Settings of every Typer app: plain text, and winokit's own error messages."""
FIRST = "Start with: winokit audit  (the built-in model on bundled twins, offline)"


@dataclass(frozen=True)
class Verb:
    """A verb of `verbs.toml`, whose comments describe each field.

    The module that shows a result has `lines(result)` for a person and `as_json(result)` for scripts. It may have
    `code(result)` for other exit codes than 0, `questions(given)` for missing values that a person is asked for, and
    `live(doing)` for a display other than a progress bar.
    """

    about: str
    call: str = ""
    doing: str = ""
    shown: str = ""
    names: str = ""
    added: str = ""
    commands: str = ""
    install: str = ""
    usual: str = ""

    def command(self, name: str, *of: str) -> Command:
        """Make the command of the verb under a name.

        Its options are derived from the parameters of the library's function. `of` is given to that function first, if
        it makes a verb for each name of a registry (`debias aflite`).
        """
        home = self.call.partition(":")[0]
        call = _import_object(f"winokit.stages.{self.call}")
        module = import_module(f"winokit.stages.{self.shown or re.sub('run$', 'table', home)}")
        return self.command_of(name, call(*of) if of else call, module)

    def command_of(self, name: str, verb: Callable[..., Any], module: ModuleType) -> Command:
        """Build the command that runs a verb and shows its result.

        Functions of a module show it. The functions are those described in the class.
        """
        from winokit.cli.options import command, progress_bar, refuse_former_options
        from winokit.cli.stored import describe_stored, stored_parameters

        run_command = command(
            verb,
            module.lines,
            getattr(module, "as_json", None),
            doing=self.doing,
            code=getattr(module, "code", lambda result: 0),
            questions=getattr(module, "questions", lambda given: {}),
            bar=getattr(module, "live", progress_bar),
            every="every" in signature(module.lines).parameters,
        )
        app = typer.Typer(**PLAIN)
        usual = {"--help", *(f"--{option}" for option in self.usual.split())} if self.usual else None
        setting_rows = list(describe_stored(stored_parameters(verb)))

        class VerbCommand(TyperCommand):
            """Command whose help shows the usual options first.

            The others and the settings are under `--help-all`.
            """

            shows_all = False

            def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
                refuse_former_options(verb, args, ELSEWHERE)
                if HELP_ALL in args and not ctx.resilient_parsing:
                    self.shows_all = True
                    typer.echo(ctx.get_help())
                    ctx.exit()
                return super().parse_args(ctx, args)

            def format_options(self, ctx: Context, formatter: HelpFormatter) -> None:
                write_sections(self.sections(ctx, everything=self.shows_all), formatter)

            def sections(self, ctx: Context, *, everything: bool) -> dict[str, list[tuple[str, str]]]:
                """Rows of help by the title of their section."""
                sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": [], "More options": []}
                for param in self.get_params(ctx):
                    title = "Options"
                    if param.param_type_name == "argument":
                        title = "Arguments"
                    elif usual is not None and usual.isdisjoint(param.opts):
                        title = "More options"
                    row = param.get_help_record(ctx)
                    if row is not None:
                        sections[title].append(row)
                if everything:
                    sections[f"Settings of {PROJECT_FILE}, or --set"] = setting_rows
                elif sections.pop("More options") or setting_rows:
                    sections["Options"].append((HELP_ALL, "Show every option and setting, and exit."))
                return sections

        app.command(name, cls=VerbCommand)(run_command)
        return typer.main.get_command(app)


_VERB_TABLE = our_toml("cli/verbs.toml")
MOVED: Mapping[str, str] = _VERB_TABLE["Moved"]
"""By former command, what to type instead."""
ELSEWHERE: Mapping[str, str] = _VERB_TABLE["Options"]
"""By option that only some verbs have, what to do with the others."""
GROUPS = {
    group: {name: Verb(**facts) for name, facts in verbs.items()}
    for group, verbs in _VERB_TABLE.items()
    if group not in ("Moved", "Options")
}
VERBS = {name: verb for verbs in GROUPS.values() for name, verb in verbs.items()}
"""Verbs by name. Making them imports none of their modules."""


@cache
def other_commands() -> Registry[Any]:
    """Registry of the commands that other packages add.

    They are verbs or apps of Typer, named by entry points of the group `winokit.commands`.
    """
    from winokit.registry import Registry  # Reading entry points takes a while, and most commands do not need them.

    return Registry("command", "winokit.commands")


def is_installed(name: str, verb: Verb) -> bool:
    """Whether a verb is part of winokit or of an installed package."""
    return not verb.install or name in other_commands()


def is_added_to(name: str) -> bool:
    """Whether installed packages add commands to a group of winokit's.

    The stored help of the group does not list such commands.
    """
    added = VERBS[name].added if name in VERBS else ""
    if not added:
        return False
    from winokit.registry import Registry

    return len(Registry("command", added)) > 0


def refuse_former_command(ctx: Context, *words: str) -> None:
    """Raise BadInput for a former command, with what to type instead.

    While a shell completes words, nothing is raised.
    """
    former = " ".join(words)
    if former in MOVED and not ctx.resilient_parsing:
        raise BadInput(f"winokit {former} is no command any more; type: {MOVED[former]}")


class FullLines(TyperGroup):
    """Group of commands whose lines in help are not cut off."""

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:
        """Get the command of a name, or None. Raises BadInput for a former command."""
        refuse_former_command(ctx, self.name or "", cmd_name)
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Write the list of commands with the first sentence of each."""
        with formatter.section(COMMANDS):
            formatter.write_dl(list(self.summaries(ctx)))

    def summaries(self, ctx: Context) -> Iterator[tuple[str, str]]:
        """Yield commands with the first sentence of their help."""
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            if command is not None:
                yield name, command.get_short_help_str(1000)


class Verbs(TyperGroup):
    """The verbs of the table, each imported when it is needed."""

    def __init__(self, **how: Any) -> None:
        super().__init__(**how)
        self.commands = dict.fromkeys(VERBS)  # type: ignore[assignment]  # for "Did you mean"; each is made when asked for

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:
        """Import the verb of a name and make its command.

        None if there is no such verb. Raises MissingPackage if its package is not installed.
        """
        refuse_former_command(ctx, cmd_name)
        verb = VERBS.get(cmd_name)
        if verb is None or verb.install:
            if cmd_name in other_commands():
                summary = verb.about if verb else other_commands().summary_of(cmd_name)
                return _make_package_command(cmd_name, summary, other_commands()[cmd_name])
            if verb is None:
                return None
            raise MissingPackage(f"winokit {cmd_name}", verb.install)
        if verb.commands or verb.names:
            return group_of(cmd_name, verb)
        return verb.command(cmd_name)

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Show the stored help of a command before anything else is imported.

        That ends the program. It happens only if the words ask for help, and not for a group to which other packages
        add commands: then the words are parsed as usual.
        """
        stored_help = None if ctx.resilient_parsing else find_stored(args)
        if stored_help is not None:
            name, stored = stored_help
            if not is_added_to(name):
                HelpCommand(name, stored).make_context(name, args[len(name.split()) :], parent=ctx)
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Write the list of verbs by groups, with other packages' commands.

        No verb is imported.
        """
        sections: dict[str, dict[str, str]] = {}
        for group, verbs in GROUPS.items():
            sections[group] = {name: verb.about for name, verb in verbs.items() if is_installed(name, verb)}
        others = [name for name in other_commands() if name not in VERBS]
        sections["Other packages"] = {name: other_commands().summary_of(name) for name in others}
        for group, rows in sections.items():
            if rows:
                with formatter.section(group):
                    formatter.write_dl([(name.ljust(8), about) for name, about in rows.items()])

    def list_commands(self, ctx: Context) -> list[str]:
        """List the names of the installed verbs, and of other packages' commands."""
        ours = [name for name, verb in VERBS.items() if is_installed(name, verb)]
        return [*ours, *(name for name in other_commands() if name not in VERBS)]


class MethodCommands(FullLines):
    """A verb with a command for each name of a registry.

    For example `debias aflite`. Other packages may add names.
    """

    def __init__(self, verb: Verb, name: str) -> None:
        style = {name: PLAIN[name] for name in ("rich_markup_mode", "context_settings")}
        super().__init__(name=name, help=verb.about, no_args_is_help=True, **style)
        self.verb = verb
        self.registry = _import_object(verb.names)

    def list_commands(self, ctx: Context) -> list[str]:
        """List the names of the registry, in its order."""
        return list(self.registry)

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:
        """Make the command of a name of the registry, or return None for another name."""
        if cmd_name not in self.registry:
            return None
        is_ours = cmd_name in self.registry.homes
        # All options of another package's command are usual.
        verb = self.verb if is_ours else replace(self.verb, usual="")
        return verb.command(cmd_name, cmd_name)

    def resolve_command(self, ctx: Context, args: list[str]) -> tuple[str | None, Command | None, list[str]]:
        """Find the command that the first word names.

        If the word is DATA, the error says that the name of a command is missing before it.
        """
        if args[0] not in self.registry:
            close = get_close_matches(args[0], self.registry)
            names = list(self.registry)
            way_out = f"name one first, as in: winokit {self.name} {names[0]} {args[0]}"
            if close:
                way_out = f"did you mean '{close[0]}'?"
            ctx.fail(f"No method named '{args[0]}' (known: {', '.join(names)}); {way_out}")
        return super().resolve_command(ctx, args)


def group_of(name: str, verb: Verb) -> FullLines:
    """Make the group of commands under a verb.

    They are the commands of an app, or one for each name of a registry.
    """
    if verb.commands:
        return _make_group(name, verb.about, _import_object(verb.commands))
    return MethodCommands(verb, name)


def _make_package_command(name: str, about: str, thing: Any) -> Command:
    """Make the command of another package.

    `thing` is the object that its entry point names. That is a verb with a function `lines` in its module, or an app of
    several commands. Raises BadInput for others.
    """
    if isinstance(thing, typer.Typer):
        return _make_group(name, about, thing)
    module = sys.modules.get(getattr(thing, "__module__", ""))
    if not callable(thing) or module is None or not hasattr(module, "lines"):
        raise BadInput(f"command {name!r}: expected a verb with a function lines(result) beside it, or an app of Typer")
    return Verb(about, doing=name).command_of(name, thing, module)


def _make_group(name: str, about: str, commands: typer.Typer) -> FullLines:
    """Group the commands of an app under one name, in winokit's style."""
    app = typer.Typer(**PLAIN, cls=FullLines, no_args_is_help=True, help=about, name=name)
    app.add_typer(commands)  # its commands become those of `app`
    return cast(FullLines, typer.main.get_group(app))


def _import_object(path: str) -> Any:
    """Import an object from a path like `package.module:name`."""
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


app = typer.Typer(name="winokit", cls=Verbs, no_args_is_help=True, epilog=FIRST, **{**PLAIN, "add_completion": True})


def _show_version(is_wanted: bool) -> None:
    """Print the version and exit, if the option was typed."""
    if is_wanted:
        typer.echo(f"winokit {winokit.__version__}")
        raise typer.Exit


@app.callback()
def _take_global_options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Build, check, debias, score and audit Winograd-style benchmarks."""


def _list_interrupt_notes(end: BaseException) -> list[str]:
    """Notes that were added to a KeyboardInterrupt, such as where answers are kept.

    Typer replaces the interrupt by exceptions of its own, so it is looked for among their contexts.
    """
    error: BaseException | None = end
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return getattr(error, "__notes__", [])


def main() -> None:
    """Run the command line.

    Errors of the library and of a full disk become one line and exit code 2, an interrupt exit code 130.
    """
    try:
        app()
    except WinokitError as error:
        typer.echo(f"winokit: {' '.join(str(error).split())}", err=True)
        sys.exit(2)
    except (KeyboardInterrupt, SystemExit) as end:
        is_interrupt = isinstance(end, KeyboardInterrupt) or end.code == 130  # Typer exits with 130 silently.
        if not is_interrupt:
            raise
        typer.echo("; ".join(["winokit: interrupted", *_list_interrupt_notes(end)]), err=True)
        sys.exit(130)
    except OSError as error:
        is_of_output = error.filename is None and error.errno in (errno.ENOSPC, errno.EFBIG, errno.EIO)
        if not is_of_output:
            raise
        # The rest of the output cannot be written, and would raise again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        typer.echo(f"winokit: the output cannot be written ({error.strerror})", err=True)
        sys.exit(2)
