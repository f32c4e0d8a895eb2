"""The templates of a release: its card, its tasks."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("winokit.stages.release"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # Markdown, YAML and Python; what goes in is quoted where it must be
    )
    made.filters["quoted"] = quoted
    made.filters["cell"] = cell
    return made


def rendered(template: str, **content: Any) -> bytes:
    """A template filled in."""
    return _environment().get_template(template).render(**content).encode()


def quoted(text: str) -> str:
    """A text between double quotes: JSON's, which YAML and Python read too."""
    return json.dumps(text, ensure_ascii=False)


def cell(text: object) -> str:
    """A text for a cell of a Markdown table, on one line."""
    return " ".join(str(text).split()).replace("|", "\\|")
