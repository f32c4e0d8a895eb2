"""The audit of a score in four steps: read the inputs, ask the models, judge the answers, save the run.

Each step gets what the one before it made.
"""

import platform
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import winokit
from winokit.answers import AskedProblems
from winokit.data.loading import DATA_HELP, DataLike, load_shots
from winokit.data.runs import PROTOCOLS_NAMED, READING_PREDICTIONS, LeftOut, Run, check_folder
from winokit.errors import BadInput, UnknownName
from winokit.methods.scoring.asking import Asking
from winokit.methods.scoring.base import default_scoring, unread_languages
from winokit.methods.scoring.cache import Cache
from winokit.methods.scoring.ledger import Ledger
from winokit.methods.scoring.prompts import PromptTemplate, read_prompt
from winokit.methods.scoring.scorer import Prediction, ScoringPlan, notes_on_replies, score_variants, write_predictions
from winokit.methods.transforms.variants import REVERSED, TRANSFORMS
from winokit.models.base import Model, notes_of, samples_of
from winokit.models.registry import MODEL_HELP, ModelLike
from winokit.problem import ORIGINAL, Dataset, collector_off
from winokit.progress import WATCHES, Progress, tell
from winokit.results import READINGS, Metric
from winokit.settings import Help, verb
from winokit.stages.audit.inputs import AuditInputs, check_apart, merge_notes, read_inputs
from winokit.stages.audit.protocols import PROTOCOLS
from winokit.stages.audit.settings import AuditSettings
from winokit.stages.audit.sheet import AuditSheet, asked_problems
from winokit.text.language import ABILITIES, left_out

if TYPE_CHECKING:
    from winokit.methods.scoring.transcripts import Transcript
    from winokit.stages.audit.preview import Preview
    from winokit.stages.audit.readings import ReadingAnswers, ReadingsFile

URL = re.compile(r"https?://[^\s\"']+")
"""A server's address. It is part of the cache's key, and is removed from what a run publishes."""
OUT = Path("runs/DATA")
"""The default folder of a run. DATA stands for the dataset's name."""
Run.shown_by = "winokit.stages.audit.table"


@verb
@collector_off()
def audit(
    data: Annotated[
        DataLike | None,
        Help(f"{DATA_HELP} Default: the problems in the logs of --predictions, otherwise open.", metavar="DATA"),
    ] = None,
    model: Annotated[
        ModelLike | Sequence[ModelLike] | None,
        Help(f"{MODEL_HELP} Repeatable. Default: builtin.", metavar="SPEC", typed=list[str], option=True),
    ] = None,
    *,
    settings: AuditSettings = AuditSettings(),
    asking: Asking = Asking(),
    out: Annotated[str | Path | None, Help("The run's folder.", metavar="RUN", otherwise=OUT)] = None,
    progress: Progress | None = None,
) -> Run:
    """Audit a score with every protocol the data allows, and write a report.

    With no arguments: the built-in model on the bundled twins.

    Parameters
    ----------
    model
        SPECs or models, functions that score, or networks (`load_model`); with predictions and no
        model, the predictions alone are audited.
    out
        Where the run is saved and its report written; None saves nothing.

    Returns
    -------
    Run
        The rows of every protocol in `metrics`, and what could not be used in `left_out`.
    """
    readings = _choose_readings(model, settings, asking)
    inputs = read_inputs(data, model, settings, asking.plan)
    folder = _choose_folder(out, inputs.whole)
    plan = replace(load_shots(asking.plan, inputs.dataset), prompt=read_prompt(asking.plan.prompt))
    asking = replace(asking, plan=plan)
    if settings.preview:
        return preview_run(inputs, settings, asking, readings)
    try:
        answers = ask_models(inputs, settings, asking, progress, readings)
    except PreviewDeclined as declined:
        return Run(declined.settings, [], [], inputs.dataset)
    description = describe_run(inputs, settings, plan, answers)
    if readings is not None:
        description["readings"] = readings.to_json()
    if asking.spending.dry_run:
        planned = answers.ledger.planned(variants_by_protocol(inputs, settings))
        return Run({**description, "plan": planned}, [], [], inputs.dataset)
    run = judge_answers(inputs, settings, answers, description)
    tell_notes(run, answers)
    if folder is not None:
        from winokit.stages.audit.page import write_report

        run.save(folder)
        _save_readings(answers, folder)
        run.report = write_report(run, folder / "report")
    return run


class PreviewDeclined(Exception):
    """Raised if a person declines the rest after a preview.

    Its `settings` are those of a run with the preview alone.
    """

    def __init__(self, preview: "Preview") -> None:
        super().__init__("stopped after the preview")
        self.settings: dict[str, Any] = {"preview": [preview.to_json()], "declined": True}


def _choose_readings(model: object, settings: AuditSettings, asking: Asking) -> "ReadingsFile | None":
    """Read the readings that the settings name.

    None if they name none. Raises BadInput if options contradict each other, before any data is read.
    """
    is_about_files = model is None and settings.has_predictions
    if settings.preview and (is_about_files or asking.spending.dry_run):
        reason = "a dry run asks nothing" if asking.spending.dry_run else "predictions are not asked for"
        raise BadInput(f"--preview shows what a model replies, and {reason}: leave one of them out")
    if settings.readings is None:
        return None
    if is_about_files:
        raise BadInput("--readings asks a model again, and predictions cannot be asked: name one with --model")
    if asking.plan.prompt is not None:
        raise BadInput("--readings has prompts of its own: leave out --prompt, or list its text in the file")
    from winokit.stages.audit.readings import read_readings

    return read_readings(settings.readings)


def _save_readings(answers: "ModelAnswers", folder: Path) -> None:
    """Write the predictions under all readings to the run's folder.

    Without readings, the file of an earlier run is removed.
    """
    path = folder / READING_PREDICTIONS
    if answers.readings is None:
        path.unlink(missing_ok=True)
    else:
        write_predictions(answers.readings.predictions, path)


def _choose_folder(out: str | Path | None, dataset: Dataset) -> Path | None:
    """Return the folder to write to, or None if nothing is saved.

    In the default folder, the dataset's name takes the place of DATA. Raises an error if the folder cannot be written.
    """
    if out is None:
        return None
    folder = OUT.with_name(dataset.card.file_name) if out == OUT else Path(out)
    check_folder(folder)
    return folder


@dataclass
class ModelAnswers:
    """Answers of models and files, with facts on each model."""

    ledger: Ledger
    """What was asked and spent."""
    rows: list[Prediction] = field(default_factory=list)
    """Predictions of all models and files."""
    asked: dict[str, dict[str, Mapping[str, float]]] = field(default_factory=lambda: defaultdict(dict))
    """By model and protocol, a number per problem id that the protocol asked for, such as surprisal."""
    formalizations: dict[str, str | None] = field(default_factory=dict)
    fingerprints: dict[str, str] = field(default_factory=dict)
    """By model, its identity without the server's address."""
    constraints: dict[str, str] = field(default_factory=dict)
    """By model, the method that constrained its replies to the options."""
    samples: dict[str, int] = field(default_factory=dict)
    """By model, the number of samples per question, if there are several."""
    notes: list[str] = field(default_factory=list)
    transcripts: "list[Transcript]" = field(default_factory=list)
    readings: "ReadingAnswers | None" = None
    """Answers under several readings, or None if no model was asked under readings."""


def ask_models(
    inputs: AuditInputs,
    settings: AuditSettings,
    asking: Asking,
    progress: Progress | None,
    readings: "ReadingsFile | None" = None,
) -> ModelAnswers:
    """Ask one model after the other, and add the predictions of files.

    In a dry run the requests are counted and not made. Raises PreviewDeclined if a person saw the first replies of a
    server and declined the rest. Raises BadInput if a model and a file, or two files, predict the same problem as the
    same scorer.
    """
    with asking.opened() as cache:
        answers = ModelAnswers(cache.ledger)
        for spec in inputs.models:
            with asking.loaded(spec) as model:
                _offer_preview(inputs, settings, asking, readings, model, cache)
                _ask_model(answers, inputs, settings, asking.plan, readings, model, cache, progress)
                answers.formalizations[model.spec] = getattr(model, "formalization", None)
                answers.fingerprints[model.spec] = URL.sub("…", model.fingerprint)
                answers.notes += notes_of(model)
                _describe_asking(answers, model)
    for part in inputs.parts:
        if part.surprisals:
            answers.asked[part.model]["naturalness"] = part.surprisals
    if not asking.spending.dry_run:
        check_apart({"--model": answers.rows, **inputs.predictions_by_file})
    for rows in inputs.predictions_by_file.values():
        answers.rows += rows
    if settings.majority and not asking.spending.dry_run:
        _add_majorities(answers)
    return answers


def _ask_model(
    answers: ModelAnswers,
    inputs: AuditInputs,
    settings: AuditSettings,
    plan: ScoringPlan,
    readings: "ReadingsFile | None",
    model: Model,
    cache: Cache,
    progress: Progress | None,
) -> None:
    """Ask one model everything: scores, numbers for protocols, and readings.

    The results are added to `answers`.
    """
    for scoring in settings.scorings:
        _ask_for_scores(answers, inputs.texts, model, replace(plan, scoring=scoring), cache, progress)
    _ask_for_protocols(answers, inputs.dataset, model, settings, cache)
    if readings is not None:
        named_scorings = [scoring for scoring in settings.scorings if scoring is not None]
        from winokit.stages.audit.readings import ReadingAnswers, ask_readings

        answers.readings = answers.readings or ReadingAnswers()
        model_readings = readings.readings_for(model, inputs.dataset, plan, named_scorings)
        ask_readings(answers.readings, inputs.dataset, model, model_readings, cache, progress)


def _describe_asking(answers: ModelAnswers, model: Model) -> None:
    """Add the constraint and the number of samples of a model.

    They are added to `answers`.
    """
    constraint = getattr(model, "constraint", None)
    if constraint is not None:
        answers.constraints[model.spec] = constraint
    if samples_of(model) > 1:
        answers.samples[model.spec] = samples_of(model)


def _add_majorities(answers: ModelAnswers) -> None:
    """Add to `answers` the majority vote over the samples of each scorer.

    Raises BadInput if no scorer has several samples.
    """
    from winokit.methods.scoring.majority import majority_predictions

    if all(row.sample is None for row in answers.rows):
        raise BadInput("--majority: no scorer has several samples of each problem: ask with chat:MODEL@URL?n=5")
    answers.rows += majority_predictions(answers.rows)


def _ask_for_scores(
    answers: ModelAnswers,
    texts: Mapping[str, Dataset],
    model: Model,
    plan: ScoringPlan,
    cache: Cache,
    progress: Progress | None,
) -> None:
    """Ask a model for scores, and add them to `answers`.

    `texts` has the problems by variant, which are asked in one pass. In a dry run, the requests of each variant are
    counted separately.
    """
    scoring = plan.scoring or default_scoring(model, texts[ORIGINAL])
    passes = [texts]
    if cache.ledger.spending.dry_run:
        passes = [{name: texts[name]} for name in texts]
        if model.kind != "any":  # the default scoring of one variant alone may be another
            plan = replace(plan, scoring=scoring)
    for variants in passes:
        with cache.ledger.under(model.spec, scoring, *variants):
            answers.rows += score_variants(
                variants, model, plan, cache=cache, progress=progress, transcripts=answers.transcripts
            )


def _ask_for_protocols(
    answers: ModelAnswers, dataset: Dataset, model: Model, settings: AuditSettings, cache: Cache
) -> None:
    """Ask a model for the numbers that protocols need, such as surprisal.

    They are added to `answers`.
    """
    is_by_name = bool(settings.protocol)
    numbers: dict[str, Mapping[str, float]] = {}
    for name, protocol in settings.protocols.items():
        if protocol.asks is not None:
            with cache.ledger.under(model.spec, "", name):
                numbers[name] = protocol.asks(dataset, model, cache, is_by_name)
    answers.asked[model.spec] = numbers


def preview_run(inputs: AuditInputs, settings: AuditSettings, asking: Asking, readings: "ReadingsFile | None") -> Run:
    """Make a run with a preview of every model and no rows."""
    previews = []
    with asking.opened() as cache:
        for spec in inputs.models:
            with asking.loaded(spec) as model:
                previews.append(_make_preview(inputs, settings, asking, readings, model, cache))
    return Run({"preview": [preview.to_json() for preview in previews]}, [], [], inputs.dataset)


def _make_preview(
    inputs: AuditInputs,
    settings: AuditSettings,
    asking: Asking,
    readings: "ReadingsFile | None",
    model: Model,
    cache: Cache,
) -> "Preview":
    """Ask the first questions of a model, and plan the rest."""
    from winokit.stages.audit.preview import preview_model

    plan = replace(asking.plan, scoring=settings.scorings[0])
    preview = preview_model(inputs.dataset, model, plan, cache)
    return replace(preview, rest=_plan_rest(inputs, settings, asking, readings, model, cache))


def _plan_rest(
    inputs: AuditInputs,
    settings: AuditSettings,
    asking: Asking,
    readings: "ReadingsFile | None",
    model: Model,
    cache: Cache,
) -> dict[str, Any]:
    """Count the requests, tokens and cost left for a model, by name.

    Nothing is asked. `readings` has the prompts and orders to count, None without `--readings`.
    """
    from winokit.stages.audit.preview import plan_quietly

    with plan_quietly(cache, asking.spending) as ledger:
        _ask_model(ModelAnswers(ledger), inputs, settings, asking.plan, readings, model, cache, None)
        return ledger.planned({})


def _offer_preview(
    inputs: AuditInputs,
    settings: AuditSettings,
    asking: Asking,
    readings: "ReadingsFile | None",
    model: Model,
    cache: Cache,
) -> None:
    """Show the person at the terminal the first replies of a server.

    Nothing is shown without a terminal, for local models, or if few requests are left. Raises PreviewDeclined if that
    person declines the rest.
    """
    watch = WATCHES.get()
    if watch is None or asking.spending.dry_run:
        return
    from winokit.methods.scoring.shelf import is_served
    from winokit.stages.audit.preview import MOST_UNSEEN

    if not is_served(model):
        return
    if _plan_rest(inputs, settings, asking, readings, model, cache)["new"] <= MOST_UNSEEN:
        return
    preview = _make_preview(inputs, settings, asking, readings, model, cache)
    if not watch(preview.lines(), preview.question):
        raise PreviewDeclined(preview)


UNUSED = "predictions"
"""Name under which a run lists rows of files that belong to no problem."""


def judge_answers(
    inputs: AuditInputs, settings: AuditSettings, answers: ModelAnswers, description: dict[str, Any]
) -> Run:
    """Make the run with all its rows and notes.

    `description` has the run's settings so far. Raises BadInput if there are no predictions.
    """
    if not answers.rows:
        raise BadInput("nothing to audit: no model and no predictions")
    metrics, left_out = _judge_scorers(inputs, settings, answers)
    if answers.readings is not None:
        metrics += answers.readings.metrics(inputs.dataset, answers.formalizations)
    kept_variants = {name: variant.problems for name, variant in inputs.variants.items() if variant.kept}
    facts = {**description, "asked": answers.ledger.spent()}
    if settings.margin is not None:
        facts["margin"] = settings.margin
    facts["replayed"] = answers.ledger.replays.to_json()
    facts["notes"] = collect_notes(inputs, settings, answers, metrics)
    all_left_out = [*_list_unused(inputs), *left_out]
    return Run(facts, metrics, answers.rows, inputs.dataset, kept_variants, all_left_out, answers.transcripts)


def _judge_scorers(
    inputs: AuditInputs, settings: AuditSettings, answers: ModelAnswers
) -> tuple[list[Metric], list[LeftOut]]:
    """Rows of every protocol for every scorer, and problems left out."""
    metrics: list[Metric] = []
    left_out: list[LeftOut] = []
    datasets = {name: _select_subset(inputs.dataset, name) for name in _list_subsets(settings)}
    problems = {name: asked_problems(dataset, inputs.variants) for name, dataset in datasets.items()}
    for (model, scoring), by_variant in _group_by_scorer(answers.rows).items():
        sheets = {
            name: _make_sheet(by_variant, inputs, answers, model, scoring, datasets[name], problems[name])
            for name in datasets
        }
        for name in settings.protocol_names:
            protocol, _, subset = name.partition("@")
            rows = PROTOCOLS[protocol].rows(sheets[subset])
            metrics += _mark_subset(rows, subset)
        for sheet in sheets.values():
            left_out += [row for row in sheet.left_out if row not in left_out]
    return metrics, left_out


def _mark_subset(rows: Iterable[Metric], subset: str) -> Iterable[Metric]:
    """Add a subset of problems to the subset of rows (`all@associative`).

    An empty name changes nothing.
    """
    if not subset:
        return rows
    return [replace(row, subset=f"{row.subset}@{subset}") for row in rows]


def _list_unused(inputs: AuditInputs) -> list[LeftOut]:
    """Count the rows of files that belong to no problem.

    The first of them is an example.
    """
    unused = []
    for part in inputs.parts:
        if part.unmatched:
            scorer = f"{part.model} ({part.scoring})"
            example = f"the first: {part.unmatched[0]}"
            unused.append(LeftOut(UNUSED, scorer, example, len(part.unmatched)))
    return unused


PredictionsByVariant = dict[str, dict[str, list[Prediction]]]
"""By variant, the predictions for each problem's id: one for each sample."""


def _group_by_scorer(rows: Sequence[Prediction]) -> dict[tuple[str, str], PredictionsByVariant]:
    """Group predictions by model and scoring."""
    by_scorer: dict[tuple[str, str], PredictionsByVariant] = {}
    for row in rows:
        by_variant = by_scorer.setdefault((row.model, row.scoring), {})
        by_variant.setdefault(row.variant, {}).setdefault(row.id, []).append(row)
    return by_scorer


def _make_sheet(
    by_variant: PredictionsByVariant,
    inputs: AuditInputs,
    answers: ModelAnswers,
    model: str,
    scoring: str,
    dataset: Dataset,
    problems: AskedProblems,
) -> AuditSheet:
    """Make the sheet of one scorer for the problems of one subset.

    Protocols read from it.
    """
    formalization = answers.formalizations.get(model)
    numbers = answers.asked.get(model, {})
    return AuditSheet(dataset, by_variant, inputs.variants, model, scoring, formalization, numbers, problems)


def _list_subsets(settings: AuditSettings) -> list[str]:
    """Names of the subsets of protocols, each once.

    The empty name means all problems.
    """
    return list(dict.fromkeys(name.partition("@")[2] for name in settings.protocol_names))


def _select_subset(dataset: Dataset, name: str) -> Dataset:
    """Select the problems for which a label is true, or false.

    All are selected if the name is empty. The name of a label selects problems for which it is true, and `non_` before
    it those for which it is false. Problems that lack the label are in neither. Raises UnknownName if no problem has
    the label.
    """
    if not name:
        return dataset
    label_value = not name.startswith("non_")
    label = name.removeprefix("non_")
    valid_labels: set[str] = set()
    for problem in dataset:
        valid_labels |= {key for key, value in problem.labels.items() if isinstance(value, bool)}
    if label not in valid_labels:
        raise UnknownName("subset", name, [*valid_labels, *(f"non_{key}" for key in valid_labels)])
    return dataset.filter(lambda problem: problem.labels.get(label) is label_value)


def collect_notes(
    inputs: AuditInputs, settings: AuditSettings, answers: ModelAnswers, metrics: Sequence[Metric]
) -> list[str]:
    """Collect the notes of a run on data, files, models and rows."""
    dataset = inputs.dataset
    needed_names = {*inputs.variants_needed, *settings.protocols}
    # The length of candidates is in letters if a language's words cannot be told.
    abilities = [name for name in ABILITIES if name in needed_names and name != "length"]
    return [
        *dataset.notes,
        *inputs.notes,
        *left_out(dataset.languages, abilities),
        *unread_languages(inputs.models, dataset),
        *inputs.notes_on_files,
        *answers.notes,
        *([] if answers.readings is None else answers.readings.notes),
        *notes_on_replies(answers.transcripts),
        *answers.ledger.notes,
        *answers.ledger.replays.notes,
        *_note_silence(answers.rows, dataset),
        *_note_whole_texts(dataset, settings),
        *_note_empty_protocols(metrics, settings),
    ]


def _note_silence(rows: Sequence[Prediction], dataset: Dataset) -> list[str]:
    """Note the scorers without predictions for some original problems."""
    ids = {problem.id for problem in dataset}
    ids_by_scorer: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        answered_ids = ids_by_scorer.setdefault((row.model, row.scoring), set())
        if row.variant == ORIGINAL:
            answered_ids.add(row.id)
    notes = []
    for (model, scoring), answered_ids in ids_by_scorer.items():
        missing_count = len(ids) - len(answered_ids)
        if missing_count > 0:
            counts = f"no prediction for {missing_count:,} of {len(ids):,} problems"
            notes.append((f"{model} ({scoring}): ", f"{counts}; they are left out, not counted as wrong"))
    return merge_notes(notes)


def _note_whole_texts(dataset: Dataset, settings: AuditSettings) -> list[str]:
    """Note the protocols that cannot use whole texts without a blank."""
    whole_count = sum(problem.is_whole for problem in dataset)
    with_blanks = TRANSFORMS.keys() - {REVERSED}
    protocols = [name for name, protocol in settings.protocols.items() if any(map(protocol.wants, with_blanks))]
    if not whole_count or not protocols:
        return []
    counts = f"{whole_count:,} of {len(dataset):,} problems are whole texts"
    return [f"{counts}, without a blank for {', '.join(protocols)}"]


def _note_empty_protocols(metrics: Sequence[Metric], settings: AuditSettings) -> list[str]:
    """Note the protocols that a user named and that made no row."""
    if not settings.protocol:
        return []
    with_rows = {(row.protocol, row.subset.partition("@")[2]) for row in metrics}
    notes = []
    for name in settings.protocol_names:
        protocol, _, subset = name.partition("@")
        if (protocol, subset) not in with_rows:
            notes.append(f"protocol {name}: the data and predictions have nothing for it")
    return notes


def tell_notes(run: Run, answers: ModelAnswers) -> None:
    """Print the notes of a run, and unused rows of files.

    Replays are printed beside the result.
    """
    tell(note for note in run.notes if note not in answers.ledger.replays.notes)
    tell(f"{row.subset}: {row.n:,} rows not used: {row.why}" for row in run.left_out if row.protocol == UNUSED)


def variants_by_protocol(inputs: AuditInputs, settings: AuditSettings) -> dict[str, list[str]]:
    """Variants that each protocol needs, for the counts of a dry run.

    A protocol that asks for numbers has its own name among them, and readings have an entry like a protocol.
    """
    variants = {}
    for name, protocol in settings.protocols.items():
        variants[name] = [ORIGINAL, *filter(protocol.wants, inputs.texts)]
        if protocol.asks is not None:
            variants[name].append(name)
    if settings.readings is not None:
        variants[READINGS] = [READINGS]
    return variants


def describe_run(
    inputs: AuditInputs, settings: AuditSettings, plan: ScoringPlan, answers: ModelAnswers
) -> dict[str, Any]:
    """Describe everything that is needed to repeat a run.

    The results file has it as the run's settings.
    """
    dataset = inputs.dataset
    description = {
        "winokit": winokit.__version__,
        "python": platform.python_version(),
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "dataset": dataset.card.name,
        "dataset_hash": dataset.content_hash,
        "licence": dataset.card.licence,
        "problems": len(dataset),
        "models": dict(answers.fingerprints),
        "predictions": [file.path.name for file in inputs.files],
        "protocols": list(settings.protocol_names),
        "seed": plan.seed,
        "substitution": plan.substitution,
        "shots": plan.shots,
    }
    if settings.protocol:
        description[PROTOCOLS_NAMED] = True
    if isinstance(plan.shots_from, Dataset):
        description["shots_from"] = plan.shots_from.content_hash
    if isinstance(plan.prompt, PromptTemplate):
        description["prompt"] = plan.prompt.text
    if settings.style != "default":
        description["style"] = settings.style
    if answers.constraints:
        description["constrained"] = answers.constraints
    if answers.samples:
        description["samples"] = answers.samples
    return description
