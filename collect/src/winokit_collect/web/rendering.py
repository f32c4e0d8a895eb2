"""Render the templates of the pages.

All values are escaped, and an unknown name in a template is an error. The address of a static file has a hash of
its content. Filters format money, times and numbers for readers.
"""

import hashlib
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, nodes
from jinja2.visitor import NodeTransformer
from markdown_it import MarkdownIt
from markupsafe import Markup

from winokit_collect.study.progress import kappa_in_words
from winokit_collect.study.texts import BUILT_IN, StudyTexts

HERE = Path(__file__).parent
STATIC = HERE / "static"
SIGNS = {"USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥"}


class _FilledEnvironment(Environment):
    """Jinja environment that inserts fixed texts and static addresses when it compiles.

    These are most of a page, so that rendering it is faster.
    """

    def _generate(self, source: nodes.Template, *args: Any, **kwargs: Any) -> Any:  # jinja2's hook for such a change
        filled = _FixedCallFiller(self.globals).visit(source)
        return super()._generate(filled, *args, **kwargs)


class _FixedCallFiller(NodeTransformer):
    """Replaces calls of `t` or `static` with constant arguments by their results."""

    def __init__(self, known: Mapping[str, Any]) -> None:
        self._known = known

    def visit_Call(self, call: nodes.Call) -> nodes.Node:  # noqa: N802
        name = call.node.name if isinstance(call.node, nodes.Name) else ""
        constants = [argument.value for argument in call.args if isinstance(argument, nodes.Const)]
        is_constant = not call.kwargs and len(constants) == len(call.args)
        if name in ("t", "static") and is_constant:
            html = str(self._known[name](*constants))
            return nodes.MarkSafe(nodes.Const(html), environment=call.environment)
        return self.generic_visit(call)


def render(name: str, texts: StudyTexts, context: Mapping[str, Any]) -> str:
    """Render a template with a context, in some texts."""
    return _make_environment(texts).get_template(name).render(context)


def render_file(name: str, **context: Any) -> bytes:
    """Render a page as a single file, with its styles.

    Its texts are the built-in English ones.
    """
    styles = Markup((STATIC / "collect.css").read_text("utf-8"))  # ours, and not to be escaped
    return render(f"{name}.html.j2", BUILT_IN, {"styles": styles, **context}).encode()


@lru_cache(8)
def _make_environment(texts: StudyTexts = BUILT_IN) -> Environment:
    """Make the environment that renders templates in some texts."""
    environment = _FilledEnvironment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        auto_reload=False,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for plain_filter in (markdown, share, duration, ago, sentence):
        environment.filters[plain_filter.__name__] = plain_filter
    for text_filter in (money, number, moment):
        environment.filters[text_filter.__name__] = partial(text_filter, texts=texts)
    environment.filters |= {"enumerated": enumerate, "kappa": kappa_in_words}
    environment.globals |= {"static": static_path, "t": texts}
    return environment


@cache
def markdown(text: str, below: int = 0) -> Markup:
    r"""Convert Markdown to HTML.

    `below` is added to the level of its headings. HTML in it is shown as text, and links that would run a script are
    not made.

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
    """Address of a static file, with a hash of its content.

    Browsers may therefore keep the file for ever.
    """
    content = (STATIC / name).read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    return f"/static/{name}?v={digest[:10]}"


def number(value: float, spec: str = ",", texts: StudyTexts = BUILT_IN) -> str:
    """Format a number with the separators of a language.

    `spec` is Python's format of the number, in which a comma separates thousands.
    """
    marks = {",": texts.lines["formats.thousands"], ".": texts.lines["formats.decimal"]}
    return "".join(marks.get(mark, mark) for mark in format(value, spec))


def money(cents: int, currency: str, texts: StudyTexts = BUILT_IN) -> str:
    """Format an amount in hundredths, with its currency.

    >>> money(123456, "USD"), money(-40, "EUR"), money(3, "CHF")
    ('$1,234.56', '−€0.40', '0.03 CHF')
    """
    amount = number(abs(cents) / 100, ",.2f", texts)
    sign = SIGNS.get(currency)
    amount = texts.lines["formats.money"].format(sign=sign, amount=amount) if sign else f"{amount} {currency}"
    return f"−{amount}" if cents < 0 else amount


def share(value: float | None) -> str:
    """Format a share in percent. None gives a dash.

    >>> share(0.704), share(None)
    ('70 %', '–')
    """
    if value is None:
        return "–"
    return f"{value:.0%}".replace("%", " %")


def duration(seconds: float | None) -> str:
    """Format a length of time in a suitable unit.

    None gives a dash.

    >>> [duration(seconds) for seconds in (None, 7.4, 95, 600, 8000, 200000)]
    ['–', '7 s', '1 min 35 s', '10 min', '2 h 13 min', '2 days']
    """
    if seconds is None:
        return "–"
    whole_seconds = round(seconds)
    minutes, rest_seconds = divmod(whole_seconds, 60)
    if whole_seconds < 60:
        return f"{whole_seconds} s"
    if whole_seconds < 3600:
        return f"{minutes} min {rest_seconds} s" if rest_seconds and minutes < 10 else f"{minutes} min"
    if whole_seconds < 48 * 3600:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{whole_seconds // 86400} days"


def moment(at: datetime, texts: StudyTexts = BUILT_IN) -> Markup:
    """Format a moment as an HTML time element.

    A script then shows it in the reader's own time zone.

    >>> from datetime import UTC
    >>> str(moment(datetime(2026, 3, 1, 9, 5, tzinfo=UTC)))
    '<time datetime="2026-03-01T09:05:00+00:00">1 Mar 2026, 09:05 UTC</time>'
    """
    month = texts.lines["formats.months"].split()[at.month - 1]
    words = texts("formats.moment", day=at.day, month=month, year=at.year, time=f"{at:%H:%M}")
    return Markup('<time datetime="{}">{}</time>').format(at.isoformat(timespec="seconds"), words)


def ago(at: datetime, now: datetime) -> str:
    """The time since a moment, in words.

    >>> from datetime import UTC
    >>> now = datetime(2026, 3, 1, 12, tzinfo=UTC)
    >>> ago(now - timedelta(seconds=20), now), ago(now - timedelta(hours=3), now)
    ('just now', '3 h 0 min ago')
    """
    passed = now - at
    if passed < timedelta(minutes=1):
        return "just now"
    whole_minutes = passed.total_seconds() // 60
    return f"{duration(60 * whole_minutes)} ago"


def sentence(text: str) -> str:
    """Make a sentence of a message.

    It gets a capital letter, and a full stop unless it ends with a mark.

    >>> sentence("the study is paused"), sentence("Really?")
    ('The study is paused.', 'Really?')
    """
    text = text[:1].upper() + text[1:]
    return text if text.endswith(tuple(".!?…。！？")) else f"{text}."
