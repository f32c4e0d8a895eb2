"""Metrics do not depend on the order of problems, groups or candidates, and guessing scores their chance level."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from support import metrics as m

from winokit.errors import BadInput
from winokit.units import Units


@dataclass(frozen=True)
class Case:
    """Problems in pairs, triplets and alone, as columns with one entry a problem."""

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
    def right_count(self) -> int:
        return int(self.correct.sum())

    @property
    def units(self) -> Units:
        return Units.of_names(self.groups)

    @property
    def other_correct(self):
        return m.correct(self.other, self.answers)

    @property
    def guess_chances(self) -> Any:
        """Chance of each problem under guessing with the same abstentions."""
        return m.guess_chance(self.predictions, self.candidates)

    @property
    def is_pro(self) -> list[bool]:
        return [stereotype == "pro" for stereotype in self.stereotypes]

    @property
    def is_anti(self) -> list[bool]:
        return [stereotype != "pro" for stereotype in self.stereotypes]

    @property
    def orders(self) -> list[tuple[int, ...]]:
        return [tuple(reversed(range(count))) for count in self.candidates]

    def take(self, rows: Iterable[int]) -> Case:
        row_indices = list(rows)
        columns = []
        for field in dataclasses.fields(self):
            column = getattr(self, field.name)
            columns.append([column[row] for row in row_indices])
        return Case(*columns)

    def replace(self, **columns) -> Case:
        return dataclasses.replace(self, **columns)


def group_size(group_index: int) -> int:
    """Size of the group: of ten groups one is a triplet, one a single problem, the others are pairs."""
    return {0: 3, 1: 1}.get(group_index % 10, 2)


def draw_predictions(
    rng: np.random.Generator, answers: list[int], candidates: list[int], skill: float, abstaining: float
) -> list[int | None]:
    """Draw choices of a model that knows a share `skill` of the answers and guesses the others."""
    predictions: list[int | None] = []
    for answer, option_count in zip(answers, candidates, strict=True):
        is_known = rng.random() < skill
        choice = answer if is_known else int(rng.integers(option_count))
        is_silent = rng.random() < abstaining
        predictions.append(None if is_silent else choice)
    return predictions


def make_case(seed: int, *, skill: float, abstaining: float = 0.1, most: int = 3, groups: int = 60) -> Case:
    """Draw groups of problems with different answers, and the choices of a model on them.

    `skill` is the share of answers that the model knows, `most` the largest number of candidates.
    """
    rng = np.random.default_rng(seed)
    answers = []
    candidates = []
    group_names = []
    for group_index in range(groups):
        size = group_size(group_index)
        option_count = int(rng.integers(2, most + 1))
        first_answer = int(rng.integers(option_count))
        group_name = None if size == 1 else f"g{group_index}"
        for member in range(size):
            answers.append((first_answer + member) % option_count)
            candidates.append(option_count)
            group_names.append(group_name)

    problem_count = len(answers)
    genders = [("female", "male", "neutral")[index] for index in rng.integers(3, size=problem_count)]
    gotchas = []
    for gender in genders:
        gotchas.append(None if gender == "neutral" else bool(rng.integers(2)))
    stereotypes = [("pro", "anti")[index] for index in rng.integers(2, size=problem_count)]
    return Case(
        predictions=draw_predictions(rng, answers, candidates, skill, abstaining),
        answers=answers,
        candidates=candidates,
        groups=group_names,
        switched=draw_predictions(rng, answers, candidates, skill, abstaining),
        other=draw_predictions(rng, answers, candidates, skill, abstaining),
        genders=genders,
        gotchas=gotchas,
        stereotypes=stereotypes,
    )


@dataclass(frozen=True)
class Row:
    """A metric, the reorderings of candidates that keep its value, and its chance level or None."""

    metric: Callable[[Case], Any]
    reorder: str = "each"
    """`each`: of any problem; `group`: of a group's members alike; `all`: of all problems alike."""
    chance: Callable[[Case], float] | None = None
    two: bool = False
    """Defined for two candidates only."""


TABLE: dict[str, Row] = {}


def tabled(
    name: str | None = None,
    *,
    reorder: str = "each",
    chance: Callable[[Case], float] | None = None,
    two: bool = False,
) -> Callable[[Callable[[Case], Any]], Callable[[Case], Any]]:
    """Add the decorated function to TABLE, under its own name unless `name` is given."""

    def add_row(metric: Callable[[Case], Any]) -> Callable[[Case], Any]:
        TABLE[name or metric.__name__] = Row(metric, reorder, chance, two)
        return metric

    return add_row


def limits(interval: m.Interval) -> tuple[float, float]:
    return interval.low, interval.high


def uniform_chance(case: Case) -> float:
    return m.chance(case.candidates)


def mean_guess_chance(case: Case) -> float:
    return case.guess_chances.mean()


def chance_of_all_right(case: Case) -> float:
    return m.group_accuracy_chance(case.guess_chances, case.groups)


def chance_of_some_right(case: Case) -> float:
    return m.some_right_chance(case.guess_chances, case.groups).mean()


def chance_of_none_right(case: Case) -> float:
    return m.no_right_chance(case.guess_chances, case.groups).mean()


def chance_of_same_option(case: Case) -> float:
    """Chance over the groups that are answered in full, since only they can have an option in common."""
    silent_groups = set()
    for group, choice in zip(case.groups, case.predictions, strict=True):
        if choice is None:
            silent_groups.add(group)
    answered = case.take(row for row, group in enumerate(case.groups) if group not in silent_groups)
    return m.same_option_chance(answered.candidates, answered.groups)


def mean_chance_to_keep(case: Case, later: list[int | None]) -> float:
    return float(m.choice_kept_chance(case.predictions, later, case.candidates).mean())


def chance_to_keep_choice(case: Case) -> float:
    return mean_chance_to_keep(case, case.other)


def chance_to_keep_choice_in_first_order(case: Case) -> float:
    return mean_chance_to_keep(case, m.in_first_order(case.other, case.orders))


def consistency_chance(case: Case) -> float:
    return m.CONSISTENCY_CHANCE


def gap_of_guess_chances(case: Case) -> float:
    return m.gap(case.guess_chances, case.is_pro, case.is_anti, case.units).value


def gap_of_halves(case: Case) -> m.Gap:
    return m.gap(case.correct, case.is_pro, case.is_anti, case.units)


def p_against_uniform_chance(case: Case) -> float:
    return m.p_chance(case.right_count, len(case.correct), uniform_chance(case))


@tabled(chance=mean_guess_chance)
def accuracy(case: Case) -> Any:
    return m.accuracy(case.predictions, case.answers)


@tabled(chance=mean_guess_chance)
def correct(case: Case) -> Any:
    return np.mean(case.correct)


@tabled(chance=uniform_chance)
def expected_accuracy(case: Case) -> Any:
    return m.expected_accuracy(case.predictions, case.answers, case.candidates)


@tabled(chance=uniform_chance)
def credit(case: Case) -> Any:
    shares = m.credit(case.predictions, case.answers, case.candidates)
    return np.mean(shares)


@tabled()
def precision(case: Case) -> Any:
    return m.precision(case.predictions, case.answers)


@tabled()
def abstained(case: Case) -> Any:
    return m.abstained(case.predictions)


@tabled()
def chance(case: Case) -> Any:
    return uniform_chance(case)


@tabled()
def guess_chance(case: Case) -> Any:
    return case.guess_chances.sum()


@tabled(reorder="all", two=True)
def majority_class(case: Case) -> Any:
    return m.majority_class(case.answers)


@tabled(reorder="all", two=True)
def f1(case: Case) -> Any:
    return m.f1(case.predictions, case.answers).macro


@tabled("f1 micro")
def f1_micro(case: Case) -> Any:
    return m.f1(case.predictions, case.answers).micro


@tabled()
def all_right(case: Case) -> Any:
    return m.all_right(case.correct, case.groups).sum()


@tabled()
def some_right(case: Case) -> Any:
    return m.some_right(case.correct, case.groups).sum()


@tabled()
def no_right(case: Case) -> Any:
    return m.no_right(case.correct, case.groups).sum()


@tabled(chance=chance_of_all_right)
def group_accuracy(case: Case) -> Any:
    return m.group_accuracy(case.correct, case.groups)


@tabled(chance=chance_of_some_right)
def one_right(case: Case) -> Any:
    return m.one_right(case.correct, case.groups)


@tabled(chance=chance_of_none_right)
def none_right(case: Case) -> Any:
    return m.none_right(case.correct, case.groups)


@tabled()
def group_accuracy_chance(case: Case) -> Any:
    return chance_of_all_right(case)


@tabled()
def group_scores(case: Case) -> Any:
    scores = m.group_scores(case.correct, case.groups)
    return sorted(scores)


@tabled()
def all_right_chance(case: Case) -> Any:
    chances = m.all_right_chance(case.guess_chances, case.groups)
    return sorted(chances)


@tabled()
def some_right_chance(case: Case) -> Any:
    chances = m.some_right_chance(case.guess_chances, case.groups)
    return sorted(chances)


@tabled()
def no_right_chance(case: Case) -> Any:
    chances = m.no_right_chance(case.guess_chances, case.groups)
    return sorted(chances)


@tabled(reorder="group", chance=chance_of_same_option)
def same_option(case: Case) -> Any:
    return m.same_option(case.predictions, case.groups)


@tabled(reorder="group")
def same_options(case: Case) -> Any:
    shares = m.same_options(case.predictions, case.groups)
    return sorted(shares)


@tabled()
def same_option_chance(case: Case) -> Any:
    return m.same_option_chance(case.candidates, case.groups)


@tabled()
def independent_group_accuracy(case: Case) -> Any:
    return m.independent_group_accuracy(case.correct, case.groups)


@tabled(chance=consistency_chance, two=True)
def consistency(case: Case) -> Any:
    return m.consistency(case.predictions, case.switched)


@tabled(two=True)
def role_kept(case: Case) -> Any:
    return m.role_kept(case.predictions, case.switched).sum()


@tabled(chance=chance_to_keep_choice)
def stability(case: Case) -> Any:
    return m.stability(case.predictions, case.other)


@tabled()
def choice_kept(case: Case) -> Any:
    return m.choice_kept(case.predictions, case.other).sum()


@tabled()
def choice_kept_chance(case: Case) -> Any:
    return chance_to_keep_choice(case)


@tabled(chance=chance_to_keep_choice, two=True)
def choice_turned(case: Case) -> Any:
    return m.choice_turned(case.predictions, case.other).mean()


@tabled(chance=chance_to_keep_choice_in_first_order)
def order_invariance(case: Case) -> Any:
    return m.order_invariance(case.predictions, case.other, case.orders)


@tabled()
def delta(case: Case) -> Any:
    return m.delta(case.correct, case.gotchas)


@tabled()
def pro_minus_anti(case: Case) -> Any:
    return m.pro_minus_anti(case.correct, case.stereotypes)


@tabled()
def gap(case: Case) -> Any:
    gap = gap_of_halves(case)
    return gap.value, gap.p()


@tabled("gap value", chance=gap_of_guess_chances)
def gap_value(case: Case) -> Any:
    return gap_of_halves(case).value


@tabled()
def paired_gap(case: Case) -> Any:
    gap = m.paired_gap(case.correct, case.other_correct, case.units)
    return limits(gap.interval())


@tabled()
def p_chance(case: Case) -> Any:
    return m.p_chance(case.right_count, len(case.correct), case.guess_chances)


@tabled()
def p_best_of(case: Case) -> Any:
    return m.p_best_of(10, p_against_uniform_chance(case))


@tabled()
def n_to_beat_chance(case: Case) -> Any:
    accuracy = float(np.mean(case.correct))
    return m.n_to_beat_chance(accuracy, uniform_chance(case))


@tabled()
def share_to_find(case: Case) -> Any:
    error = len(case.correct) ** -0.5
    return m.share_to_find(uniform_chance(case), error)


@tabled()
def n_to_tell_apart(case: Case) -> Any:
    return m.n_to_tell_apart(case.correct, case.other_correct, case.units)


@tabled()
def wilson(case: Case) -> Any:
    flags = m.all_right(case.correct, case.groups)
    interval = m.wilson(int(flags.sum()), len(flags))
    return limits(interval)


@tabled()
def share(case: Case) -> Any:
    share = m.share(case.correct, case.units)
    return share.effective, share.p(0.4)


@tabled()
def share_interval(case: Case) -> Any:
    interval = m.share_interval(case.correct, case.units)
    return limits(interval)


@tabled()
def mean_interval(case: Case) -> Any:
    interval = m.mean_interval(case.correct, case.units)
    return limits(interval)


@tabled()
def standard_error(case: Case) -> Any:
    return m.standard_error(case.correct, case.units)


@tabled()
def paired_interval(case: Case) -> Any:
    interval = m.paired_interval(case.correct, case.other_correct, case.units)
    return limits(interval)


@tabled()
def p_exchanged(case: Case) -> Any:
    return m.p_exchanged(case.correct, case.other_correct, case.units)


@tabled()
def p_paired(case: Case) -> Any:
    return m.p_paired(case.correct, case.other_correct, case.units)


@tabled()
def compare(case: Case) -> Any:
    comparison = m.compare(case.correct, case.other_correct, case.units)
    counts = (comparison.only_first, comparison.only_second, comparison.n, comparison.n_to_tell_apart)
    return (comparison.difference, *limits(comparison.interval), comparison.p, *counts)


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


def case_for(row: Row, seed: int = 0, **settings: Any) -> Case:
    """Draw a case on which the metric of the row is defined."""
    candidate_limit = 2 if row.two else 3
    return make_case(seed, most=candidate_limit, **{"skill": 0.4} | settings)


every_metric = pytest.mark.parametrize("name", TABLE)


def test_every_public_function_is_in_the_table():
    public_metrics = set(m.__all__) - NO_METRICS
    assert public_metrics == {name for name in TABLE if " " not in name}


@every_metric
def test_the_order_of_problems_does_not_matter(name):
    row = TABLE[name]
    case = case_for(row)
    rows = np.random.default_rng(1).permutation(len(case.answers))
    shuffled = case.take(rows)
    assert shuffled.groups != case.groups
    assert row.metric(shuffled) == pytest.approx(row.metric(case))


@every_metric
def test_the_names_of_groups_do_not_matter(name):
    row = TABLE[name]
    case = case_for(row)
    names = sorted({group for group in case.groups if group is not None})
    new_names = np.random.default_rng(2).permutation(len(names)).tolist()
    renamings = dict(zip(names, new_names, strict=True))
    renamings[None] = None
    renamed = case.replace(groups=[renamings[group] for group in case.groups])
    assert row.metric(renamed) == pytest.approx(row.metric(case))


@every_metric
def test_the_order_of_candidates_does_not_matter(name):
    row = TABLE[name]
    case = case_for(row)
    reordered = reverse_candidates(case, row.reorder)
    assert reordered.answers != case.answers
    assert row.metric(reordered) == pytest.approx(row.metric(case))


def draw_reversals(case: Case, which: str) -> list[bool]:
    """Draw for each problem whether its candidates are reversed (`which`: see `Row.reorder`)."""
    rng = np.random.default_rng(4)
    by_group = {group: bool(rng.integers(2)) for group in dict.fromkeys(case.groups)}
    if which == "all":
        return [True] * len(case.answers)
    if which == "group":
        return [by_group[group] for group in case.groups]
    return [bool(rng.integers(2)) for _ in case.answers]


def follow_candidates(column, case: Case, reversals: list[bool]) -> list[int | None]:
    """Return the indices of the same candidates after the reversals, None where the column has None."""
    indices = []
    for index, option_count, is_reversed in zip(column, case.candidates, reversals, strict=True):
        has_moved = is_reversed and index is not None
        indices.append(option_count - 1 - index if has_moved else index)
    return indices


def reverse_candidates(case: Case, which: str) -> Case:
    """Reverse the candidates of some problems, so that predictions and answers follow their candidates."""
    reversals = draw_reversals(case, which)
    return case.replace(
        predictions=follow_candidates(case.predictions, case, reversals),
        answers=follow_candidates(case.answers, case, reversals),
        switched=follow_candidates(case.switched, case, reversals),
        other=follow_candidates(case.other, case, reversals),
    )


@every_metric
def test_asked_twice_a_metric_says_the_same(name):
    row = TABLE[name]
    first = row.metric(case_for(row))
    second = row.metric(case_for(row))
    assert first == second


@every_metric
def test_a_metric_can_tell_a_model_from_another(name):
    """Otherwise none of the invariances above would mean anything."""
    row = TABLE[name]
    weak = case_for(row, seed=0, skill=0.2)
    strong = case_for(row, seed=1, skill=0.9, abstaining=0.0)
    assert row.metric(weak) != pytest.approx(row.metric(strong))


@pytest.mark.parametrize("abstaining", [0.0, 0.3])
@pytest.mark.parametrize("name", [name for name, row in TABLE.items() if row.chance])
def test_guessing_lands_at_the_stated_chance_with_any_abstentions(name, abstaining):
    """The chance of a case is that of guessing with the abstentions of that case."""
    row = TABLE[name]
    case_count = 120
    deviations = np.zeros(case_count)
    for seed in range(case_count):
        case = case_for(row, seed=seed, skill=0.0, abstaining=abstaining)
        deviations[seed] = row.metric(case) - row.chance(case)
    spread = deviations.std()
    assert 0 < spread < 0.2
    standard_error = spread / np.sqrt(case_count)
    assert abs(deviations.mean()) < 4 * standard_error


def test_guessing_on_pairs_with_two_candidates_has_a_group_accuracy_of_a_quarter():
    case = make_case(0, skill=0.0, most=2)
    pairs = case.take(row for row, group in enumerate(case.groups) if case.groups.count(group) == 2)
    chances = [1 / count for count in pairs.candidates]
    assert m.group_accuracy_chance(chances, pairs.groups) == 0.25
    assert m.some_right_chance(chances, pairs.groups).mean() == 0.5


@pytest.mark.parametrize(
    ("metric", "columns"),
    [
        (m.accuracy, ([0], [0, 1])),
        (m.expected_accuracy, ([0], [0], [2, 2])),
        (m.group_accuracy, ([True, True], ["a", "a", "a"])),
        (m.group_accuracy_chance, ([0.5, 0.5], ["a", "a", "a"])),
        (m.guess_chance, ([0], [2, 2])),
        (m.same_option, ([0, 1], ["a", "a", "a"])),
        (m.consistency, ([0], [0, 1])),
        (m.choice_kept_chance, ([0], [0], [2, 2])),
        (m.order_invariance, ([0], [0], [])),
        (m.delta, ([True], [True, False])),
        (m.pro_minus_anti, ([True], ["pro", "anti"])),
        (m.share_interval, ([True], Units.alone(2))),
        (m.gap, ([1.0], [True], [True, False], Units.alone(1))),
        (m.p_chance, (1, 2, [0.5, 0.5], [2])),
        (m.compare, ([True], [True, False], Units.alone(1))),
        (m.paired_interval, ([True], [True, False], Units.alone(1))),
    ],
)
def test_columns_of_different_lengths_are_refused(metric, columns):
    with pytest.raises(BadInput, match="columns of equal length"):
        metric(*columns)


@pytest.mark.parametrize(
    ("metric", "columns"),
    [
        (m.accuracy, ([], [])),
        (m.abstained, ([],)),
        (m.chance, ([],)),
        (m.majority_class, ([],)),
        (m.consistency, ([], [])),
        (m.share_interval, ([], Units.alone(0))),
        (m.delta, ([], [])),
    ],
)
def test_a_metric_of_nothing_is_refused(metric, columns):
    with pytest.raises(BadInput):
        metric(*columns)
