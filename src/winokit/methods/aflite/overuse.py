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
    """A trait's frequency among removed and kept units, as a log odds ratio."""

    trait: str
    removed: float
    """Number of removed units with the trait, in which a part of a unit counts as a fraction."""
    of_removed: int
    """Number of units with removed members."""
    kept: float
    """Number of kept units with the trait."""
    of_kept: int
    """Number of units with kept members."""
    log_odds: float
    """Log odds ratio, above 0 if removed units have the trait more often, with its interval from `low` to `high`."""
    low: float
    high: float
    p: float
    """p-value of Fisher's exact test."""
    q: float
    """False discovery rate, among all traits of the table."""
    examples: tuple[int, ...]
    """Indices of removed rows with the trait, the best first."""


def overused_words(texts: Sequence[Sequence[str]], sides: "Sides", *, fewest: int = 10) -> list[Overuse]:
    """Compare all words that occur in `fewest` rows or more.

    `texts` has the words of each row. Significantly over-used words come first and significantly under-used ones last.
    """
    entries = word_entries(texts, once=True)
    row_counts = np.bincount(entries.feature, minlength=entries.features)
    common_words = np.flatnonzero(row_counts >= fewest)
    trait_of_word = np.full(entries.features, -1)
    trait_of_word[common_words] = np.arange(len(common_words))
    entry_traits = trait_of_word[entries.feature]
    is_common = entry_traits >= 0
    names = [entries.words[word] for word in common_words]
    table = _compare_traits(names, entries.row[is_common], entry_traits[is_common], sides)
    return sorted(table, key=_make_sort_key)


def _make_sort_key(overuse: Overuse) -> tuple[float, str]:
    """Key that sorts from over-use to under-use, by significance."""
    log_p = math.log(max(overuse.p, 1e-300))
    return -math.copysign(log_p, overuse.log_odds), overuse.trait


def overused_lengths(texts: Sequence[Sequence[str]], sides: "Sides", *, bins: int = LENGTH_BINS) -> list[Overuse]:
    """Compare lengths in words, in about equally frequent bins from short to long."""
    lengths = np.array([len(text) for text in texts])
    levels = np.arange(bins) / bins
    starts = np.unique(np.quantile(lengths, levels, method="higher"))
    ends = [*(starts[1:] - 1), lengths.max()]
    names = []
    for start, end in zip(starts, ends, strict=True):
        name = f"{start}" if start == end else f"{start} to {end}"
        names.append(name)
    traits = np.searchsorted(starts, lengths, side="right") - 1
    rows = np.arange(len(lengths))
    return _compare_traits(names, rows, traits, sides)


def overused_polarity(texts: Sequence[Sequence[str]], sides: "Sides") -> list[Overuse]:
    """Compare texts with and without a negation, a word of `NEGATIONS`.

    The list has one trait.
    """
    negated_rows = [row for row, text in enumerate(texts) if not NEGATIONS.isdisjoint(text)]
    rows = np.array(negated_rows, np.int64)
    traits = np.zeros(len(rows), np.int64)
    return _compare_traits(["negated"], rows, traits, sides)


class Overused(NamedTuple):
    """Traits of removed rows compared with those of kept rows."""

    words: Sequence[Overuse] = ()
    """Significantly over-used words first, significantly under-used ones last."""
    lengths: Sequence[Overuse] = ()
    polarity: Sequence[Overuse] = ()


class Sides:
    """Removed and kept rows, weighted so that each unit counts as one.

    A unit with removed and kept members counts as one on both sides. `removed` is a mask of the rows. `units` are the
    units of the rows; None makes every row a unit. `best` lists the rows from which examples are taken first. Raises
    BadInput if no row is removed, or none is kept.
    """

    def __init__(
        self, removed: Sequence[bool] | Bools, units: Units | None = None, best: Sequence[int] | Ints = ()
    ) -> None:
        self.removed: Bools = np.asarray(removed, np.bool_)
        row_count = len(self.removed)
        self.rank = np.full(row_count, len(best))
        self.rank[np.asarray(best, np.int64)] = np.arange(len(best))
        row_units = Units.alone(row_count) if units is None else require_units(units, row_count)
        side = row_units.numbers * 2 + self.removed
        member_counts = np.bincount(side, minlength=2 * row_count)
        self.weights: Doubles = 1.0 / member_counts[side]
        kept_count = round(self.weights[~self.removed].sum())
        removed_count = round(self.weights[self.removed].sum())
        self.units = (kept_count, removed_count)
        """Number of units with kept members, and of units with removed members."""
        if not all(self.units):
            raise BadInput("expected some rows removed and some kept: there is nothing to compare")


def _compare_traits(names: Sequence[str], rows: Ints, traits: Ints, sides: Sides) -> list[Overuse]:
    """Return one comparison per name.

    Entry i says that row `rows[i]` has the trait `names[traits[i]]`.
    """
    if not names:
        return []
    is_removed = sides.removed[rows]
    removed_rows = rows[is_removed]
    removed_traits = traits[is_removed]
    kept_rows = rows[~is_removed]
    kept_traits = traits[~is_removed]
    removed_with = np.bincount(removed_traits, sides.weights[removed_rows], len(names))
    kept_with = np.bincount(kept_traits, sides.weights[kept_rows], len(names))
    kept_count, removed_count = sides.units
    ratio, low, high = log_odds(removed_with, removed_count, kept_with, kept_count)
    p = p_fisher(removed_with, removed_count, kept_with, kept_count)
    q = discovery_rates(p)
    examples = _choose_examples(len(names), removed_rows, removed_traits, sides.rank)
    return [
        Overuse(
            name,
            float(removed_with[trait]),
            removed_count,
            float(kept_with[trait]),
            kept_count,
            float(ratio[trait]),
            float(low[trait]),
            float(high[trait]),
            float(p[trait]),
            float(q[trait]),
            examples[trait],
        )
        for trait, name in enumerate(names)
    ]


def _choose_examples(trait_count: int, rows: Ints, traits: Ints, rank: Ints) -> list[tuple[int, ...]]:
    """Return for each trait the first few of its rows, by rank and then by index.

    There are three at most. Entry i says that row `rows[i]` has trait `traits[i]`. `rank` has one number per row of the
    data.
    """
    order = np.lexsort((rows, rank[rows], traits))
    sorted_rows = rows[order]
    sorted_traits = traits[order]
    numbers = np.arange(trait_count)
    starts = np.searchsorted(sorted_traits, numbers, "left")
    ends = np.searchsorted(sorted_traits, numbers, "right")
    examples = []
    for start, end in zip(starts, ends, strict=True):
        last = min(start + EXAMPLES, end)
        examples.append(tuple(sorted_rows[start:last].tolist()))
    return examples
