"""Turn a call of the library into a verb of the command line.

Its parameters become options, and its result is shown.

A parameter by position becomes an argument, one by keyword an option; help, bounds and choices are those written beside
the parameter (`winokit.settings.Help`). Every verb gets `--json`.
"""

import inspect
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property, partial
from glob import escape
from pathlib import Path
from typing import Annotated, Any

import typer

from winokit.cli.stored import (
    StoredValues,
    as_typed_text,
    read_stored,
    refuse_former_spelling,
    refuse_options,
    stored_parameters,
)
from winokit.cli.typed import is_switch, kinds_of, read_texts, takes_several
from winokit.drawing.tables import Lines, console, progress_bar
from winokit.errors import BadInput
from winokit.progress import WATCHES, telling
from winokit.settings import Help, choices_of, former_names, help_of, signature_of

HANDLED = ("progress", "say")
"""Parameters that the command line fills in: a progress bar, and a function that prints lines while a verb runs."""
SET = "set_"
"""Name of the parameter of `--set`."""
BARE = "bare_"
"""Prefix of the name of an argument that replaces an option."""
Questions = Mapping[str, tuple[str, type]]
"""By parameter, the question for its value, and the value's type."""


def command(
    verb: Callable[..., Any],
    lines: Callable[..., Lines],
    as_json: Callable[[Any], Any] | None,
    *,
    doing: str,
    code: Callable[[Any], int] = lambda result: 0,
    questions: Callable[[Mapping[str, Any]], Questions] = lambda given: {},
    bar: Callable[[str], AbstractContextManager[Any]] = progress_bar,
    every: bool = False,
) -> Callable[..., None]:
    """Make a function that Typer takes for a command.

    It calls the verb, shows the result, and exits with its code.

    Parameters
    ----------
    verb
        The library's function.
    lines
        Makes the sentences and tables that a person reads, in order, from the result.
    as_json
        Makes JSON-ready values from the result. None if there is no `--json`.
    doing
        Text of the progress bar.
    code
        Makes the exit code from the result: `check`, `verify` and `gate` have 1 if they found something.
    questions
        Makes questions to the person at the terminal, by parameter, from the values of all parameters.
    bar
        Makes the progress bar from its text.
    every
        Whether `lines` takes a flag `every` to show all rows: `--all`.
    """
    runner = VerbRunner(verb, lines, as_json, doing, code, questions, bar, every)
    parameters = runner.list_parameters()

    def run(**given: Any) -> None:
        runner.run(given)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    text = inspect.cleandoc(inspect.unwrap(verb).__doc__ or "")
    run.__doc__ = re.split(r"\n\n[A-Z][a-z]+\n---", text)[0]
    run.__name__ = verb.__name__
    return run


@dataclass(frozen=True)
class VerbRunner:
    """A verb with the functions that show its result.

    The parameters of `command` describe them.
    """

    verb: Callable[..., Any]
    lines: Callable[..., Lines]
    as_json: Callable[[Any], Any] | None
    doing: str
    code: Callable[[Any], int]
    questions: Callable[[Mapping[str, Any]], Questions]
    bar: Callable[[str], AbstractContextManager[Any]]
    every: bool

    @cached_property
    def verb_options(self) -> list[inspect.Parameter]:
        """Parameters of the verb that a user types as options or arguments."""
        left_out = {*HANDLED, *self.stored}
        return [parameter for parameter in self.signature.parameters.values() if parameter.name not in left_out]

    @cached_property
    def stored(self) -> dict[str, inspect.Parameter]:
        """Parameters of the verb that are settings of winokit.toml, by name."""
        return stored_parameters(self.verb)

    @cached_property
    def signature(self) -> inspect.Signature:
        """Signature of the verb, with the fields of settings classes as parameters."""
        return signature_of(self.verb)

    def list_parameters(self) -> list[inspect.Parameter]:
        """Parameters of the command, for Typer.

        After those of the verb come `--set`, if the verb has settings of winokit.toml, then `--all` and `--json` if it
        has these.
        """
        parameters = [option(parameter) for parameter in self.verb_options]
        parameters += [bare_argument(parameter) for parameter in self.verb_options if is_bare(parameter)]
        if self.stored:
            parameters.append(_make_set_option())
        if self.every:
            parameters.append(_make_flag("all", "Show every row of the result."))
        if self.as_json is not None:
            parameters.append(_make_flag("json", "Machine-readable output."))
        return parameters

    def run(self, given: dict[str, Any]) -> None:
        """Ask for missing values, call the verb, and show its result.

        `given` has the typed values of all parameters of the command. Raises typer.Exit if the result has an exit code
        other than 0.
        """
        machine = given.pop("json", False)
        how = {"every": given.pop("all")} if self.every else {}
        typed_settings = given.pop(SET, None) or ()
        values = self._read_values(given)
        refuse_options(typed_settings, self._option_names)
        settings = read_stored(self.stored, typed_settings, Path())
        values |= _ask_missing(self.questions({**values, **settings.values}))  # `questions` may refuse what is given.
        result = self._call_verb(settings, values, machine)
        if machine and self.as_json:
            show(self.as_json(result), machine)
        else:
            show(self.lines(result, **how), machine)
        exit_code = self.code(result)
        if exit_code:
            raise typer.Exit(exit_code)

    def _read_values(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Read the values of the verb's options from what was typed."""
        values = {}
        for parameter in self.verb_options:
            typed = given[parameter.name]
            if is_bare(parameter):
                typed = one_of_two(parameter.name, typed, given[f"{BARE}{parameter.name}"])
            values[parameter.name] = read_given(parameter, typed)
        return values

    @property
    def _option_names(self) -> dict[str, str]:
        """Options of the parameters that have a default, by parameter."""
        with_default = [parameter for parameter in self.verb_options if parameter.default is not parameter.empty]
        return {parameter.name: option_name(parameter.name) for parameter in with_default}

    def _call_verb(self, settings: StoredValues, values: dict[str, Any], machine: bool) -> Any:
        """Call the verb with a progress bar and return its result.

        Its notes are printed on standard error. On a terminal the person may be shown a model's first replies and asked
        whether to go on, but not if `machine`, when JSON is printed.
        """
        parameters = self.signature.parameters
        watched = self.bar(self.doing) if "progress" in parameters else nullcontext()
        WATCHES.set(show_first_replies if sys.stderr.isatty() and not machine else None)
        with telling(_print_note), watched as progress:
            handled = {"progress": progress, "say": typer.echo}
            values |= {name: handled[name] for name in HANDLED if name in parameters}
            return settings.call(partial(self.verb, **values))


def _print_note(note: str) -> None:
    """Print a note on standard error."""
    typer.echo(f"note: {note}", err=True)


def _make_set_option() -> inspect.Parameter:
    """Make the parameter of `--set`."""
    words = "name=value&name=value: settings of winokit.toml for this command alone; repeatable."
    listed = Annotated[list[str] | None, typer.Option("--set", help=words, metavar="NAME=VALUE&…")]
    return inspect.Parameter(SET, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=listed)


def _make_flag(name: str, words: str) -> inspect.Parameter:
    """Make the parameter of an option that is on or off.

    `words` is its help text.
    """
    flag = Annotated[bool, typer.Option(f"--{name}", help=words)]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=flag)


def _ask_missing(questions: Questions) -> dict[str, Any]:
    """Ask the person at the terminal for missing values.

    They are returned by parameter. Empty if there is no terminal. Then the verb refuses what is missing.
    """
    answers: dict[str, Any] = {}
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return answers
    for name, (question, kind) in questions.items():
        if kind is bool:
            answers[name] = typer.confirm(question, abort=True, err=True)
        else:
            answers[name] = typer.prompt(question, type=kind, err=True)
    return answers


def show_first_replies(lines: Iterable[str], question: str) -> bool:
    """Show first replies of a model, and ask whether to go on.

    They are printed on standard error.

    Returns True without asking if there is no terminal.
    """
    for line in lines:
        typer.echo(line, err=True)
    return not sys.stdin.isatty() or typer.confirm(question, default=True, err=True)


def show(result: Any, machine: bool) -> None:
    """Print a result: JSON-ready values if `machine`, else lines and tables."""
    if machine:
        typer.echo(json.dumps(result, indent=2, ensure_ascii=False))
        return
    for line in result:
        if isinstance(line, str):
            typer.echo(line)
        else:
            console().print(line, soft_wrap=not hasattr(line, "columns"))


def option(parameter: inspect.Parameter) -> inspect.Parameter:
    """Make the parameter for Typer from a parameter of a verb.

    It is an argument if it goes by position, else an option. Its value stays a text, which `read_given` reads: Typer
    would refuse a wrong one in its own words.
    """
    setting_help = help_of(parameter.annotation) or Help("")
    is_required = parameter.default is inspect.Parameter.empty and not setting_help.bare
    kind: Any = list[str] if takes_several(parameter) else str
    default: Any = inspect.Parameter.empty
    if is_switch(parameter):
        kind = bool
        default = bool(parameter.default)
    elif not is_required:
        kind = kind | None
        default = None
    keywords = _make_keywords(parameter, setting_help)
    info: Any
    if _is_argument(parameter, setting_help):
        info = typer.Argument(**keywords)
    else:
        info = typer.Option(*_list_spellings(parameter, setting_help), **keywords)
    return parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[kind, info], default=default)


def _make_keywords(parameter: inspect.Parameter, setting_help: Help) -> dict[str, Any]:
    """Make the keywords of `typer.Option` and `typer.Argument`."""
    keywords: dict[str, Any] = {"help": help_with_facts(parameter), "show_default": False}
    keywords["metavar"] = None if is_switch(parameter) else setting_help.metavar or metavar_of(parameter)
    if setting_help.metavar == "DATA":
        keywords["autocompletion"] = complete_data
    elif kinds_of(parameter) == {Path}:
        keywords["autocompletion"] = complete_paths
    return keywords


def _list_spellings(parameter: inspect.Parameter, setting_help: Help) -> list[str]:
    """Spellings of an option.

    A switch that is on by default has `--no-` too.
    """
    spellings = [option_name(name) for name in (parameter.name, setting_help.also) if name]
    if is_switch(parameter) and parameter.default:
        spellings[0] += spellings[0].replace("--", "/--no-", 1)
    return spellings


def help_with_facts(parameter: inspect.Parameter) -> str:
    """Help text of a parameter with its default and its bounds."""
    setting_help = help_of(parameter.annotation) or Help("")
    default = parameter.default if setting_help.otherwise is None else setting_help.otherwise
    facts = list(setting_help.bounds)
    is_shown = setting_help.shown and not setting_help.bare and not is_switch(parameter)
    if is_shown and default is not inspect.Parameter.empty and default not in (None, (), ""):
        facts.insert(0, f"default: {as_typed_text(default)}")
    if parameter.default is inspect.Parameter.empty and setting_help.bare:
        facts.append("required")  # Typer itself adds this to parameters without a default.
    return f"{setting_help.text}  [{'; '.join(facts)}]" if facts else setting_help.text


def metavar_of(parameter: inspect.Parameter) -> str:
    """Name of a parameter's value in help, from its choices or type.

    Choices are joined by bars. A type that allows text is `<str>`, others are `<int>`, `<float>` or `<path>`.
    """
    choices = choices_of(parameter.annotation)
    if choices:
        return "|".join(choices)
    names = {int: "<int>", float: "<float>", Path: "<path>"}
    kinds = kinds_of(parameter)
    if str not in kinds:
        for kind, name in names.items():
            if kind in kinds:
                return name
    return "<str>"


def read_given(parameter: inspect.Parameter, typed: Any) -> Any:
    """Read the value of a parameter from its typed texts.

    If nothing was typed, it is the default that the help names for the command line, else that of the function. Raises
    BadInput for a text that is no value of the parameter.
    """
    setting_help = help_of(parameter.annotation) or Help("")
    if is_switch(parameter):
        return typed
    if typed is None or typed == []:
        return parameter.default if setting_help.otherwise is None else setting_help.otherwise
    name = option_name(parameter.name)
    if _is_argument(parameter, setting_help):
        name = setting_help.metavar or parameter.name.upper()
    return read_texts(name, parameter, typed if isinstance(typed, list) else [typed])


def is_bare(parameter: inspect.Parameter) -> bool:
    """Whether a parameter may be an option or an argument."""
    setting_help = help_of(parameter.annotation)
    return setting_help is not None and setting_help.bare


def bare_argument(parameter: inspect.Parameter) -> inspect.Parameter:
    """Make the argument by which an option may be replaced.

    It is hidden: help lists the option alone.
    """
    setting_help = help_of(parameter.annotation)
    assert setting_help is not None
    argument = typer.Argument(metavar=setting_help.metavar, hidden=True)
    return parameter.replace(
        name=f"{BARE}{parameter.name}",
        kind=inspect.Parameter.KEYWORD_ONLY,
        annotation=Annotated[str | None, argument],
        default=None,
    )


def one_of_two(name: str, as_option: Any, as_argument: Any) -> Any:
    """Value of an option that may be typed as an argument.

    Raises BadInput if both or neither were typed.
    """
    if as_option is None and as_argument is None:
        raise BadInput(f"--{name}: missing; name what to write")
    if as_option is not None and as_argument is not None:
        raise BadInput(f"--{name}: given twice, as {as_option} and as {as_argument}")
    return as_argument if as_option is None else as_option


def complete_data(incomplete: str) -> list[str]:
    """List completions of DATA: datasets and their parts, files and folders."""
    from winokit.data.known import dataset_names

    return [*(name for name in dataset_names() if name.startswith(incomplete)), *complete_paths(incomplete)]


def complete_paths(incomplete: str) -> list[str]:
    """List files and folders that complete a path, folders with a slash."""
    folder, _, start = incomplete.rpartition("/")
    top = "/" if "/" in incomplete else "."
    completions: list[str] = []
    for path in sorted(Path(folder or top).glob(f"{escape(start)}*")):
        completions.append(f"{path}/" if path.is_dir() else str(path))
    return completions


def refuse_former_options(verb: Callable[..., Any], typed: Sequence[str], elsewhere: Mapping[str, str] = {}) -> None:
    """Raise BadInput for options that were renamed or moved.

    Options that only another verb has are refused, too. `typed` are the words after the command. `elsewhere` has, by
    option, what to do instead.
    """
    options = typed[: typed.index("--")] if "--" in typed else typed
    refuse_former_spelling(verb, options)
    words = {word.partition("=")[0] for word in options}
    for former, name in former_names(signature_of(verb).parameters.values()).items():
        if option_name(former) in words:
            raise BadInput(f"{option_name(former)} is called {option_name(name)} now")
    _refuse_argument_names(verb, words)
    own_options = {option_name(name) for name in signature_of(verb).parameters}
    for name, way_out in elsewhere.items():
        option = option_name(name)
        if option in words and option not in own_options:
            raise BadInput(f"{option} is no option of this command: {way_out}")
    for moved, call in getattr(verb, "moved", {}).items():
        if option_name(moved) in words:
            home = f"winokit {call} (see winokit {call} --help)"
            raise BadInput(f"{option_name(moved)} belongs to another command now: {home}")


def _refuse_argument_names(verb: Callable[..., Any], words: Set[str]) -> None:
    """Raise BadInput if an argument is typed as an option."""
    parameters = signature_of(verb).parameters.values()
    helps = [help_of(parameter.annotation) or Help("") for parameter in parameters]
    other_names = {setting_help.also for setting_help in helps}
    for parameter, setting_help in zip(parameters, helps, strict=True):
        is_option = not _is_argument(parameter, setting_help) or parameter.name in other_names
        option = option_name(parameter.name)
        if not is_option and option in words:
            name = setting_help.metavar or parameter.name.upper()
            raise BadInput(f"{option}: type {name} without it, as in: winokit {verb.__name__} {name}")


def _is_argument(parameter: inspect.Parameter, setting_help: Help) -> bool:
    """Whether a parameter is typed without its name.

    It is if it goes by position, unless its help makes it an option.
    """
    is_named = parameter.kind is inspect.Parameter.KEYWORD_ONLY
    return not (is_named or setting_help.option or setting_help.bare)


def option_name(parameter: str) -> str:
    """The option of a parameter.

    >>> option_name("bring_back"), option_name("as_")
    ('--bring-back', '--as')
    """
    return f"--{parameter.strip('_').replace('_', '-')}"
