"""Many logistic regressions as one problem: n classifiers on the same rows, each seeing its own subset.

Classifier j minimises  sum over its rows of log(1 + exp(-s (x·w + b))) + |w|² / (2C),  s = ±1, b unpenalised, which is
scikit-learn's LogisticRegression(C=C). All columns of theta = (w; b) advance together: a gradient is two matrix
products over all rows, whichever rows each column sees. The directions are those of L-BFGS, column by column, in the
metric of one matrix P that all columns share, since random subsets of the same rows have nearly the same curvature.

No loss is computed. Each objective is convex, so its slope along the direction at the new point tells whether a step
went too far; if so, the secant through the two slopes says how far to go instead.

Arrays are NumPy's or torch's; the code uses only what the two have in common.

Across the phases of AFLite, P is the Hessian that all current rows would have at the mean classifier, scaled to the
size of a training subset. Computing it costs as much as several gradients, so it is kept: rows that leave are taken out
of it, and it is made anew only when fits take more steps than they did when it was fresh. Every fit starts from the
mean of the classifiers before it, which is closer to a new one than any single one is.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from winokit.methods.aflite.inputs import Ints
from winokit.methods.aflite.rows import FeatureRows

Array = Any  # numpy.ndarray or torch.Tensor
MEMORY = 10  # pairs of steps and gradient changes remembered
TOO_FAR = 0.5  # of the slope at the start, with the other sign
MOST_TRIES = 30
ROUGH = 0.2  # log-odds, as the tolerances
PATIENCE = 1  # steps more than with a fresh metric before it is made anew
# Log-odds a fit may still change by, root mean square: what float32 reaches with ease, and what float64 is for.
TOLERANCES = {"float32": 2e-3, "float64": 1e-7}


@dataclass(frozen=True)
class LogisticFit:
    """Solutions as columns, and how the work went."""

    theta: Array
    iterations: int
    evaluations: int
    error: Array  # what is left, one number per column, in the unit of the tolerance


_Pair = tuple[Array, Array, Array, Array]
"""One remembered step: s, the change y of the gradient, P⁻¹y, and 1 / s·y (0 where a column did not move)."""


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
        moved, change = step * direction, g_new - g
        theta = theta + moved
        # A pair counts where the gradient grew along the step, as it must where rounding does not drown it.
        curvature = dots(moved, change)
        good = curvature > 0
        pairs = [*pairs[-MEMORY + 1 :], (moved, change, u_new - u, good / (curvature * good + ~good))]
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
    for step, change, solved, rho in reversed(pairs):
        weight = rho * dots(step, g)
        weights.append(weight)
        g = g - weight * change
        u = u - weight * solved
    for (step, change, _, rho), weight in zip(pairs, reversed(weights), strict=True):
        u = u + (weight - rho * dots(change, u)) * step
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


class ClassifierEnsemble:
    """n logistic regressions on random subsets of shared rows, phase after phase."""

    def __init__(self, rows: FeatureRows, regularisation: float, tolerance: float, max_steps: int) -> None:
        self.rows = rows
        self.tolerance = tolerance
        self.max_steps = max_steps
        self.mean = rows.zeros(rows.width + 1, 1)
        self.gram: Array = None
        self.fresh_steps: int | None = None  # that the first fit with this metric took
        self.stale = True
        # The intercept is not penalised.
        self._ridge = rows.zeros(rows.width + 1, 1) + 1 / regularisation
        self._ridge[-1] = 0

    def fit(self) -> LogisticFit:
        """Fit all classifiers to the partitions drawn last."""
        if self.gram is None:
            # Of classifiers that know nothing yet: good enough to come near the mean, and no further.
            self.gram = self.rows.gram(self.mean)
            self.mean = self._minimised(ROUGH).theta.mean(1)[:, None]
        if self.stale:
            self.gram, self.fresh_steps = self.rows.gram(self.mean), None
        fit = self._minimised(self.tolerance)
        self.fresh_steps = fit.iterations if self.fresh_steps is None else self.fresh_steps
        self.stale = fit.iterations > self.fresh_steps + PATIENCE
        self.mean = fit.theta.mean(1)[:, None]
        return fit

    def _minimised(self, tolerance: float) -> LogisticFit:
        share = self.rows.plan.train_size / self.rows.count
        inverse = self.rows.inverse(self.gram * share, self._ridge)
        return minimise(
            lambda theta: self.rows.gradient(theta) + self._ridge * theta,
            lambda g: inverse @ g,
            self.mean,
            tolerance=tolerance,
            # The gram's last entry is the sum of the curvatures of all rows.
            size=float(self.gram[-1, -1]) * share,
            most=self.max_steps,
        )

    def drop(self, positions: Ints) -> None:
        """Let rows go, and with them their part of the metric."""
        self.gram = self.gram - self.rows.drop(positions)

    def state(self) -> dict[str, Any]:
        """What the next phase depends on, as NumPy arrays."""
        host = self.rows.to_numpy
        return {
            "mean": host(self.mean),
            "gram": host(self.gram),
            "weights": host(self.rows.weights)[np.argsort(self.rows.numbers)],
            "fresh_steps": -1 if self.fresh_steps is None else self.fresh_steps,
            "stale": self.stale,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from such a state."""
        device = self.rows.from_numpy
        self.mean, self.gram = device(state["mean"]), device(state["gram"])
        # Kept by number: workers may hold the rows in another order now.
        self.rows.weights = device(state["weights"][np.argsort(np.argsort(self.rows.numbers))])
        steps = int(state["fresh_steps"])
        self.fresh_steps, self.stale = None if steps < 0 else steps, bool(state["stale"])
