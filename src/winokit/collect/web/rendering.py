"""Templates: everything is escaped, an unknown name is an error, and a static file's address holds its hash.

Their filters say money, times and numbers as people read them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup

HERE = Path(__file__).parent
STATIC = HERE / "static"
SIGNS = {"USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥"}
KINDS = {
    "write": ("Write twins", "Two sentences, almost the same, with opposite answers."),
    "validate": ("Judge a sentence", "Fill a blank, and say how sure one can be."),
    "switchable": ("Change places", "Can the two candidates change places?"),
    "associative": ("Word links", "Do the words around a blank give it away?"),
    "evaluate": ("Choose the answer", "Read a text and fill its blank."),
}
"""A kind of task as its button calls it, and what is to be done."""


def render(name: str, context: Mapping[str, Any]) -> str:
    """One template, filled in."""
    return _environment().get_template(name).render(context)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        auto_reload=False,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {each.__name__: each for each in (markdown, money, share, duration, moment, ago, sentence)}
    environment.filters |= {
        "enumerated": enumerate,
        "number": "{:,}".format,
        "kind_name": lambda kind: KINDS[kind][0],
        "kind_about": lambda kind: KINDS[kind][1],
    }
    environment.globals["static"] = static_path
    return environment


@cache
def markdown(text: str, below: int = 0) -> Markup:
    r"""Markdown as HTML, its headings some levels below the page's own.

    HTML within it is shown as text, and a link that would run a script is none.

    >>> str(markdown("# Twins <b>", 1))
    '<h2>Twins &lt;b&gt;</h2>\n'
    """
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + below)}"
    return Markup(parser.renderer.render(tokens, parser.options, {}))


@cache
def static_path(name: str) -> str:
    """Where a static file is; another content has another address, so that browsers may keep it for good."""
    return f"/static/{name}?v={hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:10]}"


def money(cents: int, currency: str) -> str:
    """An amount with its currency.

    >>> money(123456, "USD"), money(-40, "EUR"), money(3, "CHF")
    ('$1,234.56', '−€0.40', '0.03 CHF')
    """
    amount = f"{abs(cents) / 100:,.2f}"
    amount = f"{SIGNS[currency]}{amount}" if currency in SIGNS else f"{amount} {currency}"
    return f"−{amount}" if cents < 0 else amount


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
    minutes, rest = divmod(whole, 60)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{minutes} min {rest} s" if rest and minutes < 10 else f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min" if whole < 48 * 3600 else f"{whole // 86400} days"


def moment(at: datetime) -> Markup:
    """A moment as a time element; where scripts run, it is shown in the reader's own zone.

    >>> from datetime import UTC
    >>> str(moment(datetime(2026, 3, 1, 9, 5, tzinfo=UTC)))
    '<time datetime="2026-03-01T09:05:00+00:00">1 Mar 2026, 09:05 UTC</time>'
    """
    words = f"{at.day} {at:%b %Y, %H:%M} UTC"
    return Markup('<time datetime="{}">{}</time>').format(at.isoformat(timespec="seconds"), words)


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
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."
