"""Many logistic regressions as one problem: n classifiers, each on a subset of the rows.

Classifier j minimises  sum over its rows of log(1 + exp(-s (x·w + b))) + |w|² / (2C),  s = ±1, b unpenalised, which is
scikit-learn's LogisticRegression(C=C). All columns of theta = (w; b) advance together: a gradient is two matrix
products over all rows, whichever rows each column sees. The directions are those of L-BFGS, column by column, in the
metric of one matrix P that all columns share, since random subsets of the same rows have nearly the same curvature.

No loss is computed. Each objective is convex, so its slope along the direction at the new point tells whether a step
went too far; if so, the secant through the two slopes says how far to go instead.

Arrays are NumPy's or torch's; the code uses only what the two have in common.

Across the phases of AFLite, P is the Hessian that all current rows would have at the mean classifier, scaled to the
size of a training subset. Computing it costs as much as several gradients, so it is kept: rows that leave are taken out
of it, and it is recomputed only when fits take more steps than they did when it was fresh. What ages first is its
curvature along the mean classifier, by up to four times: that one is measured in every phase, and is the first pair the
steps remember. Every fit starts from the mean of the classifiers before it, which is closer to a new one than any
single one is.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from winokit.methods.aflite.inputs import Ints
from winokit.methods.aflite.rows import FeatureRows

Array = Any  # numpy.ndarray or torch.Tensor
MEMORY = 10  # pairs of steps and gradient changes remembered
TOO_FAR = 0.5  # of the slope at the start, with the other sign
MOST_TRIES = 30
ROUGH = 0.2  # log-odds, as the tolerances
CLOSE = 1e-2  # how far a matrix times its inverse may be from the identity, over all entries: P only guides the steps
PATIENCE = 1  # steps more than with a fresh metric before it is recomputed
# Log-odds a fit may still change by, root mean square: what float32 reaches with ease, and what float64 is for.
TOLERANCES = {"float32": 2e-3, "float64": 1e-7}


@dataclass(frozen=True)
class LogisticFit:
    """Solutions of all columns, with the steps taken and the errors left."""

    theta: Array
    iterations: int
    evaluations: int  # of the gradient
    error: Array  # remaining error of each column, in the unit of the tolerance


_Pair = tuple[Array, Array, Array, Array]
"""One remembered step: s, the change y of the gradient, P⁻¹y, and 1 / s·y (0 where a column did not move)."""


class Descent(NamedTuple):
    """State of all columns during the descent."""

    theta: Array
    g: Array  # gradient at theta
    u: Array  # P⁻¹g
    pairs: tuple[_Pair, ...] = ()


@dataclass(frozen=True)
class Objective:
    """The function to minimise: its gradient, preconditioner and stopping rule.

    A column is done when sqrt(g·P⁻¹g / size) is at most `tolerance`. With P close to the Hessian and `size` the sum of
    the rows' curvatures p(1 - p), that is the root mean square, weighted by them, of what its log-odds will still
    change by: rows on the verge of either answer count most.
    """

    gradient: Callable[[Array], Array]
    solve: Callable[[Array], Array]
    tolerance: float
    size: Array = 1.0
    first_step: tuple[Array, Array] | None = None  # to remember from the start, and the gradient's change along it

    def begin(self, theta: Array) -> Descent:
        """Return the state before the first step.

        `theta` has one column per classifier, or one for all.
        """
        g = self.gradient(theta)
        at = Descent(theta, g, self.solve(g))
        if self.first_step is None:
            return at
        step, change = self.first_step
        pair = _make_pair(step, change, self.solve(change))
        return at._replace(pairs=(pair,))

    def error(self, at: Descent) -> Array:
        """Remaining error of each column, in the unit of the tolerance."""
        return (dots(at.g, at.u) / self.size) ** 0.5

    def arrive(self, at: Descent, step: Array, g: Array) -> Descent:
        """Return the state after a step, at whose end the gradient is g."""
        u = self.solve(g)
        recent_pairs = at.pairs[-MEMORY + 1 :]
        pair = _make_pair(step, g - at.g, u - at.u)
        return Descent(at.theta + step, g, u, (*recent_pairs, pair))

    def run_ahead(self, theta: Array) -> Iterator[tuple[Descent, Array, Array]]:
        """Take full steps without checking their outcome, so no GPU waits.

        Yields, at the start and after each step, the state, the number of steps that were needed, and the number of
        columns that went too far in a step. If any did, no step is valid.
        """
        at = self.begin(theta)
        active = self.error(at) > self.tolerance
        needed = too_far = 0 * active.sum()
        while True:
            yield at, needed, too_far
            direction = _find_direction(at, active)
            g = self.gradient(at.theta + direction)
            needed = needed + active.any()
            too_far = too_far + _is_too_far(dots(at.g, direction), dots(g, direction)).sum()
            at = self.arrive(at, direction, g)
            active = self.error(at) > self.tolerance


def minimise(
    objective: Objective, start: Array, *, most: int = 500, lead: tuple[Descent, int] | None = None
) -> LogisticFit:
    """Minimise every column, in at most `most` steps.

    `start` has one column per classifier, or one for all. `lead` is a state to continue from instead, and the number of
    steps that led there.
    """
    at, step_count = lead or (objective.begin(start), 0)
    evaluations = step_count + 1
    for iteration in range(step_count, most + 1):
        error = objective.error(at)
        active = error > objective.tolerance
        if iteration == most or not bool(active.any()):
            break
        direction = _find_direction(at, active)
        step, g, tries = _search_line(objective.gradient, at.theta, direction, dots(at.g, direction))
        evaluations += tries
        at = objective.arrive(at, step * direction, g)
    return LogisticFit(at.theta, iteration, evaluations, error)


def dots(a: Array, b: Array) -> Array:
    """Inner products, column by column."""
    return (a * b).sum(0)


def _make_pair(step: Array, change: Array, solved: Array) -> _Pair:
    """Return a step to remember, with weight 0 in columns without curvature along it.

    `change` is the change of the gradient and `solved` is P⁻¹ times it. The gradient grows along every step, unless
    rounding hides it: then the step is not used.
    """
    curvature = dots(step, change)
    is_usable = curvature > 0
    weight = is_usable / (curvature * is_usable + ~is_usable)
    return step, change, solved, weight


def _find_direction(at: Descent, active: Array) -> Array:
    """Return a descent direction per column, by L-BFGS with P⁻¹.

    `active` marks the columns that still move. The direction of all others is 0.
    """
    _, g, u, pairs = at
    weights = []
    for step, change, solved, rho in reversed(pairs):
        weight = rho * dots(step, g)
        weights.append(weight)
        g = g - weight * change
        u = u - weight * solved
    for (step, change, _, rho), weight in zip(pairs, reversed(weights), strict=True):
        u = u + (weight - rho * dots(change, u)) * step
    return -(u * active)


def _is_too_far(slope: Array, new_slope: Array) -> Array:
    """Whether each step ends on a steep slope in the other direction."""
    return new_slope > -TOO_FAR * slope


def _search_line(
    gradient: Callable[[Array], Array], theta: Array, direction: Array, slope: Array
) -> tuple[Array, Array, int]:
    """Find how far to go along the direction: a full step, unless it goes too far.

    `slope` is the slope of each column at the start. Returns the length of each column's step, the gradient at its end,
    and the number of gradients computed.
    """
    step = slope * 0 + 1
    for tries in range(1, MOST_TRIES + 1):
        g_new = gradient(theta + step * direction)
        new_slope = dots(g_new, direction)
        far = _is_too_far(slope, new_slope)
        if tries == MOST_TRIES or not bool(far.any()):
            break
        near = (slope * 0 + 1) * ~far  # whose step stays as it is
        slope_change = (slope - new_slope) * far
        step = step * (slope * far - near) / (slope_change - near)
    return step, g_new, tries


class ClassifierEnsemble:
    """Logistic regressions on random subsets of shared rows, fitted phase after phase.

    `regularisation` is scikit-learn's C. The metric is the matrix P of this module, which guides the steps and changes
    no solution.
    """

    def __init__(self, rows: FeatureRows, regularisation: float, tolerance: float, max_steps: int) -> None:
        self.rows = rows
        self.tolerance = tolerance
        self.max_steps = max_steps
        self.mean = rows.zeros(rows.width + 1, 1)
        self.gram: Array = None
        self.fresh_steps: int | None = None  # that the first fit with this metric took
        self.stale = True
        self.steps = 0  # that the last fit took
        # The intercept is not penalised.
        self._ridge = rows.zeros(rows.width + 1, 1) + 1 / regularisation
        self._ridge[-1] = 0

    def fit(self) -> LogisticFit:
        """Fit all classifiers to the subsets that were drawn last."""
        if self.gram is None:
            # The curvature at zero weights is good enough for a rough fit.
            self.gram = self.rows.gram(self.mean)
            rough_fit = self._minimise_from_mean(ROUGH)
            self.mean = rough_fit.theta.mean(1)[:, None]
        if self.stale:
            self.gram = self.rows.gram(self.mean)
            self.fresh_steps = None
        ahead = self.steps if self.rows.runs_ahead else 0
        fit = self._minimise_from_mean(self.tolerance, ahead)
        self.steps = fit.iterations
        if self.fresh_steps is None:
            self.fresh_steps = fit.iterations
        self.stale = fit.iterations > self.fresh_steps + PATIENCE
        self.mean = fit.theta.mean(1)[:, None]
        return fit

    def _minimise_from_mean(self, tolerance: float, ahead: int = 0) -> LogisticFit:
        """Minimise from the mean classifier, with `ahead` unchecked steps first.

        If the unchecked steps went too far, or the inverse is inexact, the fit starts again with an exact inverse.
        """
        share = self.rows.plan.train_size / self.rows.count
        metric = self.gram * share
        size = self.gram[-1, -1] * share  # the gram's last entry is the sum of the curvatures of all rows
        first_step = self._measure_first_step(share)

        def make_objective(inverse: Array, size: Array) -> Objective:
            """Return the objective with this inverse of the metric."""
            return Objective(self._regularised_gradient, lambda g: inverse @ g, tolerance, size, first_step)

        def run_ahead(start: Array, inverse: Array, size: Array) -> Iterator[tuple[Descent, Array, Array]]:
            """Take unchecked steps from the start."""
            return make_objective(inverse, size).run_ahead(start)

        if ahead:
            inverse, doubt = self.rows.refined_inverse(metric, self._ridge)
            at, *counts = self.rows.recorded(run_ahead, ahead, self.mean, inverse, size)
            needed, too_far, doubt = self.rows.look([*counts, doubt])
            if not too_far and doubt < CLOSE:
                lead = (at, int(needed))
                return minimise(make_objective(inverse, size), self.mean, most=self.max_steps, lead=lead)
        inverse = self.rows.inverse(metric, self._ridge)
        return minimise(make_objective(inverse, size), self.mean, most=self.max_steps)

    def _regularised_gradient(self, theta: Array) -> Array:
        """Gradient of each column's loss on its rows, with the L2 penalty."""
        return self.rows.gradient(theta) + self._ridge * theta

    def _measure_first_step(self, share: float) -> tuple[Array, Array] | None:
        """Return the mean classifier as a step, and the gradient's change along it.

        `share` is the share of rows in a training subset. None if fits take many steps: then classifiers are far from
        their mean, and its curvature would mislead them.
        """
        is_near_mean = self.fresh_steps is not None and self.fresh_steps <= MEMORY
        curvature = self.rows.curvature(self.mean) if is_near_mean else None
        if curvature is None:
            return None
        change = curvature * share + self._ridge * self.mean
        return self.mean, change

    def drop(self, positions: Ints) -> None:
        """Remove rows by position, and subtract their part of the metric.

        `positions` are indices into the rows that are left. The rows themselves are changed in place.
        """
        self.gram = self.gram - self.rows.drop(positions)

    def state(self) -> dict[str, Any]:
        """Return the state that the next phase depends on, as NumPy arrays by name.

        `weights` are the curvatures p(1 - p) of the rows, in the order of their numbers.
        """
        host = self.rows.to_numpy
        weights_by_number = host(self.rows.weights)[np.argsort(self.rows.numbers)]
        return {
            "mean": host(self.mean),
            "gram": host(self.gram),
            "weights": weights_by_number,
            "fresh_steps": -1 if self.fresh_steps is None else self.fresh_steps,
            "stale": self.stale,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from what `state` returned, in an earlier process perhaps."""
        device = self.rows.from_numpy
        self.mean = device(state["mean"])
        self.gram = device(state["gram"])
        # Weights are sorted by row number, since workers may now hold the rows in another order.
        rank_of_row = np.argsort(np.argsort(self.rows.numbers))
        self.rows.weights = device(state["weights"][rank_of_row])
        steps = int(state["fresh_steps"])
        self.fresh_steps = None if steps < 0 else steps
        self.stale = bool(state["stale"])
