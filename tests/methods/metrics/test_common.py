"""One table of metrics, and what holds for every one of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from support import metrics as m

from winokit.errors import BadInput
from winokit.units import Units


@dataclass(frozen=True)
class Case:
    """Problems in pairs, triplets and alone, as columns; every column has one entry a problem."""

    predictions: list[int | None]
    answers: list[int]
    candidates: list[int]
    groups: list[str | None]
    switched: list[int | None]
    other: list[int | None]
    genders: list[str]
    gotchas: list[bool | None]
    stereotypes: list[str]

    @property
    def correct(self):
        return m.correct(self.predictions, self.answers)

    @property
    def units(self) -> Units:
        return Units.of_names(self.groups)

    @property
    def other_correct(self):
        return m.correct(self.other, self.answers)

    def take(self, rows) -> Case:
        return Case(*([getattr(self, field.name)[row] for row in rows] for field in dataclasses.fields(self)))

    def replace(self, **columns) -> Case:
        return dataclasses.replace(self, **columns)

    @property
    def orders(self) -> list[tuple[int, ...]]:
        return [tuple(reversed(range(number))) for number in self.candidates]


def make_case(seed: int, *, skill: float, abstaining: float = 0.1, most: int = 3, groups: int = 60) -> Case:
    """Twins with different answers; `skill` is how often the answer is known, guessing does the rest."""
    rng = np.random.default_rng(seed)
    answers = []
    candidates = []
    names = []
    for number in range(groups):
        size = 3 if number % 10 == 0 else 1 if number % 10 == 1 else 2
        options = int(rng.integers(2, most + 1))
        first = int(rng.integers(options))
        for place in range(size):
            answers.append((first + place) % options)
            candidates.append(options)
            names.append(None if size == 1 else f"g{number}")

    def predict() -> list[int | None]:
        made = []
        for answer, options in zip(answers, candidates, strict=True):
            guess = answer if rng.random() < skill else int(rng.integers(options))
            made.append(None if rng.random() < abstaining else guess)
        return made

    n = len(answers)
    genders = [("female", "male", "neutral")[i] for i in rng.integers(3, size=n)]
    gotchas = [None if gender == "neutral" else bool(rng.integers(2)) for gender in genders]
    stereotypes = [("pro", "anti")[i] for i in rng.integers(2, size=n)]
    predictions = predict()
    switched = predict()
    other = predict()
    return Case(predictions, answers, candidates, names, switched, other, genders, gotchas, stereotypes)


def limits(interval: m.Interval) -> tuple[float, float]:
    return interval.low, interval.high


def compared(case: Case) -> tuple[float, ...]:
    found = m.compare(case.correct, case.other_correct, case.units)
    counts = (found.only_first, found.only_second, found.n, found.n_to_tell_apart)
    return (found.difference, *limits(found.interval), found.p, *counts)


def wilson_of_groups(case: Case) -> tuple[float, float]:
    flags = m.all_right(case.correct, case.groups)
    return limits(m.wilson(int(flags.sum()), len(flags)))


@dataclass(frozen=True)
class Row:
    """A metric, what reorderings of candidates leave it alone, and its chance level where it has one."""

    metric: Callable[[Case], Any]
    reorder: str = "each"
    """`each`: of any problem; `group`: of a group's members alike; `all`: of all problems alike."""
    chance: Callable[[Case], float] | None = None
    two: bool = False
    """Defined for two candidates only."""


def one_in(case: Case) -> float:
    return m.chance(case.candidates)


def guessed(case: Case) -> Any:
    """What guessing with the same abstentions gets of each problem."""
    return m.guess_chance(case.predictions, case.candidates)


def kept(case: Case, after: list[int | None]) -> float:
    return float(m.choice_kept_chance(case.predictions, after, case.candidates).mean())


def gap_of(case: Case) -> m.Gap:
    return m.gap(case.correct, *_halves(case), case.units)


def level(value: float) -> Callable[[Case], float]:
    return lambda case: value


TABLE = {
    "accuracy": Row(lambda c: m.accuracy(c.predictions, c.answers), chance=lambda c: guessed(c).mean()),
    "correct": Row(lambda c: np.mean(c.correct), chance=lambda c: guessed(c).mean()),
    "expected_accuracy": Row(lambda c: m.expected_accuracy(c.predictions, c.answers, c.candidates), chance=one_in),
    "credit": Row(lambda c: np.mean(m.credit(c.predictions, c.answers, c.candidates)), chance=one_in),
    "precision": Row(lambda c: m.precision(c.predictions, c.answers)),
    "abstained": Row(lambda c: m.abstained(c.predictions)),
    "chance": Row(one_in),
    "guess_chance": Row(lambda c: guessed(c).sum()),
    "majority_class": Row(lambda c: m.majority_class(c.answers), "all", two=True),
    "f1": Row(lambda c: m.f1(c.predictions, c.answers).macro, "all", two=True),
    "f1 micro": Row(lambda c: m.f1(c.predictions, c.answers).micro),
    "all_right": Row(lambda c: m.all_right(c.correct, c.groups).sum()),
    "some_right": Row(lambda c: m.some_right(c.correct, c.groups).sum()),
    "no_right": Row(lambda c: m.no_right(c.correct, c.groups).sum()),
    "group_accuracy": Row(
        lambda c: m.group_accuracy(c.correct, c.groups), chance=lambda c: m.group_accuracy_chance(guessed(c), c.groups)
    ),
    "one_right": Row(
        lambda c: m.one_right(c.correct, c.groups), chance=lambda c: m.some_right_chance(guessed(c), c.groups).mean()
    ),
    "none_right": Row(
        lambda c: m.none_right(c.correct, c.groups), chance=lambda c: m.no_right_chance(guessed(c), c.groups).mean()
    ),
    "group_accuracy_chance": Row(lambda c: m.group_accuracy_chance(guessed(c), c.groups)),
    "group_scores": Row(lambda c: sorted(m.group_scores(c.correct, c.groups))),
    "all_right_chance": Row(lambda c: sorted(m.all_right_chance(guessed(c), c.groups))),
    "some_right_chance": Row(lambda c: sorted(m.some_right_chance(guessed(c), c.groups))),
    "no_right_chance": Row(lambda c: sorted(m.no_right_chance(guessed(c), c.groups))),
    "same_option": Row(
        lambda c: m.same_option(c.predictions, c.groups),
        "group",
        chance=lambda c: m.same_option_chance(*_answered_groups(c)),
    ),
    "same_options": Row(lambda c: sorted(m.same_options(c.predictions, c.groups)), "group"),
    "same_option_chance": Row(lambda c: m.same_option_chance(c.candidates, c.groups)),
    "independent_group_accuracy": Row(lambda c: m.independent_group_accuracy(c.correct, c.groups)),
    "consistency": Row(
        lambda c: m.consistency(c.predictions, c.switched), chance=level(m.CONSISTENCY_CHANCE), two=True
    ),
    "role_kept": Row(lambda c: m.role_kept(c.predictions, c.switched).sum(), two=True),
    "stability": Row(lambda c: m.stability(c.predictions, c.other), chance=lambda c: kept(c, c.other)),
    "choice_kept": Row(lambda c: m.choice_kept(c.predictions, c.other).sum()),
    "choice_kept_chance": Row(lambda c: kept(c, c.other)),
    "choice_turned": Row(
        lambda c: m.choice_turned(c.predictions, c.other).mean(), chance=lambda c: kept(c, c.other), two=True
    ),
    "order_invariance": Row(
        lambda c: m.order_invariance(c.predictions, c.other, c.orders),
        chance=lambda c: kept(c, m.in_first_order(c.other, c.orders)),
    ),
    "delta": Row(lambda c: m.delta(c.correct, c.gotchas)),
    "pro_minus_anti": Row(lambda c: m.pro_minus_anti(c.correct, c.stereotypes)),
    "gap": Row(lambda c: (gap_of(c).value, gap_of(c).p())),
    "gap value": Row(lambda c: gap_of(c).value, chance=lambda c: m.gap(guessed(c), *_halves(c), c.units).value),
    "paired_gap": Row(lambda c: limits(m.paired_gap(c.correct, c.other_correct, c.units).interval())),
    "p_chance": Row(lambda c: m.p_chance(int(c.correct.sum()), len(c.correct), guessed(c))),
    "p_best_of": Row(lambda c: m.p_best_of(10, m.p_chance(int(c.correct.sum()), len(c.correct), one_in(c)))),
    "n_to_beat_chance": Row(lambda c: m.n_to_beat_chance(float(np.mean(c.correct)), one_in(c))),
    "share_to_find": Row(lambda c: m.share_to_find(one_in(c), len(c.correct) ** -0.5)),
    "n_to_tell_apart": Row(lambda c: m.n_to_tell_apart(c.correct, c.other_correct, c.units)),
    "wilson": Row(wilson_of_groups),
    "share": Row(lambda c: (m.share(c.correct, c.units).effective, m.share(c.correct, c.units).p(0.4))),
    "share_interval": Row(lambda c: limits(m.share_interval(c.correct, c.units))),
    "mean_interval": Row(lambda c: limits(m.mean_interval(c.correct, c.units))),
    "standard_error": Row(lambda c: m.standard_error(c.correct, c.units)),
    "paired_interval": Row(lambda c: limits(m.paired_interval(c.correct, c.other_correct, c.units))),
    "p_exchanged": Row(lambda c: m.p_exchanged(c.correct, c.other_correct, c.units)),
    "p_paired": Row(lambda c: m.p_paired(c.correct, c.other_correct, c.units)),
    "compare": Row(compared),
}
# Not functions of a set of problems, or tested by name elsewhere.
NO_METRICS = {
    "GroupLayout",
    "check_level",
    "shrunk_effect",
    "binomial",
    "guessed",
    "confusion",
    "Comparison",
    "Crossed",
    "crossed_share",
    "F1",
    "Gap",
    "Interval",
    "LogFit",
    "PUBLISHED",
    "Polynomial",
    "equal_units",
    "p_slopes_differ",
    "polynomial_weights",
    "Share",
    "Resolution",
    "complete_groups",
    "fit_log",
    "fleiss_kappa",
    "gwet_ac1",
    "Coefficient",
    "gotcha",
    "in_first_order",
    "leaderboard_auc",
    "listing_ranks",
    "sort_by_text",
    "sort_members",
    "sort_pairs_by_text",
    "text_key",
}


def _halves(case: Case) -> tuple[list[bool], list[bool]]:
    first = [stereotype == "pro" for stereotype in case.stereotypes]
    return first, [not one for one in first]


def _answered_groups(case: Case) -> tuple[list[int], list[str | None]]:
    """Candidates and groups of the groups that are answered in full: the only ones that have an option in common."""
    silent = {group for group, choice in zip(case.groups, case.predictions, strict=True) if choice is None}
    rows = [row for row, group in enumerate(case.groups) if group not in silent]
    return [case.candidates[row] for row in rows], [case.groups[row] for row in rows]


def case_for(row: Row, seed: int = 0, **settings: Any) -> Case:
    return make_case(seed, most=2 if row.two else 3, **{"skill": 0.4} | settings)


every_metric = pytest.mark.parametrize("name", TABLE)


def test_every_public_function_is_in_the_table():
    assert set(m.__all__) - NO_METRICS == {name for name in TABLE if " " not in name}


@every_metric
def test_the_order_of_problems_does_not_matter(name):
    row = TABLE[name]
    case = case_for(row)
    shuffled = case.take(np.random.default_rng(1).permutation(len(case.answers)))
    assert shuffled.groups != case.groups
    assert row.metric(shuffled) == pytest.approx(row.metric(case))


@every_metric
def test_the_names_of_groups_do_not_matter(name):
    row = TABLE[name]
    case = case_for(row)
    names = sorted({group for group in case.groups if group is not None})
    renamed = dict(zip(names, np.random.default_rng(2).permutation(len(names)).tolist(), strict=True))
    other = case.replace(groups=[None if group is None else renamed[group] for group in case.groups])
    assert row.metric(other) == pytest.approx(row.metric(case))


@every_metric
def test_the_order_of_candidates_does_not_matter(name):
    row = TABLE[name]
    case = case_for(row)
    reordered = _reordered(case, row.reorder)
    assert reordered.answers != case.answers
    assert row.metric(reordered) == pytest.approx(row.metric(case))


def _reordered(case: Case, which: str) -> Case:
    """The candidates of some problems in reverse; predictions and answers follow their candidates."""
    rng = np.random.default_rng(4)
    by_group = {group: bool(rng.integers(2)) for group in dict.fromkeys(case.groups)}
    turned = {
        "each": lambda row: bool(rng.integers(2)),
        "group": lambda row: by_group[case.groups[row]],
        "all": lambda row: True,
    }[which]
    turn = [turned(row) for row in range(len(case.answers))]

    def follow(column):
        return [
            number - 1 - index if reverse and index is not None else index
            for index, number, reverse in zip(column, case.candidates, turn, strict=True)
        ]

    return case.replace(
        predictions=follow(case.predictions),
        answers=follow(case.answers),
        switched=follow(case.switched),
        other=follow(case.other),
    )


@every_metric
def test_asked_twice_a_metric_says_the_same(name):
    row = TABLE[name]
    assert row.metric(case_for(row)) == row.metric(case_for(row))


@every_metric
def test_a_metric_can_tell_a_model_from_another(name):
    """Otherwise none of the invariances above would mean anything."""
    row = TABLE[name]
    one = case_for(row, seed=0, skill=0.2)
    other = case_for(row, seed=1, skill=0.9, abstaining=0.0)
    assert row.metric(one) != pytest.approx(row.metric(other))


@pytest.mark.parametrize("abstaining", [0.0, 0.3])
@pytest.mark.parametrize("name", [name for name, row in TABLE.items() if row.chance])
def test_guessing_lands_at_the_stated_chance_with_any_abstentions(name, abstaining):
    """The chance of a case is that of guessing with the abstentions of that case."""
    row = TABLE[name]
    cases = [case_for(row, seed=seed, skill=0.0, abstaining=abstaining) for seed in range(120)]
    off = np.array([row.metric(case) - row.chance(case) for case in cases])
    assert 0 < off.std() < 0.2
    assert abs(off.mean()) < 4 * off.std() / np.sqrt(len(off))


def test_guessing_on_pairs_with_two_candidates_has_a_group_accuracy_of_a_quarter():
    case = make_case(0, skill=0.0, most=2)
    pairs = case.take([row for row, group in enumerate(case.groups) if case.groups.count(group) == 2])
    answered = [1 / number for number in pairs.candidates]
    assert m.group_accuracy_chance(answered, pairs.groups) == 0.25
    assert m.some_right_chance(answered, pairs.groups).mean() == 0.5


TOGETHER = [
    lambda: m.accuracy([0], [0, 1]),
    lambda: m.expected_accuracy([0], [0], [2, 2]),
    lambda: m.group_accuracy([True, True], ["a", "a", "a"]),
    lambda: m.group_accuracy_chance([0.5, 0.5], ["a", "a", "a"]),
    lambda: m.guess_chance([0], [2, 2]),
    lambda: m.same_option([0, 1], ["a", "a", "a"]),
    lambda: m.consistency([0], [0, 1]),
    lambda: m.choice_kept_chance([0], [0], [2, 2]),
    lambda: m.order_invariance([0], [0], []),
    lambda: m.delta([True], [True, False]),
    lambda: m.pro_minus_anti([True], ["pro", "anti"]),
    lambda: m.share_interval([True], Units.alone(2)),
    lambda: m.gap([1.0], [True], [True, False], Units.alone(1)),
    lambda: m.p_chance(1, 2, [0.5, 0.5], [2]),
    lambda: m.compare([True], [True, False], Units.alone(1)),
    lambda: m.paired_interval([True], [True, False], Units.alone(1)),
]


@pytest.mark.parametrize("call", TOGETHER)
def test_columns_of_different_lengths_are_refused(call):
    with pytest.raises(BadInput, match="columns of equal length"):
        call()


NOTHING = [
    lambda: m.accuracy([], []),
    lambda: m.abstained([]),
    lambda: m.chance([]),
    lambda: m.majority_class([]),
    lambda: m.consistency([], []),
    lambda: m.share_interval([], Units.alone(0)),
    lambda: m.delta([], []),
]


@pytest.mark.parametrize("call", NOTHING)
def test_a_metric_of_nothing_is_refused(call):
    with pytest.raises(BadInput):
        call()
