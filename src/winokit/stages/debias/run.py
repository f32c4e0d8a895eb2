"""`winokit debias`: run a method, others beside it at the same size, look at what each keeps, and leave a page."""

import inspect
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import scipy

from winokit import __version__
from winokit.data.loading import Data, Limited, Loading
from winokit.errors import BadInput
from winokit.methods.aflite.aflite import AFLite, RepeatedAFLite
from winokit.methods.aflite.divergence import bins_for
from winokit.methods.aflite.inputs import Ints
from winokit.methods.aflite.methods import METHODS, DebiasArm, DebiasMethod, DebiasRows
from winokit.methods.aflite.null import NullModel, null_runs
from winokit.methods.aflite.overuse import Overused, Sides, overused_lengths, overused_polarity, overused_words
from winokit.methods.scoring.cache import CacheFile, open_cache
from winokit.models.base import Model
from winokit.models.registry import MODEL_HELP
from winokit.problem import BLANK, Dataset, Problem
from winokit.progress import Progress, begin, tell
from winokit.results import Brief, Metric
from winokit.settings import Help, Without, check_names, parameters_of, refuse_unused, signature_of, verb
from winokit.stages.debias.assessment import ALL, Assessment, DebiasMeasures, of_seed
from winokit.stages.debias.features import (
    DebiasFeatures,
    embedded,
    read_features,
    refuse_uninformed,
    without_held_out,
)
from winokit.stages.debias.page import Pictures, pictures_of
from winokit.stages.debias.table import check_folder, save
from winokit.stages.debias.verdict import warnings_of
from winokit.text.language import language_of

OUT = Path("runs/DATA-METHOD")
"""The folder of a debiasing that is typed without one; DATA and METHOD stand for their names."""
CHECKPOINT, CHECKPOINTS = "checkpoint.npz", "checkpoint*.npz"
"""Of the first seed, and of all."""
PARTS = {"seeds": "other seeds", "null": "relabelled runs", "probe": "linear probe", "removals": "random removals"}
"""What the bar calls parts of the work."""


@dataclass(frozen=True, repr=False)
class Debiased(Brief):
    """The outcome: what the chosen method keeps, and everything that is known about that."""

    dataset: Dataset
    method: str
    arms: tuple[DebiasArm, ...]
    metrics: list[Metric]
    overused: Overused
    pictures: Pictures | None
    settings: dict[str, Any]
    """Versions, seeds, choices, hashes, seconds."""
    notes: tuple[str, ...] = ()
    """What readers of the data and the features had to decide."""
    warnings: tuple[str, ...] = ()
    """What a reader of the outcome must not overlook."""
    null: NullModel | None = None
    """What AFLite removes from relabelled problems, where that was asked for."""
    seeds: tuple[DebiasArm, ...] = ()
    """What each seed of AFLite keeps: the chosen arm first, unless that is the majority of them."""
    folder: Path | None = None
    """Where it was saved."""

    @property
    def chosen(self) -> DebiasArm:
        """The arm of the chosen method."""
        return next(arm for arm in self.arms if arm.name == self.method)

    @property
    def kept(self) -> Dataset:
        """The problems that stay, with the share of seeds that keep each as a label, where there are several."""
        rows = np.flatnonzero(self.chosen.keep).tolist()
        return self.dataset.with_problems(self.dataset[row].with_labels(**self._kept_share(row)) for row in rows)

    @property
    def removed(self) -> Dataset:
        """The problems that go, with the phase and the score they went with as labels."""
        arm = self.chosen
        problems = []
        for row in np.flatnonzero(~arm.keep).tolist():
            labels: dict[str, Any] = {"removed_by": arm.name}
            if arm.phase is not None and arm.phase[row] > 0:  # a majority removes what the first seed may keep
                labels["removed_in_phase"] = int(arm.phase[row])
            if arm.scores is not None and np.isfinite(arm.scores[row]):
                labels["removed_score"] = round(float(arm.scores[row]), 6)
            if self.null is not None:
                labels["removed_q"] = round(float(self.null.q_values[row]), 6)
            problems.append(self.dataset[row].with_labels(**labels, **self._kept_share(row)))
        return self.dataset.with_problems(problems)

    @cached_property
    def seeds_keeping(self) -> Ints:
        """For each problem the number of seeds that keep it."""
        counts: Ints = np.sum([arm.keep for arm in self.seeds], axis=0, dtype=np.int64)
        return counts

    def _kept_share(self, row: int) -> dict[str, float]:
        many = len(self.seeds)
        return {"kept_share": round(int(self.seeds_keeping[row]) / many, 6)} if many > 1 else {}

    @cached_property
    def rows(self) -> dict[tuple[str, str], Metric]:
        """The rows by subset and metric."""
        return {(row.subset, row.metric): row for row in self.metrics}

    def find(self, subset: str, metric: str) -> Metric | None:
        """The row of that name."""
        return self.rows.get((subset, metric))


@verb
def debias(
    data: Data,
    method: str | DebiasMethod = "aflite",
    *,
    features: Annotated[
        str | Path | np.ndarray[Any, Any] | DebiasFeatures | None,
        Help("A .npy file from winokit embed, or a folder of such files.", "X.npy", typed=Path | None),
    ] = None,
    allow_uninformed: Annotated[
        bool, Help("Use fine-tuned features that know nothing: no better than chance on their own dev problems.")
    ] = False,
    model: Annotated[str | Model | None, Help(f"Embed with this model: {MODEL_HELP} Default: builtin.", "SPEC")] = None,
    out: Annotated[str | Path | None, Help("The folder to write.", "DIR", otherwise=OUT)] = None,
    kind: Annotated[str, Help("With --model: concat (both candidates), difference or single.")] = "concat",
    pooling: Annotated[str, Help("With --model: first token, mean over tokens, or span.")] = "first",
    compare: Annotated[
        Sequence[str],
        Help("Compare with this method at the same size; repeatable; or none. Default: random and pmi.", shown=False),
    ] = ("random", "pmi"),
    assess: Annotated[bool, Help("Assess the features before and after: probe, components, divergence.")] = True,
    assessment: Annotated[
        Assessment, Without("regularisation", "smoothing", "draws", "chance_draws", "removals", "seed")
    ] = Assessment(),
    loading: Limited = Loading(),
    cache: CacheFile = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Debiased:
    """Filter a dataset by a method, and compare it with other methods at the same size.

    Parameters
    ----------
    method
        The name of a method, whose settings may follow by name, or such a method: `AFLite(cutoff=500)` runs once.
    features
        With none, a model embeds the problems, if anybody looks at features.
    out
        Where everything is saved and the page written; None saves nothing.
    settings
        Those of the method, by name: `size=500` for random and pmi; `help(winokit.AFLite)` has AFLite's.
    assess
        Without it features may be too many for one machine's memory.

    Returns
    -------
    Debiased
        `kept` and `removed` as datasets, every number in `metrics`.
    """
    chosen = _method(method, settings)
    compared = [name for name in compare if name != "none"]
    beside = [METHODS[name] for name in compared]
    looks = assess or any(each.needs_features for each in (type(chosen), *beside))
    if not assess:
        why = "an option of the assessment; it does not go with --no-assess"
        own = {"folds": assessment.folds, "bins": assessment.bins, "neighbours": assessment.neighbours}
        refuse_unused(debias, why, **own)
    if not looks:
        why = f"{chosen.name} uses features only for the assessment: drop this option, or --no-assess"
        refuse_unused(debias, why, features=features, model=model, kind=kind, pooling=pooling, cache=cache)
    if features is not None:
        why = "says how to embed, but --features is already embedded"
        refuse_unused(debias, why, kind=kind, pooling=pooling, cache=cache)
        if model is not None:
            raise BadInput("features come from a file (--features) or from a model (--model), not from both")
    if not isinstance(features, (str, Path)):
        refuse_unused(debias, "an option of --features X.npy", allow_uninformed=allow_uninformed)
    elif not allow_uninformed:
        refuse_uninformed(Path(features))
    dataset = loading.one(data)
    if isinstance(features, (str, Path)):
        dataset = without_held_out(Path(features), dataset)
        tell(dataset.notes)
    check_problems(dataset)  # what cannot be filtered is refused before a model spends minutes on it
    folder = None if out is None else Path(out)
    if folder == OUT:
        folder = OUT.with_name(f"{dataset.card.file_name}-{chosen.name}")
    if folder is not None:
        check_folder(folder)
        if isinstance(chosen, AFLite):
            chosen = replace(chosen, checkpoint=chosen.checkpoint or folder / CHECKPOINT)
    vectors = read_features(features, dataset) if isinstance(features, (str, Path)) else features
    if isinstance(vectors, np.ndarray):
        vectors = DebiasFeatures(vectors, "given", "unknown")
    if looks and vectors is None:
        begin("embedding")
        with open_cache(cache) as known:
            asked: dict[str, Any] = {"kind": kind, "pooling": pooling, "cache": known, "progress": progress}
            vectors = embedded(dataset, model or "builtin", **asked)
            vectors = replace(vectors, notes=tuple(known.ledger.replays.notes))
            tell(vectors.notes)
    how = replace(assessment, seed=chosen.seed) if assess else None
    filtering = replace(_filtered(dataset, chosen, vectors, compared, how, progress), folder=folder)
    tell((*filtering.notes, *filtering.warnings))
    if folder is not None:
        save(filtering, folder)
        for checkpoint in folder.glob(CHECKPOINTS):
            checkpoint.unlink()
    return filtering


def debias_by(name: str) -> Callable[..., Debiased]:
    """`debias` by the method of a name, whose settings are parameters too: what `winokit debias NAME` calls."""
    kind = METHODS[name]

    def call(data: Any, **given: Any) -> Debiased:
        return debias(data, name, **given)

    data, _, *rest, _ = signature_of(debias).parameters.values()
    call.__signature__ = inspect.Signature([data, *parameters_of(kind), *rest])  # type: ignore[attr-defined]
    call.__doc__, call.__name__ = kind.__doc__, name
    return call


def _method(method: str | DebiasMethod, settings: dict[str, Any]) -> DebiasMethod:
    kind = type(method) if isinstance(method, DebiasMethod) else METHODS[method]
    own = (each.name for each in fields(kind) if each.init)  # type: ignore[arg-type]
    check_names(f"debias by {kind.name}", settings, [*own, *inspect.signature(debias).parameters])
    if isinstance(method, DebiasMethod):
        return replace(method, **settings) if settings else method  # type: ignore[type-var]
    if _sized(kind) and "size" not in settings:
        raise BadInput(f"{method} needs a size: how many problems should it keep? (--size)")
    return kind(**settings)


def _sized(kind: type[DebiasMethod]) -> bool:
    return "size" in {each.name for each in parameters_of(kind)}


def check_problems(dataset: Dataset) -> None:
    """Refuse problems that cannot be filtered: each must have two candidates and a known answer, and answers differ."""
    answers = [problem.answer for problem in dataset]
    hidden = answers.count(None)
    if hidden:
        raise BadInput(f"{hidden:,} of {len(dataset):,} problems have no answer, but debiasing needs answers")
    more = next((problem for problem in dataset if len(problem.candidates) != 2), None)
    if more is not None:
        raise BadInput(
            f"problem {more.id} has {len(more.candidates)} candidates, but debiasing takes two: use --as binary"
        )
    if len(set(answers)) < 2:
        raise BadInput(f"all {len(dataset):,} problems have the same answer: there is nothing to debias")


@dataclass
class _Work:
    """The problems as methods see them, and how long each part of the work on them took."""

    rows: DebiasRows
    progress: Progress | None
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def timed(self, what: str, title: str | None = None) -> Iterator[None]:
        begin(title or PARTS.get(what, what))
        start = time.perf_counter()
        yield
        self.seconds[what] = round(self.seconds.get(what, 0.0) + time.perf_counter() - start, 3)

    def arm(self, method: DebiasMethod, size: int | None = None) -> DebiasArm:
        """Run one method; `size` is what it is to be compared at."""
        with self.timed(method.name, method.title):
            arm = method.arm(self.rows, size, self.progress)
        if not arm.keep.any():
            wanted = getattr(method, "size", None)
            whole = "units" if arm.whole is self.rows.unit_names else "groups"
            why = f": {whole} are kept whole, and none fits into a size of {wanted} (--size)" if wanted else ""
            raise BadInput(f"{method.name} keeps no problem{why}")
        return arm


def _words(problem: Problem) -> list[str]:
    """The words of a text; in English Penn-Treebank-like, so that "didn't" is "did" and "n't".

    Those of whole texts to choose from say which text they stand in: in a bag of both, no word could speak for one.
    """
    tokens = language_of(problem.language).tokens
    if problem.is_whole:
        return [f"{place}:{word.lower()}" for place, text in enumerate(problem.texts, 1) for word in tokens(text)]
    return [word.lower() for word in tokens(problem.sentence) if word != BLANK]


def _filtered(
    dataset: Dataset,
    method: DebiasMethod,
    features: DebiasFeatures | None,
    compare: Sequence[str],
    how: Assessment | None,
    progress: Progress | None,
) -> Debiased:
    """Run the method and those beside it, and measure what each keeps."""
    y = np.array([problem.answer for problem in dataset], np.int64)
    groups = [problem.group for problem in dataset]
    words = [_words(problem) for problem in dataset]
    rows = DebiasRows(words, y, groups, dataset.units, features.rows if features else None)
    model, scoring = (features.model, features.kind) if features else ("none", "words")
    measures = DebiasMeasures(rows, dataset, model, scoring)
    if how is not None:
        measures.check(how)
    work = _Work(rows, progress)
    chosen, seeds, null = _repeated(work.arm(method), method, work)
    arms = _arms(chosen, method, compare, work)
    others = tuple(arm for arm in seeds if arm is not chosen)
    metrics = [row for arm in (*arms, *others) for row in measures.sizes(arm)]
    if len(seeds) > 1:
        metrics += measures.overlaps(chosen, seeds)
    if null is not None:
        metrics += measures.by_chance(chosen, seeds, null)
    pictures = None
    if how is not None:
        bins = how.bins or bins_for(min(int(arm.keep.sum()) for arm in arms))
        how = replace(how, bins=bins)
        metrics += measures.assessed(arms, chosen, others, how, work.timed)
        pictures = pictures_of(arms, rows, measures.components, bins)
    with work.timed("words"):
        overused = Overused()
        if not chosen.keep.all():
            sides = Sides(~chosen.keep, rows.units, chosen.removal_order)
            tables = (overused_words, overused_lengths, overused_polarity)
            overused = Overused(*(find(rows.texts, sides) for find in tables))
    settings = {
        "winokit": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "dataset": dataset.card.name,
        "content_hash": dataset.content_hash,
        "method": method.name,
        "seed": method.seed,
        "majority": getattr(method, "majority", False),
        "features": features.settings if features else None,
        "assessment": None if how is None else asdict(how),
        "words": "lower-cased Penn-Treebank-like tokens of the text, without the blank",
        "null_runs": getattr(method, "null_runs", 0),
        "seeds": len(seeds),
        "methods": {arm.name: arm.settings for arm in arms if arm.settings},
        "seconds": work.seconds,
    }
    notes = (*dataset.notes, *(features.notes if features else ()))
    filtering = Debiased(
        dataset, method.name, arms, metrics, overused, pictures, settings, notes, null=null, seeds=seeds
    )
    return replace(filtering, warnings=tuple(warnings_of(filtering)))


def _repeated(
    chosen: DebiasArm, method: DebiasMethod, work: _Work
) -> tuple[DebiasArm, tuple[DebiasArm, ...], NullModel | None]:
    """The arm that counts, those of every seed, and the runs on relabelled problems; AFLite alone has the latter."""
    if not isinstance(method, RepeatedAFLite):
        return chosen, (chosen,), None
    others, rows, null = method.others(), work.rows, None
    seeds: tuple[DebiasArm, ...] = (chosen,)
    if others:
        with work.timed("seeds"):
            more = [replace(other.arm(rows), name=of_seed(method.name, other.seed)) for other in others]
            seeds = (chosen, *more)
    if method.majority:
        keep = np.mean([arm.keep for arm in seeds], axis=0) > 0.5
        if not keep.any():
            raise BadInput(
                f"no problem is kept by more than half of {len(seeds)} seeds: the first one's are (no --majority)"
            )
        seeds = (replace(chosen, name=of_seed(method.name, method.seed)), *seeds[1:])
        chosen = replace(chosen, keep=keep, settings={**chosen.settings, "majority_of_seeds": len(seeds)})
    if method.null_runs:
        watched = work.progress
        with work.timed("null"):
            null = null_runs(
                *(method, rows.x, rows.y, rows.units),
                others=others,
                runs=method.null_runs,
                seed=method.seed,
                progress=None if watched is None else lambda runs: watched(runs, method.null_runs),
            )
    return chosen, seeds, null


def _arms(chosen: DebiasArm, method: DebiasMethod, compare: Sequence[str], work: _Work) -> tuple[DebiasArm, ...]:
    """All problems, then the baselines asked for and the chosen method, all at its size."""
    arms, size = {chosen.name: chosen}, int(chosen.keep.sum())
    names = list(METHODS)[::-1]
    for name in names:
        if name in compare and name not in arms and size < len(work.rows):
            kind = METHODS[name]
            shared = {each: getattr(method, each) for each in kind.shared if hasattr(method, each)}
            arms[name] = work.arm(kind(**shared, **({"size": size} if _sized(kind) else {})), size)
    order = dict.fromkeys((*names, chosen.name))
    everything = DebiasArm(ALL, np.ones(len(work.rows), np.bool_))
    return (everything, *(arms[name] for name in order if name in arms))
