"""Variance components agree with textbook formulas and with simulated truth, and are estimated over units."""

import math

import numpy as np
import pytest

from winokit.errors import BadInput
from winokit.methods.metrics.components import CrossedAnswers
from winokit.units import Units

FACTORS = ("prompts", "orders")


def components_of(values, factors=FACTORS, units=None):
    """Variance components by the names of their factors, joined with dots."""
    units = units or Units.alone(len(values))
    components = CrossedAnswers(values, factors, units).components()
    return {".".join(component.source): component for component in components}


def right_or_wrong(shape, seed=0):
    return np.random.default_rng(seed).integers(0, 2, shape).astype(float)


def test_one_factor_is_the_analysis_of_variance_of_the_textbook():
    values = right_or_wrong((30, 4, 1))
    table = values[..., 0]
    n, k = table.shape
    rows = table.mean(axis=1)
    columns = table.mean(axis=0)
    mean = table.mean()
    residual = table - rows[:, None] - columns[None, :] + mean
    error = (residual**2).sum() / (n - 1) / (k - 1)
    problem_square = k * ((rows - mean) ** 2).sum() / (n - 1)
    prompt_square = n * ((columns - mean) ** 2).sum() / (k - 1)
    components = components_of(values, ("prompts",))
    assert components["rest"].variance == pytest.approx(error)
    problem_variance = (problem_square - error) / k
    assert components["problems"].variance == pytest.approx(problem_variance)
    # Over problems that are alone, the noise in the means is the mean square of the rest.
    prompt_variance = (prompt_square - error) / n * (k - 1) / k
    assert components["prompts"].variance == pytest.approx(prompt_variance)


def test_two_factors_are_the_plain_sums_of_squares():
    values = right_or_wrong((25, 3, 2, 1))
    table = values[..., 0]
    n, a, b = table.shape
    mean = table.mean()
    problem_parts = table.mean(axis=(1, 2)) - mean
    prompt_means = table.mean(axis=(0, 2))
    order_means = table.mean(axis=(0, 1))
    prompt_parts = table.mean(axis=2) - problem_parts[:, None] - prompt_means[None, :]
    order_parts = table.mean(axis=1) - problem_parts[:, None] - order_means[None, :]
    remainder = table - table.mean(axis=0)
    remainder -= prompt_parts[:, :, None]
    remainder -= order_parts[:, None, :]
    remainder -= problem_parts[:, None, None]
    error = (remainder**2).sum() / (n - 1) / (a - 1) / (b - 1)
    components = components_of(values)
    assert components["rest"].variance == pytest.approx(error)
    prompt_square = (prompt_parts**2).sum() * b / (n - 1)
    expected = (prompt_square - (a - 1) * error) / (a * b)
    assert components["problems.prompts"].variance == pytest.approx(expected)
    order_square = (order_parts**2).sum() * a / (n - 1)
    expected = (order_square - (b - 1) * error) / (a * b)
    assert components["problems.orders"].variance == pytest.approx(expected)
    problem_square = (problem_parts**2).sum() * a * b / (n - 1)
    expected = (problem_square - error) / (a * b)
    assert components["problems"].variance == pytest.approx(expected)


def test_all_components_together_are_the_variance_of_one_answer():
    values = right_or_wrong((40, 5, 2, 3))
    total = sum(component.variance for component in components_of(values).values())
    cells = values.mean(axis=3).reshape(40, 10)
    level_variance = cells.mean(axis=0).var()
    problem_variance = cells.var(axis=0, ddof=1).mean()
    sample_variance = values.var(axis=3, ddof=1).mean() * (1 - 1 / 3)
    centring = np.eye(10) - 0.1
    noise = np.trace(centring @ np.cov(cells.T)) / 40 / 10
    expected = level_variance - noise + problem_variance + sample_variance
    assert total == pytest.approx(expected)


TRUE_VARIANCES = {
    "prompts": 0.02,
    "orders": 0.0025,
    "prompts.orders": 0.0,
    "problems": 0.25 + 0.04 / 5 + 0.01 / 2,
    "problems.prompts": 0.04 * 4 / 5,
    "problems.orders": 0.01 / 2,
    "rest": 0.04,
    "samples": 0.09,
}
"""Components of `simulated`, in which part of each interaction is the problem's own mean over the levels."""


def simulated(rng, n=150):
    """Draw answers to n problems under five prompts and two orders, three samples each."""
    values = np.full((n, 5, 2, 3), 0.5)
    values += np.array([0, 0.1, -0.1, 0.2, -0.2])[None, :, None, None]
    values += np.array([0.05, -0.05])[None, None, :, None]
    values += 0.5 * rng.normal(size=(n, 1, 1, 1))
    values += 0.2 * rng.normal(size=(n, 5, 1, 1))
    values += 0.1 * rng.normal(size=(n, 1, 2, 1))
    values += 0.2 * rng.normal(size=(n, 5, 2, 1))
    values += 0.3 * rng.normal(size=(n, 5, 2, 3))
    return values


def test_known_components_are_found_and_their_intervals_hold_them():
    rng = np.random.default_rng(1)
    times = 60
    draws = [components_of(simulated(rng)) for _ in range(times)]
    assert list(draws[0]) == list(TRUE_VARIANCES)
    for name, truth in TRUE_VARIANCES.items():
        estimates = np.array([components[name].variance for components in draws])
        standard_error = estimates.std() / math.sqrt(times)
        assert estimates.mean() == pytest.approx(truth, abs=4 * standard_error + 1e-9)
        intervals = [components[name].interval for components in draws]
        covered_count = sum(interval.low <= truth <= interval.high for interval in intervals)
        coverage_error = math.sqrt(0.95 * 0.05 / times)
        assert covered_count / times >= 0.95 - 3 * coverage_error, name


def test_problems_written_three_times_make_nothing_surer():
    values = right_or_wrong((40, 5, 1), seed=3)
    units_of_three = Units(np.repeat(np.arange(40), 3))
    once = components_of(values, ("prompts",))
    thrice = components_of(np.repeat(values, 3, axis=0), ("prompts",), units_of_three)
    assert thrice["prompts"].p == pytest.approx(once["prompts"].p)
    assert thrice["prompts"].variance == pytest.approx(once["prompts"].variance)
    interval_once = once["problems"].interval
    interval_thrice = thrice["problems"].interval
    width_once = interval_once.high - interval_once.low
    width_thrice = interval_thrice.high - interval_thrice.low
    assert width_thrice == pytest.approx(width_once, rel=0.05)


def test_readings_that_are_all_alike_have_no_component_and_no_test():
    values = right_or_wrong((30, 1, 1))
    components = components_of(np.repeat(values, 5, axis=1), ("prompts",))
    assert components["prompts"].p == 1
    assert components["prompts"].interval.low == 0
    assert components["rest"].variance == pytest.approx(0)
    assert components["problems"].variance == pytest.approx(values.var(ddof=1))


def test_an_answer_that_follows_the_order_is_problems_by_orders():
    values = np.zeros((40, 5, 2, 1))
    values[::2, :, 0] = 1
    values[1::2, :, 1] = 1
    components = components_of(values)
    total = sum(max(component.variance, 0) for component in components.values())
    share_of_total = components["problems.orders"].variance / total
    assert share_of_total == pytest.approx(1, abs=0.01)


def test_a_factor_with_one_level_has_no_component():
    one_prompt = components_of(right_or_wrong((20, 1, 2, 1)))
    one_prompt_and_order = components_of(right_or_wrong((20, 1, 1, 1)))
    assert list(one_prompt) == ["orders", "problems", "rest"]
    assert list(one_prompt_and_order) == ["problems"]


def test_one_unit_says_nothing():
    one_unit = Units(np.zeros(6, np.int64))
    components = components_of(right_or_wrong((6, 2, 1)), ("prompts",), one_unit)
    for component in components.values():
        assert component.interval.low == 0
        assert component.interval.high == math.inf
    assert components["prompts"].p == 1


def test_an_array_without_an_axis_for_each_factor_is_refused():
    with pytest.raises(BadInput, match=r"expected an array with 4 axes, found one of shape \(3, 2, 1\)"):
        components_of(right_or_wrong((3, 2, 1)))
