import math

import numpy as np
import pytest

from winokit.errors import BadInput
from winokit.methods.metrics.curve import PUBLISHED, SIZES, LogFit, fit_log, leaderboard_auc

LEAST_SQUARES_SIZES = [100, 100, 500, 500, 1000, 1000, 4000, 4000, 16000, 16000]
LEAST_SQUARES_VALUES = [48.5, 48.3, 55.5, 55.0, 57.1, 58.0, 64.5, 64.1, 68.0, 67.5]


def draw_points(seed=0, slope=4.0, intercept=30.0, error=1.0, repeats=3):
    """Draw sizes and noisy values around a line in the logarithm of the size."""
    rng = np.random.default_rng(seed)
    x = np.repeat([100, 500, 1000, 4000, 16000], repeats)
    y = slope * np.log(x) + intercept + rng.normal(0, error, len(x))
    return x, y


def test_the_published_line_reaches_human_accuracy_at_a_million_not_at_118_thousand():
    assert PUBLISHED.reaches(94) == pytest.approx(1.19e6, rel=0.005)
    assert PUBLISHED.at(118_000) == pytest.approx(82.8, abs=0.05)


def test_the_published_line_has_no_interval_since_none_was_published():
    assert PUBLISHED.reaches_interval(94).high == math.inf
    assert PUBLISHED.slope_interval().low == -math.inf


def test_a_line_is_found_again_from_points_on_it():
    values = [4.8463 * math.log(size) + 26.215 for size in SIZES]
    fit = fit_log(SIZES, values)
    assert fit.slope == pytest.approx(4.8463)
    assert fit.intercept == pytest.approx(26.215)
    assert fit.slope_interval().low == pytest.approx(fit.slope)


def test_slope_and_its_interval_are_those_of_ordinary_least_squares():
    """As statsmodels has them."""
    fit = fit_log(LEAST_SQUARES_SIZES, LEAST_SQUARES_VALUES)
    assert fit.intercept == pytest.approx(30.77884266353452)
    assert fit.slope == pytest.approx(3.903312722678958)
    slopes = fit.slope_interval()
    assert (slopes.low, slopes.high) == pytest.approx((3.5675962876953284, 4.239029157662588))
    values = fit.interval_at(50_000)
    assert (values.low, values.high) == pytest.approx((71.64557060810479, 74.37807118717258))


@pytest.mark.parametrize("target", [40.0, 62.0, 94.0])
def test_the_ends_of_the_interval_in_x_are_where_the_band_meets_the_target(target):
    fit = fit_log(*draw_points())
    sizes = fit.reaches_interval(target)
    assert sizes.low < fit.reaches(target) < sizes.high
    assert fit.interval_at(sizes.low).high == pytest.approx(target)
    assert fit.interval_at(sizes.high).low == pytest.approx(target)


def test_the_interval_in_x_holds_the_truth_as_often_as_it_says():
    truth = math.exp((80 - 30) / 4.0)
    draws = 400
    covered_count = 0
    for seed in range(draws):
        sizes = fit_log(*draw_points(seed)).reaches_interval(80)
        covered_count += sizes.low <= truth <= sizes.high
    assert 0.92 <= covered_count / draws <= 0.98


def test_a_slope_that_could_be_zero_never_certainly_arrives():
    fit = fit_log(*draw_points(seed=3, slope=0.2, error=3.0))
    slopes = fit.slope_interval()
    sizes = fit.reaches_interval(94)
    assert slopes.low < 0 < slopes.high
    assert sizes.high == math.inf or sizes.low == 0
    assert LogFit(0.0, 50.0).reaches(94) == math.inf


def log_width(fit: LogFit) -> float:
    """Width of the interval of sizes that reach 94 %, on a logarithmic scale."""
    sizes = fit.reaches_interval(94)
    return math.log(sizes.high / sizes.low)


def test_more_restarts_make_the_interval_narrower():
    few = fit_log(*draw_points(repeats=2))
    many = fit_log(*draw_points(repeats=40))
    assert log_width(many) < log_width(few) / 2


def test_the_area_is_that_of_the_leaderboard():
    # log2 of the sizes, trapezoids, divided by the width: done by hand for two steps of the same width.
    by_hand = (0.55 + 0.75) / 2
    assert leaderboard_auc([0.5, 0.6, 0.9], [100, 200, 400]) == pytest.approx(by_hand)
    assert leaderboard_auc([0.5, 0.6, 0.7, 0.8, 0.9]) == pytest.approx(0.7, abs=1e-3)
    assert SIZES[-1] == 40_398


@pytest.mark.parametrize(
    ("x", "y", "said"),
    [
        ([0, 100], [50, 60], "above 0"),
        ([100, 100], [50, 60], "two training sizes"),
        ([100, 200], [50], "2 sizes and 1 values"),
        ([100, 200], [50, math.nan], "not a number"),
    ],
)
def test_what_cannot_be_fitted_is_said(x, y, said):
    with pytest.raises(BadInput, match=said):
        fit_log(x, y)


@pytest.mark.parametrize(("y", "x"), [([0.5], SIZES), ([0.5, 0.6], [200, 100]), ([0.5], [100])])
def test_an_area_needs_an_accuracy_for_each_size_in_order(y, x):
    with pytest.raises(BadInput):
        leaderboard_auc(y, x)
