"""The page shell: templates, the parts of every page, and settings as lines."""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from winokit.drawing import protocols, wording
from winokit.files import write_whole
from winokit.notebook import line_html

if TYPE_CHECKING:
    from jinja2 import Environment

INDEX = "index.html"


def write_page(path: Path, template: str, **shown: Any) -> Path:
    """Render a template into a file, and return the file's path.

    `shown` are the variables of the template.
    """
    text = environment().get_template(template).render(**shown)
    write_whole(path, text.encode("utf-8", "replace"))
    return path


def write_lines_page(path: Path, verb: str, heading: str, lines: Iterable[Any]) -> Path:
    """Write a result as an HTML page, and return the page's path.

    `lines` are the sentences and tables that a verb prints in the terminal.
    """
    from markupsafe import Markup

    parts = [Markup(line_html(line)) for line in lines]
    return write_page(path, "drawing/templates/lines.html.j2", verb=verb, heading=heading, parts=parts)


def rendered_plain(template: str, **shown: Any) -> bytes:
    """Render a template of Markdown, YAML or Python.

    Nothing is escaped: the template must quote values itself.
    """
    plain = environment().overlay(autoescape=False, keep_trailing_newline=True)
    text = plain.get_template(template).render(**shown)
    return text.encode()


@cache
def environment() -> "Environment":
    """Jinja environment with the package's templates and filters for numbers.

    Values are escaped for HTML.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    from winokit import __version__

    # A stage owns its template: templates are named by their place below winokit.
    loader = PackageLoader("winokit", "")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    # Our own styles and scripts, put into the page as they are.
    environment.globals["verbatim"] = lambda name: Markup(loader.get_source(environment, name)[0])
    environment.globals["version"] = __version__
    environment.filters |= {
        "say": wording.say,
        "interval": wording.say_interval,
        "chance": wording.say_chance,
        "coin": wording.say_coin,
        "coin_name": wording.name_coin,
        "percent": wording.percent,
        "points": wording.points,
        "probability": wording.probability,
        "count": wording.count,
        "plural": wording.plural,
        "sentence": wording.as_sentence,
        # JSON's double quotes, which YAML and Python read too.
        "quoted": partial(json.dumps, ensure_ascii=False),
        "title": protocols.title,
        "protocol": lambda row: protocols.about(row.protocol).title,
    }
    return environment


def flat(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Flatten nested settings into pairs of a dotted name and a text.

    Nothing (None, an empty list) becomes "none".
    """
    for name, value in settings.items():
        dotted_name = f"{prefix}{name}"
        if isinstance(value, Mapping) and value:
            yield from flat(value, f"{dotted_name}.")
        elif isinstance(value, (list, tuple, Mapping)):
            yield dotted_name, ", ".join(map(str, value)) or "none"
        else:
            yield dotted_name, "none" if value is None else str(value)
