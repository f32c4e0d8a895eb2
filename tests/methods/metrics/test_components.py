"""Variance components: against a few plain lines, against simulated truth, and over units."""

import math

import numpy as np
import pytest

from winokit.errors import BadInput
from winokit.methods.metrics.components import CrossedAnswers
from winokit.units import Units

FACTORS = ("prompts", "orders")


def found(values, factors=FACTORS, units=None):
    units = units or Units.alone(len(values))
    return {".".join(part.source): part for part in CrossedAnswers(values, factors, units).components()}


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
    of_problems = k * ((rows - mean) ** 2).sum() / (n - 1)
    of_prompts = n * ((columns - mean) ** 2).sum() / (k - 1)
    parts = found(values, ("prompts",))
    assert parts["rest"].variance == pytest.approx(error)
    assert parts["problems"].variance == pytest.approx((of_problems - error) / k)
    # Over problems that are alone, the noise in the means is the mean square of the rest.
    assert parts["prompts"].variance == pytest.approx((of_prompts - error) / n * (k - 1) / k)


def test_two_factors_are_the_plain_sums_of_squares():
    values = right_or_wrong((25, 3, 2, 1))
    table = values[..., 0]
    n, a, b = table.shape
    mean = table.mean()
    by_prompt = table.mean(axis=2)
    by_order = table.mean(axis=1)
    problems = table.mean(axis=(1, 2))
    prompt_parts = by_prompt - problems[:, None] - table.mean(axis=(0, 2))[None, :] + mean
    order_parts = by_order - problems[:, None] - table.mean(axis=(0, 1))[None, :] + mean
    cells = table - table.mean(axis=0)
    rest = cells - prompt_parts[:, :, None] - order_parts[:, None, :] - (problems - mean)[:, None, None]
    error = (rest**2).sum() / (n - 1) / (a - 1) / (b - 1)
    parts = found(values)
    assert parts["rest"].variance == pytest.approx(error)
    expected = ((prompt_parts**2).sum() * b / (n - 1) - (a - 1) * error) / (a * b)
    assert parts["problems.prompts"].variance == pytest.approx(expected)
    expected = ((order_parts**2).sum() * a / (n - 1) - (b - 1) * error) / (a * b)
    assert parts["problems.orders"].variance == pytest.approx(expected)
    expected = (((problems - mean) ** 2).sum() * a * b / (n - 1) - error) / (a * b)
    assert parts["problems"].variance == pytest.approx(expected)


def test_all_components_together_are_the_variance_of_one_answer():
    values = right_or_wrong((40, 5, 2, 3))
    total = sum(part.variance for part in found(values).values())
    cells = values.mean(axis=3).reshape(40, 10)
    of_levels = cells.mean(axis=0).var()
    of_problems = cells.var(axis=0, ddof=1).mean()
    of_samples = values.var(axis=3, ddof=1).mean()
    noise = np.trace((np.eye(10) - 0.1) @ np.cov(cells.T)) / 40 / 10
    assert total == pytest.approx(of_levels - noise + of_problems + of_samples * (1 - 1 / 3))


KNOWN = {
    "prompts": 0.02,
    "orders": 0.0025,
    "prompts.orders": 0.0,
    "problems": 0.25 + 0.04 / 5 + 0.01 / 2,
    "problems.prompts": 0.04 * 4 / 5,
    "problems.orders": 0.01 / 2,
    "rest": 0.04,
    "samples": 0.09,
}
"""What `simulated` is made of; a share of each interaction is the problem's own mean over the levels."""


def simulated(rng, n=150):
    levels = np.array([0, 0.1, -0.1, 0.2, -0.2])[None, :, None, None]
    orders = np.array([0.05, -0.05])[None, None, :, None]
    shapes = {(n, 1, 1, 1): 0.5, (n, 5, 1, 1): 0.2, (n, 1, 2, 1): 0.1, (n, 5, 2, 1): 0.2, (n, 5, 2, 3): 0.3}
    return 0.5 + levels + orders + sum(error * rng.normal(size=shape) for shape, error in shapes.items())


def test_known_components_are_found_and_their_intervals_hold_them():
    rng = np.random.default_rng(1)
    times = 60
    drawn = [found(simulated(rng)) for _ in range(times)]
    assert list(drawn[0]) == list(KNOWN)
    for name, truth in KNOWN.items():
        estimates = np.array([parts[name].variance for parts in drawn])
        assert estimates.mean() == pytest.approx(truth, abs=4 * estimates.std() / math.sqrt(times) + 1e-9)
        kept = sum(parts[name].interval.low <= truth <= parts[name].interval.high for parts in drawn)
        assert kept / times >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / times), name


def test_problems_written_three_times_make_nothing_surer():
    values = right_or_wrong((40, 5, 1), seed=3)
    once = found(values, ("prompts",))
    thrice = found(np.repeat(values, 3, axis=0), ("prompts",), Units(np.repeat(np.arange(40), 3)))
    assert thrice["prompts"].p == pytest.approx(once["prompts"].p)
    assert thrice["prompts"].variance == pytest.approx(once["prompts"].variance)
    width = [part.interval.high - part.interval.low for part in (once["problems"], thrice["problems"])]
    assert width[1] == pytest.approx(width[0], rel=0.05)


def test_readings_that_are_all_alike_have_no_component_and_no_test():
    values = right_or_wrong((30, 1, 1))
    parts = found(np.repeat(values, 5, axis=1), ("prompts",))
    assert parts["prompts"].p == 1
    assert parts["prompts"].interval.low == 0
    assert parts["rest"].variance == pytest.approx(0)
    assert parts["problems"].variance == pytest.approx(values.var(ddof=1))


def test_an_answer_that_follows_the_order_is_problems_by_orders():
    values = np.zeros((40, 5, 2, 1))
    values[::2, :, 0] = 1
    values[1::2, :, 1] = 1
    parts = found(values)
    total = sum(max(part.variance, 0) for part in parts.values())
    assert parts["problems.orders"].variance / total == pytest.approx(1, abs=0.01)


def test_a_factor_with_one_level_has_no_component():
    assert list(found(right_or_wrong((20, 1, 2, 1)))) == ["orders", "problems", "rest"]
    assert list(found(right_or_wrong((20, 1, 1, 1)))) == ["problems"]


def test_one_unit_says_nothing():
    parts = found(right_or_wrong((6, 2, 1)), ("prompts",), Units(np.zeros(6, np.int64)))
    assert all(part.interval.low == 0 and part.interval.high == math.inf for part in parts.values())
    assert parts["prompts"].p == 1


def test_an_array_without_an_axis_for_each_factor_is_refused():
    with pytest.raises(BadInput, match=r"expected an array with 4 axes, found one of shape \(3, 2, 1\)"):
        found(right_or_wrong((3, 2, 1)))
