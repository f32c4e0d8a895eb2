"""PMI filtering, the lexical baseline: keep the twins whose words say least about the answer.

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
"""Occurrences of pairs held at once: about 200 MB with what sorting them takes."""
MIXER = 0x9E3779B97F4A7C15
"""Spreads pairs over parts: neighbouring pairs do not stay together."""


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
    """True for the rows that stay."""
    scores_: Doubles = field(init=False, repr=False)
    """What the rows of a group were ranked by: high is easy."""

    def arm(self, rows: DebiasRows, size: int | None = None, progress: Progress | None = None) -> DebiasArm:
        """Fit the words of the rows."""
        self.fit(rows.texts, rows.y, rows.groups)
        return DebiasArm(self.name, self.keep_, self.given(), self.scores_, whole=rows.groups)

    def fit(
        self, texts: Sequence[Sequence[str]], y: Sequence[int] | NDArray[Any], groups: Groups | None = None
    ) -> "PMIFilter":
        """Rank the groups of the texts, each a list of words, and keep the first ones."""
        labels = as_labels(y)
        if len(texts) != len(labels):
            raise BadInput(f"expected one answer per text, found {len(labels)} for {len(texts)}")
        numbers = numbered(groups, len(labels))
        per_row = self._measure_evidence(texts, labels)
        scores, twins = _score_groups(per_row, labels, numbers, largest=self.variant == "maximum")
        if self.variant == "absolute":
            scores = np.abs(scores)
        place = np.where(twins, 0, {"own": 0, "first": -1, "last": 1}[self.alone])
        by_chance = np.random.default_rng(self.seed).permutation(len(scores))
        order = np.lexsort((by_chance, scores, place))
        self.keep_ = taken_whole(order, numbers, self.size)
        self.scores_ = scores[numbers]
        return self

    def _measure_evidence(self, texts: Sequence[Sequence[str]], labels: Ints) -> Doubles:
        """Return each text's evidence for the first answer.

        It is the sum of its words' PMI, or the largest.
        """
        entries = word_entries(texts, once=self.count == "types" or self.variant == "second-order")
        if self.variant == "second-order":
            return pair_evidence(entries, labels, self.smoothing)
        pmi = word_pmi(entries, labels, self.smoothing)
        if self.variant == "maximum":
            largest = np.full(entries.rows, -np.inf)
            np.maximum.at(largest, entries.row, pmi[entries.feature])
            return np.where(np.isfinite(largest), largest, 0.0)
        return np.bincount(entries.row, pmi[entries.feature], entries.rows).astype(np.float64)


def word_pmi(entries: "WordEntries", labels: Ints, smoothing: float) -> Doubles:
    """PMI of every word with the first answer."""
    first = np.bincount(entries.feature[labels[entries.row] == 0], minlength=entries.features)
    total = np.bincount(entries.feature, minlength=entries.features)
    shares: Doubles = np.log((first + smoothing) / (total + 2 * smoothing))
    return shares + _smooth_prior(int(first.sum()), int(total.sum()), entries.features, smoothing)


def _smooth_prior(first: int, both: int, features: int, smoothing: float) -> float:
    """-log p(first), from the counts of the first answer and of both, smoothed as the words are."""
    return float(np.log((both + 2 * smoothing * features) / (first + smoothing * features))) if features else 0.0


def _score_groups(per_row: Doubles, labels: Ints, numbers: Ints, largest: bool) -> tuple[Doubles, Bools]:
    """Return per group the difference of its rows' evidence, or the largest.

    Also returns which groups have both answers.

    Of a group with one answer alone, f is what its words say for that answer.
    """
    groups = int(numbers.max()) + 1

    def by_label(values: Doubles) -> Doubles:
        return np.bincount(labels * groups + numbers, values, 2 * groups).reshape(2, groups).astype(np.float64)

    sums = by_label(per_row)
    counts = by_label(np.ones(len(labels)))
    means = np.divide(sums, counts, out=np.zeros_like(sums), where=counts > 0)
    scores: Doubles = means[0] - means[1]
    if largest:
        scores = np.full(groups, -np.inf)
        np.maximum.at(scores, numbers, per_row)
    return scores, (counts[0] > 0) & (counts[1] > 0)


@dataclass(frozen=True)
class WordEntries:
    """Words of texts: one entry per word, sorted by row."""

    row: Ints
    feature: Ints
    rows: int
    words: tuple[str, ...]

    @property
    def features(self) -> int:
        """Number of different words."""
        return len(self.words)


def word_entries(texts: Sequence[Sequence[str]], *, once: bool = False) -> WordEntries:
    """Return the words of the texts as entries.

    With `once`, a repeated word has one entry per text.
    """
    numbers: dict[str, int] = {}
    feature = np.fromiter((numbers.setdefault(word, len(numbers)) for text in texts for word in text), np.int64)
    row = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
    if once and len(feature):
        row, feature = np.divmod(np.unique(row * len(numbers) + feature), len(numbers))
    return WordEntries(row, feature, len(texts), tuple(numbers))


def pair_evidence(entries: WordEntries, labels: Ints, smoothing: float, most: int = MOST_PAIRS) -> Doubles:
    """Return per row the summed PMI of its word pairs with the first answer.

    `entries` have each word once.

    WinoGrande's 40,000 texts hold 7.7 million pairs. They are dealt into parts by a hash, so that all occurrences of a
    pair meet in one part and no more than about `most` are held at a time.
    """
    lengths = np.bincount(entries.row, minlength=entries.rows)
    per_row = lengths * (lengths - 1) // 2
    sums = np.zeros(entries.rows)
    features = 0
    parts = max(1, -(-int(per_row.sum()) // most))
    for part in range(parts):
        blocks = [_select_part(part, parts, *block) for block in _iterate_pairs(entries, lengths, most // 8)]
        if not blocks:
            continue
        row, pair = (np.concatenate(column) for column in zip(*blocks, strict=True))
        _, which, total = np.unique(pair, return_inverse=True, return_counts=True)
        first = np.bincount(which[labels[row] == 0], minlength=len(total))
        shares = np.log((first + smoothing) / (total + 2 * smoothing))
        sums += np.bincount(row, shares[which], entries.rows)
        features += len(total)
    return sums + per_row * _smooth_prior(int(per_row[labels == 0].sum()), int(per_row.sum()), features, smoothing)


def _iterate_pairs(entries: WordEntries, lengths: Ints, most: int) -> Iterator[tuple[Ints, Ints]]:
    """Row and number of every pair, some texts of equal length at a time."""
    starts = np.cumsum(lengths) - lengths
    for length in np.unique(lengths[lengths > 1]):
        left, right = np.triu_indices(length, 1)
        rows = np.flatnonzero(lengths == length)
        step = max(1, most // len(left))
        for at in range(0, len(rows), step):
            chunk = rows[at : at + step]
            words = entries.feature[starts[chunk][:, None] + np.arange(length)]
            yield np.repeat(chunk, len(left)), (words[:, left] * entries.features + words[:, right]).ravel()


def _select_part(part: int, parts: int, row: Ints, pair: Ints) -> tuple[Ints, Ints]:
    """The pairs that belong to one part."""
    if parts == 1:
        return row, pair
    mixed = (pair.astype(np.uint64) * np.uint64(MIXER)) >> np.uint64(32)
    mine = mixed % np.uint64(parts) == part
    return row[mine], pair[mine]
