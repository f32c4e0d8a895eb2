"""A setting is written once, where it is used: type, default, help and bounds. Options and checks derive from it.

>>> @dataclass(frozen=True)
... class OvenSettings(Settings):
...     heat: Annotated[int, Help("Degrees.", least=0, most=300)] = 180
...     mode: Annotated[Literal["fan", "grill"], Help("Where the heat comes from.")] = "fan"
>>> OvenSettings(heat=400)
Traceback (most recent call last):
...
winokit.errors.BadInput: heat: expected 0 or more and 300 or less, found 400

A verb is a function whose settings can be given field by field, from Python or as options:

>>> @verb
... def bake(cake: str, *, oven: OvenSettings = OvenSettings(), minutes: int = 40):
...     return cake, oven.heat, minutes
>>> bake("plum", heat=200)
('plum', 200, 40)
>>> [name for name in inspect.signature(bake).parameters]
['cake', 'heat', 'mode', 'minutes']

Settings may be made of settings, and a verb takes the fields of all of them:

>>> @dataclass(frozen=True)
... class KitchenSettings(Settings):
...     oven: OvenSettings = OvenSettings()
...     cooks: Annotated[int, Help("How many people cook.", least=1)] = 1
>>> @verb
... def cater(guests: int, *, kitchen: KitchenSettings = KitchenSettings()):
...     return guests, kitchen.oven.heat, kitchen.cooks
>>> cater(8, heat=220, cooks=2)
(8, 220, 2)
"""

import inspect
import math
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import MISSING, dataclass, fields, replace
from difflib import get_close_matches
from functools import cache, wraps
from numbers import Integral, Real
from pathlib import Path
from types import NoneType, SimpleNamespace, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from winokit.errors import BadInput, UnknownName
from winokit.notebook import Frame, in_notebook, progress_line

F = TypeVar("F", bound=Callable[..., Any])
DATA_HELP = (
    "A name of `winokit datasets` (open, winogrande/xl), a file, FORMAT:file, hub:org/name, or a folder "
    "(./open if it has the name of a dataset)."
)
"""What users may give as data. It is here so that help of a verb costs nothing that reads data."""
SHOWN = 1e9
"""Bounds above this are not shown."""
SEVERAL = (tuple, list, Sequence, Iterable)
WORDS: dict[Any, str] = {
    **{int: "a whole number", float: "a number", str: "a text", Path: "a path", bool: "True or False"},
    **{NoneType: "None", Callable: "a function", Frame: "a data frame"},
}
"""What an error calls a type."""


@dataclass(frozen=True)
class Help:
    """What a setting does, within which bounds, and how the command line takes it."""

    text: str
    metavar: str | None = None
    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None
    typed: Any = None
    """What may be typed, where Python takes more: `list[str]` for what may be one name, several, or objects."""
    also: str | None = None
    """Another name of the option: `license` for `licence`."""
    was: str | None = None
    """The name that the setting had before. Whoever gives it is told the new one."""
    noun: str | None = None
    """What an error calls a value that is none of the choices, where the parameter's name will not do."""
    option: bool = False
    """Whether it is typed as an option although Python takes it by position."""
    bare: bool = False
    """Whether it is typed as an option or, without the option's name, as an argument."""
    otherwise: Any = None
    """What the command line gives where nothing is typed, where Python's default is None: a file to write, say."""
    shown: bool = True
    """Whether the default is worth showing: the help says it better, or there is none."""
    section: str | None = None
    """The section of winokit.toml that has it. It is then no option; `--set name=value` gives it for one command."""

    @property
    def bounds(self) -> tuple[str, ...]:
        """The bounds, as help shows them: `x>=1`."""
        signs = {">=": self.least, "<=": self.most, ">": self.above, "<": self.below}
        return tuple(f"x{sign}{bound:g}" for sign, bound in signs.items() if bound is not None and bound < SHOWN)


class Without:
    """Fields of a settings class that a verb does not take: it decides them itself.

    `now_in` is the call of the library that takes them instead.
    """

    def __init__(self, *names: str, now_in: str | None = None) -> None:
        self.names = names
        self.now_in = now_in


class Stored:
    """Fields of a settings class that a verb takes from a section of winokit.toml, and not as options.

    Without names, all fields.
    """

    def __init__(self, section: str, *names: str) -> None:
        self.section = section
        self.names = names


class Settings:
    """A frozen dataclass of settings whose types and bounds are checked as it is made."""

    def __post_init__(self) -> None:
        hints: Mapping[str, Any] = _hints(type(self))  # type: ignore[arg-type]
        for name, hint in hints.items():
            value = fitted(getattr(self, name), hint)
            object.__setattr__(self, name, value)
            check(name, value, hint)


def fitted(value: Any, hint: Any) -> Any:
    """The value in the form of its annotation: one thing as several where several are taken, a text as a path.

    >>> fitted("run", Path | None), fitted("random", tuple[str, ...]), fitted("open", str | Path)
    (PosixPath('run'), ('random',), 'open')
    """
    several = [kind for kind in members_of(hint) if get_origin(kind) in SEVERAL]
    if several and value is None and NoneType not in members_of(hint):
        return ()
    if isinstance(value, (Set, Iterator)) and several:
        value = tuple(value)
    if not _fits(value, hint) and any(_fits(value, get_args(kind)[0]) for kind in several):
        value = (value,)
    if isinstance(value, (list, tuple)):
        return type(value)(_plain(each, _kinds(hint)) for each in value) if type(value) in (list, tuple) else value
    return _plain(value, _kinds(hint))


def _plain(value: Any, kinds: list[Any]) -> Any:
    """A path, a text or a number as it is taken: those of NumPy have no place in a JSON file."""
    if isinstance(value, str) and Path in kinds and str not in kinds:
        return Path(value)
    if isinstance(value, Path) and str in kinds and Path not in kinds:
        return str(value)
    if isinstance(value, Integral) and not isinstance(value, bool) and (int in kinds or float in kinds):
        return int(value)
    return float(value) if isinstance(value, Real) and not isinstance(value, int) and float in kinds else value


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value is of the kind an annotation names; a text is a path too, and never several texts."""
    members = members_of(hint)
    origin = get_origin(hint)
    if len(members) > 1 or members[0] is not hint:
        return any(_fits(value, member) for member in members)
    if origin is Literal:
        return isinstance(value, str) or value in get_args(hint)
    if origin in SEVERAL:
        each = get_args(hint)[0]
        single = isinstance(value, str) or hasattr(value, "columns")  # a data frame would list the names of its columns
        return isinstance(value, Iterable) and not single and all(_fits(item, each) for item in value)
    if hint in (int, float):
        return isinstance(value, Integral if hint is int else Real) and not isinstance(value, bool)
    if hint in (str, Path):
        return isinstance(value, (str, Path))
    kind = origin or hint
    try:
        return not isinstance(kind, type) or isinstance(value, kind)
    except TypeError:  # a protocol that only a type checker can check
        return True


def members_of(hint: Any) -> tuple[Any, ...]:
    """What an annotation offers to choose from: itself, unless it is a union."""
    if get_origin(hint) is Annotated:
        return members_of(get_args(hint)[0])
    if get_origin(hint) in (Union, UnionType):
        return tuple(member for part in get_args(hint) for member in members_of(part))
    return (hint,)


def _kinds(hint: Any) -> list[Any]:
    """The types of single things that an annotation is made of."""
    kinds: list[Any] = []
    for member in members_of(hint):
        if get_origin(member) in SEVERAL:
            kinds += _kinds(get_args(member)[0])
        else:
            kinds.append(str if get_origin(member) is Literal else get_origin(member) or member)
    return kinds


def check(name: str, value: Any, hint: Any) -> None:
    """Refuse a value that is not of the type, or outside the bounds or the choices, of its annotation."""
    choices = choices_of(hint)
    said = help_of(hint)
    # What may be typed may be given too: a share written as "15%" is read by the settings themselves.
    typed = said is not None and said.typed is not None and _fits(value, said.typed)
    if not typed and not _fits(value, hint):
        words = choices or dict.fromkeys(WORDS.get(kind, f"a {kind.__name__}") for kind in _kinds(hint))
        several = ", one or several," if any(get_origin(kind) in SEVERAL for kind in members_of(hint)) else ""
        shown = repr(value) if len(repr(value)) < 80 else f"a {type(value).__name__}"
        raise BadInput(f"{name}: expected {' or '.join(words)}{several}, found {shown}")
    if value is None:
        return
    for each in value if isinstance(value, (list, tuple)) else (value,):
        if choices and each not in choices and isinstance(each, str):
            raise UnknownName((said and said.noun) or name.replace("_", " "), each, choices)
        if said is not None and isinstance(each, (int, float)) and not isinstance(each, bool):
            _check_bounds(name, each, said)


def _check_bounds(name: str, value: float, said: Help) -> None:
    bounds: dict[str, tuple[float | None, Callable[[float], bool]]] = {
        "{} or more": (said.least, lambda bound: value >= bound),
        "{} or less": (said.most, lambda bound: value <= bound),
        "a number above {}": (said.above, lambda bound: value > bound),
        "a number below {}": (said.below, lambda bound: value < bound),
    }
    asked = [(words.format(bound), kept(bound)) for words, (bound, kept) in bounds.items() if bound is not None]
    if asked and not (math.isfinite(value) and all(kept for _, kept in asked)):
        expected = " and ".join(words for words, _ in asked)
        raise BadInput(f"{name}: expected {expected}, found {value}")


def help_of(hint: Any) -> Help | None:
    """The help of an annotation, where it has one; the last one, where a shared annotation is used with other words."""
    return next((part for part in reversed(getattr(hint, "__metadata__", ())) if isinstance(part, Help)), None)


def choices_of(hint: Any) -> tuple[str, ...]:
    """The names a Literal lists, inside `Annotated`, optional and repeated ones too; none for other types.

    >>> choices_of(Annotated[Literal["a", "b"] | None, Help("one of two")])
    ('a', 'b')
    """
    if get_origin(hint) is Annotated:
        return choices_of(get_args(hint)[0])
    if get_origin(hint) is Literal:
        return tuple(str(choice) for choice in get_args(hint))
    inner = [kind for kind in get_args(hint) if kind not in (NoneType, Ellipsis)]
    return choices_of(inner[0]) if len(inner) == 1 else ()


def verb(function: F) -> F:
    """Let the settings classes among a function's parameters be given field by field, and check what is given.

    The fields stand in the signature where the class stood, with the defaults of that verb. A whole settings object
    may be given too, by the parameter's name; fields given beside it win.
    """
    # What it returns may need an extra, and is known to type checkers alone.
    written = {name: hint for name, hint in function.__annotations__.items() if name != "return"}
    space = inspect.unwrap(function).__globals__
    hints = get_type_hints(SimpleNamespace(__annotations__=written), space, include_extras=True)
    wholes = {name: kind for name, hint in hints.items() if (kind := _settings_class(hint)) is not None}
    plain = inspect.signature(function)
    leaves: dict[str, str] = {}
    for whole, kind in wholes.items():
        leaves |= dict.fromkeys(names_inside(kind, hints[whole]), whole)
    parameters = [made for parameter in plain.parameters.values() for made in _expanded(parameter, hints, wholes)]
    names = {*leaves, *plain.parameters}
    former = former_names(parameters)
    moved = {**_moved_fields(hints, wholes), **getattr(function, "moved", {})}
    open_ended = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters)

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        if not open_ended:
            check_names(function.__name__, kwargs, names, former, moved)
        own = {name: value for name, value in kwargs.items() if name not in leaves}
        for name, kind in wholes.items():
            given = {leaf: kwargs[leaf] for leaf, whole in leaves.items() if whole == name and leaf in kwargs}
            if name in own:
                check(name, own[name], kind)
            own[name] = assemble(kind, own.get(name, plain.parameters[name].default), given)
        bound = plain.bind(*args, **own)
        for name, value in bound.arguments.items():
            bound.arguments[name] = fitted(value, hints.get(name, Any))
            check(name, bound.arguments[name], hints.get(name, Any))
        if "progress" in plain.parameters and bound.arguments.get("progress") is None and in_notebook():
            bound.arguments["progress"] = progress_line(function.__name__)
        return function(*bound.args, **bound.kwargs)

    vars(called)["full"] = plain.replace(parameters=parameters)
    vars(called)["settings"] = dict(wholes)
    for kind in wholes.values():
        vars(called)["settings"] |= inner_settings(kind)
    kinds = get_type_hints(SimpleNamespace(__annotations__=written), space)
    for whole_kind in wholes.values():
        kinds |= plain_types(whole_kind)
    shown = [parameter.replace(annotation=kinds.get(parameter.name, parameter.annotation)) for parameter in parameters]
    called.__signature__ = plain.replace(parameters=shown)  # type: ignore[attr-defined]
    called.__doc__ = documented(function.__doc__ or "", parameters, wholes, plain.return_annotation)
    return cast(F, called)


def _moved_fields(hints: Mapping[str, Any], wholes: Iterable[str]) -> dict[str, str]:
    """Fields that a verb leaves to another call, by name, at any depth."""
    found: dict[str, str] = {}
    for name in wholes:
        for part in getattr(hints[name], "__metadata__", ()):
            if isinstance(part, Without) and part.now_in is not None:
                found |= dict.fromkeys(part.names, part.now_in)
        inner_hints = _hints(_settings_class(hints[name]))
        found |= _moved_fields(inner_hints, [each for each, hint in inner_hints.items() if _settings_class(hint)])
    return found


def signature_of(call: Callable[..., Any]) -> inspect.Signature:
    """A call's parameters, with their help where it is a verb; what Python shows of them has the types alone."""
    return cast(inspect.Signature, getattr(call, "full", None) or inspect.signature(call))


def settings_of(call: Callable[..., Any]) -> dict[str, type]:
    """The settings classes that a verb takes as whole objects, by the keyword of each."""
    return dict(getattr(call, "settings", {}))


def documented(
    text: str, parameters: Iterable[inspect.Parameter], wholes: Mapping[str, type], returned: Any = None
) -> str:
    """A docstring with every parameter, by its help and what was written besides, and what is returned and raised."""
    head, *sections = re.split(r"\n\n(?=\w+\n---+\n)", inspect.cleandoc(text))
    written = next((part for part in sections if part.startswith("Parameters\n")), "")
    besides = dict(re.findall(r"^(\w+)\n((?:    .*\n?)+)", written, re.MULTILINE))
    described = {}
    for parameter in parameters:
        name = parameter.name
        said = help_of(parameter.annotation)
        default = "" if parameter.default is inspect.Parameter.empty else f" : default {parameter.default!r}"
        words = "Called with what is done and what there is." if name == "progress" else said.text if said else ""
        described[name] = (default, textwrap.fill(_in_python(words), 96), besides.get(name, ""))
    for name, kind in wholes.items():
        words = f"{kind.__name__}: several of the above in one object; arguments given separately take precedence."
        described[name] = ("", words, besides.get(name, ""))
    lines = [
        "\n".join(part.rstrip() for part in (name + default, textwrap.indent(words, "    "), more) if part)
        for name, (default, words, more) in described.items()
    ]
    rest = [part for part in sections if part is not written]
    own, *_ = (*get_args(returned), returned)
    if isinstance(own, type) and not any(part.startswith("Returns\n") for part in rest):
        first = (inspect.getdoc(own) or "").partition("\n")[0]
        written_kind = re.sub(r"[\w.]+\.", "", inspect.formatannotation(returned))
        rest.append(f"Returns\n-------\n{written_kind}\n    {first}")
    if not any(part.startswith("Raises\n") for part in rest):
        rest.append("Raises\n------\nWinokitError\n    The input cannot be used; one line says why, and what to do.")
    return "\n\n".join([_in_python(head), "Parameters\n----------\n" + "\n".join(lines), *rest])


def _in_python(words: str) -> str:
    """Help as Python says it; commands in backticks stay.

    >>> _in_python("With --model: how to `cut --read`; repeatable. Default: --set assess=off.")
    'With model: how to `cut --read`; one or several. Default: assess=False.'
    """
    words = words.replace("repeatable", "one or several").replace("Repeatable", "One or several")
    switches = {"on": "True", "off": "False"}
    words = re.sub(r"--set (\w+)=(on|off)\b", lambda found: f"{found[1]}={switches[found[2]]}", words)
    words = re.sub(r"--set (\w+)", r"\1", words)
    outside = r"(?=[^`]*(?:`[^`]*`[^`]*)*$)"
    words = re.sub(rf"--no-([a-z][a-z-]*){outside}", r"\1=False", words)
    return re.sub(rf"--([a-z][a-z-]*){outside}", lambda option: option[1].replace("-", "_"), words)


def former_names(parameters: Iterable[inspect.Parameter]) -> dict[str, str]:
    """The names that parameters had before, each with the present one."""
    former = {}
    for parameter in parameters:
        said = help_of(parameter.annotation)
        if said is not None and said.was is not None:
            former[said.was] = parameter.name
    return former


def moved_to(call: str, *names: str) -> Callable[[F], F]:
    """Mark parameters that a verb had before and another verb has now; whoever gives one is told that verb.

    >>> @verb
    ... @moved_to("freeze", "frost")
    ... def cool(cake: str, *, minutes: int = 40): ...
    >>> cool("plum", frost=True)
    Traceback (most recent call last):
    ...
    TypeError: cool() has no parameter 'frost': it is one of winokit.freeze() now
    """

    def mark(function: F) -> F:
        vars(function)["moved"] = dict.fromkeys(names, call)
        return function

    return mark


def check_names(
    call: str,
    given: Iterable[str],
    known: Iterable[str],
    former: Mapping[str, str] = {},
    moved: Mapping[str, str] = {},
) -> None:
    """Refuse a parameter that a call does not have, as Python does, with the one that was probably meant.

    `former` are names that parameters had before, with the present ones; `moved`, with the verbs that have them now.

    >>> check_names("bake", ["heet"], ["heat", "mode"])
    Traceback (most recent call last):
    ...
    TypeError: bake() has no parameter 'heet'. Did you mean 'heat'?
    >>> check_names("bake", ["warmth"], ["heat", "mode"], former={"warmth": "heat"})
    Traceback (most recent call last):
    ...
    TypeError: bake() has no parameter 'warmth': it is called 'heat' now
    """
    known = list(known)
    for name in given:
        if name in former:
            raise TypeError(f"{call}() has no parameter {name!r}: it is called {former[name]!r} now")
        if name in moved:
            raise TypeError(f"{call}() has no parameter {name!r}: it is one of winokit.{moved[name]}() now")
        if name not in known:
            close = get_close_matches(name, known, n=1)
            raise TypeError(f"{call}() has no parameter {name!r}." + (f" Did you mean {close[0]!r}?" if close else ""))


def parameters_of(kind: type) -> Iterator[inspect.Parameter]:
    """The settings of a class that have help, as a call's parameters; those without a default must be given."""
    for each in fields(kind):
        hint = _hints(kind).get(each.name)
        if help_of(hint) is not None:
            default = inspect.Parameter.empty if each.default is MISSING else each.default
            yield inspect.Parameter(each.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def spelling(kind: type, name: str) -> str:
    """Spelling of a setting on the command line: `--twins`, or `--set folds` if it is no option."""
    said = help_of(_hints(kind)[name])
    if said is not None and said.section is not None:
        return f"--set {name}"
    return f"--{name.strip('_').replace('_', '-')}"


def refuse_unused(call: Callable[..., Any], why: str, **given: Any) -> None:
    """Refuse settings that are not the defaults of a call and would be passed over in silence."""
    for name, value in given.items():
        default = inspect.signature(call).parameters[name].default
        if value is not default and value != default:
            raise BadInput(f"--{name.strip('_').replace('_', '-')}: {why}")


def taken(kind: type, hint: Any) -> Mapping[str, Any]:
    """Fields of a settings class that a verb takes, with their annotations.

    A field that holds settings stands for their fields.
    """
    left = {name for part in getattr(hint, "__metadata__", ()) if isinstance(part, Without) for name in part.names}
    found: dict[str, Any] = {}
    for name, field in _hints(kind).items():
        inner = _settings_class(field)
        if inner is None:
            found[name] = field
        else:
            found |= taken(inner, field)
    for part in getattr(hint, "__metadata__", ()):
        if isinstance(part, Stored):
            found |= {name: _in_section(found[name], part.section) for name in part.names or found}
    return {name: field for name, field in found.items() if name not in left}


def _in_section(hint: Any, section: str) -> Any:
    """The annotation of a setting that stands in a section of winokit.toml."""
    said = help_of(hint)
    return hint if said is None else Annotated[hint, replace(said, section=section)]


def inner_settings(kind: type) -> dict[str, type]:
    """The settings classes that a settings class is made of, at any depth, by the fields that hold them."""
    found: dict[str, type] = {}
    for name, hint in _hints(kind).items():
        inner = _settings_class(hint)
        if inner is not None:
            found |= {name: inner, **inner_settings(inner)}
    return found


def names_inside(kind: type, hint: Any) -> list[str]:
    """What can be given of a settings class by name: its fields, and the settings it is made of."""
    return [*taken(kind, hint), *inner_settings(kind)]


def plain_types(kind: type) -> dict[str, Any]:
    """The types of all fields of a settings class, without their help, at any depth."""
    types: dict[str, Any] = {}
    for part in (*inner_settings(kind).values(), kind):
        types |= get_type_hints(part)
    return types


def assemble(kind: type, whole: Any, given: Mapping[str, Any]) -> Any:
    """Settings in which fields given by name replace those of `whole`, at any depth.

    `whole` is a settings object, or `inspect.Parameter.empty` if there is none to begin with.
    """
    changed: dict[str, Any] = {}
    for name, hint in _hints(kind).items():
        inner = _settings_class(hint)
        if name in given:
            changed[name] = given[name]
        if inner is None:
            continue
        inside = {leaf: given[leaf] for leaf in names_inside(inner, hint) if leaf in given}
        if inside:
            start = changed.get(name, getattr(whole, name, inspect.Parameter.empty))
            changed[name] = assemble(inner, start, inside)
    if whole is inspect.Parameter.empty:
        return kind(**changed)
    return replace(whole, **changed) if changed else whole


def value_inside(whole: Any, name: str) -> Any:
    """The value of a field, of a settings object or of those that it holds."""
    if hasattr(whole, name):
        return getattr(whole, name)
    for holder in inner_settings(type(whole)):
        inner = getattr(whole, holder, None)
        if isinstance(inner, Settings) and name in names_inside(type(inner), None):
            return value_inside(inner, name)
    raise AttributeError(f"{type(whole).__name__} has no setting {name!r}")


def _expanded(
    parameter: inspect.Parameter, hints: Mapping[str, Any], wholes: Mapping[str, type]
) -> Iterator[inspect.Parameter]:
    hint = hints.get(parameter.name, Any)
    if parameter.name not in wholes:
        yield parameter.replace(annotation=hint)
        return
    kind = wholes[parameter.name]
    defaults = kind() if parameter.default is inspect.Parameter.empty else parameter.default
    for name, field in taken(kind, hint).items():
        default = value_inside(defaults, name)
        yield inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=field)


def _settings_class(hint: Any) -> Any:
    """The settings class that an annotation names, optional or not; None for anything else."""
    kinds = [kind for kind in members_of(hint) if kind is not NoneType]
    return kinds[0] if len(kinds) == 1 and isinstance(kinds[0], type) and issubclass(kinds[0], Settings) else None


@cache
def _hints(kind: Any) -> Mapping[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    return {field.name: hints[field.name] for field in fields(kind) if field.init}
