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

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from winokit.errors import BadInput, UnknownName
from winokit.methods.aflite.whole_groups import (
    BoolArray,
    FloatArray,
    Groups,
    IntArray,
    as_labels,
    check_seed,
    check_size,
    numbered,
    taken_whole,
)
from winokit.methods.aflite.word_counts import WordEntries, pair_log_shares, word_entries

Variant: TypeAlias = Literal["difference", "absolute", "maximum", "second-order"]
VARIANTS = ("difference", "absolute", "maximum", "second-order")
COUNTS = ("tokens", "types")
ALONE = ("own", "first", "last")


@dataclass
class PMIFilter:
    """Keeps the `size` rows whose words say least about the answer; twins are kept or removed together.

    Parameters
    ----------
    variant
        `difference` is f, `absolute` |f|, `maximum` the largest PMI of any word of the twins, `second-order` f over
        pairs of different words of a text instead of words.
    smoothing
        What is added to every count.
    count
        `tokens` counts a word as often as it stands in a text, `types` once. Pairs are always of types.
    alone
        Problems without a twin (or whose group has one answer only): `own` ranks them by what their own words say, as
        if the twin had none; `first` keeps them before, `last` after all twins.
    seed
        Decides between equal scores.
    """

    size: int
    variant: str = "difference"
    smoothing: float = 100.0
    count: str = "tokens"
    alone: str = "own"
    seed: int = 0
    keep_: BoolArray = field(init=False, repr=False)
    """True for the rows that stay."""
    scores_: FloatArray = field(init=False, repr=False)
    """What the rows of a group were ranked by: high is easy."""

    def __post_init__(self) -> None:
        for what, name, known in (
            ("variant of PMI filtering", self.variant, VARIANTS),
            ("way to count words", self.count, COUNTS),
            ("treatment of problems alone", self.alone, ALONE),
        ):
            if name not in known:
                raise UnknownName(what, name, known)
        if not 0 < self.smoothing < math.inf:
            raise BadInput(f"a smoothing above 0 expected, found {self.smoothing}")
        check_seed(self.seed)

    @property
    def settings_(self) -> dict[str, Any]:
        """Everything that was decided."""
        return {key: value for key, value in asdict(self).items() if not key.endswith("_")}

    def fit(
        self, texts: Sequence[Sequence[str]], y: Sequence[int] | NDArray[Any], groups: Groups | None = None
    ) -> PMIFilter:
        """Rank the groups of the texts, each a list of words, and keep the first ones."""
        labels = as_labels(y)
        if len(texts) != len(labels):
            raise BadInput(f"one answer a text expected, found {len(labels)} for {len(texts)}")
        size, numbers = check_size(self.size, len(labels)), numbered(groups, len(labels))
        per_row = self._evidence(texts, labels)
        scores, twins = (_largest if self.variant == "maximum" else _difference)(per_row, labels, numbers)
        if self.variant == "absolute":
            scores = np.abs(scores)
        place = np.where(twins, 0, {"own": 0, "first": -1, "last": 1}[self.alone])
        by_chance = np.random.default_rng(self.seed).permutation(len(scores))
        order = np.lexsort((by_chance, scores, place))
        self.keep_, self.scores_ = taken_whole(order, numbers, size), scores[numbers]
        return self

    def _evidence(self, texts: Sequence[Sequence[str]], labels: IntArray) -> FloatArray:
        """What a text's words say for the first answer: the sum of their PMI, or the largest."""
        entries = word_entries(texts, once=self.count == "types" or self.variant == "second-order")
        if self.variant == "second-order":
            shares = pair_log_shares(entries, labels, self.smoothing)
            return shares.sums + shares.lengths * _prior(shares.totals, shares.features, self.smoothing)
        pmi = word_pmi(entries, labels, self.smoothing)
        if self.variant == "maximum":
            largest = np.full(entries.rows, -np.inf)
            np.maximum.at(largest, entries.row, pmi[entries.feature])
            return np.where(np.isfinite(largest), largest, 0.0)
        return np.bincount(entries.row, pmi[entries.feature], entries.rows).astype(np.float64)


def word_pmi(entries: WordEntries, labels: IntArray, smoothing: float) -> FloatArray:
    """PMI of every word with the first answer."""
    first = np.bincount(entries.feature[labels[entries.row] == 0], minlength=entries.features)
    total = np.bincount(entries.feature, minlength=entries.features)
    shares: FloatArray = np.log((first + smoothing) / (total + 2 * smoothing))
    return shares + _prior((int(first.sum()), int(total.sum())), entries.features, smoothing)


def _prior(totals: tuple[int, int], features: int, smoothing: float) -> float:
    """-log p(first), from the counts of the first answer and of both, smoothed as the words are."""
    first, both = totals
    return float(np.log((both + 2 * smoothing * features) / (first + smoothing * features))) if features else 0.0


def _difference(per_row: FloatArray, labels: IntArray, numbers: IntArray) -> tuple[FloatArray, BoolArray]:
    """The difference f of every group (of one answer alone: what its words say for it), and which have both answers."""
    sums, counts = _by_label(per_row, labels, numbers), _by_label(np.ones(len(labels)), labels, numbers)
    means = np.divide(sums, counts, out=np.zeros_like(sums), where=counts > 0)
    scores: FloatArray = means[0] - means[1]
    return scores, (counts[0] > 0) & (counts[1] > 0)


def _largest(per_row: FloatArray, labels: IntArray, numbers: IntArray) -> tuple[FloatArray, BoolArray]:
    """The largest PMI of any word of a group, and which groups have both answers."""
    counts = _by_label(np.ones(len(labels)), labels, numbers)
    scores: FloatArray = np.full(counts.shape[1], -np.inf)
    np.maximum.at(scores, numbers, per_row)
    return scores, (counts[0] > 0) & (counts[1] > 0)


def _by_label(values: FloatArray, labels: IntArray, numbers: IntArray) -> FloatArray:
    """Totals of every group, for each of the two answers."""
    groups = int(numbers.max()) + 1
    return np.bincount(labels * groups + numbers, values, 2 * groups).reshape(2, groups).astype(np.float64)
