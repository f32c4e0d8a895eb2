"""PMI filtering, the lexical baseline: keeps twins whose words tell little about the answer.

Sakaguchi, Le Bras, Bhagavatula and Choi, "WinoGrande" (2019), section 4, https://arxiv.org/abs/1907.10641; PMI after
Gururangan et al., "Annotation Artifacts in Natural Language Inference Data" (2018), https://arxiv.org/abs/1803.02324.

For twins t1, whose answer is the first candidate, and t2, whose answer is the second,
f = Σ PMI(first; w in t1) - Σ PMI(first; w in t2): large when words alone give the answers away. Twins are kept in
increasing order of f until the size is reached. The words that twins share cancel.

With counts c(w, y) and s added to each of them (add-s smoothing over the words found and the two answers),
PMI(first; w) = log p(w, first) / (p(w) p(first)), in nats. The paper gives no s; Gururangan et al. add 100.
Left open by the papers and decided here: which twin is t1 (as above, so that a large f is easy), a group of three or
more (the mean over its members on each side), and problems without a twin (`alone`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from winokit.errors import BadInput
from winokit.methods.aflite.inputs import Bools, Doubles, Ints, as_labels, numbered, taken_whole
from winokit.methods.aflite.methods import DebiasArm, DebiasMethod, DebiasRows, Seed, Size
from winokit.methods.arrays import Groups
from winokit.progress import Progress
from winokit.settings import Help

MOST_PAIRS = 2_000_000
"""Maximum number of pairs in memory at once: sorting them takes about 200 MB."""
MIXER = 0x9E3779B97F4A7C15
"""Multiplier of the hash that spreads pairs over parts."""


@dataclass
class PMIFilter(DebiasMethod):
    """Keep the twins whose words say least about the answer: the lexical baseline of Sakaguchi et al. (2019).

    Parameters
    ----------
    variant
        `difference` is f, `absolute` |f|, `maximum` the largest PMI of any word of the twins, `second-order` f over
        pairs of different words of a text instead of words.
    count
        Pairs are always of types.
    alone
        What has no twin, or a group with one answer only: `own` ranks it by what its own words say, as if the twin had
        none; `first` keeps it before, `last` after all twins.
    seed
        Decides between equal scores.
    """

    name = "pmi"
    title = "PMI filtering"
    score_title = "PMI"
    size: Size
    variant: Annotated[
        Literal["difference", "absolute", "maximum", "second-order"],
        Help(
            "difference (f), absolute (|f|), maximum or second-order (pairs of words).",
            "NAME",
            noun="variant of PMI filtering",
            section="pmi",
        ),
    ] = "difference"
    smoothing: Annotated[float, Help("Number added to every count.", above=0, section="pmi")] = 100.0
    count: Annotated[
        Literal["tokens", "types"],
        Help(
            "tokens (every occurrence of a word in a text) or types (once per text).",
            noun="way to count words",
            section="pmi",
        ),
    ] = "tokens"
    alone: Annotated[
        Literal["own", "first", "last"],
        Help(
            "Problems without a twin: own (ranked by their own words), first or last to be kept.",
            noun="treatment of problems alone",
            section="pmi",
        ),
    ] = "own"
    seed: Seed = 0
    keep_: Bools = field(init=False, repr=False)
    """Mask of the kept rows."""
    scores_: Doubles = field(init=False, repr=False)
    """Score of each row's group: a high score means that its words give the answer away."""

    def arm(self, rows: DebiasRows, size: int | None = None, progress: Progress | None = None) -> DebiasArm:
        """Filter the rows by their words, down to the setting `size` of this method."""
        self.fit(rows.texts, rows.y, rows.groups)
        return DebiasArm(self.name, self.keep_, self.given(), self.scores_, whole=rows.groups)

    def fit(
        self, texts: Sequence[Sequence[str]], y: Sequence[int] | NDArray[Any], groups: Groups | None = None
    ) -> "PMIFilter":
        """Rank the groups of texts by their words, and keep those with the lowest scores.

        Each text is a list of words. `y` has their answers, 0 or 1, and `groups` their groups, such as twins, or None
        for a text alone. Sets `keep_` and `scores_`. At most `size` texts are kept, and no group is split.
        """
        labels = as_labels(y)
        if len(texts) != len(labels):
            raise BadInput(f"expected one answer per text, found {len(labels)} for {len(texts)}")
        numbers = numbered(groups, len(labels))
        evidence = self._measure_evidence(texts, labels)
        scores, has_twins = _score_groups(evidence, labels, numbers, largest=self.variant == "maximum")
        if self.variant == "absolute":
            scores = np.abs(scores)
        rank_alone = {"own": 0, "first": -1, "last": 1}[self.alone]
        rank = np.where(has_twins, 0, rank_alone)
        tie_break = np.random.default_rng(self.seed).permutation(len(scores))
        order = np.lexsort((tie_break, scores, rank))
        self.keep_ = taken_whole(order, numbers, self.size)
        self.scores_ = scores[numbers]
        return self

    def _measure_evidence(self, texts: Sequence[Sequence[str]], labels: Ints) -> Doubles:
        """Return each text's evidence for the first answer.

        It is the sum of its words' PMI. For the variant `maximum` it is the largest PMI, and for `second-order` the sum
        over pairs of words.
        """
        is_once = self.count == "types" or self.variant == "second-order"
        entries = word_entries(texts, once=is_once)
        if self.variant == "second-order":
            return pair_evidence(entries, labels, self.smoothing)
        pmi = word_pmi(entries, labels, self.smoothing)
        entry_pmi = pmi[entries.feature]
        if self.variant == "maximum":
            largest = np.full(entries.rows, -np.inf)
            np.maximum.at(largest, entries.row, entry_pmi)
            return np.where(np.isfinite(largest), largest, 0.0)
        return np.bincount(entries.row, entry_pmi, entries.rows).astype(np.float64)


def word_pmi(entries: "WordEntries", labels: Ints, smoothing: float) -> Doubles:
    """Pointwise mutual information of every word with the first answer, in nats.

    `labels` has the answer of each text. `smoothing` is added to every count.
    """
    is_first = labels[entries.row] == 0
    first_counts = np.bincount(entries.feature[is_first], minlength=entries.features)
    counts = np.bincount(entries.feature, minlength=entries.features)
    log_shares: Doubles = np.log((first_counts + smoothing) / (counts + 2 * smoothing))
    prior = _smooth_prior(int(first_counts.sum()), int(counts.sum()), entries.features, smoothing)
    return log_shares + prior


def _smooth_prior(first_count: int, count: int, feature_count: int, smoothing: float) -> float:
    """Return -log p(first), smoothed like the words, or 0 without words.

    `first_count` of `count` words are in texts whose answer is the first. There are `feature_count` different words.
    """
    if not feature_count:
        return 0.0
    return float(np.log((count + 2 * smoothing * feature_count) / (first_count + smoothing * feature_count)))


def _score_groups(evidence: Doubles, labels: Ints, numbers: Ints, largest: bool) -> tuple[Doubles, Bools]:
    """Return the score of each group, and whether it has both answers.

    The score is the mean evidence of its rows with the first answer less that of its rows with the second. Without rows
    of an answer their mean is 0. With `largest`, the score is the largest evidence of its rows. `numbers` has the group
    of each row.
    """
    group_count = int(numbers.max()) + 1
    cells = labels * group_count + numbers

    def sum_by_label(values: Doubles) -> Doubles:
        """Sum a value per row by answer and group."""
        sums = np.bincount(cells, values, 2 * group_count)
        return sums.reshape(2, group_count).astype(np.float64)

    sums = sum_by_label(evidence)
    counts = sum_by_label(np.ones(len(labels)))
    means = np.divide(sums, counts, out=np.zeros_like(sums), where=counts > 0)
    scores: Doubles = means[0] - means[1]
    if largest:
        scores = np.full(group_count, -np.inf)
        np.maximum.at(scores, numbers, evidence)
    has_twins = (counts[0] > 0) & (counts[1] > 0)
    return scores, has_twins


@dataclass(frozen=True)
class WordEntries:
    """Words of texts as arrays: one entry per occurrence of a word, sorted by text."""

    row: Ints
    """Index of each entry's text."""
    feature: Ints
    """Index of each entry's word in `words`."""
    rows: int
    """Number of texts."""
    words: tuple[str, ...]
    """All different words."""

    @property
    def features(self) -> int:
        """Number of different words."""
        return len(self.words)


def word_entries(texts: Sequence[Sequence[str]], *, once: bool = False) -> WordEntries:
    """Return the words of the texts as entries.

    With `once`, a word that a text repeats has one entry for this text.
    """
    number_of: dict[str, int] = {}
    numbers: list[int] = []
    for text in texts:
        numbers.extend(number_of.setdefault(word, len(number_of)) for word in text)
    feature = np.array(numbers, np.int64)
    lengths = [len(text) for text in texts]
    row = np.repeat(np.arange(len(texts)), lengths)
    if once and len(feature):
        entry_keys = np.unique(row * len(number_of) + feature)
        row, feature = np.divmod(entry_keys, len(number_of))
    return WordEntries(row, feature, len(texts), tuple(number_of))


def pair_evidence(entries: WordEntries, labels: Ints, smoothing: float, most: int = MOST_PAIRS) -> Doubles:
    """Return for each text the sum of the PMI of its word pairs with the first answer.

    `entries` have each word of a text once. `labels` has the answer of each text.

    WinoGrande's 40,000 texts have 7.7 million pairs. A hash deals them into parts, so that all occurrences of a pair
    are in one part, and only about `most` are in memory at a time.
    """
    lengths = np.bincount(entries.row, minlength=entries.rows)
    pair_counts = lengths * (lengths - 1) // 2
    pair_count = int(pair_counts.sum())
    sums = np.zeros(entries.rows)
    feature_count = 0
    part_count = max(1, -(-pair_count // most))
    for part in range(part_count):
        row, pair = _collect_part(part, part_count, entries, lengths, most)
        if not len(row):
            continue
        _, pair_index, counts = np.unique(pair, return_inverse=True, return_counts=True)
        is_first = labels[row] == 0
        first_counts = np.bincount(pair_index[is_first], minlength=len(counts))
        log_shares = np.log((first_counts + smoothing) / (counts + 2 * smoothing))
        sums += np.bincount(row, log_shares[pair_index], entries.rows)
        feature_count += len(counts)
    first_count = int(pair_counts[labels == 0].sum())
    return sums + pair_counts * _smooth_prior(first_count, pair_count, feature_count, smoothing)


def _collect_part(part: int, part_count: int, entries: WordEntries, lengths: Ints, most: int) -> tuple[Ints, Ints]:
    """Return the text and the number of every pair that the hash deals into a part."""
    rows = [np.zeros(0, np.int64)]
    pairs = [np.zeros(0, np.int64)]
    for block_row, block_pair in _iterate_pairs(entries, lengths, most // 8):
        part_row, part_pair = _select_part(part, part_count, block_row, block_pair)
        rows.append(part_row)
        pairs.append(part_pair)
    return np.concatenate(rows), np.concatenate(pairs)


def _iterate_pairs(entries: WordEntries, lengths: Ints, most: int) -> Iterator[tuple[Ints, Ints]]:
    """Yield the text and the number of every pair, about `most` pairs at a time.

    `lengths` has the number of words of each text. Equal pairs have equal numbers.
    """
    starts = np.cumsum(lengths) - lengths
    for length in np.unique(lengths[lengths > 1]):
        first, second = np.triu_indices(length, 1)
        rows = np.flatnonzero(lengths == length)
        step = max(1, most // len(first))
        for start in range(0, len(rows), step):
            chunk = rows[start : start + step]
            indices = starts[chunk][:, None] + np.arange(length)
            words = entries.feature[indices]
            pairs = words[:, first] * entries.features + words[:, second]
            yield np.repeat(chunk, len(first)), pairs.ravel()


def _select_part(part: int, part_count: int, row: Ints, pair: Ints) -> tuple[Ints, Ints]:
    """Return the rows and pairs whose hash belongs to a part."""
    if part_count == 1:
        return row, pair
    mixed = (pair.astype(np.uint64) * np.uint64(MIXER)) >> np.uint64(32)
    is_in_part = mixed % np.uint64(part_count) == part
    return row[is_in_part], pair[is_in_part]
