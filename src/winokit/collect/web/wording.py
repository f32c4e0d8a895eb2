"""Money, times and numbers as people read them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from markupsafe import Markup

SIGNS = {"USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥"}
KINDS = {
    "write": "Write twins",
    "validate": "Judge a sentence",
    "switchable": "Change places",
    "associative": "Word links",
    "evaluate": "Choose the answer",
}
ABOUT_KINDS = {
    "write": "Two sentences, almost the same, with opposite answers.",
    "validate": "Fill a blank, and say how sure one can be.",
    "switchable": "Can the two candidates change places?",
    "associative": "Do the words around a blank give it away?",
    "evaluate": "Read a text and fill its blank.",
}


def money(cents: int, currency: str) -> str:
    """An amount with its currency.

    >>> money(123456, "USD"), money(-40, "EUR"), money(3, "CHF")
    ('$1,234.56', '−€0.40', '0.03 CHF')
    """
    amount = f"{abs(cents) / 100:,.2f}"
    told = f"{SIGNS[currency]}{amount}" if currency in SIGNS else f"{amount} {currency}"
    return f"−{told}" if cents < 0 else told


def number(value: float) -> str:
    """A count with commas.

    >>> number(12345)
    '12,345'
    """
    return f"{value:,}"


def share(value: float | None) -> str:
    """A share in percent; a dash where there is none.

    >>> share(0.704), share(None)
    ('70 %', '–')
    """
    return "–" if value is None else f"{value:.0%}".replace("%", " %")


def duration(seconds: float | None) -> str:
    """A length of time in its largest unit that says enough.

    >>> [duration(seconds) for seconds in (None, 7.4, 95, 600, 8000, 200000)]
    ['–', '7 s', '1 min 35 s', '10 min', '2 h 13 min', '2 days']
    """
    if seconds is None:
        return "–"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 600:
        return f"{whole // 60} min {whole % 60} s" if whole % 60 else f"{whole // 60} min"
    if whole < 3600:
        return f"{whole // 60} min"
    if whole < 48 * 3600:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 86400} days"


def moment(at: datetime) -> Markup:
    """A moment as a time element; where scripts run, it is shown in the reader's own zone.

    >>> from datetime import UTC
    >>> str(moment(datetime(2026, 3, 1, 9, 5, tzinfo=UTC)))
    '<time datetime="2026-03-01T09:05:00+00:00">1 Mar 2026, 09:05 UTC</time>'
    """
    told = f"{at.day} {at:%b %Y, %H:%M} UTC"
    return Markup('<time datetime="{}">{}</time>').format(at.isoformat(timespec="seconds"), told)


def ago(at: datetime, now: datetime) -> str:
    """How long ago something was.

    >>> from datetime import UTC
    >>> now = datetime(2026, 3, 1, 12, tzinfo=UTC)
    >>> ago(now - timedelta(seconds=20), now), ago(now - timedelta(hours=3), now)
    ('just now', '3 h 0 min ago')
    """
    passed = now - at
    return "just now" if passed < timedelta(minutes=1) else f"{duration(passed.total_seconds() // 60 * 60)} ago"


def sentence(text: str) -> str:
    """A line with a capital letter and a full stop.

    >>> sentence("the study is paused"), sentence("Really?")
    ('The study is paused.', 'Really?')
    """
    told = text[:1].upper() + text[1:]
    return told if told.endswith((".", "!", "?", "…")) else f"{told}."


def kind_name(kind: str) -> str:
    """A kind of task as its button calls it."""
    return KINDS.get(kind, kind)


FILTERS: dict[str, Callable[..., Any]] = {
    "money": money,
    "number": number,
    "share": share,
    "duration": duration,
    "moment": moment,
    "ago": ago,
    "sentence": sentence,
    "kind_name": kind_name,
    "kind_about": lambda kind: ABOUT_KINDS.get(kind, ""),
}
