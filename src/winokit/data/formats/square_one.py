"""Zero-shot pairs of Elazar et al., "Back to Square One" (EMNLP 2021): two solved texts whose special word is blank.

    {"s1": "… because the trophy is too [MASK].", "s2": "… because the suitcase is too [MASK].",
     "ans1": "large", "ans2": "small"}

A line is two problems, twins with the same candidates: `ans1` fills `s1`, `ans2` fills `s2`.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from winokit.data.formats import fields
from winokit.data.formats.base import json_format
from winokit.data.formats.source import Source
from winokit.errors import Malformed
from winokit.problem import Problem

MASK = "[MASK]"


def _split_pairs(source: Source) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield line and content of both problems of each line."""
    for line, row in source.json_lines():
        for place in (0, 1):
            yield line, {**row, "place": place, "pair": f"pair-{line}"}


@json_format(
    "square-one",
    "JSON lines of Square One's zero_shot files: s1, s2 with [MASK], and what fills each (read only)",
    {"s1", "s2", "ans1", "ans2"},
    records=_split_pairs,
    assemble=None,
)
def parse(row: Mapping[str, Any]) -> Problem:
    """Parse one of the two problems of a Square One line.

    `place` in the row says which: 0 or 1. It is also the index of the right candidate.
    """
    key = f"s{row['place'] + 1}"
    text = fields.string(row, key)
    before, mask, after = text.partition(MASK)
    if not mask or MASK in after:
        raise Malformed(f"expected one {MASK}, found {text.count(MASK)}", field=key)
    candidates = (fields.string(row, "ans1"), fields.string(row, "ans2"))
    return Problem(before, after, candidates, row["place"], group=row["pair"])
