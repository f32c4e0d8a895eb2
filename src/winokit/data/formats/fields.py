"""Typed access to the fields of a row.

A complaint names the field and the expected value.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from winokit.errors import Malformed
from winokit.problem import BLANK, NO_TEXT
from winokit.text.language import CODE, check_code

MISSING = object()
GROUPS = ("group", "pair_id", "pairID")
"""Names of the field with the group of twins."""
BRACKETS = re.compile(r"\[([^\[\]]+)\]")


def _get_present(row: Mapping[str, Any], key: str) -> Any:
    """The value of a field. Raises Malformed if it is missing."""
    if key not in row:
        raise Malformed(f"missing (found {names(row)})", field=key)
    return row[key]


def string(row: Mapping[str, Any], key: str) -> str:
    """The value of a field that must be a non-blank text.

    Raises Malformed otherwise, as all functions of this module do.
    """
    value = row.get(key)
    if value.__class__ is str and value.strip():
        return value
    value = _get_present(row, key)
    description = "an empty one" if isinstance(value, str) else shown(value)
    raise Malformed(f"expected a string, found {description}", field=key)


def strings(row: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """The value of a field that must be a list of texts."""
    values = row.get(key)
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise Malformed(f"expected a list of strings, found {shown(values)}", field=key)
    return tuple(values)


def mapping(row: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The value of a field that must be an object.

    It is empty if the field is missing or null.
    """
    value = row.get(key)
    if value is not None and not isinstance(value, dict):
        raise Malformed(f"expected an object, found {shown(value)}", field=key)
    return value or {}


def parsed(text: str, kind: type, key: str) -> Any:
    """The list or object that a text holds as JSON.

    Parameters
    ----------
    kind
        `list` or `dict`.
    key
        The field of the text, for the message.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, kind):
        kind_name = "list" if kind is list else "object"
        raise Malformed(f"expected a JSON {kind_name}, found {shown(text)}", field=key)
    return value


def optional(row: Mapping[str, Any], key: str) -> str | None:
    """The text in a field, or None if missing or empty.

    Raises Malformed for anything else, such as white space or a number.
    """
    value = row.get(key)
    if value is None or value == "":
        return None
    if value.__class__ is str and value.strip():
        return value
    return string(row, key)


def language(row: Mapping[str, Any]) -> str:
    """The BCP 47 code of a row's language.

    It is in the field `language` or `lang`. "en" if the row has none, or something that is no code.
    """
    code = row.get("language") or row.get("lang")
    if isinstance(code, str) and CODE.fullmatch(code):
        return check_code(code)
    return "en"


def group(row: Mapping[str, Any]) -> str | None:
    """The name of a row's group of twins, or None.

    It is in the field `group`, `pair_id` or `pairID`: the first that is filled. A number is turned into text.
    """
    key = next((key for key in GROUPS if row.get(key) not in (None, "")), GROUPS[0])
    value = row.get(key)
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return str(value) if is_number else optional(row, key)


def integer(row: Mapping[str, Any], key: str) -> int:
    """The value of a field that must be a whole number.

    True and false are no numbers.
    """
    value = _get_present(row, key)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise Malformed(f"expected a whole number, found {shown(value)}", field=key)


def flag(row: Mapping[str, Any], key: str) -> bool:
    """The value of a field that must be a truth value.

    It is true, false, 1 or 0.
    """
    value = row.get(key, MISSING)
    is_bool = value is True or value is False
    is_bit = value in (0, 1) and not isinstance(value, float)
    if not (is_bool or is_bit):
        raise Malformed(f"expected true or false, found {shown(value)}", field=key)
    return bool(value)


def numbered_answer(row: Mapping[str, Any], key: str, count: int) -> int | None:
    """Index of the candidate that a field counts from 1.

    None if the field is empty. The field is a number or a text. Raises Malformed if it is anything but a whole number
    from 1 to `count`.
    """
    value = row.get(key)
    if value is None or value == "":
        return None
    if isinstance(value, (str, int)) and not isinstance(value, bool):
        text = str(value).strip()
        if text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= count:
            return int(text) - 1
    numbers = " or ".join(str(index + 1) for index in range(count))
    raise Malformed(f"expected {numbers}, found {shown(value)}", field=key)


def blanked(row: Mapping[str, Any], key: str) -> tuple[str, str]:
    """The texts before and after the only blank of a field.

    Raises Malformed unless there is exactly one blank, with text beside it.
    """
    text = string(row, key)
    before, blank, after = text.partition(BLANK)
    if not blank or BLANK in after:
        raise Malformed(f"expected exactly one blank '{BLANK}', found {text.count(BLANK)}", field=key)
    if not (before or after):
        raise Malformed(NO_TEXT, field=key)
    return before, after


def bracketed(row: Mapping[str, Any], key: str) -> tuple[str, str, str]:
    """Cut the text of a field at its only [pronoun].

    Returns the text before it, the pronoun without brackets, and the text after it.
    """
    text = string(row, key)
    marks = list(BRACKETS.finditer(text))
    if len(marks) != 1:
        raise Malformed(f"expected one [pronoun] in brackets, found {len(marks)}", field=key)
    mark = marks[0]
    return text[: mark.start()], mark.group(1), text[mark.end() :]


def named_answer(named: Mapping[str, str], candidates: Sequence[str]) -> int:
    """Index of the candidate that a field names.

    `named` has only this field. Raises Malformed if its value is no candidate.
    """
    ((key, right),) = named.items()
    if right not in candidates:
        options = " / ".join(candidates)
        raise Malformed(f"expected one of {options}, found {right!r}", field=key)
    return candidates.index(right)


def names(row: Iterable[object]) -> str:
    """The names of a row's fields, for a message."""
    joined = ", ".join(map(str, row))
    return " ".join(joined.split()) or "nothing"


def shown(value: object) -> str:
    """A value for a message, on one short line.

    It has at most 60 characters.
    """
    text = "nothing" if value is MISSING else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
