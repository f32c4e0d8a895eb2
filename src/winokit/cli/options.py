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
from functools import partial
from glob import escape
from pathlib import Path
from typing import Annotated, Any

import typer

from winokit.cli.stored import as_typed_text, read_stored, refuse_former_spelling, stored_parameters
from winokit.cli.typed import is_switch, kinds_of, read_texts, takes_several
from winokit.drawing.tables import Lines, console, progress_bar
from winokit.errors import BadInput
from winokit.progress import WATCHES, telling
from winokit.settings import Help, choices_of, former_names, help_of, signature_of

HANDLED = ("progress", "say")
"""Parameters that the command line fills in by itself: told how far a job is, and what it says while it runs."""
SET = "set_"
"""The parameter of `--set`."""
BARE = "bare_"
"""How the argument is called that stands for an option."""
Questions = Mapping[str, tuple[str, type]]
"""By parameter, a question and the type of its answer."""


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
        What a person reads of the result: sentences and tables, in order.
    as_json
        The same for scripts; None where there is no result to show.
    doing
        What the progress bar says.
    code
        The exit code of a result: `check`, `verify` and `gate` have 1 for having found something.
    questions
        From the values given to what a person who sits there is asked for besides, by parameter.
    bar
        From what the bar says to what is told how far the job is.
    every
        Whether `lines` takes `every`, and shows all there is: `--all`.
    """
    signature = signature_of(verb)
    stored = stored_parameters(verb)
    left_out = {*HANDLED, *stored}
    own_parameters = [parameter for parameter in signature.parameters.values() if parameter.name not in left_out]
    bare_names = [parameter.name for parameter in own_parameters if is_bare(parameter)]
    parameters = [option(parameter) for parameter in own_parameters]
    parameters += [bare_argument(parameter) for parameter in own_parameters if is_bare(parameter)]
    if stored:
        parameters.append(_make_set_option())
    if every:
        parameters.append(_make_flag("all", "Show every row of the result."))
    if as_json is not None:
        parameters.append(_make_flag("json", "Machine-readable output."))

    def run(**given: Any) -> None:
        machine = given.pop("json", False)
        how = {"every": given.pop("all")} if every else {}
        for name in bare_names:
            given[name] = one_of_two(name, given[name], given.pop(f"{BARE}{name}"))
        for parameter in own_parameters:
            given[parameter.name] = read_given(parameter, given[parameter.name])
        settings = read_stored(stored, given.pop(SET, None) or (), Path())
        given |= _ask_missing(questions({**given, **settings.values}))  # `questions` may refuse what is given.
        watched = bar(doing) if "progress" in signature.parameters else nullcontext()
        WATCHES.set(show_first_replies if sys.stderr.isatty() and not machine else None)
        with telling(lambda note: typer.echo(f"note: {note}", err=True)), watched as progress:
            handled = {"progress": progress, "say": typer.echo}
            given |= {name: handled[name] for name in HANDLED if name in signature.parameters}
            result = settings.call(partial(verb, **given))
        show(as_json(result) if machine and as_json else lines(result, **how), machine)
        if code(result):
            raise typer.Exit(code(result))

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    text = inspect.cleandoc(inspect.unwrap(verb).__doc__ or "")
    run.__doc__ = re.split(r"\n\n[A-Z][a-z]+\n---", text)[0]
    run.__name__ = verb.__name__
    return run


def _make_set_option() -> inspect.Parameter:
    """The parameter of `--set`."""
    words = "name=value&name=value: settings of winokit.toml for this command alone; repeatable."
    listed = Annotated[list[str] | None, typer.Option("--set", help=words, metavar="NAME=VALUE&…")]
    return inspect.Parameter(SET, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=listed)


def _make_flag(name: str, words: str) -> inspect.Parameter:
    """The parameter of an option that is on or off."""
    flag = Annotated[bool, typer.Option(f"--{name}", help=words)]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=flag)


def _ask_missing(questions: Questions) -> dict[str, Any]:
    """Ask the person at the terminal for missing values, by parameter.

    Empty if nobody can answer: then the verb says what it misses.
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
    """Show first replies on standard error, and return whether to go on.

    Without a person to ask, it goes on.
    """
    for line in lines:
        typer.echo(line, err=True)
    return not sys.stdin.isatty() or typer.confirm(question, default=True, err=True)


def show(result: Any, machine: bool) -> None:
    """Print a result as JSON for scripts, else as lines and tables."""
    if machine:
        typer.echo(json.dumps(result, indent=2, ensure_ascii=False))
        return
    for line in result:
        if isinstance(line, str):
            typer.echo(line)
        else:
            console().print(line, soft_wrap=not hasattr(line, "columns"))


def option(parameter: inspect.Parameter) -> inspect.Parameter:
    """The parameter as Typer wants it: an argument where it goes by position, else an option.

    What is typed stays a text, which `read_given` reads: Typer would refuse a wrong one in its own words.
    """
    setting_help = help_of(parameter.annotation) or Help("")
    required = parameter.default is inspect.Parameter.empty and not setting_help.bare
    keywords: dict[str, Any] = {"help": help_with_facts(parameter), "show_default": False}
    keywords["metavar"] = setting_help.metavar or metavar_of(parameter)
    if setting_help.metavar == "DATA":
        keywords["autocompletion"] = complete_data
    elif kinds_of(parameter) == {Path}:
        keywords["autocompletion"] = complete_paths
    kind: Any = list[str] if takes_several(parameter) else str
    default: Any = inspect.Parameter.empty
    if not required:
        kind = kind | None
        default = None
    names = [option_name(name) for name in (parameter.name, setting_help.also) if name]
    if is_switch(parameter):
        kind = bool
        default = bool(parameter.default)
        keywords["metavar"] = None
        if default:
            names[0] += names[0].replace("--", "/--no-", 1)
    info: Any
    if _is_argument(parameter, setting_help):
        info = typer.Argument(**keywords)
    else:
        info = typer.Option(*names, **keywords)
    return parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[kind, info], default=default)


def help_with_facts(parameter: inspect.Parameter) -> str:
    """The help of a parameter with its default and its bounds."""
    setting_help = help_of(parameter.annotation) or Help("")
    default = parameter.default if setting_help.otherwise is None else setting_help.otherwise
    facts = list(setting_help.bounds)
    is_shown = setting_help.shown and not setting_help.bare and not is_switch(parameter)
    if is_shown and default is not inspect.Parameter.empty and default not in (None, (), ""):
        facts.insert(0, f"default: {as_typed_text(default)}")
    if parameter.default is inspect.Parameter.empty and setting_help.bare:
        facts.append("required")  # Typer says it of what it requires by itself
    return f"{setting_help.text}  [{'; '.join(facts)}]" if facts else setting_help.text


def metavar_of(parameter: inspect.Parameter) -> str:
    """Name of a value in help: its choices, or its type.

    It is used if no name was given.
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

    It is the default if nothing is typed.
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
    """Whether a parameter may be typed as an argument too."""
    setting_help = help_of(parameter.annotation)
    return setting_help is not None and setting_help.bare


def bare_argument(parameter: inspect.Parameter) -> inspect.Parameter:
    """Make the argument that replaces the option.

    Help lists the option alone.
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
    """Value of an option that may be typed as an argument too.

    Raises BadInput unless it is given once.
    """
    if as_option is None and as_argument is None:
        raise BadInput(f"--{name}: missing; name what to write")
    if as_option is not None and as_argument is not None:
        raise BadInput(f"--{name}: given twice, as {as_option} and as {as_argument}")
    return as_argument if as_option is None else as_option


def complete_data(incomplete: str) -> list[str]:
    """Completions of DATA: datasets and their parts, files and folders."""
    from winokit.data.known import dataset_names

    return [*(name for name in dataset_names() if name.startswith(incomplete)), *complete_paths(incomplete)]


def complete_paths(incomplete: str) -> list[str]:
    """Files and folders that complete a path."""
    folder, _, start = incomplete.rpartition("/")
    top = "/" if "/" in incomplete else "."
    completions: list[str] = []
    for path in sorted(Path(folder or top).glob(f"{escape(start)}*")):
        completions.append(f"{path}/" if path.is_dir() else str(path))
    return completions


def refuse_former_options(verb: Callable[..., Any], typed: Sequence[str], elsewhere: Mapping[str, str] = {}) -> None:
    """Refuse options that are called otherwise now, or that another verb has."""
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
    """Refuse an argument that is typed as an option."""
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
    """Whether a parameter is typed without a name."""
    is_named = parameter.kind is inspect.Parameter.KEYWORD_ONLY
    return not (is_named or setting_help.option or setting_help.bare)


def option_name(parameter: str) -> str:
    """The option of a parameter.

    >>> option_name("bring_back"), option_name("as_")
    ('--bring-back', '--as')
    """
    return f"--{parameter.strip('_').replace('_', '-')}"
