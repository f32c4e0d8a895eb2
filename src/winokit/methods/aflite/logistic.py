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
    """Solutions as columns, and how the work went."""

    theta: Array
    iterations: int
    evaluations: int
    error: Array  # what is left, one number per column, in the unit of the tolerance


_Pair = tuple[Array, Array, Array, Array]
"""One remembered step: s, the change y of the gradient, P⁻¹y, and 1 / s·y (0 where a column did not move)."""


class Descent(NamedTuple):
    """State of all columns in the descent."""

    theta: Array
    g: Array
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
    known: tuple[Array, Array] | None = None  # a step, and how the gradient changes along it

    def begin(self, theta: Array) -> Descent:
        """Columns at `theta`, which may be one for all."""
        g = self.gradient(theta)
        at = Descent(theta, g, self.solve(g))
        return at if self.known is None else at._replace(pairs=(_make_pair(*self.known, self.solve(self.known[1])),))

    def error(self, at: Descent) -> Array:
        """Remaining error of each column, in the unit of the tolerance."""
        return (dots(at.g, at.u) / self.size) ** 0.5

    def arrive(self, at: Descent, moved: Array, g: Array) -> Descent:
        """Columns that moved so far and found the gradient g there."""
        u = self.solve(g)
        return Descent(at.theta + moved, g, u, (*at.pairs[-MEMORY + 1 :], _make_pair(moved, g - at.g, u - at.u)))

    def run_ahead(self, theta: Array) -> Iterator[tuple[Descent, Array, Array]]:
        """Take whole steps without looking at the numbers on the way, so that a GPU can do them in one go.

        Yields, at the start and after each step, where the columns stand, how many of the steps were needed, and how
        many columns went too far in one: if any did, no step counts.
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
    """Minimise every column from `start`, which may be one column for all, or from where a lead of steps has led."""
    at, taken = lead or (objective.begin(start), 0)
    evaluations = taken + 1
    for iteration in range(taken, most + 1):
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
    """A step to remember: it counts where the gradient grew along it, as it must where rounding does not drown it."""
    curvature = dots(step, change)
    good = curvature > 0
    return step, change, solved, good / (curvature * good + ~good)


def _find_direction(at: Descent, active: Array) -> Array:
    """Return a descent direction per column, by L-BFGS with P⁻¹.

    Finished columns stay.
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
    return new_slope > -TOO_FAR * slope


def _search_line(
    gradient: Callable[[Array], Array], theta: Array, direction: Array, slope: Array
) -> tuple[Array, Array, int]:
    """Return the step of each column, the gradient there, and the gradients computed."""
    step = slope * 0 + 1
    for tries in range(1, MOST_TRIES + 1):
        g_new = gradient(theta + step * direction)
        new_slope = dots(g_new, direction)
        far = _is_too_far(slope, new_slope)
        if tries == MOST_TRIES or not bool(far.any()):
            break
        near = (slope * 0 + 1) * ~far  # whose step stays as it is
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
        self.steps = 0  # that the last fit took
        # The intercept is not penalised.
        self._ridge = rows.zeros(rows.width + 1, 1) + 1 / regularisation
        self._ridge[-1] = 0

    def fit(self) -> LogisticFit:
        """Fit all classifiers to the partitions drawn last."""
        if self.gram is None:
            # Of classifiers that know nothing yet: good enough to come near the mean, and no further.
            self.gram = self.rows.gram(self.mean)
            self.mean = self._minimise_from_mean(ROUGH).theta.mean(1)[:, None]
        if self.stale:
            self.gram = self.rows.gram(self.mean)
            self.fresh_steps = None
        fit = self._minimise_from_mean(self.tolerance, self.steps if self.rows.runs_ahead else 0)
        self.steps = fit.iterations
        self.fresh_steps = fit.iterations if self.fresh_steps is None else self.fresh_steps
        self.stale = fit.iterations > self.fresh_steps + PATIENCE
        self.mean = fit.theta.mean(1)[:, None]
        return fit

    def _minimise_from_mean(self, tolerance: float, ahead: int = 0) -> LogisticFit:
        """Minimise from the mean, with `ahead` steps before the first check."""
        share = self.rows.plan.train_size / self.rows.count
        size = self.gram[-1, -1] * share  # the gram's last entry is the sum of the curvatures of all rows
        # Where fits take long, classifiers are far from their mean, and what is known there would mislead them.
        near = self.fresh_steps is not None and self.fresh_steps <= MEMORY
        curvature = self.rows.curvature(self.mean) if near else None
        known = None
        if curvature is not None:
            known = (self.mean, curvature * share + self._ridge * self.mean)

        def objective(inverse: Array, size: Array) -> Objective:
            def gradient(theta: Array) -> Array:
                return self.rows.gradient(theta) + self._ridge * theta

            return Objective(gradient, lambda g: inverse @ g, tolerance, size, known)

        if ahead:
            inverse, doubt = self.rows.refined_inverse(self.gram * share, self._ridge)
            at, *counts = self.rows.recorded(
                lambda start, *given: objective(*given).run_ahead(start), ahead, self.mean, inverse, size
            )
            needed, too_far, doubt = self.rows.look([*counts, doubt])
            if not too_far and doubt < CLOSE:
                return minimise(objective(inverse, size), self.mean, most=self.max_steps, lead=(at, int(needed)))
        inverse = self.rows.inverse(self.gram * share, self._ridge)
        return minimise(objective(inverse, size), self.mean, most=self.max_steps)

    def drop(self, positions: Ints) -> None:
        """Let rows go, and with them their part of the metric."""
        self.gram = self.gram - self.rows.drop(positions)

    def state(self) -> dict[str, Any]:
        """State that the next phase depends on, as NumPy arrays."""
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
        """Go on from such a state."""
        device = self.rows.from_numpy
        self.mean = device(state["mean"])
        self.gram = device(state["gram"])
        # Kept by number: workers may hold the rows in another order now.
        self.rows.weights = device(state["weights"][np.argsort(np.argsort(self.rows.numbers))])
        steps = int(state["fresh_steps"])
        self.fresh_steps = None if steps < 0 else steps
        self.stale = bool(state["stale"])
