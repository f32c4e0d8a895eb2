"""Problems that stand in more than one place: what `overlap` finds, less what is so by design.

Within one file the twins of a group, judgements about one text and the sentences of one template are nearly the same by
design, and one sentence may be asked about twice; none of it counts. Nor do possible twins there whose texts are not
near: `find_groups` has looked at those.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from winokit.methods.overlap import NEAR, Match, find_matches
from winokit.problem import Dataset, Problem
from winokit.text.words import bare, letters

Duplicate = Match
"""Two problems that repeat each other. `kind` is same, contradiction, near or twin."""


def find_duplicates(datasets: Sequence[Dataset]) -> list[Duplicate]:
    """All repetitions within and across datasets, in order of place."""
    found = []
    for match in find_matches(datasets, within=True):
        a, b = (datasets[at][row] for at, row in (match.first, match.second))
        kind = _kind(match, a, b)
        if kind is not None:
            found.append(replace(match, kind=kind))
    return found


def _kind(match: Match, a: Problem, b: Problem) -> str | None:
    """What two problems are to each other, contradictions told apart; None for what is as it should be."""
    if (
        match.kind == "same"
        and a.query == b.query
        and sorted(map(bare, a.candidates)) == sorted(map(bare, b.candidates))
    ):
        differ = a.right is not None and b.right is not None and bare(a.right) != bare(b.right)
        return "contradiction" if differ else "same"
    if a.is_continuation and sorted(map(bare, a.candidates)) != sorted(map(bare, b.candidates)):
        return None  # COPA: short premises alike, with other things to choose from
    if match.across:
        return match.kind
    of_one = a.query is not None or (a.labels.get("occupation") or a) == b.labels.get("occupation")
    by_design = (a.group is not None and a.group == b.group) or match.similarity < NEAR or of_one
    return None if by_design or letters(a.sentence) == letters(b.sentence) else match.kind
