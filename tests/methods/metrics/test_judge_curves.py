"""What is said of learning curves: by restarts and units, never surer than they let it be."""

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
    problems = [
        Problem(f"Pair {pair} says ", f" {answer}.", ("one", "two"), answer, group=f"g{pair}")
        for pair in range(count)
        for answer in (0, 1)
    ]
    return Dataset(problems, Card("test"))


def drawn(dataset, shares, restarts=3, wobble=0.0, seed=0):
    """Choices by trial: right with the share of the size, moved by each run's own luck."""
    rng = np.random.default_rng(seed)
    answers = np.array([problem.answer for problem in dataset])
    choices = {}
    for restart, (size, share) in product(range(restarts), zip(SIZES, shares, strict=False)):
        is_right = rng.random(len(dataset)) < share + wobble * rng.normal()
        choices[TrialName(restart, size)] = np.where(is_right, answers, 1 - answers)
    return choices


def judged(dataset, choices, goal=None):
    answers = Answers.of_trials(dataset, choices, Scorer("m", "mc", "mc"))
    return judge_curves(answers, {ACCURACY: goal})


def test_a_level_of_one_restart_is_tested_as_any_score_is():
    data = pairs(60)
    choices = drawn(data, STRAIGHT, restarts=1)
    for measure, series in zip((ACCURACY, GROUP), judged(data, choices), strict=True):
        for (_, own), level in zip(choices.items(), series.levels, strict=True):
            rows = {row.metric: row for row in judge(Answers.of_choices(data, own))}
            assert level.mean.p == rows[measure].p
            assert level.mean.level == rows[measure].level
            assert level.mean.value == rows[measure].value


def test_a_restart_that_always_chooses_one_place_is_not_above_chance():
    data = Dataset([Problem(f"Text {at} ", ".", ("one", "two"), int(at >= 140)) for at in range(200)], Card("test"))
    nearly_first = np.zeros(200, int)
    nearly_first[::20] = 1
    (series,) = judged(data, {TrialName(restart, 160): nearly_first for restart in range(3)})
    mean = series.levels[0].mean
    assert mean.value > 0.66
    assert mean.level == pytest.approx(mean.value, abs=0.03)
    assert mean.p > 0.05


def test_seeds_whose_lines_have_one_slope_are_said_to_differ_in_one_of_twenty_at_most():
    rng = np.random.default_rng(0)
    for restarts, size_count, units, of_run in product((2, 3, 5), (3, 4), (40, 400), (0.0, 0.02, 0.06)):
        rejected = 0
        for _ in range(200):
            runs = of_run * rng.normal(size=(restarts, size_count, 1)) + of_run * rng.normal(size=(restarts, 1, 1))
            common = 0.2 * rng.normal(size=(1, 1, units))
            values = 0.6 + runs + common + 0.3 * rng.normal(size=(restarts, size_count, units))
            rejected += p_slopes_differ(values, SIZES[:size_count]) < 0.05
        assert rejected / 200 <= 0.08, (restarts, size_count, units, of_run)


def test_seeds_of_which_one_learns_and_another_forgets_are_said_to_differ():
    data = pairs(200)
    rising = drawn(data, STRAIGHT, 2)
    falling = drawn(data, STRAIGHT[::-1], 2, seed=1)
    choices = rising | {trial._replace(seed=trial.seed + 2): own for trial, own in falling.items()}
    single, _ = judged(data, choices)
    assert min(single.restart_slopes) < 0 < max(single.restart_slopes)
    assert single.p_seeds < 0.01


def test_two_sizes_or_one_restart_cannot_tell_whether_seeds_differ():
    data = pairs(20)
    assert judged(data, drawn(data, STRAIGHT[:2]))[0].p_seeds is None
    assert judged(data, drawn(data, STRAIGHT, restarts=1))[0].p_seeds is None


def test_a_straight_curve_says_where_it_arrives():
    data = pairs(1000)
    single, _ = judged(data, drawn(data, STRAIGHT, 5), goal=70.0)
    reach = single.reach
    true_size = SIZES[2] * 4**0.5
    assert reach.kind == REACHED
    assert reach.low < true_size < reach.high


def test_a_curve_that_bends_does_not_say_where_it_arrives():
    data = pairs(1000)
    single, _ = judged(data, drawn(data, BENDING, 5), goal=80.0)
    assert single.reach.kind == BENT
    assert (single.reach.size, single.reach.low, single.reach.high) == (None, None, None)
    rows = {row.metric: row for row in curve_rows(single)}
    assert math.isnan(rows["n_to_reach_80"].value)
    assert "the curve bends" in rows["n_to_reach_80"].note
    assert rows["accuracy_bend"].high < 0


def test_a_curve_that_rises_slowly_then_fast_then_slowly_does_not_say_where_it_arrives():
    """A parabola does not see it: what it bends upwards first, it bends downwards later."""
    data = pairs(1000)
    single, _ = judged(data, drawn(data, LIKE_AN_S, 5), goal=85.0)
    assert not single.bend.is_needed()
    assert single.twist.is_needed()
    assert single.reach.kind == BENT
    rows = {row.metric: row for row in curve_rows(single)}
    assert rows["accuracy_twist"].high < 0


def test_where_no_bend_is_shown_the_means_around_a_size_count_too():
    """Of curves like an S that two restarts do not show to bend, the sizes that are given hold the true one."""
    data = pairs(150)
    given = held = 0
    for goal, seed in product((60.0, 80.0), range(25)):
        true_size = math.exp(np.interp(goal / 100, LIKE_AN_S, np.log(SIZES)))
        single, _ = judged(data, drawn(data, LIKE_AN_S, 2, seed=seed), goal)
        if single.reach.kind == REACHED:
            given += 1
            held += single.reach.low <= true_size <= single.reach.high
    assert given >= 4
    assert held == given


def test_two_sizes_do_not_say_where_a_curve_arrives():
    data = pairs(1000)
    single, _ = judged(data, drawn(data, STRAIGHT[:2], 5), goal=60.0)
    assert single.reach.kind == UNSURE
    assert single.bend is None


def test_a_curve_that_falls_never_arrives():
    data = pairs(100)
    single, _ = judged(data, drawn(data, STRAIGHT[::-1], 3), goal=80.0)
    assert single.reach.kind == FALLS


@pytest.mark.parametrize("goal", [60.0, 76.0, 80.0, 94.0])
def test_no_size_and_no_end_of_an_interval_lies_beyond_four_times_the_largest_size(goal):
    data = pairs(150)
    for seed in range(12):
        single, _ = judged(data, drawn(data, STRAIGHT, 3, wobble=0.02, seed=seed), goal)
        ends = [end for end in (single.reach.size, single.reach.low, single.reach.high) if end is not None]
        assert max(ends, default=0) <= FARTHEST * SIZES[-1]


def widths(series):
    """Of every interval of a curve."""
    intervals = [level.mean for level in series.levels]
    intervals += [
        series.auc,
        series.fit.slope_interval(),
        series.fit.interval_at(640),
        series.bend.highest_interval(),
        series.twist.highest_interval(),
    ]
    return [interval.high - interval.low for interval in intervals]


def p_values(series):
    """Of every test of a curve."""
    return [series.p_seeds, *(level.mean.p for level in series.levels)]


@pytest.mark.parametrize("dataset", [pairs(30), Dataset([p.replace(group=None) for p in pairs(30)], Card("test"))])
def test_problems_that_are_written_three_times_make_nothing_surer(dataset):
    choices = drawn(dataset, STRAIGHT, 3, wobble=0.02)
    once = judged(dataset, choices, goal=70.0)
    copies = judged(thrice(dataset), {trial: repeated(own.tolist()) for trial, own in choices.items()}, goal=70.0)
    for one, many in zip(once, copies, strict=True):
        assert many.reach == one.reach
        for before, after in zip(widths(one), widths(many), strict=True):
            assert after >= before - 1e-9
        for before, after in zip(p_values(one), p_values(many), strict=True):
            assert after >= before - 1e-9


@pytest.mark.parametrize("shares", [STRAIGHT, BENDING, (0.5, 0.52, 0.54, 0.56)])
def test_no_page_of_a_curve_says_more_of_copies(shares):
    dataset = pairs(40)
    for seed in range(4):
        choices = drawn(dataset, shares, 3, wobble=0.04, seed=seed)
        once = judged(dataset, choices, goal=70.0)
        copies = judged(thrice(dataset), {trial: repeated(own.tolist()) for trial, own in choices.items()}, goal=70.0)
        assert state_of(copies) == state_of(once)
        assert verdict_of_curve(copies).word == verdict_of_curve(once).word
