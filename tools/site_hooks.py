"""What MkDocs needs to know of this repository: pages beside docs/, links that leave it, and our docstrings."""

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
"""Where a number with its deviation, or an interval, could be broken."""
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
    """Lead links that leave docs/ to a page of the site; of a source file, which has none, keep the name."""
    address = page.file.src_uri

    def follow(link: re.Match[str]) -> str:
        text, path, anchor = link[1], link[2], link[3] or ""
        target = page_of(path, address)
        return f"[{text}]({target}{anchor})" if target else text

    return TERMINAL.sub(lambda block: "\n".join(map(folded, block[0].split("\n"))), LINK.sub(follow, markdown))


def page_of(path: str, address: str) -> str | None:
    """The page that a path of the repository leads to, seen from the page at `address`; None if the site has none."""
    folder = "" if address in BESIDE.values() else posixpath.join("docs", posixpath.dirname(address))
    source = posixpath.normpath(posixpath.join(folder, path))
    target = source.removeprefix("docs/") if source.startswith("docs/") else BESIDE.get(source)
    return target and posixpath.relpath(target, posixpath.dirname(address) or ".")


def folded(line: str) -> str:
    """Fold a sentence that a terminal would; leave commands, and tables, whose columns are two spaces apart."""
    text = line.lstrip()
    if len(line) <= COLUMNS or line.startswith("$ ") or "  " in text:
        return line
    whole = line.replace(" %", "\u00a0%")  # a line that begins with a percent sign would be taken for a command
    margin = " " * (len(line) - len(text))
    return textwrap.fill(whole, COLUMNS, subsequent_indent=margin, break_long_words=False, break_on_hyphens=False)


def on_page_content(html: str, **_: Any) -> str:
    """Keep short code, intervals and deviations on one line, which a narrow column would break."""
    html = WHOLE.sub(lambda match: match[0].replace(" ", "\u00a0"), html)
    return SHORT_CODE.sub(r'<code class="whole">\1</code>', html)


def on_post_page(output: str, *, page: Page, **_: Any) -> str:
    """Start the offline search from the site itself: the theme would ask another server for the script."""
    worker = posixpath.relpath("offline-worker.js", posixpath.dirname(page.file.dest_uri) or ".")
    return output.replace("https://unpkg.com/iframe-worker/shim", worker)


class Docstrings(Extension):
    """Ours as they are meant: an example is code, and a plain value does not repeat what its type says of itself."""

    def on_function(self, *, func: Function, **_: Any) -> None:
        """Show a verb as it is called, its settings one by one; what lies under its decorator has them in objects."""
        verb: Any = locate(func.path)
        if func.docstring and hasattr(verb, "__wrapped__"):
            func.docstring.value = DEFAULT.sub("", getdoc(verb) or "")
            func.parameters = Parameters(*map(_parameter, signature(verb).parameters.values()))

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Mark the examples of one docstring as code, or drop it."""
        if obj.docstring and obj.docstring.value in OF_BUILTINS:
            obj.docstring = None
        elif obj.docstring:
            obj.docstring.value = EXAMPLE.sub(r"```python\n\g<0>\n```", obj.docstring.value)


def _parameter(known: Any) -> Parameter:
    default = None if known.default is known.empty else repr(known.default)
    return Parameter(known.name, kind=ParameterKind(known.kind.description), default=default)
