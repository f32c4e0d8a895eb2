"""Show results, twins and data frames in a notebook."""

import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from html import escape
from importlib import import_module
from importlib.util import find_spec
from itertools import chain, groupby
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
        """Names of its columns."""


def result_html(result: Any) -> str:
    """Render a result as HTML, as the command line prints it.

    The lines come from the function `lines` in the module that the class names in `shown_by`: by default its own
    module, or `table` beside it. Without such a function, the repr is shown.
    """
    home = result.shown_by or type(result).__module__
    table_module = f"{home.rpartition('.')[0]}.table"
    if not hasattr(import_module(home), "lines") and not find_spec(table_module):
        return f"<code>{escape(repr(result))}</code>"
    module = import_module(home if hasattr(import_module(home), "lines") else table_module)
    return "".join(line_html(line) for line in module.lines(result))


def line_html(line: Any) -> str:
    """Render one line of a result, or a table, as HTML.

    Tables are those of Rich.
    """
    if not hasattr(line, "columns"):
        text = str(line)
        return f"<p style='margin:.2em 0'>{escape(text)}</p>" if text else ""
    heads = [str(column.header) for column in line.columns]
    cells = [list(map(_render_cell, column.cells)) for column in line.columns]
    title = f"<p><b>{escape(str(line.title))}</b></p>" if line.title else ""
    return title + table_html(heads, zip(*cells, strict=True))


def _render_cell(cell: Any) -> str:
    """Render a cell as HTML, grey if the terminal dims it."""
    text = escape(str(cell))
    dim = any("dim" in str(span.style) for span in getattr(cell, "spans", ()))
    return f"<span style='opacity:.6'>{text}</span>" if dim else text


def table_html(heads: Sequence[str], rows: Iterable[Iterable[str]]) -> str:
    """Render a table as HTML.

    The cells are HTML already, the heads are plain text.
    """
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    body = ""
    for row in rows:
        cells = "".join(f"<td>{cell}</td>" for cell in row)
        body += f"<tr>{cells}</tr>"
    return f"{STYLE}<table class='winokit'><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def marked(texts: Sequence[str]) -> list[str]:
    """Render texts of twins as HTML with their differences marked.

    Each text is compared with the first.

    >>> marked(["The cup is large.", "The cup is small."])
    ['The cup is <mark>large.</mark>', 'The cup is <mark>small.</mark>']
    """
    words = [PIECE.findall(text.strip()) for text in texts]
    different_words: list[set[int]] = [set() for _ in texts]
    for number, other in enumerate(words[1:], 1):
        for kind, start, end, begin, stop in SequenceMatcher(None, words[0], other, autojunk=False).get_opcodes():
            if kind != "equal":
                different_words[0] |= set(range(start, end))
                different_words[number] |= set(range(begin, stop))
    return list(map(_mark_words, words, different_words))


def _mark_words(words: Sequence[str], marked_indices: set[int]) -> str:
    """Join words as HTML, with consecutive marked words in one mark."""
    parts: list[str] = []
    for is_marked, run in groupby(range(len(words)), marked_indices.__contains__):
        text = "".join(words[index] for index in run)
        parts.append(_mark_difference(text, is_marked))
    return "".join(parts)


def _mark_difference(text: str, odd: bool) -> str:
    """Escape a text, in a mark if `odd`.

    Space before it stays outside the mark.
    """
    bare = text.lstrip()
    if not (odd and bare):
        return escape(text)
    spaces = text[: -len(bare)]
    return f"{spaces}<mark>{escape(bare)}</mark>"


def to_frame(rows: Iterable[Mapping[str, Any]], library: str | None = None) -> Any:
    """Convert rows to a data frame of pandas or polars.

    `library` is one of the two, by default whichever is installed. Every row has every column.

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
    installed = [name for name in FRAMES if find_spec(name)]
    if library not in (None, *installed) or not installed:
        raise BadInput(f"a data frame needs {library or ' or '.join(FRAMES)}: pip install {library or FRAMES[0]}")
    listed = list(rows)
    names = dict.fromkeys(chain.from_iterable(listed))
    columns: dict[str, list[Any]] = {}
    for name in names:
        columns[name] = [row.get(name) for row in listed]
    backend: Any = library or installed[0]
    return narwhals.from_dict(columns, backend=backend).to_native()


def frame_rows(frame: Any) -> tuple[list[str], list[dict[str, Any]]]:
    """Read the column names and rows of a data frame.

    It may be of pandas, polars or any library that narwhals reads.

    Raises
    ------
    BadInput
        Where it is no data frame, or two of its columns have one name.
    """
    import narwhals

    with refusing("the data frame cannot be read", narwhals.exceptions.DuplicateError):
        known_frame = narwhals.from_native(frame, eager_only=True, pass_through=True)
    if not isinstance(known_frame, narwhals.DataFrame):
        raise BadInput(f"expected a data frame of pandas or polars, found a {type(frame).__name__}")
    rows: list[dict[str, Any]] = []
    for row in known_frame.iter_rows(named=True):
        rows.append({str(name): _convert_cell(cell) for name, cell in row.items()})
    return [str(name) for name in known_frame.columns], rows


def _convert_cell(cell: Any) -> Any:
    """Convert a cell of a data frame to a Python value.

    Columns of pandas' nullable types hold NumPy's numbers and `pandas.NA`, which becomes None.
    """
    if type(cell).__name__ == "NAType":
        return None
    return cell.item() if hasattr(cell, "item") else cell


def in_notebook() -> bool:
    """Whether the code runs in a Jupyter notebook."""
    shell = sys.modules.get("IPython")
    return shell is not None and hasattr(shell.get_ipython(), "kernel")


def progress_line(doing: str) -> Callable[[float, float], None]:
    """Progress callback that rewrites one line of standard error.

    The last report ends the line. `doing` names the job.
    """
    started = time.monotonic()
    last = [0.0]

    def report(done: float, total: float) -> None:
        now = time.monotonic()
        over = done >= total
        if now - last[0] < EVERY and not over:
            return
        last[0] = now
        seconds_left = (now - started) * (total - done) / done if done else 0.0
        words = f"{100 * done / max(total, 1):3.0f} %"
        if done and not over:
            words += f", {seconds_left:.0f} s left"
        line = f"\r{doing}: {words:<24}"
        sys.stderr.write(f"{line}\n" if over else line)
        sys.stderr.flush()

    return report
