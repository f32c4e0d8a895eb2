"""Many logistic regressions as one problem: n classifiers on the same rows, each seeing its own subset.

Classifier j minimises  sum over its rows of log(1 + exp(-s (x·w + b))) + |w|² / (2C),  s = ±1, b unpenalised, which is
scikit-learn's LogisticRegression(C=C). All columns of theta = (w; b) advance together: a gradient is two matrix
products over all rows, whichever rows each column sees. The directions are those of L-BFGS, column by column, in the
metric of one matrix P that all columns share, since random subsets of the same rows have nearly the same curvature.

No loss is computed. Each objective is convex, so its slope along the direction at the new point tells whether a step
went too far; if so, the secant through the two slopes says how far to go instead.

Arrays are NumPy's or torch's; the code uses only what the two have in common.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Array = Any  # numpy.ndarray or torch.Tensor
MEMORY = 10  # pairs of steps and gradient changes remembered
TOO_FAR = 0.5  # of the slope at the start, with the other sign
MOST_TRIES = 30


@dataclass(frozen=True)
class LogisticFit:
    """Solutions as columns, and how the work went."""

    theta: Array
    iterations: int
    evaluations: int
    error: Array  # what is left, one number a column, in the unit of the tolerance


@dataclass(frozen=True)
class _Pair:
    """One remembered step: s, the change y of the gradient, P⁻¹y, and 1 / s·y (0 where a column did not move)."""

    step: Array
    change: Array
    solved: Array
    rho: Array


def minimise(
    gradient: Callable[[Array], Array],
    solve: Callable[[Array], Array],
    start: Array,
    *,
    tolerance: float,
    size: float = 1.0,
    most: int = 500,
) -> LogisticFit:
    """Minimise every column from `start`, which may be one column for all; `solve` applies P⁻¹.

    A column is done when sqrt(g·P⁻¹g / size) is at most `tolerance`. With P close to the Hessian and `size` the sum of
    the rows' curvatures p(1 - p), that is the root mean square, weighted by them, of what its log-odds will still
    change by: rows on the verge of either answer count most.
    """
    theta, evaluations = start, 1
    g = gradient(theta)
    u = solve(g)
    pairs: list[_Pair] = []
    for iteration in range(most + 1):
        error = (dots(g, u) / size) ** 0.5
        active = error > tolerance
        if iteration == most or not bool(active.any()):
            break
        direction = -(_direction(g, u, pairs) * active)
        step, g_new, tries = _walk(gradient, theta, direction, dots(g, direction))
        evaluations += tries
        u_new = solve(g_new)
        moved = step * direction
        theta = theta + moved
        pairs = [*pairs[-MEMORY + 1 :], _remembered(moved, g_new - g, u_new - u)]
        g, u = g_new, u_new
    return LogisticFit(theta, iteration, evaluations, error)


def dots(a: Array, b: Array) -> Array:
    """Inner products, column by column."""
    return (a * b).sum(0)


def _direction(g: Array, u: Array, pairs: list[_Pair]) -> Array:
    """L-BFGS's estimate of the inverse Hessian, times g, starting from P⁻¹; u is P⁻¹g."""
    if not pairs:
        return u
    weights = []
    for pair in reversed(pairs):
        weight = pair.rho * dots(pair.step, g)
        weights.append(weight)
        g = g - weight * pair.change
        u = u - weight * pair.solved
    for pair, weight in zip(pairs, reversed(weights), strict=True):
        u = u + (weight - pair.rho * dots(pair.change, u)) * pair.step
    return u


def _walk(gradient: Callable[[Array], Array], theta: Array, direction: Array, slope: Array) -> tuple[Array, Array, int]:
    """How far each column goes, the gradient there, and how many gradients that took."""
    step = slope * 0 + 1
    for tries in range(1, MOST_TRIES + 1):
        g_new = gradient(theta + step * direction)
        new_slope = dots(g_new, direction)
        far = new_slope > -TOO_FAR * slope
        if tries == MOST_TRIES or not bool(far.any()):
            break
        near = 1.0 * ~far  # whose step stays as it is
        step = step * (slope * far - near) / ((slope - new_slope) * far - near)
    return step, g_new, tries


def _remembered(step: Array, change: Array, solved: Array) -> _Pair:
    """A pair that counts where the gradient grew along the step, as it must where rounding does not drown it."""
    curvature = dots(step, change)
    good = curvature > 0
    return _Pair(step, change, solved, good / (curvature * good + ~good))
