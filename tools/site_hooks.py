"""Hooks for MkDocs: pages beside docs/, links that leave it, and our docstrings."""

import posixpath
import re
import textwrap
from inspect import getdoc, signature
from pathlib import Path
from pydoc import locate
from typing import Any

from griffe import Extension, Function, Object, Parameter, ParameterKind, Parameters
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
BESIDE = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
"""Pages of the site that are files of the repository's root."""
SHORT_CODE = re.compile(r"<code>([^<]{1,32})</code>")
WHOLE = re.compile(r"(?<=\d) ± (?=\d)|(?<=\d), (?=−?[\d.]+\])")
"""Places at which a number with its deviation, or an interval, could be broken."""
EXAMPLE = re.compile(r"^>>> .*(?:\n.+)*", re.MULTILINE)
DEFAULT = re.compile(r"(?<=\w) : default .*$", re.MULTILINE)
"""Of a parameter in a docstring; the page takes it from the signature."""
OF_BUILTINS = {getdoc(kind) for kind in (bool, dict, float, frozenset, int, list, set, str, tuple, type(None))}
TERMINAL = re.compile(r"(?<=```console\n).*?(?=```)", re.DOTALL)
COLUMNS = 80
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(((?:\.\./|docs/)[^)#]+)(#[^)]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that lie beside docs/."""
    for name, page in BESIDE.items():
        files.append(File.generated(config, page, content=(ROOT / name).read_text("utf-8")))
    return files


def on_page_markdown(markdown: str, *, page: Page, **_: Any) -> str:
    """Rewrite links that leave docs/, and fold the lines of terminals.

    A link to a file that has no page on the site becomes its text.
    """
    address = page.file.src_uri

    def follow(link: re.Match[str]) -> str:
        text, path, anchor = link.groups("")
        target = page_of(path, address)
        return f"[{text}]({target}{anchor})" if target else text

    def fold_lines(block: re.Match[str]) -> str:
        return "\n".join(map(folded, block[0].split("\n")))

    return TERMINAL.sub(fold_lines, LINK.sub(follow, markdown))


def page_of(path: str, address: str) -> str | None:
    """Relative link from the page at `address` to the page of a repository's file, or None if it has no page."""
    folder = "" if address in BESIDE.values() else posixpath.join("docs", posixpath.dirname(address))
    source = posixpath.normpath(posixpath.join(folder, path))
    target = source.removeprefix("docs/") if source.startswith("docs/") else BESIDE.get(source)
    return target and posixpath.relpath(target, posixpath.dirname(address) or ".")


def folded(line: str) -> str:
    """Fold a long sentence as a terminal would, but no command and no table, whose columns are two spaces apart."""
    text = line.lstrip()
    if len(line) <= COLUMNS or line.startswith("$ ") or "  " in text:
        return line
    unbroken = line.replace(" %", "\u00a0%")  # a line that begins with a percent sign would be taken for a command
    margin = " " * (len(line) - len(text))
    return textwrap.fill(unbroken, COLUMNS, subsequent_indent=margin, break_long_words=False, break_on_hyphens=False)


def on_page_content(html: str, **_: Any) -> str:
    """Keep short code, intervals and deviations on one line, which a narrow column would break."""
    html = WHOLE.sub(lambda match: match[0].replace(" ", "\u00a0"), html)
    return SHORT_CODE.sub(r'<code class="whole">\1</code>', html)


def on_post_page(output: str, *, page: Page, **_: Any) -> str:
    """Start the offline search from the site itself: the theme would ask another server for the script."""
    worker = posixpath.relpath("offline-worker.js", posixpath.dirname(page.file.dest_uri) or ".")
    return output.replace("https://unpkg.com/iframe-worker/shim", worker)


class Docstrings(Extension):
    """Changes to our docstrings: an example is shown as code, and a plain value has no docstring of its type."""

    def on_function(self, *, func: Function, **_: Any) -> None:
        """Show a verb with its settings one by one, as it is called, and not with the objects its source has."""
        verb: Any = locate(func.path)
        if func.docstring and hasattr(verb, "__wrapped__"):
            func.docstring.value = DEFAULT.sub("", getdoc(verb) or "")
            func.parameters = Parameters(*map(_convert_parameter, signature(verb).parameters.values()))

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Mark the examples of one docstring as code, or drop it."""
        if obj.docstring and obj.docstring.value in OF_BUILTINS:
            obj.docstring = None
        elif obj.docstring:
            obj.docstring.value = EXAMPLE.sub(r"```python\n\g<0>\n```", obj.docstring.value)


def _convert_parameter(parameter: Any) -> Parameter:
    """Convert a parameter of `inspect` to one of griffe."""
    default = None if parameter.default is parameter.empty else repr(parameter.default)
    return Parameter(parameter.name, kind=ParameterKind(parameter.kind.description), default=default)
