"""Inputs of an audit: problems, variants, models, and predictions from files."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from winokit.data.loading import DataLike, is_data_name, load, load_first, paths_of
from winokit.data.predictions.in_memory import Predictions, are_files, columns_of_frame, file_paths, tables_in_memory
from winokit.data.predictions.read import (
    PredictionFile,
    PredictionSource,
    PredictionsWithin,
    ReadPredictions,
    read_files,
)
from winokit.errors import BadInput, UnusedSetting
from winokit.methods.scoring.scorer import Prediction, ScoringPlan
from winokit.methods.transforms.variants import (
    REVERSED,
    TRANSFORMS,
    Variant,
    make_variants,
    perturbed_variants,
    style_of,
)
from winokit.models.base import Model
from winokit.models.registry import ModelLike, Spec, as_model, check_model
from winokit.problem import ORIGINAL, Dataset, grouped
from winokit.progress import tell
from winokit.stages.audit.settings import AuditSettings


@dataclass(frozen=True)
class AuditInputs:
    """Problems, their variants, the models to ask, and the predictions of files."""

    whole: Dataset
    """All problems that were loaded."""
    dataset: Dataset
    """The problems to audit: all, or the first ones if there is a limit."""
    variants: Mapping[str, Variant]
    """The variants of these problems by name."""
    models: Sequence[str | Model]
    files: Sequence[PredictionSource]
    """Files and tables of predictions."""
    reads: Mapping[Path, Sequence[ReadPredictions]]
    """By file, its predictions: a part for each model, scoring and variant."""
    variants_needed: Collection[str]
    """The variants that were to be made. Some may suit no problem."""
    notes: Sequence[str]
    """Notes on columns of predictions in the data, and on the style of variants."""
    notes_on_files: Sequence[str]
    """Notes on the files of predictions."""

    @property
    def texts(self) -> dict[str, Dataset]:
        """The problems of every variant by its name, the originals first."""
        return {ORIGINAL: self.dataset} | {name: variant.problems for name, variant in self.variants.items()}

    @property
    def parts(self) -> list[ReadPredictions]:
        """The parts of all files: one for each model, scoring and variant in a file."""
        return list(chain.from_iterable(self.reads.values()))

    @property
    def predictions_by_file(self) -> dict[str, list[Prediction]]:
        """The predictions of each file for the problems to audit, by its path."""
        ids = {problem.id for problem in self.dataset}
        by_file: dict[str, list[Prediction]] = {}
        for path, parts in self.reads.items():
            by_file[str(path)] = []
            for part in parts:
                by_file[str(path)] += [row for row in part.predictions if row.id in ids]
        return by_file


def read_inputs(
    data: DataLike | None,
    model: ModelLike | Sequence[ModelLike] | None,
    settings: AuditSettings,
    plan: ScoringPlan,
) -> AuditInputs:
    """Read and check everything that an audit works on.

    `model` is None for the built-in model, or for no model if there are predictions. Raises BadInput for what cannot be
    audited, before a model spends minutes on it.
    """
    given_predictions = columns_of_frame(settings.predictions, data)
    _check_has_problems(given_predictions, data)
    files = _find_files(_list_files(data, given_predictions, settings))
    source = _find_source(data, files, settings.loading.lenient)
    perturbed_sources = [*settings.perturbed, *source.perturbed]
    # Predictions and perturbed versions may be of any problem, and DATA by its path may hold predictions.
    is_for_models = are_files(given_predictions) and not files and not perturbed_sources
    has_models_alone = is_for_models and (model is not None or is_data_name(str(data or "open")))
    limit = settings.loading.limit if has_models_alone else None
    whole_data = load_first(source.data, limit, **settings.data_loading.how)
    tables = tables_in_memory(given_predictions, whole_data)
    perturbed_data = [load(version, lenient=settings.loading.lenient) for version in perturbed_sources]
    predictions = PredictionsWithin(tables or files, settings.columns_of_predictions)
    if data is not None and model is None and not predictions.files:
        predictions = _read_predictions_within(data, whole_data, settings, plan)
    models = _list_models(model, has_predictions=bool(predictions.files))
    dataset = whole_data if settings.loading.limit is None else whole_data[: settings.loading.limit]
    _check_has_answers(dataset)
    if not models:
        _refuse_settings_of_models(settings, plan)
    _check_names(models)
    versions = perturbed_variants(whole_data, whole_data, perturbed_data)
    if settings.style != "default":
        versions |= make_variants(whole_data, settings.wanted_variants, settings.style)
    reads, notes_on_skipped = read_files(
        predictions.files, whole_data, versions, predictions.columns, lenient=settings.loading.lenient
    )
    variants_read = {part.variant for part in chain.from_iterable(reads.values())}
    variants_needed = settings.wanted_variants
    if not models:  # only those that somebody has predictions for
        variants_needed = variants_needed & variants_read
    variants = make_variants(dataset, variants_needed, settings.style)
    variants |= perturbed_variants(whole_data, dataset, perturbed_data)
    inputs = AuditInputs(
        whole=whole_data,
        dataset=dataset,
        variants=variants,
        models=models,
        files=predictions.files,
        reads=reads,
        variants_needed=variants_needed,
        notes=[*predictions.notes, *_note_style(settings.style, variants, variants_read)],
        notes_on_files=[*notes_on_skipped, *_note_parts(reads)],
    )
    check_apart(inputs.predictions_by_file)
    return inputs


@dataclass(frozen=True)
class ProblemSource:
    """Source of the problems: DATA, or logs among the predictions."""

    data: DataLike
    perturbed: Sequence[Dataset] = ()


def _check_has_problems(given: Predictions, data: DataLike | None) -> None:
    """Refuse predictions in memory without the problems that they are about."""
    if data is None and not are_files(given):
        raise BadInput("predictions in memory belong to problems: name these as data")


def _list_files(data: DataLike | None, given: Predictions, settings: AuditSettings) -> Sequence[str | Path]:
    """The files of predictions: those named, or DATA itself if columns of predictions are named."""
    if settings.columns_of_predictions is None or settings.has_predictions:
        return file_paths(given)
    paths = paths_of(data) if data is not None else []
    if not paths:
        raise BadInput("--columns with a role prediction says what the columns of --predictions FILE are; name one")
    return paths


def _find_files(names: Sequence[str | Path]) -> Sequence[PredictionFile]:
    """The files of predictions, those in folders too."""
    if not names:
        return []
    from winokit.data.predictions.logs import prediction_files

    return prediction_files(names)


def _find_source(data: DataLike | None, files: Sequence[PredictionFile], lenient: bool) -> ProblemSource:
    """DATA if it is named, else the problems in the logs, else the bundled twins."""
    if not files:
        return ProblemSource("open" if data is None else data)
    from winokit.data.predictions.logs import check_no_log, logged_data

    if data is not None:
        check_no_log(data, files)
        return ProblemSource(data)
    logged = logged_data(files, lenient=lenient)
    return ProblemSource("open") if logged is None else ProblemSource(*logged)


def _is_for_models(settings: AuditSettings, plan: ScoringPlan) -> bool:
    """Whether something is set that only models heed."""
    return settings.scoring is not None or plan != ScoringPlan(seed=plan.seed)


def _refuse_settings_of_models(settings: AuditSettings, plan: ScoringPlan) -> None:
    """Refuse what only models heed, if none is asked."""
    if not _is_for_models(settings, plan):
        return
    if settings.scoring is None and plan == ScoringPlan(seed=plan.seed, substitution=plan.substitution):
        raise UnusedSetting("substitution", "it applies to models; predictions are used as they are")
    raise BadInput(
        "--scoring, --shots, --prompt and --set substitution apply to models; predictions are used as they are"
    )


def _list_models(model: ModelLike | Sequence[ModelLike] | None, *, has_predictions: bool) -> list[str | Model]:
    """Return the models as given, or the built-in one without predictions."""
    if model is None:
        return [] if has_predictions else ["builtin"]
    named: Any = model if isinstance(model, (list, tuple)) else [model]
    models = [as_model(each) for each in named]
    for given in models:
        check_model(given)
    return models


def _check_names(models: Sequence[str | Model]) -> None:
    """Refuse a model that is named twice, and two models of one name: their rows would be mixed up."""
    specs = [model for model in models if isinstance(model, str)]
    for spec in specs:
        if specs.count(spec) > 1:
            raise BadInput(f"model {spec!r} is named twice: name it once")
    by_name: dict[str, str | Model] = {}
    for model in models:
        name = str(Spec.parse(model)) if isinstance(model, str) else model.spec
        if by_name.setdefault(name, model) != model:
            raise BadInput(f"two models are called {name!r}: give one of them another name, with ?name= or def")


def check_apart(sources: Mapping[str, Sequence[Prediction]]) -> None:
    """Refuse two sources of predictions for one problem under one name: the first would be lost."""
    sources_with_rows = [source for source, rows in sources.items() if rows]
    if len(sources_with_rows) < 2:
        return
    owners: dict[tuple[str, str, str], dict[str, str]] = {}
    for source in sources_with_rows:
        for row in sources[source]:
            owner_of_id = owners.setdefault((row.model, row.scoring, row.variant), {})
            owner = owner_of_id.setdefault(row.id, source)
            if owner != source:
                raise BadInput(
                    f"{owner} and {source} both have predictions by {row.model!r} ({row.scoring}), as for {row.id}; "
                    "rename one of the files, or the model in it, or leave one out"
                )


def merge_notes(notes: Iterable[tuple[str, str]]) -> list[str]:
    """Notes, each given as its subject and its text. A text said of several subjects is listed once, and counted."""
    subjects_by_text = grouped((text, subject) for subject, text in notes)
    merged = []
    for text, subjects in subjects_by_text.items():
        others = f" ({len(subjects) - 1:,} more like this)" if len(subjects) > 1 else ""
        merged.append(f"{subjects[0]}{text}{others}")
    return merged


def _note_parts(reads: Mapping[Path, Sequence[ReadPredictions]]) -> list[str]:
    """The notes of all files of predictions, each with its model and its file."""
    notes: list[tuple[str, str]] = []
    for path, parts in reads.items():
        for part in parts:
            notes += [(f"{part.model}: {path}: ", note.removeprefix(f"{path}: ")) for note in part.notes]
    return merge_notes(notes)


def _note_style(style: str, variants: Collection[str], variants_read: Collection[str]) -> list[str]:
    """Notes on variants that a style lacks, and on those that predictions are of."""
    if style == "default":
        return []
    style_variants = [name for name in variants if name in TRANSFORMS and name != REVERSED]
    missing = [name for name in style_variants if style_of(name, style) != style]
    variants_from_files = [name for name in style_variants if name in variants_read and name not in missing]
    notes = []
    if missing:
        reason = "no paper describes" if style == "paper" else "no released script makes"
        notes.append(f"--style {style}: {reason} {', '.join(missing)}; ours are used")
    if variants_from_files:
        names = ", ".join(variants_from_files)
        notes.append(f"--style {style}: predictions for {names} are taken to be of variants in this style")
    return notes
