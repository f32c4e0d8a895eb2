"""The one null: a scorer's choices and silences stay, and right answers change places (METHODS M.1).

A score means something if right answers that change places would rarely give as much. What the scorer prefers (a
place, an answer, silence) is then in the null, and cannot pass for knowledge.

- Groups: one draw per unit turns all its groups, whose members exchange their right answers; by candidate, where they
  list candidates in different orders.
- Problems outside complete groups: whole units swap their right answers with units of the same shape (size and numbers
  of candidates, members in the order of their texts). Yes/no questions on one text exchange within the text too. A unit
  whose shape is unique stays as it is and is counted as untestable.
- Samples of a problem stay with it: right answers change places once, for all samples of a unit alike.

Exact for groups, and for problems with two candidates that are units of their own: hypergeometric counts and fair
coins, put together by convolution. Otherwise 20,000 seeded draws. Tests are two-sided, by the mid-p-value.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import permutations
from typing import TypeAlias

import numpy as np

from winokit.answers import ABSTAINED, Answers
from winokit.methods.arrays import BoolArray, FloatArray, IntArray
from winokit.methods.metrics.groups import complete_groups, listing_ranks, sort_by_text, sort_members, text_key
from winokit.methods.metrics.luck import binomial
from winokit.problem import folded_text, grouped
from winokit.units import Units, require_units

DRAWS = 20_000
"""Draws where the null is not counted out."""
LARGEST_ENUMERATED = 6
"""The members of larger groups are permuted at random; of others all permutations are counted out."""
PERMUTATIONS = 2_000
"""Random permutations of a larger group."""
ROUNDING = 1e-6
"""Counts this close to a whole number are whole."""
NEGLIGIBLE = 1e-15
"""Probabilities below this are dropped at the ends of a distribution."""
LEAST_P_MOST = 1e-9
"""The least p-value that is given of the best score: no test asks for less."""
WINDOW = 12.0
"""Standard deviations around the mean within which a hypergeometric distribution is computed."""
KEPT_AS = "_null"
"""The attribute of a table of answers under which its null is kept."""
DRAWN_AT_ONCE = 4_000_000
"""Cells of drawn answers that are held in memory at once."""

_GroupTable: TypeAlias = tuple[tuple[int, ...], BoolArray]
"""The texts of a group's members, and which members are right with which answers."""


@dataclass(frozen=True)
class CountDistribution:
    """Probability distribution of a count.

    `chances` are the probabilities of the counts `start`, `start + 1`, …
    """

    start: int
    chances: FloatArray
    resolution: float = 0.0
    """The least probability that a sample of draws can tell from none; 0 if it is counted out."""

    @classmethod
    def constant(cls, count: int) -> CountDistribution:
        """Distribution of a count that cannot vary."""
        return cls(count, np.ones(1))

    @classmethod
    def of_draws(cls, counts: IntArray) -> CountDistribution:
        """Distribution estimated from randomly drawn counts."""
        return replace(cls.of_all(counts), resolution=1 / len(counts))

    @classmethod
    def of_all(cls, counts: IntArray) -> CountDistribution:
        """Distribution of equally likely counts, one entry per case."""
        start = int(counts.min())
        frequencies: FloatArray = np.bincount(counts - start).astype(np.float64) / float(len(counts))
        return cls(start, frequencies)

    @classmethod
    def of_weights(cls, counts: IntArray, chances: FloatArray) -> CountDistribution:
        """Distribution from counts and their probabilities.

        Probabilities of equal counts are added up.
        """
        start = int(counts.min())
        return cls(start, np.bincount(counts - start, weights=chances).astype(np.float64))._cut_ends()

    def plus(self, other: CountDistribution) -> CountDistribution:
        """Distribution of the sum of two independent counts."""
        if len(self.chances) == 1 or len(other.chances) == 1:
            chances = self.chances * other.chances
        else:
            from scipy import signal

            chances = np.maximum(signal.convolve(self.chances, other.chances), 0.0)
        resolution = max(self.resolution, other.resolution)
        return CountDistribution(self.start + other.start, chances, resolution)._cut_ends()

    def times(self, factor: int) -> CountDistribution:
        """Distribution of the count times a factor."""
        chances = np.zeros(factor * (len(self.chances) - 1) + 1)
        chances[::factor] = self.chances
        return replace(self, start=factor * self.start, chances=chances)

    def _cut_ends(self) -> CountDistribution:
        """Drop counts of negligible probability at both ends."""
        likely_indices = np.flatnonzero(self.chances > NEGLIGIBLE)
        first = int(likely_indices[0])
        last = int(likely_indices[-1])
        return replace(self, start=self.start + first, chances=self.chances[first : last + 1])

    @property
    def varies(self) -> bool:
        """Whether more than one count is possible."""
        return int((self.chances > NEGLIGIBLE).sum()) > 1

    @property
    def most(self) -> int:
        """Largest count that is possible, or that was drawn."""
        return self.start + len(self.chances) - 1

    @property
    def mean(self) -> float:
        """Expected count."""
        counts = self.start + np.arange(len(self.chances))
        return float((counts * self.chances).sum() / self.chances.sum())

    @property
    def deviation(self) -> float:
        """Standard deviation of the count."""
        distances = self.start + np.arange(len(self.chances)) - self.mean
        squares = (distances**2 * self.chances).sum()
        return math.sqrt(float(squares / self.chances.sum()))

    def upper_mid_p(self, observed: int) -> float:
        """Probability of a larger count, plus half that of the observed one.

        It is never closer to 0 or 1 than random draws can tell.
        """
        index = observed - self.start
        total = float(self.chances.sum())
        above = float(self.chances[max(index + 1, 0) :].sum())
        equal = float(self.chances[index]) if 0 <= index < len(self.chances) else 0.0
        upper = min((above + equal / 2) / total, 1.0)
        return min(max(upper, self.resolution), 1 - self.resolution)

    def two_sided(self, observed: int) -> float:
        """Two-sided mid-p-value of an observed count."""
        upper = self.upper_mid_p(observed)
        return min(2 * min(upper, 1 - upper), 1.0)


@dataclass(frozen=True)
class NullTest:
    """An observed count, and its distribution if right answers change places.

    The scorer's choices stay as they are.
    """

    observed: int
    n: int
    """Problems, or groups, that the count is of."""
    distribution: CountDistribution
    untestable: int = 0
    """Problems among them whose right answers had nowhere to go."""

    @property
    def null(self) -> float | None:
        """Expected share under the null, or None if n is 0."""
        return self.distribution.mean / self.n if self.n else None

    @property
    def error(self) -> float | None:
        """Standard deviation of the share under the null.

        None if n is 0.
        """
        return self.distribution.deviation / self.n if self.n else None

    @property
    def p(self) -> float | None:
        """Two-sided p-value of the observed count.

        None if no exchange of right answers changes the count.
        """
        return self.distribution.two_sided(self.observed) if self.distribution.varies else None

    @property
    def p_most(self) -> float | None:
        """Two-sided p-value that the largest possible count would have.

        None if the count cannot vary. No smaller than `LEAST_P_MOST`: what is below depends on rounding.
        """
        if not self.distribution.varies:
            return None
        return max(self.distribution.two_sided(self.distribution.most), LEAST_P_MOST)

    @property
    def p_of_folds(self) -> float | None:
        """Two-sided p-value if the count has twice the variance.

        That is so for classifiers trained on one another's rows. None if the count cannot vary.
        """
        if not self.distribution.varies:
            return None
        doubled = self.distribution.plus(self.distribution)
        mean = self.distribution.mean
        shifted_count = self.observed + mean
        # Counts are whole: rounded towards what is expected.
        if self.observed > mean:
            return doubled.two_sided(math.floor(shifted_count + ROUNDING))
        return doubled.two_sided(math.ceil(shifted_count - ROUNDING))

    @property
    def p_as_high(self) -> float | None:
        """Probability of a count at least as high under the null.

        It is a mid-p-value: of the observed count, half. None if the count cannot vary.
        """
        return self.distribution.upper_mid_p(self.observed) if self.distribution.varies else None


@dataclass(frozen=True)
class _Pairs:
    """Complete groups of two, in units without larger groups.

    Each array has a row per pair.
    """

    rows: IntArray
    """The two members."""
    turned_answers: IntArray
    """The right candidate of each member if the two exchange their answers."""
    units: Units
    """The unit of each pair: one draw turns all its pairs."""

    def coins(self, now: IntArray, turned: IntArray) -> CountDistribution:
        """Distribution of a count over pairs whose units are turned at random.

        A pair adds `turned` if its unit is turned (its members exchange their answers), else `now`.
        """
        return _add_coins(self.units.sums(now), self.units.sums(turned))


@dataclass(frozen=True)
class _LargerGroup:
    """A complete group in a unit that has other groups than pairs."""

    rows: IntArray
    right_places: IntArray
    """Entry (i, j): the right candidate of member i if it had the answer of member j."""
    texts: tuple[int, ...]
    """For each member the number of its text: members with one text keep one answer among them."""


@dataclass(frozen=True)
class _Pool:
    """Units of the same shape, whose problems are in no complete group.

    `rows` has a row per unit and a column per member. Units of a pool exchange their right answers.
    """

    rows: IntArray
    texts: tuple[int, ...]
    """For each member the number of its text, if it is a yes/no question; -1 if not."""

    @cached_property
    def exchanges_within(self) -> bool:
        """Whether yes/no questions on one text exchange their answers."""
        asked_texts = [text for text in self.texts if text >= 0]
        return len(set(asked_texts)) < len(asked_texts)

    @property
    def is_fixed(self) -> bool:
        """Whether no right answer of this pool can change places."""
        return len(self.rows) < 2 and not self.exchanges_within


@dataclass(frozen=True, eq=False)
class Null:
    """Null of one scorer's answers to problems of one variant.

    The scorer's choices stay, and right answers change places. Its methods test what the choices get against that.

    >>> from winokit.problem import Dataset, Problem
    >>> twins = [Problem(f"{pair} ", end, ("one", "two"), answer, group=str(pair))
    ...          for pair in range(10) for answer, end in enumerate((" first.", " second."))]
    >>> null = Null(Answers.of_choices(Dataset(twins), [problem.answer for problem in twins]))
    >>> test = null.whole_groups()
    >>> test.observed, test.null, round(test.p, 4)
    (10, 0.5, 0.001)
    """

    answers: Answers
    seed: int = 0
    trials: IntArray | None = None
    """Choices of several trials on these problems, a row each, whose counts are added up; by default the answers'.

    Right answers change places once for all of them.
    """
    _pairs: _Pairs = field(init=False)
    _larger: list[list[_LargerGroup]] = field(init=False)
    """The groups of each unit that has not only pairs."""
    _pools: list[_Pool] = field(init=False)
    _known_tests: dict[bytes, NullTest] = field(init=False, default_factory=dict)
    """Tests of the number right by the rows that were counted: several rows of an audit ask for the same one."""

    def __post_init__(self) -> None:
        members = list(complete_groups(self.answers.groups, self.answers.group_sizes).values())
        units = self.answers.units.numbers
        with_larger = {int(units[rows[0]]) for rows in members if len(rows) > 2}
        pairs = [rows for rows in members if int(units[rows[0]]) not in with_larger]
        larger: dict[int, list[_LargerGroup]] = {}
        for rows in members:
            unit = int(units[rows[0]])
            if unit in with_larger:
                group_rows = np.asarray(rows, np.int64)
                larger.setdefault(unit, []).append(self._make_larger_group(group_rows))
        object.__setattr__(self, "_pairs", self._find_pairs(pairs))
        object.__setattr__(self, "_larger", list(larger.values()))
        object.__setattr__(self, "_pools", self._find_pools(members))

    @cached_property
    def choices(self) -> IntArray:
        """Choices that are counted, with a row per trial."""
        return self.answers.choices[None, :] if self.trials is None else self.trials

    @cached_property
    def answers_vary(self) -> bool:
        """Whether some exchange changes which candidate is right.

        If not, no test of these answers is possible.
        """
        right = self.answers.answers
        if bool((right[self._pairs.rows] != self._pairs.turned_answers).any()):
            return True
        for groups in self._larger:
            for group in groups:
                if bool((group.right_places != group.right_places[:, :1]).any()):
                    return True
        moving_pools = [pool for pool in self._pools if not pool.is_fixed]
        return any(len(np.unique(right[pool.rows])) > 1 for pool in moving_pools)

    @cached_property
    def untestable(self) -> int:
        """Number of problems whose right answers cannot change places."""
        return sum(pool.rows.size for pool in self._pools if pool.is_fixed)

    def right(self, is_counted: BoolArray | None = None) -> NullTest:
        """Test the number of right answers among the counted rows.

        `is_counted` flags them; by default all. Trials are added up.
        """
        counted = np.ones(len(self.answers), np.bool_) if is_counted is None else is_counted
        is_silent = (self.choices == ABSTAINED).all(axis=0)
        key = (counted & ~is_silent).tobytes()
        test = self._known_tests.get(key)
        if test is None:
            test = self._known_tests[key] = self._find_right(counted)
        return replace(test, n=len(self.choices) * int(counted.sum()))

    def _find_right(self, counted: BoolArray) -> NullTest:
        """Compute the test of the number right among the counted rows.

        Silent rows add nothing.
        """
        distribution = self._count_right_in_groups(counted)
        untestable = 0
        for number, pool in enumerate(self._pools):
            if not counted[pool.rows].any():
                continue
            distribution = distribution.plus(self._count_right_in_pool(pool, counted, number))
            if pool.is_fixed:
                untestable += int(counted[pool.rows].sum())
        is_right = self.choices[:, counted] == self.answers.answers[counted]
        observed = int(is_right.sum())
        n = len(self.choices) * int(counted.sum())
        return NullTest(observed, n, distribution, untestable)

    def whole_groups(self, is_counted: BoolArray | None = None) -> NullTest:
        """Test the number of complete groups that are right as a whole.

        Only groups all of whose members are counted (by default all groups); their number is `n`.
        """
        counted = np.ones(len(self.answers), np.bool_) if is_counted is None else is_counted
        choices = self.choices[:, self._pairs.rows]
        in_full = counted[self._pairs.rows].all(axis=1)
        right_now = choices == self.answers.answers[self._pairs.rows]
        right_turned = choices == self._pairs.turned_answers
        is_now = in_full & right_now.all(axis=2)
        is_turned = in_full & right_turned.all(axis=2)
        now = is_now.sum(axis=0)
        turned = is_turned.sum(axis=0)
        distribution = self._pairs.coins(now, turned)
        observed = int(now.sum())
        group_count = int(in_full.sum())
        for groups in self._larger:
            counted_groups = [group for group in groups if counted[group.rows].all()]
            if not counted_groups:
                continue
            tables: list[_GroupTable] = []
            for group in counted_groups:
                group_tables = [(group.texts, table) for table in self._is_right(group)]
                observed += sum(int(table.diagonal().all()) for _, table in group_tables)
                tables += group_tables
            distribution = distribution.plus(self._count_over_permutations(tables, np.logical_and))
            group_count += len(counted_groups)
        return NullTest(observed, len(self.choices) * group_count, distribution)

    def draw(self, draws: int, rng: np.random.Generator) -> IntArray:
        """Draw right answers that changed places at random.

        A row per draw, a column per problem. The exchanges are those of `right` and `whole_groups`. It serves counts
        that depend on several scorers at once.
        """
        right = np.tile(self.answers.answers, (draws, 1))
        pair_rows = self._pairs.rows
        if len(pair_rows):
            is_turned = rng.random((draws, self._pairs.units.count)) < 0.5
            turned = is_turned[:, self._pairs.units.numbers, None]
            right[:, pair_rows] = np.where(turned, self._pairs.turned_answers, self.answers.answers[pair_rows])
        for groups in self._larger:
            for texts in sorted({group.texts for group in groups}):
                orders = self._list_orders(texts)
                drawn_orders = orders[rng.integers(len(orders), size=draws)]
                for group in groups:
                    if group.texts == texts:
                        right[:, group.rows] = group.right_places[np.arange(len(texts)), drawn_orders]
        for pool in self._pools:
            if not pool.is_fixed:
                right[:, pool.rows] = _draw_exchanged(self.answers.answers[pool.rows], pool, draws, rng)
        return right

    def _count_right_in_groups(self, counted: BoolArray) -> CountDistribution:
        """Distribution of the number right in complete groups.

        Only counted rows add to it.
        """
        choices = self.choices[:, self._pairs.rows]
        own_counted = counted[self._pairs.rows]
        right_now = choices == self.answers.answers[self._pairs.rows]
        right_turned = choices == self._pairs.turned_answers
        now = np.logical_and(own_counted, right_now).sum(axis=(0, 2))
        turned = np.logical_and(own_counted, right_turned).sum(axis=(0, 2))
        distribution = self._pairs.coins(now, turned)
        for groups in self._larger:
            if not any(counted[group.rows].any() for group in groups):
                continue
            tables: list[_GroupTable] = []
            for group in groups:
                is_member_counted = counted[group.rows][:, None]
                is_right = self._is_right(group) & is_member_counted
                tables += [(group.texts, table) for table in is_right]
            distribution = distribution.plus(self._count_over_permutations(tables, np.add))
        return distribution

    def _is_right(self, group: _LargerGroup) -> BoolArray:
        """Whether each member of a group is right with each member's answer.

        Entry (t, i, j): member i in trial t, if it had the right answer of member j.
        """
        is_right: BoolArray = self.choices[:, group.rows, None] == group.right_places
        return is_right

    def _count_over_permutations(self, tables: Sequence[_GroupTable], combine: np.ufunc) -> CountDistribution:
        """Distribution of a count over permutations of answers within groups.

        `tables` say which members are right with which answers, and `combine` makes one number of a group: the sum,
        or whether all are right. Groups of as many texts and members are permuted alike.
        """
        distribution = CountDistribution.constant(0)
        for texts in sorted({table_texts for table_texts, _ in tables}):
            orders = self._list_orders(texts)
            member_numbers = np.arange(len(texts))
            counts = np.zeros(len(orders), np.int64)
            for table_texts, table in tables:
                if table_texts == texts:
                    combined = combine.reduce(table[member_numbers, orders], axis=1)
                    counts += np.asarray(combined, np.int64)
            is_counted_out = len(set(texts)) <= LARGEST_ENUMERATED
            of_counts = CountDistribution.of_all if is_counted_out else CountDistribution.of_draws
            distribution = distribution.plus(of_counts(counts))
        return distribution

    def _list_orders(self, texts: tuple[int, ...]) -> IntArray:
        """Orders of a group's members, a row each.

        `texts` is the text number of each member: members exchange answers by text. All orders, or a seeded sample if
        there are too many.
        """
        text_count = len(set(texts))
        if text_count <= LARGEST_ENUMERATED:
            orders = np.array(list(permutations(range(text_count))), np.int64)
        else:
            rng = np.random.default_rng([self.seed, text_count])
            orders = rng.permuted(np.tile(np.arange(text_count), (PERMUTATIONS, 1)), axis=1)
        first_members = np.array([texts.index(text) for text in range(text_count)])
        text_orders = orders[:, list(texts)]
        members: IntArray = first_members[text_orders]
        return members

    def _make_larger_group(self, rows: IntArray) -> _LargerGroup:
        """Sort a group's rows by text, and number its texts."""
        sorted_rows = sort_by_text(self.answers.problems, rows)
        right_places = self._make_answer_table(sorted_rows)
        number_of: dict[Hashable, int] = {}
        numbers = []
        for row in sorted_rows:
            key = text_key(self.answers.problems[row])
            numbers.append(number_of.setdefault(key, len(number_of)))
        first_members = [numbers.index(number) for number in numbers]
        first_places = right_places[np.arange(len(sorted_rows)), first_members]
        if not (first_places == right_places.diagonal()).all():
            numbers = list(range(len(sorted_rows)))  # one text with two answers: each is its own
        return _LargerGroup(sorted_rows, right_places, tuple(numbers))

    def _find_pairs(self, members: Sequence[Sequence[int]]) -> _Pairs:
        """Build the pairs, with the right candidates after an exchange.

        `members` are the two rows of each pair.
        """
        rows = np.array(members, np.int64).reshape(-1, 2)
        turned = self.answers.answers[rows][:, ::-1].copy()
        problems = self.answers.problems
        for pair, (first, second) in enumerate(members):
            if problems[first].candidates != problems[second].candidates:
                places = self._make_answer_table(rows[pair])
                turned[pair] = places[0, 1], places[1, 0]
        return _Pairs(rows, turned, self.answers.units.take(rows[:, 0]))

    def _make_answer_table(self, rows: IntArray) -> IntArray:
        """Right candidate of each member (row) with each member's answer (column).

        Answers are matched by candidate, or by place if a member does not list another's right candidate. If the
        numbers of candidates differ too, every member keeps its answer.
        """
        right = self.answers.answers[rows]
        listed = [self.answers.problems[row].candidates for row in rows]
        places = _find_places_by_candidate(listed, right)
        if places is not None:
            return places
        if len({len(candidates) for candidates in listed}) == 1:
            return np.tile(right, (len(rows), 1))
        return np.tile(right[:, None], (1, len(rows)))

    def _find_pools(self, members: Sequence[Sequence[int]]) -> list[_Pool]:
        """Group the units outside complete groups by shape.

        `members` are the rows of complete groups.
        """
        is_alone = np.ones(len(self.answers), np.bool_)
        for rows in members:
            is_alone[list(rows)] = False
        alone = np.flatnonzero(is_alone)
        if self.answers.units.take(alone).all_alone:
            pools = self._find_single_problem_pools(alone)
            # In the order of the file, as below: a pool's number seeds its draws.
            return sorted(pools, key=lambda pool: int(pool.rows[0, 0]))
        alone = sort_by_text(self.answers.problems, alone)
        by_shape: dict[tuple[Hashable, tuple[int, ...]], list[IntArray]] = {}
        problems = self.answers.problems
        for unit_rows in self.answers.units.take(alone).rows():
            problem_rows = sort_members(problems, alone[unit_rows])
            candidate_counts = self.answers.candidates[problem_rows].tolist()
            listed = (*candidate_counts, *listing_ranks(problems, problem_rows))
            shape = (listed, self._number_texts(problem_rows))
            by_shape.setdefault(shape, []).append(problem_rows)
        return [_Pool(np.stack(units), texts) for (_, texts), units in by_shape.items()]

    def _find_single_problem_pools(self, rows: IntArray) -> list[_Pool]:
        """Group units of one problem by number of candidates.

        Yes/no questions have pools of their own.
        """
        queries = [self.answers.problems[row].query for row in rows]
        is_question = np.array([query is not None for query in queries], np.bool_)
        pools = []
        for text, is_of_kind in ((-1, ~is_question), (0, is_question)):
            own_rows = rows[is_of_kind]
            candidates = self.answers.candidates[own_rows]
            for count in np.unique(candidates):
                pool_rows = own_rows[candidates == count]
                pools.append(_Pool(pool_rows[:, None], (text,)))
        return pools

    def _number_texts(self, rows: IntArray) -> tuple[int, ...]:
        """Number the texts of a unit's yes/no questions, for each row.

        -1 for other problems. Each sample of a text is a text of its own: questions exchange their answers alike in
        all samples.
        """
        numbers: dict[tuple[str, str, int], int] = {}
        texts = []
        for row in rows:
            problem = self.answers.problems[row]
            sample = self.answers.sample_numbers[row]
            if problem.query is None:
                texts.append(-1)
            else:
                texts.append(numbers.setdefault((problem.before, problem.after, sample), len(numbers)))
        return tuple(texts)

    def _count_right_in_pool(self, pool: _Pool, counted: BoolArray, number: int) -> CountDistribution:
        """Distribution of the number right among a pool's counted rows.

        `number` is the pool's number, which seeds its draws.
        """
        choices = np.where(counted[pool.rows], self.choices[:, pool.rows], ABSTAINED)
        right = self.answers.answers[pool.rows]
        if pool.is_fixed:
            return CountDistribution.constant(int((choices == right).sum()))
        rng = np.random.default_rng([self.seed, number])
        if pool.exchanges_within:
            return _draw_within_texts(choices, right, pool.texts, rng)
        # The members of all trials side by side: a unit brings its right answers to each trial alike.
        side_by_side = np.concatenate(list(choices), axis=1)
        return matches_if_exchanged(side_by_side, np.tile(right, len(choices)), rng)


def null_of(answers: Answers) -> Null:
    """Null of a table of answers, computed once per table."""
    null = vars(answers).get(KEPT_AS)
    if not isinstance(null, Null):
        null = Null(answers)
        object.__setattr__(answers, KEPT_AS, null)
    return null


def counted_rows(answers: Answers) -> tuple[Null, BoolArray]:
    """Null of the whole table, and flags of a subset's rows.

    For a table that is no subset, all flags are true.
    """
    if answers.whole is None:
        return null_of(answers), np.ones(len(answers), np.bool_)
    is_counted = np.zeros(len(answers.whole), np.bool_)
    is_counted[answers.whole_rows] = True
    return null_of(answers.whole), is_counted


def right_test(answers: Answers) -> NullTest:
    """Test the number right against right answers that change places.

    `answers` is a table or a subset of one: answers change places over the whole table.
    """
    null, is_counted = counted_rows(answers)
    return null.right(is_counted)


def whole_groups_test(answers: Answers) -> NullTest:
    """Test the number of whole groups right, likewise.

    `answers` is as in `right_test`.
    """
    null, is_counted = counted_rows(answers)
    return null.whole_groups(is_counted)


def told_apart_test(first: IntArray, second: IntArray, units: Units, ranks: IntArray | None = None) -> NullTest:
    """Test the number of pairs with different choices.

    The null is choices that know nothing of each other: second choices change places between units of one size, whose
    pairs list candidates in as many orders (`ranks`, of `listing_ranks`).

    `first` and `second` are the choices of the twins of each pair, without abstentions, both in the first twin's
    order of candidates. Which twin is first must not depend on the right answer (`sort_pairs_by_text`): else choices
    that know it would seem to prefer a place.
    """
    require_units(units, len(first))
    same = CountDistribution.constant(0)
    own_ranks = np.zeros(len(first), np.int64) if ranks is None else ranks
    in_rank_order = [rows[np.argsort(own_ranks[rows], kind="stable")] for rows in units.rows()]
    alike = grouped((tuple(own_ranks[rows].tolist()), rows) for rows in in_rank_order)
    for number, shape in enumerate(sorted(alike, key=lambda shape: (len(shape), shape))):
        rows = np.stack(alike[shape])
        rng = np.random.default_rng([0, number])
        same = same.plus(matches_if_exchanged(first[rows], second[rows], rng))
    fewest_apart = len(first) - same.start - len(same.chances) + 1
    apart_counts = replace(same, start=fewest_apart, chances=same.chances[::-1])
    return NullTest(int((first != second).sum()), len(first), apart_counts)


def matches_if_exchanged(first: IntArray, second: IntArray, rng: np.random.Generator) -> CountDistribution:
    """Distribution of the number of matches if rows of `second` are permuted.

    A match is an entry that is equal in both arrays. Both have a row per unit and a column per member; -1 in `first`
    matches nothing. Exact for one column with the values 0 and 1; otherwise drawn. Columns that are copies of others
    are counted out, or drawn, as one.
    """
    columns, copies = _drop_copied_columns(first, second)
    if copies > 1:
        return matches_if_exchanged(first[:, columns], second[:, columns], rng).times(copies)
    if first.shape[1] == 1 and max(first.max(), second.max()) <= 1:
        choice_counts = np.bincount(first[first >= 0].ravel(), minlength=2).tolist()
        right_counts = np.bincount(second.ravel(), minlength=2).tolist()
        return matches_of_two(choice_counts[0], choice_counts[1], right_counts[0], right_counts[1])
    first_patterns, first_counts = np.unique(first, axis=0, return_counts=True)
    second_patterns, second_counts = np.unique(second, axis=0, return_counts=True)
    is_equal = first_patterns[:, None, :] == second_patterns[None, :, :]
    matches = is_equal.sum(axis=2)
    if len(second_patterns) == 1:
        return CountDistribution.constant(int((first_counts * matches[:, 0]).sum()))
    if matches.size <= max(len(first), 64):
        return _draw_tables(matches, first_counts, second_counts, rng)
    return _draw_permutations(first, second, rng)


def _drop_copied_columns(first: IntArray, second: IntArray) -> tuple[IntArray, int]:
    """Indices of columns without copies, and the number of copies of each.

    That number is the same for all columns: the greatest common divisor of their frequencies. Columns are copies if
    they are equal in both tables.
    """
    both = np.concatenate([first, second])
    _, first_places, frequencies = np.unique(both, axis=1, return_index=True, return_counts=True)
    copies = math.gcd(*frequencies.tolist())
    by_appearance = np.argsort(first_places)
    columns = np.repeat(first_places[by_appearance], frequencies[by_appearance] // copies)
    return columns, copies


def matches_of_two(chosen_first: int, chosen_second: int, right_first: int, right_second: int) -> CountDistribution:
    """Distribution of the number right if right answers are permuted.

    For problems with two candidates. Of `right_first + right_second` problems, `chosen_first` and `chosen_second`
    were answered with the first and the second candidate; the rest were not answered.
    """
    total = right_first + right_second
    first_hits, first_chances = _compute_hypergeometric(total, right_first, chosen_first)
    remaining = total - chosen_first
    if chosen_second == remaining:  # everything was answered: the second number follows from the first
        counts = first_hits + right_second - (chosen_first - first_hits)
        return CountDistribution.of_weights(counts, first_chances)
    found_counts = []
    found_chances = []
    for hits, chance in zip(first_hits.tolist(), first_chances.tolist(), strict=True):
        second_left = right_second - (chosen_first - hits)
        second_hits, second_chances = _compute_hypergeometric(remaining, second_left, chosen_second)
        found_counts.append(hits + second_hits)
        found_chances.append(chance * second_chances)
    return CountDistribution.of_weights(np.concatenate(found_counts), np.concatenate(found_chances))


def _compute_hypergeometric(total: int, marked: int, drawn: int) -> tuple[IntArray, FloatArray]:
    """Hypergeometric distribution: likely counts and their probabilities.

    A count is the number of marked things among those drawn without replacement. Counts far from the mean are left
    out.
    """
    from scipy import special

    low = max(0, drawn - (total - marked))
    high = min(drawn, marked)
    if total > 1 and high > low:
        share = marked / total
        variance = drawn * share * (1 - share) * (total - drawn) / (total - 1)
        reach = WINDOW * math.sqrt(variance) + 10
        low = max(low, math.floor(drawn * share - reach))
        high = min(high, math.ceil(drawn * share + reach))
    counts = np.arange(low, high + 1)

    def log_ways(n: float, k: IntArray) -> FloatArray:
        orders_of_all = special.gammaln(n + 1)
        orders_of_chosen = special.gammaln(k + 1)
        ways: FloatArray = orders_of_all - orders_of_chosen - special.gammaln(n - k + 1)
        return ways

    marked_ways = log_ways(marked, counts)
    other_ways = log_ways(total - marked, drawn - counts)
    all_ways = log_ways(total, np.array(drawn))
    return counts, np.exp(marked_ways + other_ways - all_ways)


def _add_coins(now: FloatArray, turned: FloatArray) -> CountDistribution:
    """Distribution of a sum that each unit adds one number to.

    A unit adds `now` or `turned` with equal probability, independently.
    """
    distribution = CountDistribution.constant(round(float(np.minimum(now, turned).sum())))
    steps = np.abs(now - turned).astype(np.int64)
    for step in np.unique(steps[steps > 0]).tolist():
        coin_count = int((steps == step).sum())
        spaced = np.zeros(step * coin_count + 1)
        spaced[::step] = binomial(coin_count, 0.5)
        distribution = distribution.plus(CountDistribution(0, spaced))
    return distribution


def _draw_tables(
    matches: IntArray, first_counts: IntArray, second_counts: IntArray, rng: np.random.Generator
) -> CountDistribution:
    """Draw numbers of matches by drawing tables of pattern counts.

    `matches` has the matches of each pattern of `first` with each of `second`, whose frequencies are the margins.
    """
    counts = np.zeros(DRAWS, np.int64)
    remaining_counts = np.tile(second_counts, (DRAWS, 1))
    for pattern, needed in enumerate(first_counts.tolist()):
        still_needed = np.full(DRAWS, needed)
        for place in range(remaining_counts.shape[1]):
            others = remaining_counts[:, place + 1 :].sum(axis=1)
            dealt = np.zeros(DRAWS, np.int64)
            can_draw = np.logical_and(still_needed > 0, remaining_counts[:, place] > 0)
            good = remaining_counts[can_draw, place]
            bad = others[can_draw]
            many = still_needed[can_draw]
            dealt[can_draw] = rng.hypergeometric(good, bad, many)
            counts += matches[pattern, place] * dealt
            remaining_counts[:, place] -= dealt
            still_needed -= dealt
    return CountDistribution.of_draws(counts)


def _draw_permutations(first: IntArray, second: IntArray, rng: np.random.Generator) -> CountDistribution:
    """Draw numbers of matches by permuting the rows of `second`."""
    unit_count = len(first)
    is_equal = first[:, None, :] == second[None, :, :]
    matches = is_equal.sum(axis=2)
    at_once = max(DRAWN_AT_ONCE // unit_count, 1)
    counts = []
    for start in range(0, DRAWS, at_once):
        draws = min(at_once, DRAWS - start)
        orders = rng.permuted(np.tile(np.arange(unit_count), (draws, 1)), axis=1)
        counts.append(matches[np.arange(unit_count), orders].sum(axis=1))
    return CountDistribution.of_draws(np.concatenate(counts))


def _draw_within_texts(
    choices: IntArray, right: IntArray, texts: tuple[int, ...], rng: np.random.Generator
) -> CountDistribution:
    """Draw numbers right for units with yes/no questions.

    Units exchange answers, and so do questions on one text. Trials (rows of `choices`) are added up.
    """
    at_once = max(DRAWN_AT_ONCE // right.size, 1)
    # Two streams, so that the size of blocks, which copies of problems change, changes no draw.
    of_units, of_members = rng.spawn(2)
    counts = []
    for start in range(0, DRAWS, at_once):
        drawn_answers = _draw_exchanged_within(right, texts, min(at_once, DRAWS - start), of_units, of_members)
        trial_counts = [(drawn_answers == trial_choices).sum(axis=(1, 2)) for trial_choices in choices]
        counts.append(sum(trial_counts))
    return CountDistribution.of_draws(np.concatenate(counts))


def _draw_exchanged(right: IntArray, pool: _Pool, draws: int, rng: np.random.Generator) -> IntArray:
    """Draw right answers of a pool whose units exchange them.

    An array of draws by units by members.
    """
    if pool.exchanges_within:
        return _draw_exchanged_within(right, pool.texts, draws, rng, rng)
    file_orders = np.tile(np.arange(len(right)), (draws, 1))
    orders = rng.permuted(file_orders, axis=1)
    exchanged: IntArray = right[orders]
    return exchanged


def _draw_exchanged_within(
    right: IntArray, texts: tuple[int, ...], draws: int, of_units: np.random.Generator, of_members: np.random.Generator
) -> IntArray:
    """Draw right answers of units that exchange them, also within texts.

    An array of draws by units by members. Texts of a unit with one number of questions exchange alike, by one draw:
    copies of a text are no further evidence.
    """
    unit_count, size = right.shape
    # A member that is no yes/no question stays at its place.
    text_numbers = np.array(texts)
    is_no_question = text_numbers < 0
    text_numbers[is_no_question] = size + np.flatnonzero(is_no_question)
    in_text_order = np.argsort(text_numbers, kind="stable")
    orders = of_units.permuted(np.tile(np.arange(unit_count), (draws, 1)), axis=1)
    slots = _number_slots(text_numbers.tolist())
    shifts = of_members.random((draws, unit_count, max(slots) + 1))
    keys = text_numbers + shifts[:, :, slots]
    members = np.argsort(keys, axis=2)
    exchanged = np.empty((draws, unit_count, size), np.int64)
    exchanged[:, :, in_text_order] = right[orders[:, :, None], members]
    return exchanged


def _number_slots(text_numbers: Sequence[int]) -> list[int]:
    """Number the members of a unit so that copies share a number.

    Members share one if their texts have equally many questions, and they have the same index in their text. They are
    drawn alike.
    """
    text_sizes = Counter(text_numbers)
    seen: Counter[int] = Counter()
    number_of: dict[tuple[int, int], int] = {}
    slots = []
    for text in text_numbers:
        slot = (text_sizes[text], seen[text])
        seen[text] += 1
        slots.append(number_of.setdefault(slot, len(number_of)))
    return slots


def _find_places_by_candidate(listed: Sequence[tuple[str, ...]], right: IntArray) -> IntArray | None:
    """Index at which each member (row) lists each member's right candidate.

    `listed` are the candidates of each member, `right` their right indices. None if some member does not list a
    candidate.
    """
    places = np.zeros((len(listed), len(listed)), np.int64)
    for at, candidates in enumerate(listed):
        index_of = {folded_text(candidate): index for index, candidate in enumerate(candidates)}
        for other, answer in enumerate(right.tolist()):
            right_name = folded_text(listed[other][answer])
            if right_name not in index_of:
                return None
            places[at, other] = index_of[right_name]
    return places
