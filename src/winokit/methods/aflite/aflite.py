"""AFLite, adversarial filtering: removes rows that weak linear classifiers predict too well.

Sakaguchi, Le Bras, Bhagavatula and Choi, "WinoGrande" (2020), Algorithm 1, https://arxiv.org/abs/1907.10641.

Phase after phase, an ensemble of logistic regressions is trained on random subsets of the rows that are left. A row's
score is the share of classifiers that predict it rightly among those that did not train on it. The `cutoff` rows with
the highest scores leave, if these reach the threshold; it ends when fewer than that many do, or when no more rows are
left than a classifier trains on. The short last slice leaves too, as in the printed algorithm.

What the paper leaves open is decided here, and recorded in `settings_`:

- ties at the cut-off are broken at random, by the seed (`ties="order"`: the first rows leave);
- a row without a prediction has no score and stays; `min_predictions` can ask for more than one;
- subsets are drawn independently and without replacement; `stratified=True` keeps the share of the answers in them;
- `twins="apart"` treats rows singly, as the paper; `"together"` keeps a unit (`groups` of `fit`) on one side of a
  partition, pools its members' predictions into one score, and keeps or removes it whole (a subset or a slice may then
  be larger than asked by less than one unit);
- classifiers are scikit-learn's LogisticRegression(C=regularisation): L2, features as they are, intercept free.
"""

import time
from collections.abc import Callable
from copy import copy
from dataclasses import KW_ONLY, asdict, dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from winokit.errors import BadInput, UnusedSetting
from winokit.methods.aflite import checkpoint, inputs
from winokit.methods.aflite.checkpoint import AfliteRun
from winokit.methods.aflite.logistic import TOLERANCES, ClassifierEnsemble
from winokit.methods.aflite.methods import DebiasArm, DebiasMethod, DebiasRows, Seed, Twins
from winokit.methods.aflite.rows import Backend, FeatureRows, FitPlan, Keys, blas_threads, chosen, hold, keys, salts
from winokit.methods.arrays import Groups
from winokit.progress import Progress
from winokit.settings import Help

ROWS_PER_CUT = 88  # the paper's cut-off of 500 on its 44,000 rows


@dataclass(frozen=True)
class Phase:
    """Summary of one phase."""

    number: int
    rows: int  # at its start
    removed: int
    at_threshold: int  # rows whose score reached the threshold
    empty: int  # rows with fewer predictions than `min_predictions`
    accuracy: float  # of all held-out predictions: a linear probe of the rows at its start
    steps: int
    not_converged: int  # classifiers
    seconds: float


@dataclass(eq=False)
class AFLite(DebiasMethod):
    """Adversarial filtering with `ensemble_size` linear classifiers per phase.

    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(2, size=400)
    >>> X = rng.normal(size=(400, 8))
    >>> X[:100, 0] += 6 * y[:100] - 3  # a quarter of the rows gives its answer away
    >>> fitted = AFLite(train_size=200, cutoff=20, seed=1).fit(X, y)
    >>> bool(fitted.keep_[:100].mean() < fitted.keep_[100:].mean())
    True
    """

    name = "aflite"
    title = "AFLite"
    score_title = "Score"
    needs_features = True
    ensemble_size: Annotated[int, Help("Classifiers per phase.", least=1)] = 64
    train_size: Annotated[
        int | None, Help("Training problems per classifier. Default: 10,000, or 40 % of smaller data.", least=1)
    ] = None
    cutoff: Annotated[
        int | None, Help("Maximum problems to remove per phase. Default: proportional, 500 per 44,000.", least=1)
    ] = None
    threshold: Annotated[
        float, Help("Minimum share of right predictions for a problem to be removed.", above=0.5, most=1)
    ] = 0.75
    seed: Seed = 0
    _: KW_ONLY
    regularisation: Annotated[float, Help("C of the logistic regressions (L2).", above=0, section="aflite")] = 1.0
    twins: Twins = "apart"
    stratified: Annotated[bool, Help("Keep the proportion of answers in training subsets.", section="aflite")] = False
    ties: Annotated[
        Literal["random", "order"],
        Help("Tie-break at the cutoff: random or order.", noun="way to break ties", section="aflite"),
    ] = "random"
    min_predictions: Annotated[int, Help("Minimum number of predictions for a score.", least=1, section="aflite")] = 1
    stop_below: Annotated[
        float | None,
        Help(
            "Stop when the ensemble's held-out accuracy falls below this; 0.5 is chance.",
            least=0,
            most=1,
            section="aflite",
        ),
    ] = None
    tolerance: Annotated[
        float | None, Help("Tolerance of the solver. Default: depends on the precision.", above=0, section="aflite")
    ] = None
    max_steps: Annotated[int, Help("Maximum steps of the solver.", least=1, section="aflite")] = 300
    backend: Annotated[Backend, Help("auto, numpy, torch, torch:cpu, torch:cuda or ray.", "NAME", also="engine")] = (
        "auto"
    )
    workers: Annotated[
        int | None, Help("Number of Ray workers. Default: one per core.", least=1, section="cluster")
    ] = None
    address: Annotated[str | None, Help("A Ray cluster. Default: this machine.", section="cluster")] = None
    checkpoint: Path | str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for option in ("workers", "address"):
            if self.backend != "ray" and getattr(self, option) is not None:
                raise UnusedSetting(option, "a setting of --engine ray")
        if self.stratified and self.twins == "together":
            raise BadInput("stratified subsets need twins apart: a unit has rows of both answers")

    def fit(
        self, X: Any, y: ArrayLike, groups: Groups | None = None, progress: Callable[[Phase], None] | None = None
    ) -> "AFLite":
        """Filter rows X (an array or `open_features`) by answers y (two values).

        `groups` names what varies together, `Dataset.units.numbers` for problems; None for a row alone. With twins
        together these stay or go whole.
        """
        X = inputs.checked_features(X)
        y = inputs.checked_answers(y, len(X))
        self.n_features_in_ = X.shape[1]
        self.settings_ = self._resolve_settings(X)
        units = inputs.unit_numbers(groups if self.twins == "together" else None, len(X))
        run = AfliteRun.fresh(len(X))
        identity = ""
        if self.checkpoint:
            identity = checkpoint.identity(X, y, units, self.settings_)
            run = checkpoint.resume(Path(self.checkpoint), identity) or run
        plan = FitPlan(self.seed, self.ensemble_size, self.settings_["train_size"], strata=2 if self.stratified else 1)
        ray = {"workers": self.workers, "address": self.address}
        rows = hold(X, y, units, run.numbers, plan, self.settings_["backend"], **ray)
        ensemble = ClassifierEnsemble(rows, self.regularisation, self.settings_["tolerance"], self.max_steps)
        if run.ensemble:
            ensemble.restore(run.ensemble)
        while not run.over and rows.count > plan.train_size:
            with blas_threads(1):
                phase = self._run_phase(run, rows, ensemble, units)
            run.numbers = rows.numbers
            if self.checkpoint:
                run.ensemble = ensemble.state()
                checkpoint.save(Path(self.checkpoint), run, identity)
            if progress:
                progress(phase)
        self.phase_ = run.phase
        self.keep_ = run.phase < 0
        self.scores_ = run.scores
        self.first_scores_ = run.first_scores
        self.history_ = [Phase(**phase) for phase in run.history]
        return self

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The settings, as scikit-learn asks for them."""
        return self.given()

    def set_params(self, **params: Any) -> "AFLite":
        """Change settings, as scikit-learn does. Each is checked."""
        checked = replace(self, **params)
        for name in params:
            setattr(self, name, getattr(checked, name))
        return self

    def __sklearn_tags__(self) -> Any:
        """Tags for scikit-learn: two answers, and no predictions."""
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        binary = ClassifierTags(multi_class=False)
        return Tags(None, TargetTags(required=True), classifier_tags=binary, input_tags=InputTags())

    def arm(self, rows: DebiasRows, size: int | None = None, progress: Progress | None = None) -> DebiasArm:
        """Fit the features of the rows.

        With a `size`, the rows removed last are restored until that many are kept.
        """

        def after(phase: Phase) -> None:
            if progress:
                left = phase.rows - phase.removed
                progress(len(rows) - left, len(rows) - self.settings_["train_size"])

        self.fit(rows.x, rows.y, rows.unit_names, after)
        history = tuple(asdict(phase) for phase in self.history_)
        whole = rows.unit_names if self.twins == "together" else None
        arm = DebiasArm(self.name, self.keep_, dict(self.settings_), self.scores_, self.phase_, history, whole)
        missing = 0 if size is None else size - int(arm.keep.sum())
        if missing <= 0:
            return arm
        keep = arm.keep.copy()
        keep[arm.removal_order[len(arm.removal_order) - missing :]] = True
        return replace(arm, keep=keep, settings={**arm.settings, "cut_back_to": size})

    def again(self, seed: int) -> "AFLite":
        """The same filter with another seed, no checkpoint, and the settings that this run derived from its data."""
        other = copy(self)
        other.seed = seed
        other.checkpoint = None
        other.train_size = self.settings_["train_size"]
        other.cutoff = self.settings_["cutoff"]
        return other

    def _run_phase(self, run: AfliteRun, rows: FeatureRows, ensemble: ClassifierEnsemble, units: inputs.Ints) -> Phase:
        """Draw, fit, predict, and remove the best-predicted rows."""
        started = time.perf_counter()
        number = len(run.history) + 1
        count = rows.count
        rows.draw(number)
        fit = ensemble.fit()
        right, made = rows.votes()
        enough = made >= self.min_predictions
        scores = right / np.maximum(made, 1)
        scores[~enough] = np.nan
        accuracy = float(right.sum() / made.sum())
        if self.twins == "apart":
            leaving = self._select_best(number, scores, rows.numbers)
        else:
            leaving = self._select_units(number, right, made, units[rows.numbers])
        if self.stop_below is not None and accuracy < self.stop_below:
            leaving = leaving[:0]
        run.scores[rows.numbers] = scores
        if number == 1:
            run.first_scores = run.scores.copy()
        run.phase[rows.numbers[leaving]] = number
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

    def _select_units(self, phase: int, right: inputs.Ints, made: inputs.Ints, units: inputs.Ints) -> inputs.Ints:
        """Return positions of rows to remove, in whole units with pooled predictions."""
        kinds, unit_of, sizes = np.unique(units, return_inverse=True, return_counts=True)
        right = np.bincount(unit_of, right)
        made = np.bincount(unit_of, made)
        scores = np.where(made >= self.min_predictions * sizes, right / np.maximum(made, 1), np.nan)
        leaving = np.zeros(len(kinds), dtype=bool)
        leaving[self._select_best(phase, scores, kinds, sizes)] = True
        return np.flatnonzero(leaving[unit_of])

    def _select_best(
        self, phase: int, scores: inputs.Floats, numbers: inputs.Ints, sizes: inputs.Ints | None = None
    ) -> inputs.Ints:
        """Return positions to remove: the best `cutoff` rows that reach the threshold."""
        cutoff = self.settings_["cutoff"]

        def ranks(positions: inputs.Ints) -> Keys:
            own = numbers[positions].astype(np.uint32)
            return keys(own, salts(self.seed, phase, [-1]))[:, 0] if self.ties == "random" else own

        able = np.flatnonzero(scores >= self.threshold)
        if len(able) > cutoff:  # thousands may share the best score: only what can leave is put in order
            reached = scores[able]
            last = np.partition(reached, -cutoff)[-cutoff]
            tied = able[reached == last]
            tied = tied[np.argpartition(ranks(tied), min(cutoff, len(tied)) - 1)[:cutoff]]
            able = np.append(able[reached > last], tied)
        best = able[np.lexsort((ranks(able), -scores[able]))]
        if sizes is None:
            return np.sort(best[:cutoff])
        removed_before = np.cumsum(sizes[best]) - sizes[best]
        return np.sort(best[removed_before < cutoff])

    def _resolve_settings(self, X: inputs.Floats) -> dict[str, Any]:
        """Return all settings, with those that depend on the data."""
        count = len(X)
        train_size = min(10_000, round(0.4 * count)) if self.train_size is None else self.train_size
        if not 0 < train_size < count:
            raise BadInput(f"train_size must be less than the {count:,} rows and more than 0; found {train_size:,}")
        unrecorded = ("workers", "address", "checkpoint")
        settings = {field.name: getattr(self, field.name) for field in fields(AFLite) if field.name not in unrecorded}
        settings["train_size"] = train_size
        settings["classifier"] = "logistic regression, L2, free intercept, features as they are"
        settings["precision"] = inputs.precision(X)
        settings["backend"] = chosen(self.backend)
        if self.cutoff is None:
            settings["cutoff"] = max(1, round(count / ROWS_PER_CUT))
        if self.tolerance is None:
            settings["tolerance"] = TOLERANCES[settings["precision"]]
        return settings


@dataclass(eq=False, kw_only=True)
class RepeatedAFLite(AFLite):
    """Remove the problems that linear classifiers of their features predict too well (Sakaguchi et al., 2020).

    The state is kept after every phase: after an interruption, the same command continues.
    """

    null_runs: Annotated[
        int,
        Help(
            "Maximum runs on relabelled problems, to measure what chance removes: at least 19, or 0 for none.",
            least=0,
            section="aflite",
        ),
    ] = 39
    seeds: Annotated[
        int,
        Help("How many seeds to run, from --seed on; the first one's problems are kept.", least=1, section="aflite"),
    ] = 3
    majority: Annotated[
        bool, Help("Instead, keep the problems that more than half of the seeds keep.", section="aflite")
    ] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.majority and self.seeds == 1:
            raise BadInput("expected 2 seeds or more for a majority (--set seeds); found 1")

    def others(self) -> list[AFLite]:
        """The same filter, once fitted, with the seeds that follow, each with a checkpoint beside the first one's."""
        others = [self.again(self.seed + number) for number in range(1, self.seeds)]
        for number, other in enumerate(others, 1):
            if self.checkpoint is not None:
                first = Path(self.checkpoint)
                other.checkpoint = first.with_stem(f"{first.stem}-{number}")
        return others
