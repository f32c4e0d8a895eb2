"""Minimal pairs: a good text and a bad one, in the columns that public sets have, as JSON lines, an array or a table.

BLiMP (Warstadt et al., 2020), MultiBLiMP, CrowS-Pairs, COMPS and EWoK are told by their columns
(docs/minimal-pairs.md), any other set by `good` and `bad`. COMPS and EWoK compare log p(rest | beginning), which
partial scoring of a blank at the beginning is. In which order texts are offered is drawn from their letters: the good
one stands first in every file.
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
    """Where a set has its texts and what it says about them."""

    good: str
    bad: str
    rest: str | None = None
    """What follows either, where the two are beginnings."""
    domain: Sequence[str] = ("domain",)
    """Columns that name the kind of problem; the first that is there is taken."""
    labels: Sequence[str] = ()
    note: str | None = None

    @property
    def needed(self) -> frozenset[str]:
        """The columns that give it away."""
        return frozenset({self.good, self.bad} if self.rest is None else {self.good, self.bad, self.rest})


*LAYOUTS, TARGET2 = (PairColumns(**layout) for layout in our_toml("assets/pairs.toml")["layouts"])
"""Those of public sets; and how the twin of EWoK's first target is read."""
SOURCE_IDS = ("pairID", "pair_id", "id")
"""Columns that number the rows of a set; none names a group."""
TWIN = "\0twin"
"""Stands in a row whose second target is meant: a name that no file has for a column."""


def layout_of(columns: Iterable[str]) -> PairColumns | None:
    """The layout that these columns have; None where there is none."""
    known = frozenset(columns)
    return next((each for each in LAYOUTS if each.needed <= known), None)


def each_row(rows: Iterable[tuple[Any, dict[str, Any]]]) -> Iterator[tuple[Any, dict[str, Any]]]:
    """The rows of a file; one with two targets as twins, a row each."""
    for place, row in rows:
        if {"Context1", "Context2", "Target1", "Target2"} <= row.keys():
            contexts = sorted(str(row[name]) for name in ("Context1", "Context2"))
            targets = sorted(str(row[name]) for name in ("Target1", "Target2"))
            group = "ewok-" + _digest("\0".join([*contexts, *targets]))[:12]
            yield place, {**row, "group": group}
            yield place, {**row, "group": group, TWIN: True}
        else:
            yield place, row


def parse(row: Mapping[str, Any]) -> Problem:
    """A problem from a row."""
    layout = TARGET2 if TWIN in row else layout_of(row)
    if layout is None:
        raise Malformed(f"expected a good and a bad text, found {', '.join(map(str, row)) or 'nothing'}")
    rest = "" if layout.rest is None else fields.string(row, layout.rest)
    return pair(
        fields.string(row, layout.good),
        fields.string(row, layout.bad),
        rest,
        group=fields.optional(row, "group"),
        domain=next((str(row[name]) for name in layout.domain if row.get(name) not in (None, "")), None),
        labels={name: row[name] for name in layout.labels if row.get(name) not in (None, "")},
        provenance={name: str(row[name]) for name in SOURCE_IDS if row.get(name) not in (None, "")},
    )


def pair(good: str, bad: str, rest: str = "", **more: Any) -> Problem:
    """A choice between a good and a bad text, or beginnings of the rest, in an order drawn from their letters."""
    texts = tuple(sorted((good, bad), key=_digest))
    after = f" {rest.strip()}" if rest else ""
    if after:
        more["labels"] = {**more.get("labels", {}), "offers": "beginnings"}
    return Problem("", after, texts, texts.index(good), **more)


def render(problem: Problem, options: WriteOptions) -> dict[str, Any]:
    """A row's fields, by the names that BLiMP has for them."""
    if not problem.is_whole:
        raise CannotWrite(f"a text with a blank, and {NAME} has whole texts")
    if len(problem.candidates) != 2:
        raise CannotWrite(f"{len(problem.candidates)} texts where a pair has room for two: use --as binary")
    right = need_answer(problem, NAME)
    more = {
        "UID": problem.domain,
        "group": problem.group,
        **{key: problem.labels.get(key) for key in LAYOUTS[0].labels},
    }
    row = {"sentence_good": problem.candidates[right], "sentence_bad": problem.candidates[1 - right]}
    return row | {key: value for key, value in more.items() if value is not None}


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _rows(source: Source) -> Iterator[tuple[Any, dict[str, Any]]]:
    table = read_table(source)
    layout = layout_of(table.columns)
    if layout is not None and layout.note is not None:
        source.note(layout.note)
    yield from each_row(table.rows)


native_format(
    NAME,
    "a good and a bad text: BLiMP's, MultiBLiMP's, CrowS-Pairs', COMPS's or EWoK's columns, or good and bad",
    ".jsonl",
    lambda head: any(map(layout_of, (head.json_keys, head.array_keys, head.columns))),
    _rows,
    render,
    json_rows,
    holds_whole=True,
)(parse)
