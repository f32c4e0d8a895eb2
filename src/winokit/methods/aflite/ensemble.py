"""All classifiers of a phase, fitted together, and what one phase teaches the next.

The shared metric P is the Hessian that all current rows would have at the mean classifier, scaled to the size of a
training subset. Computing it costs as much as several gradients, so it is kept: rows that leave are taken out of it,
and it is made anew only when fits take more steps than they did when it was fresh. Every fit starts from the mean of
the classifiers before it, which is closer to a new one than any single one is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from winokit.methods.aflite.logistic import Array, LogisticFit, minimise
from winokit.methods.aflite.rows import FeatureRows, FitPlan

ROUGH = 0.2  # log-odds, as the tolerances
PATIENCE = 1  # steps more than with a fresh metric before it is made anew
# Log-odds a fit may still change by, root mean square: what float32 reaches with ease, and what float64 is for.
TOLERANCES = {"float32": 2e-3, "float64": 1e-7}


class ClassifierEnsemble:
    """n logistic regressions on random subsets of shared rows, phase after phase."""

    def __init__(
        self, rows: FeatureRows, plan: FitPlan, regularisation: float, tolerance: float, max_steps: int
    ) -> None:
        self.rows = rows
        self.plan = plan
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
        found = self._minimised(self.tolerance)
        self.fresh_steps = found.iterations if self.fresh_steps is None else self.fresh_steps
        self.stale = found.iterations > self.fresh_steps + PATIENCE
        self.mean = found.theta.mean(1)[:, None]
        return found

    def _minimised(self, tolerance: float) -> LogisticFit:
        share = self.plan.train_size / self.rows.count
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

    def drop(self, positions: npt.NDArray[np.int64]) -> None:
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
