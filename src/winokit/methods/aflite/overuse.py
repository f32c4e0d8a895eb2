"""Traits that removed rows have more often than kept rows, as log odds with intervals.

Of A removed units a have a trait, of B kept ones b. To either side s units are added that have it as often as all units
do, a share p: the informative prior of Monroe, Colaresi and Quinn, "Fightin' Words" (2008), for the two outcomes of
having a trait or not. With a' = a + sp, A' = A + s, and b', B' likewise, the log odds ratio is
log(a' / (A' - a')) - log(b' / (B' - b')), its variance 1/a' + 1/(A' - a') + 1/b' + 1/(B' - b'), its interval normal.
Positive is over-used by the removed; one rare word in a handful of removed texts is pulled towards zero.

Units (`winokit.units`) are counted on their side: twins, and problems of one text or template, share nearly all their
words, so the members of a unit that were removed count as one, each a part of it, and so do those that were kept. Many
words are tested at once: p-values are of Fisher's exact test (twice the smaller tail, units rounded), and `q` is the
false discovery rate they allow (Benjamini and Hochberg, 1995).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from winokit.errors import BadInput
from winokit.methods.aflite.inputs import Bools, Doubles, Ints
from winokit.methods.aflite.pmi import word_entries
from winokit.methods.metrics.judge_traits import discovery_rates, log_odds, p_fisher
from winokit.units import Units, require_units

NEGATIONS = frozenset(
    "not n't n’t never no nobody none nothing nowhere neither nor cannot without hardly barely scarcely".split()
)
"""Tokens that turn a statement around. A list, no parser: "no" in "no problem" counts."""
LENGTH_BINS = 5
EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class Overuse:
    """One trait: how many units on each side have it, and the log odds ratio with its interval."""

    trait: str
    removed: float
    of_removed: int
    kept: float
    of_kept: int
    log_odds: float
    low: float
    high: float
    p: float
    q: float
    examples: tuple[int, ...]
    """Removed rows that have it, the best first."""


def overused_words(texts: Sequence[Sequence[str]], sides: "Sides", *, fewest: int = 10) -> list[Overuse]:
    """Every word that stands in `fewest` rows or more: the surest over-use first, the surest under-use last."""
    entries = word_entries(texts, once=True)
    times = np.bincount(entries.feature, minlength=entries.features)
    common = np.flatnonzero(times >= fewest)
    place = np.full(entries.features, -1)
    place[common] = np.arange(len(common))
    tested = place[entries.feature] >= 0
    rows = entries.row[tested]
    traits = place[entries.feature[tested]]
    table = _compare_traits([entries.words[word] for word in common], rows, traits, sides)
    return sorted(table, key=lambda word: (-math.copysign(math.log(max(word.p, 1e-300)), word.log_odds), word.trait))


def overused_lengths(texts: Sequence[Sequence[str]], sides: "Sides", *, bins: int = LENGTH_BINS) -> list[Overuse]:
    """Lengths in words, in about equally frequent bins from short to long."""
    lengths = np.array([len(text) for text in texts])
    starts = np.unique(np.quantile(lengths, np.arange(bins) / bins, method="higher"))
    ends = [*(starts[1:] - 1), lengths.max()]
    names = [f"{start}" if start == end else f"{start} to {end}" for start, end in zip(starts, ends, strict=True)]
    traits = np.searchsorted(starts, lengths, side="right") - 1
    return _compare_traits(names, np.arange(len(lengths)), traits, sides)


def overused_polarity(texts: Sequence[Sequence[str]], sides: "Sides") -> list[Overuse]:
    """One line: a text with a negation in it, of the list `NEGATIONS`."""
    rows = np.array([row for row, text in enumerate(texts) if not NEGATIONS.isdisjoint(text)], np.int64)
    return _compare_traits(["negated"], rows, np.zeros(len(rows), np.int64), sides)


class Overused(NamedTuple):
    """Traits that removed rows have more often than kept rows."""

    words: Sequence[Overuse] = ()
    """The surest over-use first, the surest under-use last."""
    lengths: Sequence[Overuse] = ()
    polarity: Sequence[Overuse] = ()


class Sides:
    """Removed and kept rows, each weighed so that a unit counts as one on each side it is on.

    `best` are the rows to take examples from first.
    """

    def __init__(
        self, removed: Sequence[bool] | Bools, units: Units | None = None, best: Sequence[int] | Ints = ()
    ) -> None:
        self.removed: Bools = np.asarray(removed, np.bool_)
        self.rank = np.full(len(self.removed), len(best))
        self.rank[np.asarray(best, np.int64)] = np.arange(len(best))
        own_units = Units.alone(len(self.removed)) if units is None else require_units(units, len(self.removed))
        side = own_units.numbers * 2 + self.removed
        members = np.bincount(side, minlength=2 * len(self.removed))
        self.weights: Doubles = 1.0 / members[side]
        self.units = (round(self.weights[~self.removed].sum()), round(self.weights[self.removed].sum()))
        """How many units have kept members, and how many have removed ones."""
        if not all(self.units):
            raise BadInput("expected some rows removed and some kept: there is nothing to compare")


def _compare_traits(names: Sequence[str], rows: Ints, traits: Ints, sides: Sides) -> list[Overuse]:
    """The table of traits, where entry i says that row `rows[i]` has trait `traits[i]`."""
    if not names:
        return []
    out = sides.removed[rows]
    a = np.bincount(traits[out], sides.weights[rows[out]], len(names))
    b = np.bincount(traits[~out], sides.weights[rows[~out]], len(names))
    kept, removed = sides.units
    ratio, low, high = log_odds(a, removed, b, kept)
    p = p_fisher(a, removed, b, kept)
    examples = _choose_examples(len(names), rows[out], traits[out], sides.rank)
    columns = (column.tolist() for column in (a, b, ratio, low, high, p, discovery_rates(p)))
    return [
        Overuse(name, a, removed, b, kept, ratio, low, high, p, q, shown)
        for name, a, b, ratio, low, high, p, q, shown in zip(names, *columns, examples, strict=True)
    ]


def _choose_examples(traits: int, rows: Ints, of: Ints, rank: Ints) -> list[tuple[int, ...]]:
    """The first few rows of each trait, by rank and then as they stand."""
    order = np.lexsort((rows, rank[rows], of))
    rows = rows[order]
    of = of[order]
    starts, ends = (np.searchsorted(of, np.arange(traits), side) for side in ("left", "right"))
    return [tuple(rows[start : min(start + EXAMPLES, end)].tolist()) for start, end in zip(starts, ends, strict=True)]
