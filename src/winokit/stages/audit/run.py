"""The audit: what is this score worth? Data, scorer and protocols meet here and nowhere else."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import winokit
from winokit.data.loading import load
from winokit.data.predictions.read import read_predictions
from winokit.data.runs import Run
from winokit.errors import BadInput, UnknownName
from winokit.methods.scoring import Cache, Prediction, ScoringPlan, score_variants
from winokit.methods.scoring.planner import Progress
from winokit.methods.transforms.variants import Variant, make_variants
from winokit.models.base import Model, notes_of
from winokit.models.registry import load_model
from winokit.problem import Dataset, collector_off
from winokit.results import Metric
from winokit.stages.audit.protocols import PROTOCOLS
from winokit.stages.audit.protocols.naturalness import surprisal
from winokit.stages.audit.protocols.stability import PERTURBED
from winokit.stages.audit.sheet import ORIGINAL, AuditSheet
from winokit.stages.audit.sources import check_apart, check_once, unanswered, unmatched


@dataclass(frozen=True)
class AuditSettings:
    """How to audit: everything but the data and the models."""

    protocols: Sequence[str] = tuple(PROTOCOLS)
    scorings: Sequence[str | None] = (None,)
    substitution: str = "auto"
    shots: int = 0
    seed: int = 0
    perturbed: Sequence[str] = field(default_factory=tuple)
    """Perturbed versions of the dataset, linked to it by their labels."""


@collector_off()
def audit(
    data: str | Path | Dataset = "open",
    model: str | Model | Sequence[str | Model] | None = None,
    *,
    scoring: str | Sequence[str] | None = None,
    predictions: Sequence[str | Path] = (),
    settings: AuditSettings | None = None,
    limit: int | None = None,
    cache: Cache | None = None,
    progress: Progress | None = None,
) -> Run:
    """Audit models, or predictions that already exist, on a dataset, with every protocol the data allows.

    With no arguments at all, the built-in model on the bundled twins.
    """
    settings = settings or AuditSettings()
    if scoring is not None:
        settings = replace(settings, scorings=(scoring,) if isinstance(scoring, str) else tuple(scoring))
    for name in settings.protocols:
        if name.partition("@")[0] not in PROTOCOLS:
            raise UnknownName("protocol", name, PROTOCOLS)
    whole = data if isinstance(data, Dataset) else load(data)
    dataset, models = whole[:limit], _models(model, default=not predictions)
    if all(problem.answer is None for problem in dataset):
        raise BadInput(f"{dataset.card.name}: no problem has an answer to judge by; `winokit score` does without")
    if not models and (settings.shots or any(settings.scorings)):
        raise BadInput("--scoring and --shots say how a model is asked; predictions are taken as they are")
    check_once("model", [one.spec for one in models])
    check_once("scoring", settings.scorings)
    reads = {Path(path): read_predictions(path, whole) for path in predictions}
    # Without a model only those variants are made that somebody has predictions for.
    needed = None if models else {read.variant for some in reads.values() for read in some}
    variants = {**make_variants(dataset, needed), **_perturbed(whole, dataset, settings.perturbed)}
    wanted = {problem.id for problem in dataset}
    sources = {
        str(path): [row for read in some for row in read.predictions if row.id in wanted]
        for path, some in reads.items()
    }
    check_apart(sources)
    scored = [
        row
        for one in models
        for name in settings.scorings
        for row in _scored(dataset, variants, one, name, settings, cache, progress)
    ]
    check_apart({"--model": scored, **sources})
    rows = [*scored, *(row for some in sources.values() for row in some)]
    if not rows:
        raise BadInput("nothing to audit: no model and no predictions")
    odd = {one.spec: _surprisal(dataset, one, settings, cache) for one in models}
    trained = {one.spec: getattr(one, "formalization", None) for one in models}
    about = _about(dataset, models, predictions, settings)
    run = _judged(dataset, variants, rows, odd, trained, settings, about)
    told = [read for some in reads.values() for read in some]
    run.settings["notes"] = [
        *dataset.notes,
        *(f"{read.model}: {note}" for read in told for note in read.notes),
        *(note for one in models for note in notes_of(one)),
        *unanswered(rows, wanted),
        *_without_rows(run, settings),
    ]
    run.left_out[:0] = unmatched(told)
    return run


def _without_rows(run: Run, settings: AuditSettings) -> list[str]:
    """The protocols that were asked for by name, and found nothing to work on."""
    if set(settings.protocols) >= set(PROTOCOLS):
        return []
    found = {(row.protocol, row.subset.partition("@")[2]) for row in run.metrics}
    names = [name for name in settings.protocols if (name.partition("@")[0], name.partition("@")[2]) not in found]
    return [f"protocol {name}: nothing in the data and predictions to work on" for name in names]


def _models(model: str | Model | Sequence[str | Model] | None, *, default: bool) -> list[Model]:
    if model is None:
        return [load_model("builtin")] if default else []
    several = [model] if isinstance(model, (str, Model)) else list(model)
    return [load_model(one) if isinstance(one, str) else one for one in several]


def _scored(
    dataset: Dataset,
    variants: Mapping[str, Variant],
    model: Model,
    scoring: str | None,
    settings: AuditSettings,
    cache: Cache | None,
    progress: Progress | None,
) -> list[Prediction]:
    plan = ScoringPlan(scoring, settings.substitution, settings.shots, seed=settings.seed)
    everything = {ORIGINAL: dataset} | {name: variant.problems for name, variant in variants.items()}
    return score_variants(everything, model, plan, cache=cache, progress=progress)


def _surprisal(dataset: Dataset, model: Model, settings: AuditSettings, cache: Cache | None) -> Mapping[str, float]:
    """How odd each text is to the model, where a protocol asks and it is cheap to tell or was asked for by name."""
    wanted = [name.partition("@")[0] for name in settings.protocols]
    if "naturalness" not in wanted:
        return {}
    return surprisal(dataset, model, cache or Cache(), masked_too=len(wanted) < len(PROTOCOLS))


def _judged(
    dataset: Dataset,
    variants: Mapping[str, Variant],
    predictions: Sequence[Prediction],
    odd: Mapping[str, Mapping[str, float]],
    trained: Mapping[str, str | None],
    settings: AuditSettings,
    about: dict[str, Any],
) -> Run:
    """Every protocol on every model and scoring."""
    named: dict[tuple[str, str], dict[str, dict[str, Prediction]]] = {}
    for prediction in predictions:
        by_variant = named.setdefault((prediction.model, prediction.scoring), {})
        by_variant.setdefault(prediction.variant, {})[prediction.id] = prediction
    metrics: list[Metric] = []
    left_out = []
    for (model, scoring), by_variant in named.items():
        sheets: dict[str, AuditSheet] = {}
        for wanted in settings.protocols:
            protocol, _, subset = wanted.partition("@")
            if subset not in sheets:
                some, odd_texts = _subset(dataset, subset), odd.get(model, {})
                sheets[subset] = AuditSheet(some, by_variant, variants, model, scoring, trained.get(model), odd_texts)
            metrics += [_renamed(row, subset) for row in PROTOCOLS[protocol](sheets[subset])]
        for sheet in sheets.values():
            left_out += [one for one in sheet.left_out if one not in left_out]
    problems = {name: variant.problems for name, variant in variants.items() if name != "reversed"}
    return Run(about, metrics, list(predictions), dataset, problems, left_out)


def _subset(dataset: Dataset, name: str) -> Dataset:
    """The problems a protocol is asked on: all, those with a label, or without it (`artifacts@non_associative`)."""
    if not name:
        return dataset
    label, wanted = (name.removeprefix("non_"), False) if name.startswith("non_") else (name, True)
    known = {key for problem in dataset for key, value in problem.labels.items() if isinstance(value, bool)}
    if label not in known:
        raise UnknownName("subset", name, [*known, *(f"non_{key}" for key in known)])
    return dataset.filter(lambda problem: problem.labels.get(label) is wanted)


def _renamed(row: Metric, subset: str) -> Metric:
    return replace(row, subset=f"{row.subset}@{subset}") if subset else row


def _perturbed(whole: Dataset, dataset: Dataset, names: Sequence[str]) -> dict[str, Variant]:
    """Perturbed datasets as variants of this one, joined by the original's id."""
    originals, known = {problem.id for problem in whole}, {problem.id: problem for problem in dataset}
    found: dict[str, Variant] = {}
    for name in names:
        problems = load(name)
        if not any(problem.labels.get("original") in originals for problem in problems):
            raise BadInput(f"{name}: has no perturbed version of any problem of {whole.card.name}")
        for problem in problems:
            original = known.get(str(problem.labels.get("original")))
            key = f"{PERTURBED}{problem.labels.get('perturbation', 'unnamed')}"
            variant = found.setdefault(key, Variant(key, Dataset([])))
            if original is None:
                variant.refused[problem.id] = "its original is not in the dataset"
            else:
                linked = problem.replace(provenance={"of": original.id}, group=original.group)
                variant.problems = variant.problems.with_problems([*variant.problems, linked])
    return found


def _about(
    dataset: Dataset, models: Sequence[Model], predictions: Sequence[str | Path], settings: AuditSettings
) -> dict[str, Any]:
    """What would be needed to do it again."""
    return {
        "winokit": winokit.__version__,
        "python": platform.python_version(),
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "dataset": dataset.card.name,
        "dataset_hash": dataset.content_hash,
        "licence": dataset.card.licence,
        "problems": len(dataset),
        "models": {model.spec: model.fingerprint for model in models},
        "predictions": [Path(path).name for path in predictions],
        "protocols": list(settings.protocols),
        "seed": settings.seed,
        "substitution": settings.substitution,
        "shots": settings.shots,
    }
