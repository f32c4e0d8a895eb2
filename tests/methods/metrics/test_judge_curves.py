"""Verdicts on learning curves are judged by restarts and units, and never surer than these allow."""

import math
from itertools import product

import numpy as np
import pytest
from support.copies import repeated, thrice

from winokit.answers import Answers, Scorer, TrialName
from winokit.methods.metrics.curve import p_slopes_differ
from winokit.methods.metrics.judge import judge
from winokit.methods.metrics.judge_curves import (
    ACCURACY,
    BENT,
    FALLS,
    FARTHEST,
    GROUP,
    REACHED,
    UNSURE,
    curve_rows,
    judge_curves,
)
from winokit.problem import Card, Dataset, Problem
from winokit.stages.curve.verdict import state_of, verdict_of_curve

SIZES = (160, 640, 2560, 10_240)
STRAIGHT = (0.50, 0.58, 0.66, 0.74)
BENDING = (0.50, 0.70, 0.74, 0.75)
LIKE_AN_S = (0.52, 0.56, 0.86, 0.90)


def pairs(count):
    problems = []
    for pair in range(count):
        before = f"Pair {pair} says "
        group = f"g{pair}"
        problems.append(Problem(before, " 0.", ("one", "two"), 0, group=group))
        problems.append(Problem(before, " 1.", ("one", "two"), 1, group=group))
    return Dataset(problems, Card("test"))


def draw_choices(dataset, shares, restarts=3, wobble=0.0, seed=0):
    """Draw choices by trial: right with the share of the size, moved by each run's own luck."""
    rng = np.random.default_rng(seed)
    answers = np.array([problem.answer for problem in dataset])
    choices = {}
    for restart, (size, share) in product(range(restarts), zip(SIZES, shares, strict=False)):
        is_right = rng.random(len(dataset)) < share + wobble * rng.normal()
        choices[TrialName(restart, size)] = np.where(is_right, answers, 1 - answers)
    return choices


def judge_choices(dataset, choices, goal=None):
    """Judge the curves of accuracy and group accuracy, with a goal in percent or None."""
    answers = Answers.of_trials(dataset, choices, Scorer("m", "mc", "mc"))
    return judge_curves(answers, {ACCURACY: goal})


def judge_shares(shares, goal=None, *, pair_count=1000, restarts=5):
    """Judge the curve of accuracy over drawn choices that are right with these shares."""
    dataset = pairs(pair_count)
    series, _ = judge_choices(dataset, draw_choices(dataset, shares, restarts), goal)
    return series


def judge_copies(dataset, choices, goal):
    """Judge the same choices on problems that are written three times each."""
    copied_choices = {trial: repeated(trial_choices.tolist()) for trial, trial_choices in choices.items()}
    return judge_choices(thrice(dataset), copied_choices, goal)


def test_a_level_of_one_restart_is_tested_as_any_score_is():
    data = pairs(60)
    choices = draw_choices(data, STRAIGHT, restarts=1)
    for measure, series in zip((ACCURACY, GROUP), judge_choices(data, choices), strict=True):
        for trial_choices, level in zip(choices.values(), series.levels, strict=True):
            rows = judge(Answers.of_choices(data, trial_choices))
            (row,) = [row for row in rows if row.metric == measure]
            assert level.mean.p == row.p
            assert level.mean.level == row.level
            assert level.mean.value == row.value


def test_a_restart_that_always_chooses_one_place_is_not_above_chance():
    problems = [Problem(f"Text {index} ", ".", ("one", "two"), int(index >= 140)) for index in range(200)]
    nearly_first = np.zeros(200, int)
    nearly_first[::20] = 1
    choices = {TrialName(restart, 160): nearly_first for restart in range(3)}
    (series,) = judge_choices(Dataset(problems, Card("test")), choices)
    mean = series.levels[0].mean
    assert mean.value > 0.66
    assert mean.level == pytest.approx(mean.value, abs=0.03)
    assert mean.p > 0.05


def test_seeds_whose_lines_have_one_slope_are_said_to_differ_in_one_of_twenty_at_most():
    rng = np.random.default_rng(0)
    draws = 200
    for restarts, size_count, units, run_error in product((2, 3, 5), (3, 4), (40, 400), (0.0, 0.02, 0.06)):
        rejected_count = 0
        for _ in range(draws):
            values = np.full((restarts, size_count, units), 0.6)
            values += run_error * rng.normal(size=(restarts, size_count, 1))
            values += run_error * rng.normal(size=(restarts, 1, 1))
            values += 0.2 * rng.normal(size=(1, 1, units))
            values += 0.3 * rng.normal(size=(restarts, size_count, units))
            rejected_count += p_slopes_differ(values, SIZES[:size_count]) < 0.05
        assert rejected_count / draws <= 0.08, (restarts, size_count, units, run_error)


def test_seeds_of_which_one_learns_and_another_forgets_are_said_to_differ():
    data = pairs(200)
    choices = draw_choices(data, STRAIGHT, 2)
    falling = draw_choices(data, STRAIGHT[::-1], 2, seed=1)
    for trial, trial_choices in falling.items():
        choices[trial._replace(seed=trial.seed + 2)] = trial_choices
    single, _ = judge_choices(data, choices)
    assert min(single.restart_slopes) < 0 < max(single.restart_slopes)
    assert single.p_seeds < 0.01


def test_two_sizes_or_one_restart_cannot_tell_whether_seeds_differ():
    assert judge_shares(STRAIGHT[:2], pair_count=20, restarts=3).p_seeds is None
    assert judge_shares(STRAIGHT, pair_count=20, restarts=1).p_seeds is None


def test_a_straight_curve_says_where_it_arrives():
    reach = judge_shares(STRAIGHT, goal=70.0).reach
    true_size = SIZES[2] * 4**0.5
    assert reach.kind == REACHED
    assert reach.low < true_size < reach.high


def test_a_curve_that_bends_does_not_say_where_it_arrives():
    series = judge_shares(BENDING, goal=80.0)
    assert series.reach.kind == BENT
    assert series.reach.size is None
    assert series.reach.low is None
    assert series.reach.high is None
    rows = {row.metric: row for row in curve_rows(series)}
    row_of_reach = rows["n_to_reach_80"]
    assert math.isnan(row_of_reach.value)
    assert "the curve bends" in row_of_reach.note
    assert rows["accuracy_bend"].high < 0


def test_a_curve_that_rises_slowly_then_fast_then_slowly_does_not_say_where_it_arrives():
    """A parabola does not see it: what it bends upwards first, it bends downwards later."""
    series = judge_shares(LIKE_AN_S, goal=85.0)
    assert not series.bend.is_needed()
    assert series.twist.is_needed()
    assert series.reach.kind == BENT
    rows = {row.metric: row for row in curve_rows(series)}
    assert rows["accuracy_twist"].high < 0


def test_where_no_bend_is_shown_the_means_around_a_size_count_too():
    """Of curves like an S that two restarts do not show to bend, the sizes that are reported hold the true one."""
    data = pairs(150)
    reported_count = 0
    covered_count = 0
    for goal, seed in product((60.0, 80.0), range(25)):
        true_size = math.exp(np.interp(goal / 100, LIKE_AN_S, np.log(SIZES)))
        single, _ = judge_choices(data, draw_choices(data, LIKE_AN_S, 2, seed=seed), goal)
        if single.reach.kind == REACHED:
            reported_count += 1
            covered_count += single.reach.low <= true_size <= single.reach.high
    assert reported_count >= 4
    assert covered_count == reported_count


def test_two_sizes_do_not_say_where_a_curve_arrives():
    series = judge_shares(STRAIGHT[:2], goal=60.0)
    assert series.reach.kind == UNSURE
    assert series.bend is None


def test_a_curve_that_falls_never_arrives():
    series = judge_shares(STRAIGHT[::-1], goal=80.0, pair_count=100, restarts=3)
    assert series.reach.kind == FALLS


@pytest.mark.parametrize("goal", [60.0, 76.0, 80.0, 94.0])
def test_no_size_and_no_end_of_an_interval_lies_beyond_four_times_the_largest_size(goal):
    data = pairs(150)
    for seed in range(12):
        single, _ = judge_choices(data, draw_choices(data, STRAIGHT, 3, wobble=0.02, seed=seed), goal)
        sizes = (single.reach.size, single.reach.low, single.reach.high)
        largest = max((size for size in sizes if size is not None), default=0)
        assert largest <= FARTHEST * SIZES[-1]


def widths(series):
    """Widths of all intervals of a curve."""
    intervals = [level.mean for level in series.levels]
    intervals.append(series.auc)
    intervals.append(series.fit.slope_interval())
    intervals.append(series.fit.interval_at(640))
    intervals.append(series.bend.highest_interval())
    intervals.append(series.twist.highest_interval())
    return np.array([interval.high - interval.low for interval in intervals])


def p_values(series):
    """P-values of all tests of a curve."""
    return np.array([series.p_seeds, *(level.mean.p for level in series.levels)])


@pytest.mark.parametrize(
    "dataset", [pairs(30), Dataset([problem.replace(group=None) for problem in pairs(30)], Card("test"))]
)
def test_problems_that_are_written_three_times_make_nothing_surer(dataset):
    choices = draw_choices(dataset, STRAIGHT, 3, wobble=0.02)
    once = judge_choices(dataset, choices, goal=70.0)
    copies = judge_copies(dataset, choices, goal=70.0)
    for series, copied_series in zip(once, copies, strict=True):
        assert copied_series.reach == series.reach
        assert (widths(copied_series) >= widths(series) - 1e-9).all()
        assert (p_values(copied_series) >= p_values(series) - 1e-9).all()


@pytest.mark.parametrize("shares", [STRAIGHT, BENDING, (0.5, 0.52, 0.54, 0.56)])
def test_no_page_of_a_curve_says_more_of_copies(shares):
    dataset = pairs(40)
    for seed in range(4):
        choices = draw_choices(dataset, shares, 3, wobble=0.04, seed=seed)
        once = judge_choices(dataset, choices, goal=70.0)
        copies = judge_copies(dataset, choices, goal=70.0)
        assert state_of(copies) == state_of(once)
        assert verdict_of_curve(copies).word == verdict_of_curve(once).word
