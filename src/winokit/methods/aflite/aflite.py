"""AFLite, adversarial filtering (WinoGrande, Algorithm 1): rows that weak linear classifiers predict too well leave.

Phase after phase, an ensemble of logistic regressions is trained on random subsets of the rows that are left. A row's
score is the share of classifiers that predict it rightly among those that did not train on it. The `cutoff` rows with
the highest scores leave, if these reach the threshold; it ends when fewer than that many do, or when no more rows are
left than a classifier trains on. The short last slice leaves too, as in the printed algorithm.

What the paper leaves open is decided here, and recorded in `settings_`:

- ties at the cut-off are broken at random, by the seed (`ties="order"`: the first rows leave);
- a row without a prediction has no score and stays; `min_predictions` can ask for more than one;
- subsets are drawn independently and without replacement; `stratified=True` keeps the share of the answers in them;
- `twins="apart"` treats rows singly, as the paper; `"together"` keeps a group on one side of a partition, pools its
  members' predictions into one score, and keeps or removes it whole (a subset or a slice may then be larger than asked
  by less than one group);
- classifiers are scikit-learn's LogisticRegression(C=regularisation): L2, features as they are, intercept free.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from winokit.errors import BadInput, UnknownName
from winokit.methods.aflite import checkpoint
from winokit.methods.aflite.checkpoint import AfliteRun
from winokit.methods.aflite.inputs import (
    Ints,
    checked_answers,
    checked_features,
    precision,
    unit_numbers,
)
from winokit.methods.aflite.logistic import TOLERANCES, ClassifierEnsemble
from winokit.methods.aflite.partitions import keys, salts
from winokit.methods.aflite.rows import FeatureRows, FitPlan, Votes, chosen, hold

Progress = Callable[["Phase"], None]
TWINS = ("apart", "together")
TIES = ("random", "order")
ROWS_PER_CUT = 88  # the paper's cut-off of 500 on its 44,000 rows


@dataclass(frozen=True)
class Phase:
    """What one phase did."""

    number: int
    rows: int  # at its start
    removed: int
    at_threshold: int  # rows whose score reached the threshold
    empty: int  # rows with fewer predictions than `min_predictions`
    accuracy: float  # of all held-out predictions: a linear probe of the rows at its start
    steps: int
    not_converged: int  # classifiers
    seconds: float


class AFLite:
    """Adversarial filtering with `n` linear classifiers a phase.

    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(2, size=400)
    >>> X = rng.normal(size=(400, 8))
    >>> X[:100, 0] += 6 * y[:100] - 3  # a quarter of the rows gives its answer away
    >>> found = AFLite(train_size=200, cutoff=20, seed=1).fit(X, y)
    >>> bool(found.keep_[:100].mean() < found.keep_[100:].mean())
    True
    """

    def __init__(
        self,
        ensemble_size: int = 64,
        train_size: int | None = None,
        cutoff: int | None = None,
        threshold: float = 0.75,
        seed: int = 0,
        *,
        regularisation: float = 1.0,
        twins: str = "apart",
        stratified: bool = False,
        ties: str = "random",
        min_predictions: int = 1,
        stop_below: float | None = None,
        tolerance: float | None = None,
        max_steps: int = 300,
        backend: str = "auto",
        workers: int | None = None,
        address: str | None = None,
        checkpoint: Path | str | None = None,
    ) -> None:
        self.ensemble_size = ensemble_size
        self.train_size = train_size
        self.cutoff = cutoff
        self.threshold = threshold
        self.seed = seed
        self.regularisation = regularisation
        self.twins = twins
        self.stratified = stratified
        self.ties = ties
        self.min_predictions = min_predictions
        self.stop_below = stop_below
        self.tolerance = tolerance
        self.max_steps = max_steps
        self.backend = backend
        self.ray = {"workers": workers, "address": address}
        self.checkpoint = None if checkpoint is None else Path(checkpoint)
        self._check()

    def fit(
        self,
        X: Any,
        y: npt.ArrayLike,
        groups: Sequence[Any] | npt.NDArray[Any] | None = None,
        progress: Progress | None = None,
    ) -> AFLite:
        """Filter rows X (an array or `open_features`) by answers y (two values); `groups` has None for a row alone."""
        X = checked_features(X)
        y = checked_answers(y, len(X))
        self.settings_ = self._decide(X)
        units = unit_numbers(groups if self.twins == "together" else None, len(X))
        run, save = self._begin(X, y, units)
        strata = y if self.stratified else np.zeros_like(y)
        plan = FitPlan(self.seed, self.ensemble_size, self.settings_["train_size"], strata=2 if self.stratified else 1)
        rows = hold(X, y, units, strata, run.numbers, plan, self.settings_["backend"], **self.ray)
        ensemble = ClassifierEnsemble(rows, plan, self.regularisation, self.settings_["tolerance"], self.max_steps)
        if run.ensemble:
            ensemble.restore(run.ensemble)
        while not run.over and rows.count > plan.train_size:
            phase = self._phase(run, rows, ensemble, units)
            run.numbers = rows.numbers
            save(run, ensemble)
            if progress:
                progress(phase)
        self.phase_ = run.phase
        self.keep_ = run.phase < 0
        self.scores_, self.first_scores_ = run.scores, run.first_scores
        self.history_ = [Phase(**phase) for phase in run.history]
        return self

    def again(self, seed: int) -> AFLite:
        """The same filter with another seed and no file of its own, its choices those made for this fitted run."""
        other = copy(self)
        other.seed, other.checkpoint = seed, None
        other.train_size, other.cutoff = self.settings_["train_size"], self.settings_["cutoff"]
        return other

    def _phase(self, run: AfliteRun, rows: FeatureRows, ensemble: ClassifierEnsemble, units: Ints) -> Phase:
        """Draw, fit, predict, and let the best-predicted rows go."""
        started, number, count = time.perf_counter(), len(run.history) + 1, rows.count
        rows.draw(number)
        fit = ensemble.fit()
        votes = rows.votes()
        enough = votes.made >= self.min_predictions
        scores = np.where(enough, votes.right / np.maximum(votes.made, 1), np.nan)
        accuracy = float(votes.right.sum() / votes.made.sum())
        leaving = self._slice(number, votes, units[votes.numbers])
        if self.stop_below is not None and accuracy < self.stop_below:
            leaving = leaving[:0]
        run.scores[votes.numbers] = scores
        if number == 1:
            run.first_scores = run.scores.copy()
        run.phase[votes.numbers[leaving]] = number
        run.over = len(leaving) < self.settings_["cutoff"]
        ensemble.drop(leaving)
        phase = Phase(
            number=number,
            rows=count,
            removed=len(leaving),
            at_threshold=int((scores >= self.threshold).sum()),
            empty=int((~enough).sum()),
            accuracy=accuracy,
            steps=fit.iterations,
            not_converged=int((rows.to_numpy(fit.error) > self.settings_["tolerance"]).sum()),
            seconds=time.perf_counter() - started,
        )
        run.history.append(asdict(phase))
        return phase

    def _slice(self, phase: int, votes: Votes, units: Ints) -> Ints:
        """Positions of the rows that leave: the best-predicted `cutoff`, whole units, at or over the threshold."""
        kinds, unit_of, sizes = np.unique(units, return_inverse=True, return_counts=True)
        made = np.bincount(unit_of, votes.made)
        score = np.bincount(unit_of, votes.right) / np.maximum(made, 1)
        able = np.flatnonzero((made >= self.min_predictions * sizes) & (score >= self.threshold))
        luck = kinds if self.ties == "order" else keys(kinds.astype(np.uint32), salts(self.seed, phase, [-1]))[:, 0]
        best = able[np.lexsort((luck[able], -score[able]))]
        before = np.cumsum(sizes[best]) - sizes[best]
        leaving = np.zeros(len(kinds), dtype=bool)
        leaving[best[before < self.settings_["cutoff"]]] = True
        return np.flatnonzero(leaving[unit_of])

    def _decide(self, X: npt.NDArray[Any]) -> dict[str, Any]:
        """Every choice, those that depend on the data included."""
        count = len(X)
        train_size = min(10_000, round(0.4 * count)) if self.train_size is None else self.train_size
        if not 0 < train_size < count:
            raise BadInput(f"train_size must be less than the {count:,} rows and more than 0; found {train_size:,}")
        if self.stratified and self.twins == "together":
            raise BadInput("stratified subsets need twins apart: a group has rows of both answers")
        return {
            "ensemble_size": self.ensemble_size,
            "train_size": train_size,
            "cutoff": max(1, round(count / ROWS_PER_CUT)) if self.cutoff is None else self.cutoff,
            "threshold": self.threshold,
            "seed": self.seed,
            "classifier": "logistic regression, L2, free intercept, features as they are",
            "regularisation": self.regularisation,
            "twins": self.twins,
            "stratified": self.stratified,
            "ties": self.ties,
            "min_predictions": self.min_predictions,
            "stop_below": self.stop_below,
            "precision": precision(X),
            "tolerance": TOLERANCES[precision(X)] if self.tolerance is None else self.tolerance,
            "max_steps": self.max_steps,
            "backend": chosen(self.backend),
        }

    def _begin(
        self, X: npt.NDArray[Any], y: Ints, units: Ints
    ) -> tuple[AfliteRun, Callable[[AfliteRun, ClassifierEnsemble], None]]:
        """The run where it stands, and how to keep it."""
        if self.checkpoint is None:
            return AfliteRun.fresh(len(X)), lambda run, ensemble: None
        path, whose = self.checkpoint, checkpoint.identity(X, y, units, self.settings_)

        def save(run: AfliteRun, ensemble: ClassifierEnsemble) -> None:
            run.ensemble = ensemble.state()
            checkpoint.save(path, run, whose)

        return checkpoint.resume(path, whose) or AfliteRun.fresh(len(X)), save

    def _check(self) -> None:
        """Refuse what no run can mean."""
        positive = ("ensemble_size", "min_predictions", "regularisation", "max_steps")
        wanted = {name: getattr(self, name) for name in positive}
        wanted |= {name: getattr(self, name) for name in ("cutoff", "tolerance") if getattr(self, name) is not None}
        for name, value in wanted.items():
            if not 0 < value < math.inf:
                raise BadInput(f"{name} must be more than 0, and a number; found {value}")
        if self.stop_below is not None and not 0 <= self.stop_below <= 1:
            raise BadInput(f"stop_below is an accuracy, from 0 to 1; found {self.stop_below}")
        if not 0.5 < self.threshold <= 1:
            raise BadInput(f"the threshold must be more than 0.5 and at most 1; found {self.threshold}")
        if self.twins not in TWINS:
            raise UnknownName("way to treat twins", self.twins, TWINS)
        if self.ties not in TIES:
            raise UnknownName("way to break ties", self.ties, TIES)
