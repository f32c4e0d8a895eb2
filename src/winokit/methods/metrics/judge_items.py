"""A door of the judge: what items are worth, and doubtful labels.

Witnesses are families, never models. An item is a suspect for a reason that an interval shows:

- both twins wrong: among strong families that tell the twins apart, more have them the wrong way round;
- a negative item-rest correlation: the better a family is elsewhere, the less often it is right here;
- another answer, of a problem without a twin: more than half of the strong families choose the other candidate;
- languages: wrong in more languages at once than a coin would have wrong one time in twenty, a translation being a
  second opinion on the label.

A swapped label turns the margin of the strong families round (from m to -m) and the sign of the correlation r. The
queue is sorted by m + 2 r, the lowest first, as far as families differ reliably in strength (alpha, Cronbach, 1951,
"Coefficient alpha and the internal structure of tests"): a (m + 2 r) + (1 - a) m', where m' is the margin of all
families. If they are equally strong, who is strong is luck. Of a model in several languages the evidence of all
counts: log odds of each choice by the label against the same choice by the other label, and for a pair of both right
against both wrong, which is much surer. `benchmarks/items.py` measures it on planted errors.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from winokit.answers import Answers, AskedProblems
from winokit.methods.arrays import BoolArray, FloatArray, IntArray
from winokit.methods.metrics.groups import complete_groups
from winokit.methods.metrics.intervals import share
from winokit.methods.metrics.items import BANDS as BANDS
from winokit.methods.metrics.items import RIGHT, UNASKED, WRONG, FamilyShares, correlation
from winokit.methods.metrics.items import AnswerMatrix as AnswerMatrix
from winokit.problem import folded_text
from winokit.units import Units

STRONG = "strong"
REST_WEIGHT = 2.0
"""Weight of a correlation in the order of suspects, beside the margin of strong families."""
SMALL = 0.05
FEWEST_LANGUAGES = 3
"""Fewer languages are no second opinion."""
BOTH_WRONG = "both twins wrong"
NEGATIVE = "negative item-rest"
OTHER_ANSWER = "another answer"
LANGUAGES = "languages"
REASONS = (BOTH_WRONG, NEGATIVE, OTHER_ANSWER, LANGUAGES)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its confidence interval over n families or items."""

    value: float
    low: float
    high: float
    n: int


@dataclass(frozen=True, slots=True)
class JudgedItem:
    """One item: how often families are right, and which ones are."""

    row: int
    """Its row among the problems asked."""
    models: int
    right: Estimate
    """The share of families that are right; a family counts by the share of its members."""
    strong_right: Estimate | None
    """Share right of the strong third of families; None if none of them was asked."""
    rest: Estimate | None
    """The correlation with the rest over families; None if fewer than four vary."""


@dataclass(frozen=True, slots=True)
class BandShares:
    """Shares right and wrong on a pair, in one third of families.

    Families are ordered by strength.
    """

    families: int
    told_apart: float
    right_way_round: float | None
    """The share of those told apart that have both right; None if none is told apart."""
    both_wrong: float


@dataclass(frozen=True, slots=True)
class JudgedPair:
    """One pair of twins: told apart, right way round, both wrong.

    `rows` are the twins' rows among the problems.
    """

    rows: tuple[int, int]
    told_apart: Estimate
    right_way_round: float | None
    both_wrong: Estimate
    bands: Mapping[str, BandShares]
    margin: float
    """The share of families with both right minus that with both wrong."""
    strong_margin: float
    """`margin` among the strong third of families."""
    strong_turned: Estimate | None
    """Among strong families that tell the twins apart, the share that has both wrong; None if there are none."""
    rest: Estimate | None
    """The correlation of both right minus both wrong with the rest."""


@dataclass(frozen=True, slots=True)
class Suspect:
    """An item or a pair, how doubtful its label is, and why.

    `reasons` is empty if there is no reason to doubt it.
    """

    rows: tuple[int, ...]
    suspicion: float
    """The order: from -3, where nothing is wrong, to 3; of several languages, log odds."""
    reasons: Mapping[str, str]
    """By the name of a rule, who said what."""


@dataclass(frozen=True, eq=False)
class JudgedItems:
    """Judgements on all items that some scorer was asked."""

    matrix: AnswerMatrix
    families: IntArray
    """The number of the family of each scorer."""
    languages: Mapping[str, IntArray] = field(default_factory=dict)
    """The scorers that answered in each language, if the languages are known."""

    @cached_property
    def asked(self) -> AskedProblems:
        """The problems: `row` and `rows` are indices into them."""
        return self.matrix.asked

    @cached_property
    def rows(self) -> IntArray:
        """Row indices of the items that some scorer was asked."""
        return np.flatnonzero(self.matrix.is_asked.any(axis=0))

    @cached_property
    def family_count(self) -> int:
        """Number of families."""
        return int(self.families.max()) + 1

    @cached_property
    def shares(self) -> FamilyShares:
        """Share right of each family on each item in `rows`."""
        family_shares = self.matrix.family_shares(self.families)[:, self.rows]
        return FamilyShares(family_shares, self.asked.units.take(self.rows))

    @cached_property
    def items(self) -> list[JudgedItem]:
        """Judgement of each item, in the order of the problems."""
        models = self.matrix.is_asked[:, self.rows].sum(axis=0)
        strong = self.shares.bands[STRONG]
        items = []
        for column, row in enumerate(self.rows.tolist()):
            values = self.shares.shares[:, column]
            right = share_of_families(values)
            assert right is not None
            strong_right = share_of_families(values[strong])
            rest = estimated_correlation(values, self.shares.rests(column))
            items.append(JudgedItem(row, int(models[column]), right, strong_right, rest))
        return items

    @cached_property
    def right(self) -> Estimate:
        """Mean share right over items, with its interval over units."""
        rights = np.array([item.right.value for item in self.items])
        proportion = share(rights, self.asked.units.take(self.rows))
        interval = proportion.interval()
        return Estimate(proportion.value, interval.low, interval.high, len(rights))

    @property
    def chance(self) -> float:
        """Share right by guessing: the mean of 1/candidates."""
        chances = 1 / self.asked.candidates[self.rows]
        return float(chances.mean())

    @cached_property
    def pair_rows(self) -> IntArray:
        """Rows of both twins of each pair with opposite answers.

        Only complete pairs of which somebody was asked both, with two candidates: else wrong on both does not mean
        told apart.
        """
        is_asked = np.zeros(len(self.asked), np.bool_)
        is_asked[self.rows] = True
        pairs = opposite_pairs(self.asked)
        return pairs[is_asked[pairs].all(axis=1)]

    @cached_property
    def pairs(self) -> list[JudgedPair]:
        """Judgement of each pair, in the order of the problems."""
        pair_rows = self.pair_rows
        if not len(pair_rows):
            return []
        both_right, both_wrong = self.matrix.pair_shares(self.families, pair_rows)
        columns = np.searchsorted(self.rows, pair_rows[:, 0])
        pairs = []
        for number, (first, second) in enumerate(pair_rows.tolist()):
            right = both_right[:, number]
            wrong = both_wrong[:, number]
            if np.isnan(right).all():
                continue
            rests = self.shares.rests(int(columns[number]))
            pairs.append(self._judge_pair((first, second), right, wrong, rests))
        return pairs

    def _judge_pair(self, rows: tuple[int, int], right: FloatArray, wrong: FloatArray, rests: FloatArray) -> JudgedPair:
        """Judge one pair of twins.

        `right` and `wrong` are the shares of each family's members with both twins right and both wrong, `rests` the
        families' mean leads on other items.
        """
        told_apart = share_of_families(right + wrong)
        both_wrong = share_of_families(wrong)
        assert told_apart is not None
        assert both_wrong is not None
        was_asked = ~np.isnan(right)
        strong = self.shares.bands[STRONG] & was_asked
        bands = {}
        for band, members in self.shares.bands.items():
            members_asked = members & was_asked
            if members_asked.any():
                bands[band] = _sum_band(right[members_asked], wrong[members_asked])
        margins = right - wrong
        strong_margin = float(margins[strong].mean()) if strong.any() else 0.0
        right_way_round = _sum_band(right[was_asked], wrong[was_asked]).right_way_round
        return JudgedPair(
            rows,
            told_apart,
            right_way_round,
            both_wrong,
            bands,
            float(margins[was_asked].mean()),
            strong_margin,
            _estimate_turned(right[strong], wrong[strong]),
            estimated_correlation(margins, rests),
        )

    @cached_property
    def suspects(self) -> list[Suspect]:
        """Items and pairs with a doubtful label, the most doubtful first."""
        return [suspect for suspect in self.ranked if suspect.reasons]

    @cached_property
    def ranked(self) -> list[Suspect]:
        """All pairs, and items without a pair, most doubtful first.

        Most have no reason.
        """
        paired_rows: set[int] = set()
        for pair in self.pairs:
            paired_rows.update(pair.rows)
        suspects = [self._rank_pair(pair) for pair in self.pairs]
        suspects += [self._rank_item(item) for item in self.items if item.row not in paired_rows]
        return sorted(suspects, key=lambda suspect: (-suspect.suspicion, suspect.rows))

    def _rank_pair(self, pair: JudgedPair) -> Suspect:
        """Rate the doubt about a pair's labels, with the reasons."""
        rest_value = 0.0 if pair.rest is None else pair.rest.value
        reasons = {}
        turned = pair.strong_turned
        if turned is not None and turned.low > 0.5:
            wrong = pair.bands[STRONG].both_wrong
            wrong_percent = _round_percent(wrong)
            right_percent = _round_percent(wrong + pair.strong_margin)
            families = f"{turned.n:,} strong families"
            reasons[BOTH_WRONG] = f"{wrong_percent} of {families} have both twins wrong, {right_percent} both right"
        if pair.rest is not None and pair.rest.high < 0:
            reasons[NEGATIVE] = _tell_negative(pair.rest)
        self._add_languages(pair.rows, reasons)
        return Suspect(pair.rows, self._rank_value(pair.rows, pair.margin, pair.strong_margin, rest_value), reasons)

    def _rank_item(self, item: JudgedItem) -> Suspect:
        """Rate the doubt about an item's label, with the reasons."""
        rest_value = 0.0 if item.rest is None else item.rest.value
        margin = 2 * item.right.value - 1
        strong_margin = margin if item.strong_right is None else 2 * item.strong_right.value - 1
        reasons: dict[str, str] = {}
        if item.rest is not None and item.rest.high < 0:
            reasons[NEGATIVE] = _tell_negative(item.rest)
        has_two = self.asked.candidates[item.row] == 2
        right = item.strong_right
        if has_two and right is not None and right.high < 0.5:
            wrong_percent = _round_percent(1 - right.value)
            reasons[OTHER_ANSWER] = f"{wrong_percent} of {right.n:,} strong families are wrong"
        self._add_languages((item.row,), reasons)
        return Suspect((item.row,), self._rank_value((item.row,), margin, strong_margin, rest_value), reasons)

    def _rank_value(self, rows: Sequence[int], margin: float, strong_margin: float, rest: float) -> float:
        """Suspicion of an item or pair, from margins and correlation.

        `margin` is the share right minus the share wrong over families, `strong_margin` the same over the strong
        third, and `rest` the item-rest correlation. With several languages, log odds are used instead.
        """
        if self.languages:
            return -self._estimate_language_margin(rows)
        reliability = self.shares.reliability
        return -(reliability * (strong_margin + REST_WEIGHT * rest) + (1 - reliability) * margin)

    def _add_languages(self, rows: Sequence[int], reasons: dict[str, str]) -> None:
        """Add to `reasons` that the label is wrong in many languages.

        A language counts if more than half of its scorers are wrong on the item, or on both twins of the pair.
        """
        if len(self.languages) < FEWEST_LANGUAGES:
            return
        wrong = []
        asked_count = 0
        for language, scorers in self.languages.items():
            states = self.matrix.states[np.ix_(scorers, np.array(rows))]
            if (states == UNASKED).any():
                continue
            asked_count += 1
            if (states == WRONG).all(axis=1).mean() > 0.5:
                wrong.append(language)
        coin = float(np.prod(1 - 1 / self.asked.candidates[list(rows)]))
        if len(wrong) >= FEWEST_LANGUAGES and at_least_p(len(wrong), asked_count, coin) < SMALL:
            what = "both twins wrong" if len(rows) > 1 else "wrong"
            names = ", ".join(wrong)
            reasons[LANGUAGES] = f"{what} in {len(wrong)} of {asked_count} languages ({names})"

    @cached_property
    def _item_weights(self) -> tuple[FloatArray, FloatArray]:
        """Evidence for a label if a scorer is right, and if wrong.

        Two arrays of log odds, by index of the right answer and by scorer. A scorer that mostly chooses one place
        says little by it: its choice is as likely by either label.
        """
        answers = self.asked.answers
        counts = np.zeros((2, 2, len(self.matrix.states)), np.int64)
        for answer_index in (0, 1):
            own_states = self.matrix.states[:, answers == answer_index]
            counts[0, answer_index] = (own_states == RIGHT).sum(axis=1)
            counts[1, answer_index] = (own_states == WRONG).sum(axis=1)
        rights = (counts[0] + 1) / (counts.sum(axis=0) + 2)
        # The share right of labels that have the other answer.
        other_rights = rights[::-1]
        if_right = np.log(rights / (1 - other_rights))
        if_wrong = np.log((1 - rights) / other_rights)
        return if_right, if_wrong

    @cached_property
    def _pair_weights(self) -> FloatArray:
        """Log odds of each scorer for both twins right against both wrong.

        0 for a scorer no better than a coin.
        """
        pair_states = self.matrix.states[:, self.pair_rows]
        both_right = (pair_states == RIGHT).all(axis=2).sum(axis=1)
        both_wrong = (pair_states == WRONG).all(axis=2).sum(axis=1)
        return _compute_log_odds(both_right, both_wrong)

    def _estimate_language_margin(self, rows: Sequence[int]) -> float:
        """Log odds that the labels of some rows are right.

        Languages are summed as if they were independent.
        """
        states = self.matrix.states[:, list(rows)]
        all_right = (states == RIGHT).all(axis=1)
        all_wrong = (states == WRONG).all(axis=1)
        if_right = self._pair_weights
        if_wrong = -self._pair_weights
        if len(rows) == 1 and self.asked.candidates[rows[0]] == 2:
            answer = self.asked.answers[rows[0]]
            right_weights, wrong_weights = self._item_weights
            if_right = right_weights[answer]
            if_wrong = wrong_weights[answer]
        return float(if_right[all_right].sum() + if_wrong[all_wrong].sum())


def judge_items(answers: Answers, families: IntArray, languages: Mapping[str, IntArray] | None = None) -> JudgedItems:
    """Judge the items of a table of answers by many scorers.

    Parameters
    ----------
    answers
        One answer per scorer and problem.
    families
        The family number of each scorer, from 0: scorers of one origin are a family.
    languages
        By language, the scorers that answered in it: places in `answers.scorers`.
    """
    return JudgedItems(AnswerMatrix.of(answers), families, languages or {})


def share_of_families(values: FloatArray) -> Estimate | None:
    """Mean of the families' shares, with its interval over families.

    NaN is left out. None if there is no other value.
    """
    shares = values[~np.isnan(values)]
    if not len(shares):
        return None
    proportion = share(np.clip(shares, 0.0, 1.0), Units.alone(len(shares)))
    interval = proportion.interval()
    return Estimate(proportion.value, interval.low, interval.high, len(shares))


def estimated_correlation(values: FloatArray, rests: FloatArray) -> Estimate | None:
    """Correlation over families, with its jackknife interval.

    See `items.correlation`; None as there. Student's interval of the Fisher transform.
    """
    from scipy import special

    estimate = correlation(values, rests)
    if estimate is None:
        return None
    half = float(special.stdtrit(estimate.families - 1, 0.975)) * estimate.error
    middle = math.atanh(min(max(estimate.value, -0.999999), 0.999999))
    low = math.tanh(middle - half)
    high = math.tanh(middle + half)
    return Estimate(estimate.value, low, high, estimate.families)


def _compute_log_odds(right: IntArray, wrong: IntArray) -> FloatArray:
    """Log odds of counts of right against wrong, at least 0."""
    odds: FloatArray = np.log((right + 0.5) / (wrong + 0.5))
    return np.maximum(odds, 0.0)


def at_least_p(count: int, n: int, chance: float) -> float:
    """Probability of at least `count` successes among n.

    >>> round(at_least_p(10, 12, 0.5), 3)
    0.019
    """
    from scipy import special

    return float(special.bdtrc(count - 1, n, chance)) if count else 1.0


def opposite_pairs(problems: AskedProblems) -> IntArray:
    """Rows of complete pairs with opposite answers, a row per pair."""
    pairs = []
    for rows in complete_groups(problems.groups, problems.group_sizes).values():
        if len(rows) == 2 and are_opposite(problems, rows[0], rows[1]):
            pairs.append(rows)
    return np.array(pairs, np.int64).reshape(-1, 2)


def are_opposite(problems: AskedProblems, first: int, second: int) -> bool:
    """Whether two problems have the same two candidates and opposite answers.

    `first` and `second` are their rows.
    """
    twin = problems.problems[first]
    other = problems.problems[second]
    names = {folded_text(candidate) for candidate in twin.candidates}
    other_names = {folded_text(candidate) for candidate in other.candidates}
    are_same = len(names) == 2 and names == other_names
    right_name = folded_text(twin.right or "")
    return are_same and right_name != folded_text(other.right or "")


def _sum_band(right: FloatArray, wrong: FloatArray) -> BandShares:
    """Summarise the shares of some families on a pair.

    `right` and `wrong` are the shares of each family with both twins right and both wrong.
    """
    told_apart = float((right + wrong).mean())
    right_way = float(right.mean()) / told_apart if told_apart > 0 else None
    both_wrong = float(wrong.mean())
    return BandShares(len(right), told_apart, right_way, both_wrong)


def _estimate_turned(right: FloatArray, wrong: FloatArray) -> Estimate | None:
    """Share of families that have both twins wrong rather than right.

    Families without a majority for either are left out; None if none is left.
    """
    leans = right != wrong
    if not leans.any():
        return None
    are_turned: BoolArray = wrong[leans] > right[leans]
    return share_of_families(are_turned.astype(np.float64))


def _tell_negative(rest: Estimate) -> str:
    """Write a negative correlation with its interval in words."""
    limits = f"[{rest.low:+.2f}, {rest.high:+.2f}]"
    return f"item-rest correlation {rest.value:+.2f} {limits} over {rest.n:,} families"


def _round_percent(value: float) -> str:
    """Write a share in whole per cent."""
    return f"{100 * value:.0f} %"
