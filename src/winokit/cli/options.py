"""A verb of the command line is a call of the library: its parameters become options, its result is shown.

A parameter by position becomes an argument, one by keyword an option; help, bounds and choices are those written beside
the parameter (`winokit.settings.Help`). Every verb gets `--json`.
"""

import inspect
import json
import re
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from glob import escape
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

import typer

from winokit.drawing.tables import Lines, console, progress_bar
from winokit.errors import BadInput
from winokit.progress import telling
from winokit.settings import SEVERAL, Help, choices_of, former_names, help_of, members_of, signature_of

HANDLED = ("progress", "say")
"""Parameters that the command line fills in by itself: told how far a job is, and what it says while it runs."""
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
    """A function that Typer takes for a command: it calls the verb, shows the result, and exits with its code.

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
    taken = [parameter for parameter in signature.parameters.values() if parameter.name not in HANDLED]
    bare_names = [parameter.name for parameter in taken if is_bare(parameter)]
    parameters = [option(parameter) for parameter in taken]
    parameters += [bare_argument(parameter) for parameter in taken if is_bare(parameter)]
    flags = {"json": "Machine-readable output."} if as_json is not None else {}
    if every:
        flags = {"all": "Show every row of the result.", **flags}
    for name, words in flags.items():
        flag = Annotated[bool, typer.Option(f"--{name}", help=words)]
        parameters.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=flag))

    def run(**given: Any) -> None:
        machine, how = given.pop("json", False), {"every": given.pop("all")} if every else {}
        for name in bare_names:
            given[name] = one_of_two(name, given[name], given.pop(f"{BARE}{name}"))
        for parameter in signature.parameters.values():
            if parameter.name in given and _is_several(_typed(parameter)):
                typed = given[parameter.name]
                given[parameter.name] = tuple(typed) if typed else parameter.default
        asked = questions(given)  # which may refuse what is given
        somebody = sys.stdin.isatty() and sys.stderr.isatty()  # where nobody can answer, the verb says what it misses
        for name, (question, kind) in asked.items() if somebody else ():
            ask = partial(typer.confirm, abort=True) if kind is bool else partial(typer.prompt, type=kind)
            given[name] = ask(question, err=True)
        watched = bar(doing) if "progress" in signature.parameters else nullcontext()
        with telling(lambda note: typer.echo(f"note: {note}", err=True)), watched as progress:
            handled = {"progress": progress, "say": typer.echo}
            result = verb(**given, **{name: handled[name] for name in HANDLED if name in signature.parameters})
        show(as_json(result) if machine and as_json else lines(result, **how), machine)
        if code(result):
            raise typer.Exit(code(result))

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    run.__doc__ = re.split(r"\n\n[A-Z][a-z]+\n---", inspect.cleandoc(inspect.unwrap(verb).__doc__ or ""))[0]
    run.__name__ = verb.__name__
    return run


def show(result: Any, machine: bool) -> None:
    """Print a result: as JSON for scripts, else line by line and table by table."""
    if machine:
        typer.echo(json.dumps(result, indent=2, ensure_ascii=False))
        return
    for line in result:
        if isinstance(line, str):
            typer.echo(line)
        else:
            console().print(line, soft_wrap=not hasattr(line, "columns"))


def option(parameter: inspect.Parameter) -> inspect.Parameter:
    """The parameter as Typer wants it: an argument where it goes by position, else an option."""
    said = help_of(parameter.annotation) or Help("")
    kind, required = _typed(parameter), parameter.default is inspect.Parameter.empty
    if said.bare:
        kind, required, parameter = kind | None, False, parameter.replace(default=None)
    default = parameter.default if said.otherwise is None else said.otherwise
    keywords: dict[str, Any] = {"help": said.text, "metavar": said.metavar, "show_default": said.shown and not required}
    choices = choices_of(parameter.annotation)
    if choices:  # a wrong one is told by the library, with what was probably meant
        keywords["metavar"] = said.metavar or "|".join(choices)
    if said.metavar == "DATA":
        keywords["autocompletion"] = complete_data
    if said.least is not None:
        keywords["min"] = said.least
    if said.most is not None:
        keywords["max"] = said.most
    if _is_several(kind):
        kind, default = kind | None, list(default) if default and not required else default if required else None
    if parameter.kind is inspect.Parameter.KEYWORD_ONLY or said.option or said.bare:
        names = [option_name(name) for name in (parameter.name, said.also) if name]
        if kind is bool and default is True:
            names[0] += names[0].replace("--", "/--no-", 1)
        info: Any = typer.Option(*names, **keywords)
    else:
        info = typer.Argument(**keywords)
    return parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[kind, info], default=default)


def is_bare(parameter: inspect.Parameter) -> bool:
    """Whether a parameter is typed as an option or, without the option's name, as an argument."""
    said = help_of(parameter.annotation)
    return said is not None and said.bare


def bare_argument(parameter: inspect.Parameter) -> inspect.Parameter:
    """The argument that stands for the option; help lists the option alone."""
    said = help_of(parameter.annotation)
    assert said is not None
    argument = typer.Argument(metavar=said.metavar, hidden=True)
    return parameter.replace(
        name=f"{BARE}{parameter.name}",
        kind=inspect.Parameter.KEYWORD_ONLY,
        annotation=Annotated[_typed(parameter) | None, argument],
        default=None,
    )


def one_of_two(name: str, as_option: Any, as_argument: Any) -> Any:
    """The value of an option that may be typed as an argument too. Raises BadInput unless it is given once."""
    if as_option is None and as_argument is None:
        raise BadInput(f"--{name}: missing; name what to write")
    if as_option is not None and as_argument is not None:
        raise BadInput(f"--{name}: given twice, as {as_option} and as {as_argument}")
    return as_argument if as_option is None else as_option


def complete_data(incomplete: str) -> list[str]:
    """What DATA may go on as: names of datasets and their parts, files and folders."""
    from winokit.data.known import dataset_names

    folder, _, start = incomplete.rpartition("/")
    inside = sorted(Path(folder or ("/" if "/" in incomplete else ".")).glob(f"{escape(start)}*"))
    paths = [f"{path}{'/' * path.is_dir()}" for path in inside]
    return [*(name for name in dataset_names() if name.startswith(incomplete)), *paths]


def greedy_options(verb: Callable[..., Any]) -> list[str]:
    """The options of a verb that several values may follow at once."""
    said = {parameter.name: help_of(parameter.annotation) for parameter in signature_of(verb).parameters.values()}
    return [f"--{name}" for name, help_ in said.items() if help_ is not None and help_.greedy]


def refuse_former_options(verb: Callable[..., Any], typed: Sequence[str]) -> None:
    """Refuse an option by the name that it had before, with the present one, and one that another verb has now."""
    options = typed[: typed.index("--")] if "--" in typed else typed
    words = {word.partition("=")[0] for word in options}
    for former, name in former_names(signature_of(verb).parameters.values()).items():
        if option_name(former) in words:
            raise BadInput(f"{option_name(former)} is called {option_name(name)} now")
    for moved, call in getattr(verb, "moved", {}).items():
        if option_name(moved) in words:
            home = f"winokit {call} (see winokit {call} --help)"
            raise BadInput(f"{option_name(moved)} belongs to another command now: {home}")


def option_name(parameter: str) -> str:
    """The option of a parameter.

    >>> option_name("bring_back"), option_name("as_")
    ('--bring-back', '--as')
    """
    return f"--{parameter.strip('_').replace('_', '-')}"


def spread(typed: Sequence[str], greedy: Collection[str]) -> list[str]:
    """What was typed, with a greedy option repeated before each of its values, as Typer wants it.

    >>> spread(["--models", "a", "b", "--json"], ["--models"])
    ['--models', 'a', '--models', 'b', '--json']
    """
    made: list[str] = []
    option = ""
    for place, word in enumerate(typed):
        if word == "--":
            return [*made, *typed[place:]]
        if word.startswith("-"):
            option = word if word in greedy else ""
            made.append(word)
        else:
            made += [option, word] if option and made[-1] != option else [word]
    return made


def _typed(parameter: inspect.Parameter) -> Any:
    """What may be typed for a parameter: the type its help names, else its own, without what only Python can give."""
    said = help_of(parameter.annotation)
    return said.typed if said is not None and said.typed is not None else _plain(parameter.annotation)


def _plain(hint: Any) -> Any:
    """An annotation as Typer knows it.

    >>> _plain(Annotated[tuple[str, ...], Help("several")]), _plain(str | Sequence[str]), _plain(int | None)
    (list[str], list[str], int | None)
    """
    members = members_of(hint)
    # Several where Python takes one or several; a path where Python takes nothing else but its name.
    several = next((kind for kind in members if get_origin(kind) in SEVERAL), None)
    if several is not None:
        return list[_plain(get_args(several)[0])]  # type: ignore[misc]
    kinds = [str if get_origin(kind) is Literal else kind for kind in members if kind is not NoneType]
    first = Path if {*kinds} <= {str, Path} and Path in kinds else next(kind for kind in kinds if kind is not Path)
    return first | None if NoneType in members else first


def _is_several(kind: Any) -> bool:
    return get_origin(kind) is list
