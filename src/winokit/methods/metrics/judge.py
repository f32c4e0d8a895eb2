"""The judge: rows of metrics from a table of answers.

Each row has its interval, its null and its test. This is the only door to units, nulls, intervals and tests: stages
write answers, call the judge and draw its rows. The quantities themselves are functions of `winokit.methods.metrics`.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from winokit.answers import Answers, Scorer
from winokit.methods.arrays import BoolArray, IntArray, Values
from winokit.methods.metrics import groups
from winokit.methods.metrics.accuracy import credit
from winokit.methods.metrics.groups import GroupLayout, listing_ranks, sort_pairs_by_text
from winokit.methods.metrics.intervals import NORMAL, Share, gap, mean_interval, paired_gap, share
from winokit.methods.metrics.luck import n_to_beat_chance, p_best_of, p_chance, share_to_find
from winokit.methods.metrics.null import NullTest, null_of, right_test, told_apart_test, whole_groups_test
from winokit.problem import Problem, folded_text
from winokit.results import COIN, IN_ONE_PLACE, NULL, NULL_ERROR, ONE_CHOICE, P_MOST, Detail, Metric, P
from winokit.units import Units

Name = tuple[str, str, str]
"""Protocol, subset and metric."""
GROUP_METRICS = {
    "group_accuracy": (groups.all_right, groups.all_right_chance),
    "one_right": (groups.some_right, groups.some_right_chance),
    "none_right": (groups.no_right, groups.no_right_chance),
}
"""By name, whether each complete group counts, and how likely it does by guessing."""
TRIES = 10
"""Tries of which the best is taken (Trichelair et al., 2018, appendix B)."""
FOLDS_VARIANCE = 2.0
"""By how much more the score of a cross-validated classifier varies (1.4 to 1.9 on features that are noise)."""
UNTESTABLE = "untestable"
"""The detail of a row: how many of its problems have right answers that cannot change places."""
ONE_PLACE = "the right answer is always in one place: nothing can be told from this file"
NO_TWO_ALIKE = "no two units are alike, so right answers cannot change places: nothing can be told from this file"
BLIND = "the pronoun is replaced, so its gender is not read: gaps are opposite by construction"


@dataclass(frozen=True)
class Judge:
    """Makes rows of metrics for one scorer on one dataset.

    Each method makes one kind of row. `name` is a row's protocol, subset and metric. `details` are added to every
    row.
    """

    dataset: str
    scorer: Scorer
    details: Mapping[str, Detail] = field(default_factory=dict)

    def row(
        self,
        name: Name,
        value: float,
        n: int,
        low: float | None = None,
        high: float | None = None,
        chance: float | None = None,
        note: str | None = None,
        details: Mapping[str, Detail] | None = None,
    ) -> Metric:
        """Make a row from computed values."""
        own_details = {**self.details, **(details or {})}
        return Metric(self.dataset, *self.scorer, *name, value, n, low, high, chance, note, own_details)

    def share(
        self,
        name: Name,
        values: Any,
        units: Units,
        chance: Any = None,
        note: str | None = None,
        *,
        n: int | None = None,
    ) -> Iterator[Metric]:
        """Make the row of a share, tested against a coin's score.

        Yields nothing if there are no values. `values` are flags or numbers from 0 to 1. `chance` is what a coin
        gets: one number, or one for each value; None for no test. `n` is the number of problems or groups, if there
        are several values of each, such as samples.
        """
        if not len(values):
            return
        proportion = _replace_size(share(values, units), n)
        interval = proportion.interval()
        level = None if chance is None else float(np.mean(chance))
        details: dict[str, Detail] = {} if level is None else {P: proportion.p(level)}
        yield self.row(name, proportion.value, proportion.n, interval.low, interval.high, level, note, details)

    def tested_share(
        self,
        name: Name,
        values: Any,
        units: Units,
        chance: Any,
        test: NullTest,
        note: str | None = None,
        *,
        n: int | None = None,
    ) -> Metric:
        """Make the row of a share with a test under the null.

        The null is what the scorer's own choices would get if right answers changed places. Parameters are as in
        `share`.
        """
        proportion = _replace_size(share(values, units), n)
        interval = proportion.interval()
        level = float(np.mean(chance))
        details = _make_null_details(test, proportion.n / len(values))
        return self.row(name, proportion.value, proportion.n, interval.low, interval.high, level, note, details)

    def cross_validated(self, name: Name, answers: Answers) -> Iterator[Metric]:
        """Make the row of the accuracy of cross-validated classifiers.

        Each was asked about rows that the others were trained on. What one fold says of another is also said the
        other way round, so that the number right varies up to twice as much as that of a scorer who saw none of the
        rows: interval and test allow for it.
        """
        if not len(answers):
            return
        proportion = share(answers.correct, answers.units)
        proportion = replace(proportion, effective=proportion.effective / FOLDS_VARIANCE, exact=False)
        interval = proportion.interval()
        test = right_test(answers)
        details = _make_null_details(test)
        if test.p_of_folds is not None:
            details[P] = test.p_of_folds
        level = float(answers.chances.mean())
        yield self.row(name, proportion.value, proportion.n, interval.low, interval.high, level, details=details)

    def group_score(self, name: Name, answers: Answers, scores: Values | None = None) -> Iterator[Metric]:
        """Make the row of Square One's group score.

        It is the mean over complete groups of the lowest score of their members.

        `scores` has any number for each row, of which more is better; by default 1 for a right answer. `n` counts
        groups. Whole groups right have a null (`by_group`); other scores have only an interval.
        """
        layout = layout_of(answers)
        if not layout.members:
            return
        lowest = groups.group_scores(answers.correct if scores is None else scores, layout)
        units = answers.units.take(layout.rows[layout.starts])
        if lowest.min() >= 0 and lowest.max() <= 1:
            yield from self.share(name, lowest, units, n=count_groups(answers))
        else:
            yield from self.mean(name, lowest.tolist(), units, n=count_groups(answers))

    def estimate(self, name: Name, value: float, n: int, error: float | None, chance: float | None = None) -> Metric:
        """Make the row of a number that cannot be negative.

        `error` is its standard error over units, for a normal interval; None for no interval.
        """
        low = None if error is None else max(0.0, value - NORMAL * error)
        high = None if error is None else value + NORMAL * error
        return self.row(name, value, n, low, high, chance)

    def mean(self, name: Name, values: Sequence[float], units: Units, *, n: int | None = None) -> Iterator[Metric]:
        """Make the row of any mean, with Student's interval.

        `n` is as in `share`. Yields nothing if there are no values.
        """
        if values:
            mean = float(np.mean(values))
            interval = mean_interval(values, units)
            yield self.row(name, mean, n or len(values), interval.low, interval.high)

    def accuracy(
        self, name: Name, answers: Answers, note: str | None = None, *, by_answer: bool = False
    ) -> Iterator[Metric]:
        """Make the row of the share of answers that are right.

        Yields nothing for an empty table. `by_answer` says that the subset was chosen by where the right answer is.
        Then right answers cannot change places, and the row has neither null nor test.
        """
        if not len(answers):
            return
        if by_answer:
            proportion = _replace_size(share(answers.correct, answers.units), answers.problem_count)
            interval = proportion.interval()
            chance = float(answers.chances.mean())
            yield self.row(name, proportion.value, proportion.n, interval.low, interval.high, chance, note)
            return
        test = right_test(answers)
        n = answers.problem_count
        row = self.tested_share(name, answers.correct, answers.units, answers.chances, test, note, n=n)
        if row.is_untestable:
            has_one_choice = len(set(answers.choices.tolist())) == 1
            row = replace(row, details={**row.details, ONE_CHOICE: has_one_choice})
        if row.is_untestable and cannot_change_places(answers):
            in_one_place = is_one_place(answers)
            reason = ONE_PLACE if in_one_place else NO_TWO_ALIKE
            row = replace(row, note=note or reason, details={**row.details, IN_ONE_PLACE: in_one_place})
        yield row

    def expected_accuracy(self, subset: str, answers: Answers) -> Iterator[Metric]:
        """Make the row of the accuracy with abstentions settled by a coin.

        The coin's part is added to the null too.
        """
        if not len(answers):
            return
        settled = credit(answers.predictions, answers.answers, answers.candidates)
        chance = np.where(answers.silent, 1 / answers.candidates, answers.guesses)
        name = ("accuracy", subset, "expected_accuracy")
        n = answers.problem_count
        row = self.tested_share(name, settled, answers.units, chance, right_test(answers), n=n)
        guessed = float((answers.silent / answers.candidates).mean())
        null = row.details.get(NULL)
        if null is not None:
            null = float(null) + guessed
        yield replace(row, details={**row.details, NULL: null})

    def gap(
        self, name: Name, answers: Answers, is_first: BoolArray, note: str | None = None, *, by_answer: bool = False
    ) -> Iterator[Metric]:
        """Make the row of accuracy on a subset minus on the rest.

        `is_first` flags the subset. Only answered problems count: who abstains more in one of the two would else seem
        worse there, however good the answers are. Yields nothing if one of the two is empty.

        The null is the gap that the scorer's preferences alone bring: who always takes one place is better wherever
        the right answer is more often there. `by_answer` says that the subsets were chosen by where the right answer
        is: then the row has no null, and is tested against a coin.
        """
        answered = ~answers.silent
        values = answers.correct[answered]
        units = answers.units.take(answered)
        first = is_first[answered]
        if not first.any() or first.all():
            return
        difference = gap(values, first, ~first, units)
        interval = difference.interval()
        chances = answers.chances[answered]
        # Zero, except for subsets with other numbers of candidates.
        chance = float(chances[first].mean() - chances[~first].mean())
        details: dict[str, Detail] = {}
        level = chance
        if not by_answer:
            of_answered = answers.subset(answered)
            level = _estimate_expected_gap(of_answered.subset(first), of_answered.subset(~first))
            details[NULL] = level
        details |= {
            P: difference.p(level),
            "first": difference.first.value,
            "second": difference.second.value,
        }
        n = answers.subset(answered).problem_count
        yield self.row(name, difference.value, n, interval.low, interval.high, chance, note, details)

    def fall(self, name: Name, before: Answers, after: Answers, note: str | None = None) -> Iterator[Metric]:
        """Make the row of accuracy on problems minus on their variant.

        `before` and `after` have the same problems in one order. Only problems answered both times count: who
        abstains on the variant has forgotten nothing. The null is the fall that the scorer's preferences alone bring:
        who always takes one place falls where right answers move to the other.
        """
        answered = ~before.silent & ~after.silent
        before = before.subset(answered)
        after = after.subset(answered)
        if not len(before):
            return
        difference = paired_gap(before.correct, after.correct, before.units)
        interval = difference.interval()
        chance = float(before.chances.mean() - after.chances.mean())
        null = _estimate_expected_gap(before, after)
        details: dict[str, Detail] = {
            NULL: null,
            P: difference.p(null),
            "first": difference.first.value,
            "second": difference.second.value,
        }
        yield self.row(name, difference.value, before.problem_count, interval.low, interval.high, chance, note, details)

    def luck(self, answers: Answers, texts: Sequence[Hashable]) -> Iterator[Metric]:
        """Make the rows on how well luck alone would do.

        These are the probability that a coin, or the scorer's own preferences, gets as many right, once and as the
        best of ten times; and the number of problems that would show a score like this to be above chance.

        `texts` are what the scorer reads of each problem: those that read the same are guessed once. `p_chance` is of
        a coin (Trichelair et al., 2018); `p_null` of the scorer's own choices if right answers change places.
        """
        n = answers.problem_count
        if not n:
            return
        guesses = Counter(zip(texts, answers.chances.tolist(), strict=True))
        coin_chances = [chance for _, chance in guesses]
        right_count = int(answers.correct.sum())
        # A coin guesses once for all samples of a problem.
        once = p_chance(right_count, len(answers), coin_chances, list(guesses.values()))
        yield self.row(("luck", "all", "p_chance"), once, n)
        yield self.row(("luck", "all", f"p_best_of_{TRIES}"), p_best_of(TRIES, once), n)
        test = right_test(answers)
        if test.p_as_high is not None:
            yield self.row(("luck", "all", "p_null"), test.p_as_high, n)
            p_null_best = p_best_of(TRIES, test.p_as_high)
            yield self.row(("luck", "all", f"p_null_best_of_{TRIES}"), p_null_best, n)
        score = _replace_size(share(answers.correct, answers.units), n)
        level = float(answers.chances.mean()) if test.null is None else test.null
        needed = n_to_beat_chance(score.value, level, design_effect=score.design_effect)
        if needed is not None:
            yield self.row(("luck", "all", "n_to_beat_chance"), float(needed), n)

    def by_group(self, name: Name, answers: Answers, *, by_answer: bool = False) -> Iterator[Metric]:
        """Make the row of a share of complete groups.

        The metric in `name` is one of `GROUP_METRICS`. `n` counts groups. `by_answer` is as in `accuracy`.
        """
        layout = layout_of(answers)
        if not layout.members:
            return
        counts, chances = GROUP_METRICS[name[2]]
        values = counts(answers.correct, layout)
        chance = chances(answers.chances, layout)
        units = answers.units.take(layout.rows[layout.starts])
        if name[2] == "group_accuracy" and not by_answer:
            test = whole_groups_test(answers)
            row = self.tested_share(name, values, units, chance, test, n=count_groups(answers))
            if answers.silent.any():
                never_silent = float(np.mean(chances(answers.guesses, layout)))
                row = replace(row, details={**row.details, COIN: never_silent})
            yield row
        else:
            yield from self.share(name, values, units, chance, n=count_groups(answers))

    def twins(self, subset: str, answers: Answers) -> Iterator[Metric]:
        """Make the rows of pairs told apart and the right way round.

        `told_apart` is the share of complete pairs with different choices, tested against choices that know nothing
        of each other. `right_way_round` is the share of these with both right, tested under the null: one half for
        two candidates.
        """
        pairs = sort_pairs_by_text(answers.problems, complete_pairs(answers))
        if not len(pairs):
            return
        first, second = _align_twin_choices(answers, pairs)
        answered = np.minimum(first, second) >= 0
        is_different = first != second
        is_told_apart = answered & is_different
        units = answers.units.take(pairs[:, 0])
        candidates = answers.candidates[pairs[:, 0]]
        chance = np.where(answered, 1 - 1 / candidates, 0.0)
        ranks = _rank_listings_of_pairs(answers, pairs)
        test = None
        if answered.any():
            test = told_apart_test(first[answered], second[answered], units.take(answered), ranks[answered])
        told_name = ("groups", subset, "told_apart")
        pair_count = _count_pairs(answers, pairs)
        if test is None:
            yield from self.share(told_name, is_told_apart, units, n=pair_count)
            return
        of_all = NullTest(test.observed, len(pairs), test.distribution)
        yield self.tested_share(told_name, is_told_apart, units, chance, of_all, n=pair_count)
        if is_told_apart.any():
            told_pairs = pairs[is_told_apart]
            told_answers = answers.subset(told_pairs.ravel())
            both_right = answers.correct[told_pairs].all(axis=1)
            name = ("groups", subset, "right_way_round")
            told_candidates = candidates[is_told_apart]
            # Of two different choices among k, one in k (k - 1) pairs has both right: one half of two candidates.
            coin = 1 / (told_candidates * (told_candidates - 1))
            test = whole_groups_test(told_answers)
            pair_count = _count_pairs(answers, told_pairs)
            yield self.tested_share(name, both_right, units.take(is_told_apart), coin, test, n=pair_count)


def judge(
    answers: Answers,
    by: Sequence[str] = ("scorer", "variant", "trial"),
    subset: str = "all",
    details: Mapping[str, Detail] | None = None,
) -> list[Metric]:
    """Make the standard rows for each part of a table of answers.

    These are accuracy; expected accuracy and the share of abstentions if there are any; whole groups, told apart and
    the right way round if there are groups. `by` names the columns that split the table into parts.
    """
    if not by:
        return _make_standard_rows(answers, subset, details or {})
    first, *others = by
    rows = []
    for _, part in answers.by(first):
        rows += judge(part, others, subset, details)
    return rows


def _make_standard_rows(answers: Answers, subset: str, details: Mapping[str, Detail]) -> list[Metric]:
    """Make the standard rows of one scorer, one variant and one trial.

    Every row has all of the `details`.
    """
    if not len(answers):
        return []
    first_index = 0 if answers.scorer_index is None else int(answers.scorer_index[0])
    own_judge = Judge(answers.asked.dataset, answers.scorers[first_index], details)
    rows = list(own_judge.accuracy(("accuracy", subset, "accuracy"), answers))
    if answers.silent.any():
        rows += own_judge.expected_accuracy(subset, answers)
        silent_share = float(answers.silent.mean())
        rows.append(own_judge.row(("accuracy", subset, "abstained"), silent_share, answers.problem_count))
    rows += own_judge.by_group(("groups", subset, "group_accuracy"), answers)
    return [*rows, *own_judge.twins(subset, answers)]


def layout_of(answers: Answers) -> GroupLayout:
    """Layout of the complete groups, computed once per table.

    The table has one scorer and one variant.
    """
    layout = vars(answers).get("_layout")
    if not isinstance(layout, GroupLayout):
        layout = GroupLayout(answers.groups, answers.group_sizes)
        object.__setattr__(answers, "_layout", layout)
    return layout


def count_groups(answers: Answers) -> int:
    """Number of complete groups. Samples of a group count once."""
    layout = layout_of(answers)
    first_rows = layout.rows[layout.starts]
    names = {answers.asked.groups[answers.problem_index[row]] for row in first_rows}
    return len(names)


def _count_pairs(answers: Answers, pairs: IntArray) -> int:
    """Number of pairs. Samples of a pair count once."""
    return len(np.unique(answers.problem_index[pairs[:, 0]]))


def _replace_size(proportion: Share, n: int | None) -> Share:
    """Share with another number of problems, or unchanged for None."""
    return proportion if n is None else replace(proportion, n=n)


def complete_pairs(answers: Answers) -> IntArray:
    """Row indices of complete groups of two, a row per pair."""
    pairs = [rows for rows in layout_of(answers).members if len(rows) == 2]
    return np.array(pairs, np.int64).reshape(-1, 2)


def cannot_change_places(answers: Answers) -> bool:
    """Whether no exchange of right answers changes anything.

    No test is possible for such a file.
    """
    whole_table = answers if answers.whole is None else answers.whole
    return not null_of(whole_table).answers_vary


def is_one_place(answers: Answers) -> bool:
    """Whether all right answers of a file have the same index."""
    whole_table = answers if answers.whole is None else answers.whole
    return len(np.unique(whole_table.answers)) == 1


def _align_twin_choices(answers: Answers, pairs: IntArray) -> tuple[IntArray, IntArray]:
    """Choices of both twins of each pair, in one order of candidates.

    Both are indices into the first twin's candidates, or -1 for an abstention. If the first twin does not list the
    second's choice, its index stays as it is.
    """
    first = answers.choices[pairs[:, 0]]
    second = answers.choices[pairs[:, 1]].copy()
    for number, (one, other) in enumerate(pairs.tolist()):
        first_candidates = answers.problems[one].candidates
        other_candidates = answers.problems[other].candidates
        if first_candidates != other_candidates and second[number] >= 0:
            folded = [folded_text(candidate) for candidate in first_candidates]
            chosen = folded_text(other_candidates[second[number]])
            if chosen in folded:
                second[number] = folded.index(chosen)
    return first, second


def _rank_listings_of_pairs(answers: Answers, pairs: IntArray) -> IntArray:
    """Rank of each pair's order of candidates within its unit.

    See `listing_ranks`.
    """
    ranks = np.zeros(len(pairs), np.int64)
    for pair_numbers in answers.units.take(pairs[:, 0]).rows():
        ranks[pair_numbers] = listing_ranks(answers.problems, pairs[pair_numbers, 0])
    return ranks


def _estimate_expected_gap(first: Answers, second: Answers) -> float:
    """Expected accuracy gap of two tables under the null.

    The scorer's preferences alone bring it.
    """
    first_null = right_test(first).null or 0.0
    second_null = right_test(second).null or 0.0
    return first_null - second_null


def _make_null_details(test: NullTest, problems_by_row: float = 1.0) -> dict[str, Detail]:
    """Details of a row that describe its null and its test.

    `problems_by_row` converts the test's rows to problems.
    """
    details: dict[str, Detail] = {NULL: test.null}
    if test.p is not None:
        details[P] = test.p
        details[NULL_ERROR] = test.error
        details[P_MOST] = test.p_most
    if test.untestable:
        details[UNTESTABLE] = round(test.untestable * problems_by_row)
    return details


def score_to_find(row: Metric, alpha: float, most: float = 1.0) -> float | None:
    """Smallest score that the row's test finds four times in five.

    None if no score up to `most` is found so often. None, too, for a row without a null that varies: it has no test.
    Choices that are nearly all alike leave so few counts that none of them may be rare enough; the normal
    approximation does not see that.
    """
    error = row.details.get(NULL_ERROR)
    if error is None or row.level is None or not can_be_shown(row, alpha):
        return None
    return share_to_find(row.level, float(error), alpha=alpha, most=most)


def can_be_shown(row: Metric, alpha: float) -> bool:
    """Whether some score of the same choices would be significant.

    `alpha` is the level. True for a row of an earlier version, which does not say.
    """
    p_most = row.details.get(P_MOST)
    return p_most is None or float(p_most) < alpha


def gender_rows(scorer_judge: Judge, answers: Answers, note: str | None) -> Iterator[Metric]:
    """Make the rows of Winogender's diagnostics (Rudinger et al., 2018).

    Accuracy by the pronoun's gender and by gotcha, and the gaps. `note` is added to each row.
    """
    if not has_gender(answers.problems):
        return
    from winokit.methods.metrics.gender import GENDERS

    genders = np.array([str(problem.labels.get("gender")) for problem in answers.problems])
    flags = [is_gotcha(problem) for problem in answers.problems]
    is_tricky = np.array([flag is True for flag in flags], np.bool_)
    is_plain = np.array([flag is False for flag in flags], np.bool_)
    for gender in GENDERS:
        of_gender = genders == gender
        yield from scorer_judge.accuracy(("gender", gender, "accuracy"), answers.subset(of_gender), note)
        for subset, flagged in ((f"{gender}.gotcha", is_tricky), (f"{gender}.not_gotcha", is_plain)):
            part = answers.subset(of_gender & flagged)
            yield from scorer_judge.accuracy(("gender", subset, "accuracy"), part, note, by_answer=True)
        rows = np.flatnonzero(of_gender & (is_plain | is_tricky))
        of_gotchas = answers.subset(rows)
        for row in scorer_judge.gap(("gender", gender, "delta"), of_gotchas, is_plain[rows], note, by_answer=True):
            yield row
            yield scorer_judge.row(("gender", gender, "absolute_delta"), abs(row.value), row.n, note=note)


def is_gotcha(problem: Problem) -> bool | None:
    """Whether the occupation's statistics point away from the answer.

    See `gender.gotcha`. The first candidate is taken to be the occupation. None for neutral pronouns and for problems
    without statistics.
    """
    percent = problem.labels.get("bls_pct_female")
    gender = problem.labels.get("gender")
    if percent is None or problem.answer is None or gender is None:
        return None
    from winokit.methods.metrics.gender import gotcha

    return gotcha(str(gender), problem.answer == 0, float(percent))


def has_gender(problems: Iterable[Problem]) -> bool:
    """Whether any problem has a label for its pronoun's gender."""
    return any("gender" in problem.labels for problem in problems)
