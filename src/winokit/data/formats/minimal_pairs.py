"""Minimal pairs of a good and a bad text, in the columns of public sets.

They are JSON lines, an array or a table.

BLiMP (Warstadt et al., 2020), MultiBLiMP, CrowS-Pairs, COMPS and EWoK are recognised by their columns
(docs/minimal-pairs.md), any other set by `good` and `bad`. COMPS and EWoK compare log p(rest | beginning), which
partial scoring of a blank at the beginning is. A hash of the letters decides the order of
the two texts, because the good one is the first in every file.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from winokit.data.formats import fields
from winokit.data.formats.base import WriteOptions, native_format, need_answer
from winokit.data.formats.source import Source
from winokit.data.formats.tables import read_table
from winokit.errors import CannotWrite, Malformed
from winokit.files import json_rows, our_toml
from winokit.problem import Problem

NAME = "minimal-pairs"


@dataclass(frozen=True)
class PairColumns:
    """The columns of one public set of minimal pairs.

    The columns in `labels` become labels of the problem, and `note` is a sentence for the user.
    """

    good: str
    bad: str
    rest: str | None = None
    """The column of the text after both, if the two are beginnings."""
    domain: Sequence[str] = ("domain",)
    """Columns that name the kind of problem. The first one in the file is used."""
    labels: Sequence[str] = ()
    note: str | None = None

    @property
    def needed(self) -> frozenset[str]:
        """The columns by which the set is recognised."""
        columns = {self.good, self.bad}
        if self.rest is not None:
            columns.add(self.rest)
        return frozenset(columns)


*LAYOUTS, TARGET2 = (PairColumns(**layout) for layout in our_toml("assets/pairs.toml")["layouts"])
"""The layouts of public sets, and the one for the twin of EWoK's first target."""
SOURCE_IDS = ("pairID", "pair_id", "id")
"""Columns that number the rows of a set. None of them names a group."""
TWIN = "\0twin"
"""Key of a row whose second target is meant. No file has a column of this name."""


def layout_of(columns: Iterable[str]) -> PairColumns | None:
    """Find the public set that has these columns, or None."""
    column_names = frozenset(columns)
    return next((layout for layout in LAYOUTS if layout.needed <= column_names), None)


def split_target_pairs(rows: Iterable[tuple[Any, dict[str, Any]]]) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield rows, with each row of EWoK split into two.

    An EWoK row has two contexts and two targets. Its two rows are twins, one for each target.
    """
    for place, row in rows:
        if not {"Context1", "Context2", "Target1", "Target2"} <= row.keys():
            yield place, row
            continue
        contexts = sorted([str(row["Context1"]), str(row["Context2"])])
        targets = sorted([str(row["Target1"]), str(row["Target2"])])
        digest = _hash_text("\0".join(contexts + targets))
        group = f"ewok-{digest[:12]}"
        yield place, {**row, "group": group}
        yield place, {**row, "group": group, TWIN: True}


def parse(row: Mapping[str, Any]) -> Problem:
    """Parse a row's good and bad text into a problem.

    Raises Malformed if the row has none of the known pairs of columns.
    """
    layout = TARGET2 if TWIN in row else layout_of(row)
    if layout is None:
        raise Malformed(f"expected a good and a bad text, found {', '.join(map(str, row)) or 'nothing'}")
    filled_cells = {name: cell for name, cell in row.items() if cell not in (None, "")}
    shared_end = "" if layout.rest is None else fields.string(row, layout.rest)
    domain = next((str(filled_cells[name]) for name in layout.domain if name in filled_cells), None)
    return pair(
        fields.string(row, layout.good),
        fields.string(row, layout.bad),
        shared_end,
        group=fields.optional(row, "group"),
        domain=domain,
        labels={name: filled_cells[name] for name in layout.labels if name in filled_cells},
        provenance={name: str(filled_cells[name]) for name in SOURCE_IDS if name in filled_cells},
    )


def pair(good: str, bad: str, rest: str = "", **more: Any) -> Problem:
    """Make a problem whose candidates are a good and a bad text.

    The order of the two depends only on a hash of their letters.

    Parameters
    ----------
    rest
        The text that follows both, if they are beginnings. Empty if they are whole.
    more
        Other fields of the problem.
    """
    texts = tuple(sorted((good, bad), key=_hash_text))
    after = f" {rest.strip()}" if rest else ""
    if after:
        labels = more.get("labels", {})
        more["labels"] = {**labels, "offers": "beginnings"}
    return Problem("", after, texts, texts.index(good), **more)


def render(problem: Problem, options: WriteOptions) -> dict[str, Any]:
    """Turn a problem into a row with BLiMP's field names.

    Raises CannotWrite if it is not a choice between two whole texts.
    """
    if not problem.is_whole:
        raise CannotWrite(f"a text with a blank, and {NAME} has whole texts")
    if len(problem.candidates) != 2:
        raise CannotWrite(f"{len(problem.candidates)} texts where a pair has room for two: use --as binary")
    right = need_answer(problem, NAME)
    row: dict[str, Any] = {"sentence_good": problem.candidates[right], "sentence_bad": problem.candidates[1 - right]}
    optional_fields = {"UID": problem.domain, "group": problem.group}
    for name in LAYOUTS[0].labels:
        optional_fields[name] = problem.labels.get(name)
    row |= {name: value for name, value in optional_fields.items() if value is not None}
    return row


def _hash_text(text: str) -> str:
    """A hash that decides the order of texts."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8)
    return digest.hexdigest()


def _read_pair_rows(source: Source) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield the position and the cells of each row of a file.

    A position is a line number, or "element 3".
    """
    table = read_table(source)
    layout = layout_of(table.columns)
    if layout is not None and layout.note is not None:
        source.note(layout.note)
    yield from split_target_pairs(table.rows)


native_format(
    NAME,
    "a good and a bad text: BLiMP's, MultiBLiMP's, CrowS-Pairs', COMPS's or EWoK's columns, or good and bad",
    ".jsonl",
    lambda head: any(map(layout_of, (head.json_keys, head.array_keys, head.columns))),
    _read_pair_rows,
    render,
    json_rows,
    holds_whole=True,
)(parse)
