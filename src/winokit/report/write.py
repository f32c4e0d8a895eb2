"""A run in, a folder of HTML out that opens from disk and asks nothing of the network."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from winokit.auditing.run import Run
from winokit.files import write_whole
from winokit.garbage import collector_off
from winokit.report import wording
from winokit.report.figures import figures_of, write_figures
from winokit.report.pages import Beside, report_of
from winokit.report.problems import problem_scripts

if TYPE_CHECKING:
    from jinja2 import Environment

INDEX = "index.html"


@collector_off()
def write_report(run: Run, folder: Path) -> Path:
    """Write the report of a run into a folder and return its first page.

    Besides index.html there are `figures/`, every plot as PNG and SVG, and `problems/`, the rows of the table of
    problems; the page does without either.
    """
    page = report_of(run)
    scripts = []
    for script, text in problem_scripts(run, page.scorers):
        write_whole(folder / script.file, text.encode("ascii"))
        scripts.append(script)
    figures = write_figures(figures_of(page), folder / "figures")
    write_page(folder / INDEX, "report.html.j2", page=page, scripts=scripts, figures=figures)
    return folder / INDEX


def write_page(path: Path, template: str, **shown: Any) -> None:
    """Write one page from its template."""
    text = environment().get_template(template).render(**shown)
    write_whole(path, text.encode("utf-8", "replace"))


@cache
def environment() -> Environment:
    """The templates, with everything escaped that is not ours, and the filters that say numbers."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    from winokit import __version__

    made = Environment(
        loader=PackageLoader("winokit.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    static = files("winokit.report") / "static"
    for name in ("report.css", "theme.js", "problems.js"):
        variable = "css" if name.endswith(".css") else name.replace(".", "_")
        # Our own files, put into the page as they are.
        made.globals[variable] = Markup((static / name).read_text("utf-8"))
    made.globals["version"] = __version__
    made.filters |= {
        "say": wording.say,
        "interval": wording.say_interval,
        "chance": wording.say_chance,
        "percent": wording.percent,
        "points": wording.points,
        "probability": wording.probability,
        "count": wording.count,
        "value": _value,
    }
    return made


def _value(line: Beside) -> str:
    return wording.SAY[line.kind](line.value)
