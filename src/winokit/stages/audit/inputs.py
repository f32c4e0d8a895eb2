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
        """Predictions of all files, in parts by model, scoring and variant."""
        return list(chain.from_iterable(self.reads.values()))

    @property
    def predictions_by_file(self) -> dict[str, list[Prediction]]:
        """Predictions for the problems to audit, by the path of the file."""
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

    Without `data`, the problems are those in logs among the predictions, else the bundled twins. `model` is None for
    the built-in model, or for no model if there are predictions. Raises BadInput for what cannot be audited, before a
    model spends minutes on it.
    """
    lenient = settings.loading.lenient
    given_predictions = columns_of_frame(settings.predictions, data)
    _check_has_problems(given_predictions, data)
    files = _find_files(_list_files(data, given_predictions, settings))
    source = _find_source(data, files, lenient)
    perturbed_sources = [*settings.perturbed, *source.perturbed]
    limit = settings.loading.limit
    # Predictions and perturbed versions may be of any problem, and DATA by its path may hold predictions.
    has_predictions = bool(files) or not are_files(given_predictions)
    is_named_dataset = data is None or is_data_name(str(data))
    may_hold_predictions = model is None and not is_named_dataset
    needs_all = has_predictions or bool(perturbed_sources) or may_hold_predictions
    all_problems = load_first(source.data, None if needs_all else limit, **settings.data_loading.how)
    tables = tables_in_memory(given_predictions, all_problems)
    perturbed = [load(version, lenient=lenient) for version in perturbed_sources]
    dataset = all_problems if limit is None else all_problems[:limit]
    prediction_sources: Sequence[PredictionSource] = tables or files
    columns: Mapping[str, str] | None = settings.columns_of_predictions
    notes: list[str] = []
    if data is not None and model is None and not prediction_sources:
        within = _read_predictions_within(data, all_problems, settings, plan)
        prediction_sources = within.files
        columns = within.columns
        notes += within.notes
    models = _list_models(model, has_predictions=bool(prediction_sources))
    _check_has_answers(dataset)
    _check_models(models, settings, plan)
    versions = _make_known_versions(all_problems, perturbed, settings)
    reads, notes_on_skipped = read_files(prediction_sources, all_problems, versions, columns, lenient=lenient)
    variants_read = _list_variants_read(reads)
    # Without a model, only variants with predictions are of use.
    variants_needed = settings.wanted_variants if models else settings.wanted_variants & variants_read
    variants = make_variants(dataset, variants_needed, settings.style)
    variants |= perturbed_variants(all_problems, dataset, perturbed)
    inputs = AuditInputs(
        whole=all_problems,
        dataset=dataset,
        variants=variants,
        models=models,
        files=prediction_sources,
        reads=reads,
        variants_needed=variants_needed,
        notes=[*notes, *_note_style(settings.style, variants, variants_read)],
        notes_on_files=[*notes_on_skipped, *_note_parts(reads)],
    )
    check_apart(inputs.predictions_by_file)
    return inputs


def _read_predictions_within(
    data: DataLike, problems: Dataset, settings: AuditSettings, plan: ScoringPlan
) -> PredictionsWithin:
    """Read predictions from the file of the problems, and print notes."""
    from winokit.data.predictions.within import predictions_within

    within = predictions_within(
        data,
        problems,
        is_scored=_is_for_models(settings, plan),
        problem_columns=settings.data_loading.named_columns,
    )
    tell(within.notes)
    return within


def _make_known_versions(whole: Dataset, perturbed: Sequence[Dataset], settings: AuditSettings) -> dict[str, Variant]:
    """Make the variants of predictions that our default style does not make.

    They are the perturbed versions and, in another style, every wanted variant. All problems have them, since
    predictions may be of any.
    """
    versions = perturbed_variants(whole, whole, perturbed)
    if settings.style != "default":
        versions |= make_variants(whole, settings.wanted_variants, settings.style)
    return versions


def _list_variants_read(reads: Mapping[Path, Sequence[ReadPredictions]]) -> set[str]:
    """Names of the variants that files have predictions for."""
    return {part.variant for part in chain.from_iterable(reads.values())}


def _check_models(models: Sequence[str | Model], settings: AuditSettings, plan: ScoringPlan) -> None:
    """Raise an error for models of one name, and for unused settings.

    Settings of models are unused without a model.
    """
    if models:
        _check_names(models)
    else:
        _refuse_settings_of_models(settings, plan)


def _check_has_answers(dataset: Dataset) -> None:
    """Raise BadInput if no problem has an answer."""
    if all(problem.answer is None for problem in dataset):
        raise BadInput(
            f"{dataset.card.name}: no problem has an answer to compare with; `winokit score` does not need answers"
        )


@dataclass(frozen=True)
class ProblemSource:
    """Source of the problems: DATA, or logs among the predictions."""

    data: DataLike
    perturbed: Sequence[Dataset] = ()
    """Perturbed versions of the problems that the logs hold."""


def _check_has_problems(predictions: Predictions, data: DataLike | None) -> None:
    """Raise BadInput for predictions in memory if DATA is not named."""
    if data is None and not are_files(predictions):
        raise BadInput("predictions in memory belong to problems: name these as data")


def _list_files(data: DataLike | None, predictions: Predictions, settings: AuditSettings) -> Sequence[str | Path]:
    """List the files of predictions: the given ones, or DATA itself.

    Folders are among them. DATA has predictions if columns of predictions are named and nothing is given. Raises
    BadInput if columns are named and there is no file that could have them.
    """
    if settings.columns_of_predictions is None or settings.has_predictions:
        return file_paths(predictions)
    paths = paths_of(data) if data is not None else []
    if not paths:
        raise BadInput("--columns with a role prediction says what the columns of --predictions FILE are; name one")
    return paths


def _find_files(names: Sequence[str | Path]) -> Sequence[PredictionFile]:
    """Files of predictions at these paths, folders searched."""
    if not names:
        return []
    from winokit.data.predictions.logs import prediction_files

    return prediction_files(names)


def _find_source(data: DataLike | None, files: Sequence[PredictionFile], lenient: bool) -> ProblemSource:
    """Choose DATA if it is named, else problems in logs, else `open`.

    `open` is the bundled twins.
    """
    if not files:
        return ProblemSource("open" if data is None else data)
    from winokit.data.predictions.logs import check_no_log, logged_data

    if data is not None:
        check_no_log(data, files)
        return ProblemSource(data)
    logged = logged_data(files, lenient=lenient)
    return ProblemSource("open") if logged is None else ProblemSource(*logged)


def _is_for_models(settings: AuditSettings, plan: ScoringPlan) -> bool:
    """Whether anything is set that has an effect on models alone.

    The seed does not count: it has other uses.
    """
    return settings.scoring is not None or plan != ScoringPlan(seed=plan.seed)


def _refuse_settings_of_models(settings: AuditSettings, plan: ScoringPlan) -> None:
    """Raise an error if a setting is named that only models use.

    That is UnusedSetting if the substitution is the only one, else BadInput.
    """
    if not _is_for_models(settings, plan):
        return
    if settings.scoring is None and plan == ScoringPlan(seed=plan.seed, substitution=plan.substitution):
        raise UnusedSetting("substitution", "it applies to models; predictions are used as they are")
    raise BadInput(
        "--scoring, --shots, --prompt and --set substitution apply to models; predictions are used as they are"
    )


def _list_models(model: ModelLike | Sequence[ModelLike] | None, *, has_predictions: bool) -> list[str | Model]:
    """List the models to ask, checked.

    If `model` is None, that is none if there are predictions, else the built-in one.
    """
    if model is None:
        return [] if has_predictions else ["builtin"]
    specs: Any = model if isinstance(model, (list, tuple)) else [model]
    models = [as_model(spec) for spec in specs]
    for checked in models:
        check_model(checked)
    return models


def _check_names(models: Sequence[str | Model]) -> None:
    """Raise BadInput if two models have one name.

    Their rows would be mixed up. So would they if one SPEC is named twice.
    """
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
    """Raise BadInput if two sources predict the same problem.

    Only predictions under the same model, scoring and variant count. `sources` has predictions by the name of their
    file or option. Without the check, one source would be lost.
    """
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
    """Merge notes with the same text into one that counts them.

    A note is a pair of its subject and its text. The first subject is named.

    >>> merge_notes([("a.csv: ", "2 rows skipped"), ("b.csv: ", "2 rows skipped")])
    ['a.csv: 2 rows skipped (1 more like this)']
    """
    subjects_by_text = grouped((text, subject) for subject, text in notes)
    merged = []
    for text, subjects in subjects_by_text.items():
        others = f" ({len(subjects) - 1:,} more like this)" if len(subjects) > 1 else ""
        merged.append(f"{subjects[0]}{text}{others}")
    return merged


def _note_parts(reads: Mapping[Path, Sequence[ReadPredictions]]) -> list[str]:
    """Notes of all files of predictions, with their models and files.

    Notes with the same text are merged into one that counts them.
    """
    notes: list[tuple[str, str]] = []
    for path, parts in reads.items():
        for part in parts:
            notes += [(f"{part.model}: {path}: ", note.removeprefix(f"{path}: ")) for note in part.notes]
    return merge_notes(notes)


def _note_style(style: str, variants: Collection[str], variants_read: Collection[str]) -> list[str]:
    """Notes on the variants of a run in a style.

    They name variants that the style does not change, and variants with predictions from files.
    """
    if style == "default":
        return []
    style_variants = {*variants} & {*TRANSFORMS} - {REVERSED}
    missing = [name for name in variants if name in style_variants and style_of(name, style) != style]
    available = style_variants.difference(missing)
    variants_from_files = [name for name in variants if name in available and name in variants_read]
    notes = []
    if missing:
        reason = "no paper describes" if style == "paper" else "no released script makes"
        notes.append(f"--style {style}: {reason} {', '.join(missing)}; ours are used")
    if variants_from_files:
        names = ", ".join(variants_from_files)
        notes.append(f"--style {style}: predictions for {names} are taken to be of variants in this style")
    return notes
