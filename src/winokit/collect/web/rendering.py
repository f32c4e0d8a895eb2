"""Templates: everything is escaped, an unknown name is an error, and a static file's address holds its hash."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup

from winokit.collect.web import wording

HERE = Path(__file__).parent
STATIC = HERE / "static"


def render(name: str, context: Mapping[str, Any]) -> str:
    """One template, filled in."""
    return _environment().get_template(name).render(context)


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        auto_reload=False,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"markdown": markdown, "enumerated": enumerate, **wording.FILTERS}
    made.globals["static"] = static_path
    return made


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
