"""What a notebook shows and takes: results as the terminal has them, twins with their special words marked, frames."""

import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from html import escape
from importlib import import_module
from importlib.util import find_spec
from itertools import groupby
from typing import Any, Protocol, runtime_checkable

from winokit.errors import BadInput, check_known, refusing

FRAMES = ("pandas", "polars")
PIECE = re.compile(r"\s*(?:[\u3040-\u30ff\u3400-\u9fff]|[^\s\u3040-\u30ff\u3400-\u9fff]+)|\s+")
"""A word with the space before it; of Chinese and Japanese, a character."""
STYLE = "<style>.winokit th,.winokit td{text-align:left!important;vertical-align:top;padding:.1em .8em .1em 0}</style>"
"""Notebooks set tables flush right, which is no way to read texts."""
EVERY = 0.2
"""Seconds between two lines of a progress report: a notebook keeps what is written to it."""


@runtime_checkable
class Frame(Protocol):
    """A data frame of pandas, polars or another library."""

    @property
    def columns(self) -> Any:
        """The names of its columns."""


def result_html(result: Any) -> str:
    """The lines that the command line prints of a result, as HTML.

    `shown_by` of its class names the module that has them; by default its own, or `table` beside it.
    """
    home = result.shown_by or type(result).__module__
    beside = f"{home.rpartition('.')[0]}.table"
    if not hasattr(import_module(home), "lines") and not find_spec(beside):
        return f"<code>{escape(repr(result))}</code>"
    module = import_module(home if hasattr(import_module(home), "lines") else beside)
    return "".join(line_html(line) for line in module.lines(result))


def line_html(line: Any) -> str:
    """A sentence as a paragraph, a table of Rich's as a table."""
    if not hasattr(line, "columns"):
        text = str(line)
        return f"<p style='margin:.2em 0'>{escape(text)}</p>" if text else ""
    heads = [str(column.header) for column in line.columns]
    cells = [[_cell(cell) for cell in column.cells] for column in line.columns]
    return (f"<p><b>{escape(str(line.title))}</b></p>" if line.title else "") + table_html(
        heads, zip(*cells, strict=True)
    )


def _cell(cell: Any) -> str:
    """The text of a cell, greyed where the terminal dims it."""
    text = escape(str(cell))
    dim = any("dim" in str(span.style) for span in getattr(cell, "spans", ()))
    return f"<span style='opacity:.6'>{text}</span>" if dim else text


def table_html(heads: Sequence[str], rows: Iterable[Iterable[str]]) -> str:
    """A table; its cells are HTML already, its heads are not."""
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"{STYLE}<table class='winokit'><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def marked(texts: Sequence[str]) -> list[str]:
    """The texts of twins as HTML, the words in which each differs from the first marked.

    >>> marked(["The cup is large.", "The cup is small."])
    ['The cup is <mark>large.</mark>', 'The cup is <mark>small.</mark>']
    """
    words = [PIECE.findall(text.strip()) for text in texts]
    apart: list[set[int]] = [set() for _ in texts]
    for number, other in enumerate(words[1:], 1):
        for kind, start, end, begin, stop in SequenceMatcher(None, words[0], other, autojunk=False).get_opcodes():
            if kind != "equal":
                apart[0] |= set(range(start, end))
                apart[number] |= set(range(begin, stop))
    return [
        "".join(
            _mark("".join(text[at] for at in run), odd) for odd, run in groupby(range(len(text)), places.__contains__)
        )
        for text, places in zip(words, apart, strict=True)
    ]


def _mark(text: str, odd: bool) -> str:
    bare = text.lstrip()
    return f"{text[: -len(bare)]}<mark>{escape(bare)}</mark>" if odd and bare else escape(text)


def to_frame(rows: Iterable[Mapping[str, Any]], library: str | None = None) -> Any:
    """Rows as a data frame of pandas or polars, whichever is installed; every row has every column.

    Raises
    ------
    BadInput
        Where neither is installed, or the library named is not.
    UnknownName
        Where it is another library.
    """
    import narwhals

    if library is not None:
        check_known("library of data frames", library, FRAMES)
    known = [name for name in FRAMES if find_spec(name)]
    if library not in (None, *known) or not known:
        raise BadInput(f"a data frame needs {library or ' or '.join(FRAMES)}: pip install {library or FRAMES[0]}")
    listed = list(rows)
    names = dict.fromkeys(name for row in listed for name in row)
    columns = {name: [row.get(name) for row in listed] for name in names}
    backend: Any = library or known[0]
    return narwhals.from_dict(columns, backend=backend).to_native()


def frame_rows(frame: Any) -> tuple[list[str], list[dict[str, Any]]]:
    """The columns and rows of a data frame of pandas, polars or another library that narwhals knows.

    Raises
    ------
    BadInput
        Where it is no data frame, or two of its columns have one name.
    """
    import narwhals

    with refusing("the data frame cannot be read", narwhals.exceptions.DuplicateError):
        known = narwhals.from_native(frame, eager_only=True, pass_through=True)
    if not isinstance(known, narwhals.DataFrame):
        raise BadInput(f"expected a data frame of pandas or polars, found a {type(frame).__name__}")
    rows = [{str(name): _plain(cell) for name, cell in row.items()} for row in known.iter_rows(named=True)]
    return [str(name) for name in known.columns], rows


def _plain(cell: Any) -> Any:
    """A cell as Python's own: columns of pandas' nullable types hold NumPy's numbers and `pandas.NA`."""
    return None if type(cell).__name__ == "NAType" else cell.item() if hasattr(cell, "item") else cell


def in_notebook() -> bool:
    """Whether a person watches this session in a notebook."""
    shell = sys.modules.get("IPython")
    return shell is not None and hasattr(shell.get_ipython(), "kernel")


def progress_line(doing: str) -> Callable[[float, float], None]:
    """Report how far a job is by rewriting one line of standard error; the last one ends it."""
    started = time.monotonic()
    last = [0.0]

    def report(done: float, total: float) -> None:
        now = time.monotonic()
        over = done >= total
        if now - last[0] < EVERY and not over:
            return
        last[0] = now
        left = (now - started) * (total - done) / done if done else 0.0
        words = f"{100 * done / max(total, 1):3.0f} %" + (f", {left:.0f} s left" if done and not over else "")
        sys.stderr.write(f"\r{doing}: {words:<24}" + ("\n" if over else ""))
        sys.stderr.flush()

    return report
