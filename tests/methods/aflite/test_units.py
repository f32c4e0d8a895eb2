"""Rows that vary together count once, so that noise that many rows share is no bias."""

import numpy as np
import pytest
from support.templates import template_twins, text_noise

from winokit.methods.aflite.aflite import AFLite
from winokit.methods.aflite.inputs import numbered
from winokit.methods.aflite.methods import DebiasRows
from winokit.methods.aflite.null import null_runs
from winokit.methods.aflite.probe import linear_probe
from winokit.methods.aflite.random_reduction import RandomReduction
from winokit.methods.metrics.judge_ranks import BEYOND
from winokit.units import Units

DATA = template_twins()
Y = np.array([problem.answer for problem in DATA])
GROUPS = [problem.group for problem in DATA]
UNITS = DATA.units.numbers


def test_a_probe_that_has_seen_the_text_knows_noise_and_one_that_has_not_does_not():
    noise = text_noise(DATA, seed=0, width=200)
    assert linear_probe(noise, Y, Units.of_names(GROUPS)).accuracy > 0.9
    assert 0.35 < linear_probe(noise, Y, DATA.units).accuracy < 0.65


@pytest.mark.parametrize("settings", [{"threshold": 0.9}, {"twins": "together"}], ids=["twins apart", "twins together"])
def test_noise_that_many_groups_share_is_called_beyond_chance_by_group_and_not_by_unit(settings):
    trials = 4
    claims = {"group": 0, "unit": 0}
    for trial in range(trials):
        noise = text_noise(DATA, seed=trial)
        for name, units in (("group", Units.of_names(GROUPS)), ("unit", DATA.units)):
            run = AFLite(16, None, 30, seed=trial, **settings).fit(noise, Y, units.numbers)
            null = null_runs(run, noise, Y, units, runs=19, seed=1000 * trial)
            if null.ranks[0].outcome == BEYOND:
                claims[name] += 1
    assert claims["group"] >= trials / 2
    assert claims["unit"] <= 1


def test_twins_that_leave_together_leave_with_all_of_their_unit():
    noise = text_noise(DATA, seed=0)
    run = AFLite(16, None, 30, twins="together", seed=0).fit(noise, Y, UNITS)
    shares = np.bincount(UNITS, run.keep_) / np.bincount(UNITS)
    assert set(shares) == {0.0, 1.0}


def test_random_reduction_draws_whole_units_where_twins_stay_together():
    rows = DebiasRows([[]] * len(DATA), Y, GROUPS, DATA.units)
    keep = RandomReduction(120, twins="together").arm(rows).keep
    assert keep.sum() == 120
    assert set(np.bincount(UNITS, keep)) == {0, 12}


def test_rows_alone_are_numbered_after_those_that_vary_together():
    """Every stored run would change with other numbers, since folds and random removals are drawn by them."""
    by_name = numbered([None, "b", "a", "b", None], 5)
    by_number = numbered(np.array([7, 3, 7]), 3)
    units = DATA.units.take([0, 12, 13])
    rows = DebiasRows([[]] * 3, Y[:3], GROUPS[:3], units)
    assert by_name.tolist() == [2, 0, 1, 0, 3]
    assert by_number.tolist() == [1, 0, 1]
    assert rows.unit_names == [None, 1, 1]
