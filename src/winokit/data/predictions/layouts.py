"""Layouts of files of predictions that some tool or paper writes.

A function of ten lines turns each into rows.

A layout is a function from the path of a file to rows, mappings whose keys are roles of docs/audit.md: `text` or `id`,
and `prediction`, `scores`, `losses` or `correct`; perhaps `option1`, `option2`, `candidate`, `answer` and `model`. All
the rest is what is done with any table.

One of our own registers itself, and names the keys by which its files are recognised:

    @layout("openeval", keys={"item_id", "responses"})
    def read_rows(path):
        ...

Another package adds one by an entry point of the group `winokit.layouts`. A user can name any function on the
command line: `--columns layout=python:module:function`.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from winokit.data.formats.base import FileHead
from winokit.data.formats.source import Source
from winokit.data.formats.tables import Table, numbered_rows
from winokit.data.predictions.columns import ROLES
from winokit.data.predictions.match import Matcher, PredictionRow, option_behind
from winokit.data.predictions.read import LAYOUT
from winokit.errors import BadInput
from winokit.registry import Registry

LayoutRow = Mapping[str, Any]
"""The cells of a row of a file, by roles."""
LayoutRows = Callable[[Path], Iterable[LayoutRow]]
"""Reads the rows of a file; their keys are roles."""
OURS = ("every-eval-ever", "openeval")
HOW = (
    "or write ten lines of Python that yield its rows, and name them: --columns layout=python:module:function "
    "(docs/data.md#a-layout-of-your-own)"
)


@dataclass(frozen=True)
class Layout:
    """Recognises and reads the files of one layout."""

    rows: LayoutRows
    keys: frozenset[str]
    """Keys of the first object of such a file, or columns of a table. Empty if the layout must be named."""

    def __call__(self, path: Path) -> Iterable[Mapping[str, Any]]:
        """The rows of a file, each with its cells by role."""
        return self.rows(path)


LAYOUTS: Registry[LayoutRows] = Registry(
    "layout of predictions",
    "winokit.layouts",
    {name: f"winokit.data.predictions.layout_{name.replace('-', '_')}" for name in OURS},
)


def layout(name: str, keys: Collection[str] = ()) -> Callable[[LayoutRows], Layout]:
    """Register the decorated function as the reader of a layout.

    Parameters
    ----------
    name
        The name of the layout.
    keys
        Keys of the first object of such a file, or columns of a table, by which it is recognised. Without keys
        the layout must be named.
    """

    def register(rows: LayoutRows) -> Layout:
        registered = Layout(rows, frozenset(keys))
        LAYOUTS.register(name)(registered)
        return registered

    return register


def layout_of(path: Path) -> str | None:
    """Name of the layout that a file's keys fit, or None.

    The file must have all keys of the layout. A Parquet file fits none.
    """
    head = FileHead(path)
    if head.bytes.startswith(b"PAR1"):
        return None
    keys = head.json_keys or head.array_keys or head.columns
    for name in LAYOUTS.homes:
        candidate = LAYOUTS[name]
        if isinstance(candidate, Layout) and candidate.keys and candidate.keys <= keys:
            return name
    return None


def named_layout(name: str) -> LayoutRows:
    """The function that reads a layout.

    `name` is the name of a registered layout, or `python:module:function`.
    """
    if not name.startswith("python:"):
        return LAYOUTS[name]
    from winokit.models.python_function import function_named

    _, function = function_named(name, name.removeprefix("python:"))
    return cast("LayoutRows", function)


def read_layout(
    source: Source, matcher: Matcher, name: str, user_columns: Mapping[str, str] | None = None
) -> Iterator[PredictionRow]:
    """Yield the predictions in a file of a layout.

    A column that the user names replaces the layout's column of the same role.

    Parameters
    ----------
    name
        A registered layout, or `python:module:function`.
    user_columns
        Roles, and `where=COLUMN=VALUE`, that the user gives besides the layout.
    """
    from winokit.data.predictions.table import read_rows

    table = layout_table(source.path, name)
    roles = {column: column for column in table.columns if is_role(column)}
    all_roles = {**roles, **(user_columns or {})}
    yield from read_rows(table, source, matcher, all_roles)


def layout_table(path: Path, name: str) -> Table:
    """Read a file with a layout into a table.

    The columns are roles. Raises BadInput if the layout fails or yields no roles.
    """
    read_layout_rows = named_layout(name)
    try:
        rows = [dict(row) for row in read_layout_rows(path)]
    except BadInput:
        raise
    except Exception as error:  # somebody's own code, or a file that is something else
        raise BadInput(f"{path}: layout {name!r} failed with {type(error).__name__}: {error}") from error
    names: dict[str, None] = {}
    for row in rows:
        names |= dict.fromkeys(row)
    columns = tuple(names)
    if not any(map(is_role, columns)):
        found = ", ".join(columns) or "no rows"
        raise BadInput(
            f"{path}: layout {name!r}: expected rows with keys that are roles "
            f"({', '.join(sorted(ROLES))}), found {found}"
        )
    return Table(str(path), columns, numbered_rows(rows))


def is_role(column: str) -> bool:
    """Whether a row's key is a role, such as `text` or `option2`.

    `where` and `layout` are not.
    """
    if column in ("where", LAYOUT):
        return False
    bare = column.rstrip("0123456789")
    return bare in ROLES or f"{bare}1" in ROLES


def listed_choice(reply: str, prompt: str) -> str:
    r"""The option that a reply means by a letter or number.

    A reply that is no label of an option in the prompt is returned as it is.

    >>> listed_choice("B", "Who is she?\nA) Nora\nB) Ines\nAnswer:")
    'Ines'
    """
    label = reply.strip().rstrip(".)").lstrip("(")
    if len(label) > 1:
        return reply
    return option_behind(label, prompt) or reply


def split_layout(user_columns: Mapping[str, str] | None) -> tuple[str | None, dict[str, str] | None]:
    """Split the layout from the other columns that a user names.

    Returns both. Both may be None.
    """
    if user_columns is None:
        return None, None
    others = dict(user_columns)
    name = others.pop(LAYOUT, None)
    if name is None:
        return None, others
    return name, others or None
