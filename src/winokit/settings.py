"""Settings, each written once where it is used.

A setting has a type, a default, help and bounds; options and checks derive from these.

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
from itertools import chain
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
"""Help for arguments with data. It is here so that help of a verb imports nothing that reads data."""
SHOWN = 1e9
"""Bounds above this are not shown."""
SEVERAL = (tuple, list, Sequence, Iterable)
WORDS: dict[Any, str] = {
    **{int: "a whole number", float: "a number", str: "a text", Path: "a path", bool: "True or False"},
    **{NoneType: "None", Callable: "a function", Frame: "a data frame"},
}
"""Words for types in errors."""


@dataclass(frozen=True)
class Help:
    """Help text of a setting, its bounds, and its command-line form."""

    text: str
    metavar: str | None = None
    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None
    typed: Any = None
    """Type on the command line, if Python takes more: `list[str]` for one name, several, or objects."""
    also: str | None = None
    """Another name of the option: `license` for `licence`."""
    was: str | None = None
    """Former name of the setting. Whoever gives it gets an error with the new one."""
    noun: str | None = None
    """Noun for a value that is none of the choices, in an error; None for the parameter's name."""
    option: bool = False
    """Whether it is typed as an option although Python takes it by position."""
    bare: bool = False
    """Whether it is typed as an option or, without the option's name, as an argument."""
    otherwise: Any = None
    """Default on the command line, if Python's default is None: a file to write, say."""
    shown: bool = True
    """Whether the default is worth showing: the help says it better, or there is none."""
    section: str | None = None
    """The section of winokit.toml that has it. It is then no option; `--set name=value` gives it for one command."""

    @property
    def bounds(self) -> tuple[str, ...]:
        """Bounds as help texts show them, such as `x>=1`."""
        signs = {">=": self.least, "<=": self.most, ">": self.above, "<": self.below}
        bounds: list[str] = []
        for sign, bound in signs.items():
            if bound is not None and bound < SHOWN:
                bounds.append(f"x{sign}{bound:g}")
        return tuple(bounds)


class Without:
    """Names of settings that a verb decides itself and does not take.

    It is put into the annotation of the settings class. `now_in` is the call of the library that takes them instead.
    """

    def __init__(self, *names: str, now_in: str | None = None) -> None:
        self.names = names
        self.now_in = now_in


class Stored:
    """Names of settings that a verb takes from winokit.toml, not as options.

    It is put into the annotation of the settings class. `section` is that of the file. Without names, all settings.
    """

    def __init__(self, section: str, *names: str) -> None:
        self.section = section
        self.names = names


class Settings:
    """Base of frozen dataclasses of settings, checked when created.

    Types and bounds are those of the annotations.
    """

    def __post_init__(self) -> None:
        hints: Mapping[str, Any] = _get_hints(type(self))  # type: ignore[arg-type]
        for name, hint in hints.items():
            value = convert_value(getattr(self, name), hint)
            object.__setattr__(self, name, value)
            check(name, value, hint)


def convert_value(value: Any, hint: Any) -> Any:
    """Convert a value to the type of its annotation.

    A single value becomes a tuple where several are taken, a text becomes a path. Values that do not fit are returned
    as they are.

    >>> convert_value("run", Path | None), convert_value("random", tuple[str, ...]), convert_value("open", str | Path)
    (PosixPath('run'), ('random',), 'open')
    """
    several = [kind for kind in members_of(hint) if get_origin(kind) in SEVERAL]
    if several and value is None and NoneType not in members_of(hint):
        return ()
    if isinstance(value, (Set, Iterator)) and several:
        value = tuple(value)
    item_hints = [get_args(kind)[0] for kind in several]
    if not _is_kind_of(value, hint) and any(_is_kind_of(value, item_hint) for item_hint in item_hints):
        value = (value,)
    kinds = _list_kinds(hint)
    if type(value) in (list, tuple):
        return type(value)(_convert_single(each, kinds) for each in value)
    if isinstance(value, (list, tuple)):  # A named tuple, say, stays as it is.
        return value
    return _convert_single(value, kinds)


def _convert_single(value: Any, kinds: list[Any]) -> Any:
    """Convert a path, text or number to one of these types.

    NumPy's numbers become Python's, which a JSON file needs.
    """
    if isinstance(value, str) and Path in kinds and str not in kinds:
        return Path(value)
    if isinstance(value, Path) and str in kinds and Path not in kinds:
        return str(value)
    if isinstance(value, Integral) and not isinstance(value, bool) and (int in kinds or float in kinds):
        return int(value)
    is_float = isinstance(value, Real) and not isinstance(value, int)
    return float(value) if is_float and float in kinds else value


def _is_kind_of(value: Any, hint: Any) -> bool:
    """Whether a value is of the type of an annotation.

    A text is a path too, and never a sequence of texts. Any text is of the type of a Literal: `check` compares it with
    the choices.
    """
    members = members_of(hint)
    origin = get_origin(hint)
    if len(members) > 1 or members[0] is not hint:
        return any(_is_kind_of(value, member) for member in members)
    if origin is Literal:
        return isinstance(value, str) or value in get_args(hint)
    if origin in SEVERAL:
        each = get_args(hint)[0]
        single = isinstance(value, str) or hasattr(value, "columns")  # a data frame would list the names of its columns
        return isinstance(value, Iterable) and not single and all(_is_kind_of(item, each) for item in value)
    return _is_instance(value, origin or hint)


def _is_instance(value: Any, kind: Any) -> bool:
    """Whether a value is of a type.

    A bool is not a number, and a text is a path too.
    """
    if kind in (int, float):
        return isinstance(value, Integral if kind is int else Real) and not isinstance(value, bool)
    if kind in (str, Path):
        return isinstance(value, (str, Path))
    try:
        return not isinstance(kind, type) or isinstance(value, kind)
    except TypeError:  # a protocol that only a type checker can check
        return True


def members_of(hint: Any) -> tuple[Any, ...]:
    """Types that an annotation allows: members of a union, or itself."""
    if get_origin(hint) is Annotated:
        return members_of(get_args(hint)[0])
    if get_origin(hint) in (Union, UnionType):
        return tuple(chain.from_iterable(map(members_of, get_args(hint))))
    return (hint,)


def _list_kinds(hint: Any) -> list[Any]:
    """Types that single values may have by an annotation.

    Of a sequence they are the types of its items.
    """
    kinds: list[Any] = []
    for member in members_of(hint):
        if get_origin(member) in SEVERAL:
            kinds += _list_kinds(get_args(member)[0])
        else:
            kinds.append(str if get_origin(member) is Literal else get_origin(member) or member)
    return kinds


def check(name: str, value: Any, hint: Any) -> None:
    """Raise BadInput or UnknownName unless a value fits its annotation.

    It may have the wrong type, be out of bounds, or be none of the choices. `name` is the setting's, for the message.
    """
    choices = choices_of(hint)
    setting_help = help_of(hint)
    # What may be typed may be given too: a share written as "15%" is read by the settings themselves.
    typed = setting_help is not None and setting_help.typed is not None and _is_kind_of(value, setting_help.typed)
    if not typed and not _is_kind_of(value, hint):
        raise BadInput(f"{name}: expected {_describe_kinds(hint)}, found {_describe_value(value, hint)}")
    if value is None:
        return
    for each in value if isinstance(value, (list, tuple)) else (value,):
        if choices and each not in choices and isinstance(each, str):
            raise UnknownName((setting_help and setting_help.noun) or name.replace("_", " "), each, choices)
        if setting_help is not None and isinstance(each, (int, float)) and not isinstance(each, bool):
            _check_bounds(name, each, setting_help)


def _describe_value(value: Any, hint: Any) -> str:
    """Describe in words a value that does not fit its annotation.

    A long one is described by its type, a list also by that of its first item that does not fit.
    """
    written = repr(value)
    if len(written) < 80 and "\n" not in written:
        return written
    description = f"a {type(value).__name__}"
    item_hints = [get_args(kind)[0] for kind in members_of(hint) if get_origin(kind) in SEVERAL]
    if isinstance(value, (list, tuple)) and item_hints:
        wrong_items = [each for each in value if not any(_is_kind_of(each, item_hint) for item_hint in item_hints)]
        if wrong_items:
            return f"{description} with a {type(wrong_items[0]).__name__} in it"
    return description


def _describe_kinds(hint: Any) -> str:
    """Describe in words the choices or types of an annotation."""
    kind_names = [WORDS.get(kind, f"a {kind.__name__}") for kind in _list_kinds(hint)]
    words = " or ".join(choices_of(hint) or dict.fromkeys(kind_names))
    takes_several = any(get_origin(kind) in SEVERAL for kind in members_of(hint))
    return f"{words}, one or several" if takes_several else words


def _check_bounds(name: str, value: float, setting_help: Help) -> None:
    """Raise BadInput if a number is infinite or out of bounds.

    `setting_help` has the bounds. Without bounds, any number passes.
    """
    bounds: dict[str, tuple[float | None, Callable[[float], bool]]] = {
        "{} or more": (setting_help.least, lambda bound: value >= bound),
        "{} or less": (setting_help.most, lambda bound: value <= bound),
        "a number above {}": (setting_help.above, lambda bound: value > bound),
        "a number below {}": (setting_help.below, lambda bound: value < bound),
    }
    expectations: list[str] = []
    is_within = math.isfinite(value)
    for words, (bound, is_kept) in bounds.items():
        if bound is not None:
            expectations.append(words.format(bound))
            is_within = is_within and is_kept(bound)
    if expectations and not is_within:
        raise BadInput(f"{name}: expected {' and '.join(expectations)}, found {value}")


def help_of(hint: Any) -> Help | None:
    """Help in an annotation, or None.

    If there are several, the last counts: a shared annotation may be used with other words.
    """
    metadata = getattr(hint, "__metadata__", ())
    helps = [part for part in metadata if isinstance(part, Help)]
    return helps[-1] if helps else None


def choices_of(hint: Any) -> tuple[str, ...]:
    """Choices of a Literal, or an empty tuple for other types.

    It may be inside `Annotated`, optional or repeated.

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
    """Decorator that lets a function take the fields of its settings classes.

    The fields are keyword arguments where a settings object was a parameter, with the defaults of that verb, and they
    are converted and checked. A whole settings object may be given too, by the parameter's name, and fields given
    beside it win. An argument that the verb does not have raises TypeError. In a notebook, a verb with a parameter
    `progress` shows a progress line unless it is given another.
    """
    # What it returns may need an extra, and is known to type checkers alone.
    annotations = {name: hint for name, hint in function.__annotations__.items() if name != "return"}
    namespace = inspect.unwrap(function).__globals__
    hints = get_type_hints(SimpleNamespace(__annotations__=annotations), namespace, include_extras=True)
    kinds_by_name = {name: _get_settings_class(hint) for name, hint in hints.items()}
    settings_classes = {name: kind for name, kind in kinds_by_name.items() if kind is not None}
    signature = inspect.signature(function)
    keyword_of_field: dict[str, str] = {}
    for keyword, kind in settings_classes.items():
        keyword_of_field |= dict.fromkeys(names_inside(kind, hints[keyword]), keyword)
    parameters: list[inspect.Parameter] = []
    for parameter in signature.parameters.values():
        parameters += _expand_parameter(parameter, hints, settings_classes)
    valid_names = {*keyword_of_field, *signature.parameters}
    former = former_names(parameters)
    moved = {**_find_moved_fields(hints, settings_classes), **getattr(function, "moved", {})}
    takes_any_keyword = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters)

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        if not takes_any_keyword:
            check_names(function.__name__, kwargs, valid_names, former, moved)
        bound = signature.bind(*args, **_assemble_settings(kwargs, signature, settings_classes, keyword_of_field))
        _fit_arguments(bound, hints)
        if "progress" in signature.parameters and bound.arguments.get("progress") is None and in_notebook():
            bound.arguments["progress"] = progress_line(function.__name__)
        return function(*bound.args, **bound.kwargs)

    vars(called)["full"] = signature.replace(parameters=parameters)
    vars(called)["settings"] = dict(settings_classes)
    types = get_type_hints(SimpleNamespace(__annotations__=annotations), namespace)
    for kind in settings_classes.values():
        vars(called)["settings"] |= inner_settings(kind)
        types |= plain_types(kind)
    typed_parameters = _take_types(parameters, types)
    called.__signature__ = signature.replace(parameters=typed_parameters)  # type: ignore[attr-defined]
    called.__doc__ = write_docstring(function.__doc__ or "", parameters, settings_classes, signature.return_annotation)
    return cast(F, called)


def _assemble_settings(
    arguments: Mapping[str, Any],
    signature: inspect.Signature,
    settings_classes: Mapping[str, type],
    keyword_of_field: Mapping[str, str],
) -> dict[str, Any]:
    """Replace fields of settings among keyword arguments by settings objects.

    `settings_classes` are by keyword, and `keyword_of_field` has that of the class to which each field belongs. A
    settings object that is not given begins as the default in the signature.
    """
    assembled: dict[str, Any] = {}
    fields_by_keyword: dict[str, dict[str, Any]] = {name: {} for name in settings_classes}
    for name, value in arguments.items():
        if name in keyword_of_field:
            fields_by_keyword[keyword_of_field[name]][name] = value
        else:
            assembled[name] = value
    for name, kind in settings_classes.items():
        if name in assembled:
            check(name, assembled[name], kind)
        whole_settings = assembled.get(name, signature.parameters[name].default)
        assembled[name] = assemble(kind, whole_settings, fields_by_keyword[name])
    return assembled


def _take_types(parameters: Iterable[inspect.Parameter], types: Mapping[str, Any]) -> list[inspect.Parameter]:
    """Parameters with plain types as annotations, without help.

    One whose type is not listed stays as it is.
    """
    typed_parameters: list[inspect.Parameter] = []
    for parameter in parameters:
        plain_type = types.get(parameter.name, parameter.annotation)
        typed_parameters.append(parameter.replace(annotation=plain_type))
    return typed_parameters


def _fit_arguments(bound: inspect.BoundArguments, hints: Mapping[str, Any]) -> None:
    """Convert and check the arguments of a call, in place.

    `hints` are the annotations by name.
    """
    for name, value in bound.arguments.items():
        hint = hints.get(name, Any)
        bound.arguments[name] = convert_value(value, hint)
        check(name, bound.arguments[name], hint)


def _find_moved_fields(hints: Mapping[str, Any], settings_names: Iterable[str]) -> dict[str, str]:
    """Settings that another call takes now, each with that call.

    `settings_names` are the names of parameters or fields that are settings objects. Settings at any depth count.
    """
    moved: dict[str, str] = {}
    for name in settings_names:
        for part in getattr(hints[name], "__metadata__", ()):
            if isinstance(part, Without) and part.now_in is not None:
                moved |= dict.fromkeys(part.names, part.now_in)
        inner_hints = _get_hints(_get_settings_class(hints[name]))
        inner_names = [each for each, hint in inner_hints.items() if _get_settings_class(hint)]
        moved |= _find_moved_fields(inner_hints, inner_names)
    return moved


def signature_of(call: Callable[..., Any]) -> inspect.Signature:
    """Signature of a call, whose annotations have the help of parameters.

    The one that Python shows has the types alone.
    """
    return cast(inspect.Signature, getattr(call, "full", None) or inspect.signature(call))


def settings_of(call: Callable[..., Any]) -> dict[str, type]:
    """Settings classes that a verb takes as whole objects, by keyword."""
    return dict(getattr(call, "settings", {}))


def write_docstring(
    text: str, parameters: Iterable[inspect.Parameter], settings_classes: Mapping[str, type], returned: Any = None
) -> str:
    """Docstring of a verb, with its parameters, returned value and errors.

    `text` is the docstring as written; what it says of a parameter is put below the parameter's help.
    `settings_classes` are by keyword, `returned` is the annotation of the result.
    """
    head, *sections = re.split(r"\n\n(?=\w+\n---+\n)", inspect.cleandoc(text))
    parameter_section = next((part for part in sections if part.startswith("Parameters\n")), "")
    entries = _write_parameter_entries(parameter_section, parameters, settings_classes)
    other_sections = [part for part in sections if part is not parameter_section]
    return_kind, *_ = (*get_args(returned), returned)
    if isinstance(return_kind, type) and not _has_section(other_sections, "Returns"):
        first = (inspect.getdoc(return_kind) or "").partition("\n")[0]
        written_kind = re.sub(r"[\w.]+\.", "", inspect.formatannotation(returned))
        other_sections.append(f"Returns\n-------\n{written_kind}\n    {first}")
    if not _has_section(other_sections, "Raises"):
        raised = "WinokitError\n    The input cannot be used; one line says why, and what to do."
        other_sections.append(f"Raises\n------\n{raised}")
    all_parameters = "Parameters\n----------\n" + "\n".join(entries)
    return "\n\n".join([_write_for_python(head), all_parameters, *other_sections])


def _write_parameter_entries(
    section: str, parameters: Iterable[inspect.Parameter], settings_classes: Mapping[str, type]
) -> list[str]:
    """Entry of each parameter in a docstring, of settings objects last.

    It has the parameter's default, its help, and what the written section says of it.
    """
    besides = dict(re.findall(r"^(\w+)\n((?:    .*\n?)+)", section, re.MULTILINE))
    heads: dict[str, str] = {}
    texts: dict[str, str] = {}
    for parameter in parameters:
        name = parameter.name
        is_required = parameter.default is inspect.Parameter.empty
        heads[name] = name if is_required else f"{name} : default {parameter.default!r}"
        texts[name] = textwrap.fill(_write_for_python(_get_parameter_text(parameter)), 96)
    for name, kind in settings_classes.items():
        heads[name] = name
        texts[name] = (
            f"{kind.__name__}: several of the above in one object; arguments given separately take precedence."
        )
    entries: list[str] = []
    for name, head_line in heads.items():
        parts = (head_line, textwrap.indent(texts[name], "    "), besides.get(name, ""))
        entries.append("\n".join(part.rstrip() for part in parts if part))
    return entries


def _get_parameter_text(parameter: inspect.Parameter) -> str:
    """Help of a parameter, or an empty text."""
    if parameter.name == "progress":
        return "Called with what is done and what there is."
    setting_help = help_of(parameter.annotation)
    return setting_help.text if setting_help else ""


def _has_section(sections: Sequence[str], title: str) -> bool:
    """Whether one of a docstring's sections has this title."""
    return any(section.startswith(f"{title}\n") for section in sections)


def _write_for_python(words: str) -> str:
    """Rewrite a help text for Python: options become keyword arguments.

    Commands in backticks stay.

    >>> _write_for_python("With --model: how to `cut --read`; repeatable. Default: --set assess=off.")
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
    """Former names of parameters, each with the present one."""
    former = {}
    for parameter in parameters:
        setting_help = help_of(parameter.annotation)
        if setting_help is not None and setting_help.was is not None:
            former[setting_help.was] = parameter.name
    return former


def moved_to(call: str, *names: str) -> Callable[[F], F]:
    """Decorator that marks parameters which another verb takes now.

    Whoever gives one gets an error that names that verb, `call`.

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
    argument_names: Iterable[str],
    parameter_names: Iterable[str],
    former: Mapping[str, str] = {},
    moved: Mapping[str, str] = {},
) -> None:
    """Raise TypeError for an argument that a call does not have.

    The message names the parameter that was probably meant. `former` maps former names to present ones, and `moved`
    maps names to the verbs that have them now.

    >>> check_names("bake", ["heet"], ["heat", "mode"])
    Traceback (most recent call last):
    ...
    TypeError: bake() has no parameter 'heet'. Did you mean 'heat'?
    >>> check_names("bake", ["warmth"], ["heat", "mode"], former={"warmth": "heat"})
    Traceback (most recent call last):
    ...
    TypeError: bake() has no parameter 'warmth': it is called 'heat' now
    """
    valid_names = list(parameter_names)
    for name in argument_names:
        if name in former:
            raise TypeError(f"{call}() has no parameter {name!r}: it is called {former[name]!r} now")
        if name in moved:
            raise TypeError(f"{call}() has no parameter {name!r}: it is one of winokit.{moved[name]}() now")
        if name not in valid_names:
            close = get_close_matches(name, valid_names, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise TypeError(f"{call}() has no parameter {name!r}.{hint}")


def parameters_of(kind: type) -> Iterator[inspect.Parameter]:
    """Yield a parameter for each setting of a class with help.

    Those without a default must be given.
    """
    for each in fields(kind):
        hint = _get_hints(kind).get(each.name)
        if help_of(hint) is not None:
            default = inspect.Parameter.empty if each.default is MISSING else each.default
            yield inspect.Parameter(each.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def spelling(kind: type, name: str) -> str:
    """Form of a setting on the command line: `--twins` or `--set folds`."""
    setting_help = help_of(_get_hints(kind)[name])
    if setting_help is not None and setting_help.section is not None:
        return f"--set {name}"
    return f"--{name.strip('_').replace('_', '-')}"


def refuse_unused(call: Callable[..., Any], why: str, **given: Any) -> None:
    """Raise BadInput if settings without effect are not at their defaults.

    `given` are their values, the defaults are those of `call`, and `why` says why they have no effect.
    """
    for name, value in given.items():
        default = inspect.signature(call).parameters[name].default
        if value is not default and value != default:
            raise BadInput(f"--{name.strip('_').replace('_', '-')}: {why}")


def list_taken_fields(kind: type, hint: Any) -> Mapping[str, Any]:
    """Fields of a settings class that a verb takes, with annotations.

    `hint` is the verb's annotation of the class, which may leave out fields (`Without`), or put them into a section of
    winokit.toml (`Stored`). A field that holds settings is replaced by their fields.
    """
    metadata = getattr(hint, "__metadata__", ())
    left_out: set[str] = set()
    for part in metadata:
        if isinstance(part, Without):
            left_out.update(part.names)
    fields_found: dict[str, Any] = {}
    for name, field in _get_hints(kind).items():
        inner = _get_settings_class(field)
        if inner is None:
            fields_found[name] = field
        else:
            fields_found |= list_taken_fields(inner, field)
    for part in metadata:
        if isinstance(part, Stored):
            fields_found |= {
                name: _put_in_section(fields_found[name], part.section) for name in part.names or fields_found
            }
    return {name: field for name, field in fields_found.items() if name not in left_out}


def _put_in_section(hint: Any, section: str) -> Any:
    """Annotation of a setting, moved to a section of winokit.toml."""
    setting_help = help_of(hint)
    return hint if setting_help is None else Annotated[hint, replace(setting_help, section=section)]


def inner_settings(kind: type) -> dict[str, type]:
    """Settings classes inside a settings class, by field.

    They may be at any depth.
    """
    classes: dict[str, type] = {}
    for name, hint in _get_hints(kind).items():
        inner = _get_settings_class(hint)
        if inner is not None:
            classes |= {name: inner, **inner_settings(inner)}
    return classes


def names_inside(kind: type, hint: Any) -> list[str]:
    """Names of the fields that a verb takes, and of settings inside."""
    return [*list_taken_fields(kind, hint), *inner_settings(kind)]


def plain_types(kind: type) -> dict[str, Any]:
    """Types of all fields of a settings class, without help.

    Fields of settings inside it count too.
    """
    types: dict[str, Any] = {}
    for part in (*inner_settings(kind).values(), kind):
        types |= get_type_hints(part)
    return types


def assemble(kind: type, whole: Any, given: Mapping[str, Any]) -> Any:
    """Make a settings object with some fields replaced, at any depth.

    `whole` is the object to begin with, or `inspect.Parameter.empty` for the defaults of the class `kind`.
    """
    changed: dict[str, Any] = {}
    for name, hint in _get_hints(kind).items():
        inner = _get_settings_class(hint)
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
    """Value of a setting, which may be inside another at any depth.

    Raises AttributeError if there is no such setting.
    """
    if hasattr(whole, name):
        return getattr(whole, name)
    for holder in inner_settings(type(whole)):
        inner = getattr(whole, holder, None)
        if isinstance(inner, Settings) and name in names_inside(type(inner), None):
            return value_inside(inner, name)
    raise AttributeError(f"{type(whole).__name__} has no setting {name!r}")


def _expand_parameter(
    parameter: inspect.Parameter, hints: Mapping[str, Any], settings_classes: Mapping[str, type]
) -> Iterator[inspect.Parameter]:
    """Yield the parameters that replace a parameter of a verb.

    A settings object is replaced by its fields; any other parameter stays.
    """
    hint = hints.get(parameter.name, Any)
    if parameter.name not in settings_classes:
        yield parameter.replace(annotation=hint)
        return
    kind = settings_classes[parameter.name]
    defaults = kind() if parameter.default is inspect.Parameter.empty else parameter.default
    for name, field in list_taken_fields(kind, hint).items():
        default = value_inside(defaults, name)
        yield inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=field)


def _get_settings_class(hint: Any) -> Any:
    """Settings class of an annotation, optional or not, or None."""
    kinds = [kind for kind in members_of(hint) if kind is not NoneType]
    if len(kinds) != 1:
        return None
    (kind,) = kinds
    return kind if isinstance(kind, type) and issubclass(kind, Settings) else None


@cache
def _get_hints(kind: Any) -> Mapping[str, Any]:
    """Annotations of the fields of a settings class."""
    hints = get_type_hints(kind, include_extras=True)
    return {field.name: hints[field.name] for field in fields(kind) if field.init}
