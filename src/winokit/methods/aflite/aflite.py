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
    """Summary of one phase of AFLite."""

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
        int | None, Help("Number of Ray workers. Default: one per machine.", least=1, section="cluster")
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
        """Find the rows to keep, by how well the features X predict the answers y.

        `X` is an array or the outcome of `open_features`, with one row per answer; `y` has two different values.
        `groups` gives the unit of each row, None for a row alone: `Dataset.units.numbers` for problems. With
        `twins="together"` units are kept or removed whole, otherwise they are ignored. `progress` is called after every
        phase. Sets `keep_`, `phase_` (-1 for kept rows), `scores_`, `first_scores_`, `history_` and `settings_`.
        """
        X = inputs.checked_features(X)
        y = inputs.checked_answers(y, len(X))
        self.n_features_in_ = X.shape[1]
        self.settings_ = self._resolve_settings(X)
        fitted_groups = groups if self.twins == "together" else None
        units = inputs.unit_numbers(fitted_groups, len(X))
        run = AfliteRun.fresh(len(X))
        identity = ""
        if self.checkpoint:
            identity = checkpoint.identity(X, y, units, self.settings_)
            run = checkpoint.resume(Path(self.checkpoint), identity) or run
        strata = 2 if self.stratified else 1
        plan = FitPlan(self.seed, self.ensemble_size, self.settings_["train_size"], strata)
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
        """Return the settings by name, as scikit-learn's estimators do."""
        return self.given()

    def set_params(self, **params: Any) -> "AFLite":
        """Change settings in place, as scikit-learn's estimators do.

        Raises BadInput if a value is out of bounds.
        """
        checked = replace(self, **params)
        for name in params:
            setattr(self, name, getattr(checked, name))
        return self

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: y is required and has two values."""
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        binary = ClassifierTags(multi_class=False)
        return Tags(None, TargetTags(required=True), classifier_tags=binary, input_tags=InputTags())

    def arm(self, rows: DebiasRows, size: int | None = None, progress: Progress | None = None) -> DebiasArm:
        """Filter the rows by their features, and return the rows that are kept.

        If fewer than `size` rows are kept, those removed last are restored until there are `size`.
        """

        def show_progress(phase: Phase) -> None:
            """Show the removed rows, out of the most that can be removed."""
            if progress:
                removed_count = len(rows) - (phase.rows - phase.removed)
                progress(removed_count, len(rows) - self.settings_["train_size"])

        self.fit(rows.x, rows.y, rows.unit_names, show_progress)
        history = tuple(asdict(phase) for phase in self.history_)
        unit_names = rows.unit_names if self.twins == "together" else None
        settings = dict(self.settings_)
        arm = DebiasArm(self.name, self.keep_, settings, self.scores_, self.phase_, history, unit_names)
        missing_count = 0 if size is None else size - int(arm.keep.sum())
        if missing_count <= 0:
            return arm
        keep = arm.keep.copy()
        restored_rows = arm.removal_order[-missing_count:]
        keep[restored_rows] = True
        return replace(arm, keep=keep, settings={**settings, "cut_back_to": size})

    def again(self, seed: int) -> "AFLite":
        """Return a copy of this fitted filter with another seed, to be fitted again.

        The copy has no checkpoint. Its train size and cutoff are those that this run derived from its data.
        """
        other = copy(self)
        other.seed = seed
        other.checkpoint = None
        other.train_size = self.settings_["train_size"]
        other.cutoff = self.settings_["cutoff"]
        return other

    def _run_phase(self, run: AfliteRun, rows: FeatureRows, ensemble: ClassifierEnsemble, units: inputs.Ints) -> Phase:
        """Run one phase: draw subsets, fit, predict, and remove the best-predicted rows.

        `run`, `rows` and `ensemble` are changed in place. `units` has the unit number of every row of the data.
        """
        start = time.perf_counter()
        number = len(run.history) + 1
        count = rows.count
        rows.draw(number)
        fit = ensemble.fit()
        right_counts, vote_counts = rows.votes()
        has_score = vote_counts >= self.min_predictions
        scores = right_counts / np.maximum(vote_counts, 1)
        scores[~has_score] = np.nan
        accuracy = float(right_counts.sum() / vote_counts.sum())
        if self.twins == "apart":
            positions = self._select_best(number, scores, rows.numbers)
        else:
            positions = self._select_units(number, right_counts, vote_counts, units[rows.numbers])
        if self.stop_below is not None and accuracy < self.stop_below:
            positions = positions[:0]
        removed_rows = rows.numbers[positions]
        run.scores[rows.numbers] = scores
        if number == 1:
            run.first_scores = run.scores.copy()
        run.phase[removed_rows] = number
        run.over = len(positions) < self.settings_["cutoff"]
        ensemble.drop(positions)
        is_unsolved = rows.to_numpy(fit.error) > self.settings_["tolerance"]
        phase = Phase(
            number=number,
            rows=count,
            removed=len(positions),
            at_threshold=int((scores >= self.threshold).sum()),
            empty=int((~has_score).sum()),
            accuracy=accuracy,
            steps=fit.iterations,
            not_converged=int(is_unsolved.sum()),
            seconds=time.perf_counter() - start,
        )
        run.history.append(asdict(phase))
        return phase

    def _select_units(
        self, phase: int, right_counts: inputs.Ints, vote_counts: inputs.Ints, units: inputs.Ints
    ) -> inputs.Ints:
        """Return positions of the rows to remove, in whole units.

        The predictions of a unit's rows are pooled into one score. A unit has a score if it has `min_predictions` of
        them for each of its rows. All arrays have one entry per row that is left.
        """
        unit_numbers, unit_of, sizes = np.unique(units, return_inverse=True, return_counts=True)
        unit_right = np.bincount(unit_of, right_counts)
        unit_votes = np.bincount(unit_of, vote_counts)
        has_score = unit_votes >= self.min_predictions * sizes
        scores = np.where(has_score, unit_right / np.maximum(unit_votes, 1), np.nan)
        best_units = self._select_best(phase, scores, unit_numbers, sizes)
        is_removed = np.zeros(len(unit_numbers), dtype=bool)
        is_removed[best_units] = True
        return np.flatnonzero(is_removed[unit_of])

    def _select_best(
        self, phase: int, scores: inputs.Floats, numbers: inputs.Ints, sizes: inputs.Ints | None = None
    ) -> inputs.Ints:
        """Return the positions of the `cutoff` best scores that reach the threshold, sorted.

        Scores are those of rows, or of units with `sizes` rows: then positions are taken until they have `cutoff` rows
        or more. Ties are broken by `numbers`, which do not change when other rows leave.
        """
        cutoff = self.settings_["cutoff"]
        candidates = np.flatnonzero(scores >= self.threshold)
        if len(candidates) > cutoff:  # thousands may share the best score: only what can leave is put in order
            candidate_scores = scores[candidates]
            last_score = np.partition(candidate_scores, -cutoff)[-cutoff]
            tied = candidates[candidate_scores == last_score]
            tie_count = min(cutoff, len(tied))
            tie_order = np.argpartition(self._tie_keys(phase, numbers[tied]), tie_count - 1)
            chosen_ties = tied[tie_order[:cutoff]]
            candidates = np.append(candidates[candidate_scores > last_score], chosen_ties)
        tie_keys = self._tie_keys(phase, numbers[candidates])
        best = candidates[np.lexsort((tie_keys, -scores[candidates]))]
        if sizes is None:
            return np.sort(best[:cutoff])
        removed_before = np.cumsum(sizes[best]) - sizes[best]
        return np.sort(best[removed_before < cutoff])

    def _tie_keys(self, phase: int, numbers: inputs.Ints) -> Keys:
        """Keys that order rows or units of equal scores.

        With random ties they are drawn by the seed, otherwise they are the numbers themselves.
        """
        tie_numbers = numbers.astype(np.uint32)
        if self.ties == "order":
            return tie_numbers
        salt = salts(self.seed, phase, [-1])
        return keys(tie_numbers, salt)[:, 0]

    def _resolve_settings(self, X: inputs.Floats) -> dict[str, Any]:
        """Return all settings by name, with defaults that depend on the data filled in.

        Raises BadInput if the train size does not fit the rows.
        """
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
        """Return copies of this fitted filter with the seeds that follow its own.

        There are `seeds - 1` of them. If this filter has a checkpoint, each copy has one in the same folder.
        """
        others = []
        for number in range(1, self.seeds):
            other = self.again(self.seed + number)
            if self.checkpoint is not None:
                first_path = Path(self.checkpoint)
                other.checkpoint = first_path.with_stem(f"{first_path.stem}-{number}")
            others.append(other)
        return others
