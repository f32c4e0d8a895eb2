"""Turn texts that a user typed into values of a parameter's type."""

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin

from winokit.errors import BadInput
from winokit.settings import SEVERAL, choices_of, help_of, members_of

SWITCHES = {"on": True, "off": False, "true": True, "false": False, "yes": True, "no": False}
"""Words for a setting that is on or off."""
NUMBERS: Mapping[type, str] = {int: "a whole number", float: "a number"}


def takes_several(parameter: inspect.Parameter) -> bool:
    """Whether a parameter may be typed several times."""
    return any(get_origin(member) in SEVERAL for member in _list_members(parameter))


def is_switch(parameter: inspect.Parameter) -> bool:
    """Whether a parameter is on or off, and takes no other value."""
    return kinds_of(parameter) == {bool}


def kinds_of(parameter: inspect.Parameter) -> set[Any]:
    """Types of a parameter's values, without None.

    For a list they are the types of its items.
    """
    kinds: set[Any] = set()
    for member in _list_members(parameter):
        is_several = get_origin(member) in SEVERAL
        kinds |= set(members_of(get_args(member)[0])) if is_several else {member}
    return kinds - {NoneType}


def read_texts(typed_as: str, parameter: inspect.Parameter, texts: Sequence[str]) -> Any:
    """Read the value of a parameter from typed texts.

    The value is a tuple if the parameter takes several. `typed_as` is its name in errors, such as `--top`. Raises
    BadInput for a text that is no value of the parameter, or for several texts if it takes one.
    """
    several = takes_several(parameter)
    if len(texts) > 1 and not several:
        raise BadInput(f"{typed_as}: given twice, as {texts[0]} and as {texts[1]}")
    values: list[Any] = list(texts)
    if not choices_of(parameter.annotation):
        kinds = kinds_of(parameter)
        values = [_read_text(typed_as, text, kinds) for text in texts]
    return tuple(values) if several else values[0]


def _list_members(parameter: inspect.Parameter) -> tuple[Any, ...]:
    """List the members of a parameter's type.

    The type is its annotation, unless its help names another for typed values.
    """
    setting_help = help_of(parameter.annotation)
    if setting_help is None or setting_help.typed is None:
        return members_of(parameter.annotation)
    return members_of(setting_help.typed)


def _read_text(typed_as: str, text: str, kinds: set[Any]) -> Any:
    """Read a typed text as a value of one of these types.

    A text stays a text if that is one of the types, or if none is a number, a path or a switch. Raises BadInput if it
    cannot be read.
    """
    if kinds == {bool}:
        if text not in SWITCHES:
            raise BadInput(f"{typed_as}: expected on or off, found {text!r}")
        return SWITCHES[text]
    if kinds == {Path}:
        return Path(text)
    number = next((kind for kind in NUMBERS if kind in kinds), None)
    if number is None or str in kinds:
        return text
    try:
        return number(text)
    except ValueError:
        raise BadInput(f"{typed_as}: expected {NUMBERS[number]}, found {text!r}") from None
