"""Which words, and which pairs of words, stand in which text: as plain arrays, counted in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from winokit.methods.aflite.whole_groups import FloatArray, IntArray

MOST_PAIRS = 2_000_000
"""Occurrences of pairs held at once: about 200 MB with what sorting them takes."""
MIXER = 0x9E3779B97F4A7C15
"""Spreads pairs over parts: neighbouring pairs do not stay together."""


@dataclass(frozen=True)
class WordEntries:
    """A word of a text, one entry each: the text's row, the word's number; sorted by row."""

    row: IntArray
    feature: IntArray
    rows: int
    words: tuple[str, ...]

    @property
    def features(self) -> int:
        """How many different words there are."""
        return len(self.words)


@dataclass(frozen=True)
class PairShares:
    """Of pairs of words: for each row the sum of log((c(pair, first) + s) / (c(pair) + 2s)) and how many it has."""

    sums: FloatArray
    lengths: IntArray
    totals: tuple[int, int]
    """How many pairs stand in texts whose answer is the first, and in all."""
    features: int
    """How many different pairs there are."""


def word_entries(texts: Sequence[Sequence[str]], *, once: bool = False) -> WordEntries:
    """The words of the texts as entries; with `once`, a word that is repeated in a text has one."""
    numbers: dict[str, int] = {}
    feature = np.fromiter((numbers.setdefault(word, len(numbers)) for text in texts for word in text), np.int64)
    row = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
    if once and len(feature):
        row, feature = np.divmod(np.unique(row * len(numbers) + feature), len(numbers))
    return WordEntries(row, feature, len(texts), tuple(numbers))


def pair_log_shares(entries: WordEntries, labels: IntArray, smoothing: float, most: int = MOST_PAIRS) -> PairShares:
    """Count every pair of different words and sum what the pairs of each row say; `entries` have each word once.

    WinoGrande's 40,000 texts hold 7.7 million pairs. They are dealt into parts by a hash, so that all occurrences of a
    pair meet in one part and no more than about `most` are held at a time.
    """
    lengths = np.bincount(entries.row, minlength=entries.rows)
    per_row = lengths * (lengths - 1) // 2
    sums, features = np.zeros(entries.rows), 0
    parts = max(1, -(-int(per_row.sum()) // most))
    for part in range(parts):
        found = [_only(part, parts, *block) for block in _pair_blocks(entries, lengths, most // 8)]
        if not found:
            continue
        row, pair = (np.concatenate(column) for column in zip(*found, strict=True))
        _, which, total = np.unique(pair, return_inverse=True, return_counts=True)
        first = np.bincount(which[labels[row] == 0], minlength=len(total))
        shares = np.log((first + smoothing) / (total + 2 * smoothing))
        sums += np.bincount(row, shares[which], entries.rows)
        features += len(total)
    return PairShares(sums, per_row, (int(per_row[labels == 0].sum()), int(per_row.sum())), features)


def _pair_blocks(entries: WordEntries, lengths: IntArray, most: int) -> Iterator[tuple[IntArray, IntArray]]:
    """Row and number of every pair, some texts of equal length at a time."""
    starts = np.cumsum(lengths) - lengths
    for length in np.unique(lengths[lengths > 1]):
        one, other = np.triu_indices(length, 1)
        rows = np.flatnonzero(lengths == length)
        step = max(1, most // len(one))
        for at in range(0, len(rows), step):
            some = rows[at : at + step]
            words = entries.feature[starts[some][:, None] + np.arange(length)]
            yield np.repeat(some, len(one)), (words[:, one] * entries.features + words[:, other]).ravel()


def _only(part: int, parts: int, row: IntArray, pair: IntArray) -> tuple[IntArray, IntArray]:
    """The pairs that belong to one part."""
    if parts == 1:
        return row, pair
    mixed = (pair.astype(np.uint64) * np.uint64(MIXER)) >> np.uint64(32)
    mine = mixed % np.uint64(parts) == part
    return row[mine], pair[mine]
