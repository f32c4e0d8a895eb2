"""Typed access to the fields of a row, with complaints that name the field and what was expected."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from winokit.errors import Malformed
from winokit.problem import BLANK, NO_TEXT
from winokit.text.language import CODE, check_code

MISSING = object()
GROUPS = ("group", "pair_id", "pairID")
"""What the field is called that names a problem's twins."""
BRACKETS = re.compile(r"\[([^\[\]]+)\]")


def _present(row: Mapping[str, Any], key: str) -> Any:
    if key not in row:
        raise Malformed(f"missing (found {names(row)})", field=key)
    return row[key]


def string(row: Mapping[str, Any], key: str) -> str:
    """A field that must be a string with something in it."""
    value = row.get(key)
    if value.__class__ is str and value.strip():
        return value
    value = _present(row, key)
    raise Malformed(f"expected a string, found {'an empty one' if isinstance(value, str) else shown(value)}", field=key)


def strings(row: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """A list of strings."""
    values = row.get(key)
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise Malformed(f"expected a list of strings, found {shown(values)}", field=key)
    return tuple(values)


def mapping(row: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """An object; empty where the field is missing or null."""
    value = row.get(key)
    if value is not None and not isinstance(value, dict):
        raise Malformed(f"expected an object, found {shown(value)}", field=key)
    return value or {}


def parsed(text: str, kind: type, key: str) -> Any:
    """The JSON object or list that a field holds as text."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, kind):
        raise Malformed(f"expected a JSON {'list' if kind is list else 'object'}, found {shown(text)}", field=key)
    return value


def optional(row: Mapping[str, Any], key: str) -> str | None:
    """A string, or None where the field is missing, null or empty."""
    value = row.get(key)
    if value is None or value == "":
        return None
    return value if value.__class__ is str and value.strip() else string(row, key)


def language(row: Mapping[str, Any]) -> str:
    """The code of a row's language; English where it has none, or a name that is no code, until it is recognised."""
    said = row.get("language") or row.get("lang")
    return check_code(said) if isinstance(said, str) and CODE.fullmatch(said) else "en"


def group(row: Mapping[str, Any]) -> str | None:
    """The name that twins have in common, also where it is a number."""
    key = next((key for key in GROUPS if row.get(key) not in (None, "")), GROUPS[0])
    value = row.get(key)
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else optional(row, key)


def integer(row: Mapping[str, Any], key: str) -> int:
    """A whole number (true and false are not)."""
    value = _present(row, key)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise Malformed(f"expected a whole number, found {shown(value)}", field=key)


def flag(row: Mapping[str, Any], key: str) -> bool:
    """True or false, also written 1 or 0."""
    value = row.get(key, MISSING)
    if value is not True and value is not False and (value not in (0, 1) or isinstance(value, float)):
        raise Malformed(f"expected true or false, found {shown(value)}", field=key)
    return bool(value)


def numbered_answer(row: Mapping[str, Any], key: str, count: int) -> int | None:
    """An answer written as 1, 2, … (as text or number); None where it is hidden."""
    value = row.get(key)
    if value is None or value == "":
        return None
    if isinstance(value, (str, int)) and not isinstance(value, bool):
        text = str(value).strip()
        if text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= count:
            return int(text) - 1
    raise Malformed(f"expected {' or '.join(str(i + 1) for i in range(count))}, found {shown(value)}", field=key)


def blanked(row: Mapping[str, Any], key: str) -> tuple[str, str]:
    """The texts before and after the one blank of a field."""
    text = string(row, key)
    before, blank, after = text.partition(BLANK)
    if not blank or BLANK in after:
        raise Malformed(f"expected exactly one blank '{BLANK}', found {text.count(BLANK)}", field=key)
    if not (before or after):
        raise Malformed(NO_TEXT, field=key)
    return before, after


def bracketed(row: Mapping[str, Any], key: str) -> tuple[str, str, str]:
    """The text before the one [pronoun] in brackets of a field, the pronoun, and the text after it."""
    text = string(row, key)
    marked = list(BRACKETS.finditer(text))
    if len(marked) != 1:
        raise Malformed(f"expected one [pronoun] in brackets, found {len(marked)}", field=key)
    return text[: marked[0].start()], marked[0].group(1), text[marked[0].end() :]


def named_answer(named: Mapping[str, str], candidates: Sequence[str]) -> int:
    """An answer written out, from its one field."""
    ((key, right),) = named.items()
    if right not in candidates:
        raise Malformed(f"expected one of {' / '.join(candidates)}, found {right!r}", field=key)
    return candidates.index(right)


def names(row: Iterable[object]) -> str:
    """The fields of a row for a message: on one line."""
    return " ".join(", ".join(map(str, row)).split()) or "nothing"


def shown(value: object) -> str:
    """A value for a message: short, on one line."""
    text = "nothing" if value is MISSING else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
