"""Numbers and choices from forms, or what was expected instead."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation

from winokit.collect.study.refusals import Incomplete


def whole(fields: Mapping[str, str], name: str, low: int, high: int) -> int:
    """A whole number within bounds.

    >>> whole({"uses": " 3 "}, "uses", 1, 9)
    3
    """
    told = fields.get(name, "").strip()
    if not (told.isascii() and told.isdecimal() and len(told) <= 9 and low <= int(told) <= high):
        raise Incomplete({name: f"a whole number from {low:,} to {high:,} expected"})
    return int(told)


def cents(fields: Mapping[str, str], name: str) -> int:
    """An amount of money, written with up to two decimals, in hundredths.

    >>> cents({"amount": "-1.5"}, "amount")
    -150
    """
    wrong = Incomplete({name: "an amount such as 1.50 expected"})
    try:
        told = Decimal(fields.get(name, "").strip()[:20])
    except InvalidOperation:
        raise wrong from None
    if not told.is_finite() or abs(told) > 1_000_000 or told * 100 != int(told * 100):
        raise wrong
    return int(told * 100)


def reason(fields: Mapping[str, str], name: str = "why") -> str:
    """A reason in words, which must not be empty."""
    told = " ".join(fields.get(name, "").split())
    if not told:
        raise Incomplete({name: "please say why, in a few words"})
    return told[:500]
