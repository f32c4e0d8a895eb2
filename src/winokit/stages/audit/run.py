"""The audit: what is this score worth? Data, scorer and protocols meet here and nowhere else."""

import platform
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import winokit
from winokit.answers import AskedProblems
from winokit.data.loading import (
    DATA_HELP,
    As,
    Labels,
    Lenient,
    Limit,
    Perturbed,
    Reading,
    load,
    load_one,
    load_shots,
    paths_of,
)
from winokit.data.predictions.columns import are_of_predictions, checked_columns
from winokit.data.predictions.logs import check_no_log, logged_data, prediction_files
from winokit.data.predictions.read import read_files
from winokit.data.predictions.within import PredictionsWithin, predictions_within, split_columns
from winokit.data.runs import LeftOut, Run, check_folder
from winokit.errors import BadInput, UnknownName
from winokit.methods.cluster import ClusterSettings
from winokit.methods.scoring.base import default_scoring, unread_languages
from winokit.methods.scoring.cache import Cache, CacheFile, open_cache
from winokit.methods.scoring.ledger import Spending
from winokit.methods.scoring.prompts import PromptTemplate, read_prompt
from winokit.methods.scoring.ray_model import load_on
from winokit.methods.scoring.scorer import Prediction, ScoringPlan, score_variants
from winokit.methods.scoring.transcripts import Transcript, reply_notes
from winokit.methods.transforms.variants import (
    ORIGINAL,
    PERTURBED,
    REVERSED,
    TRANSFORMS,
    Style,
    Variant,
    make_variants,
    perturbed_variants,
    style_of,
)
from winokit.models.base import Model, notes_of
from winokit.models.registry import MODEL_HELP, ModelLike, Spec, as_model, check_model, release
from winokit.problem import Dataset, collector_off, grouped
from winokit.progress import Progress, tell
from winokit.results import Metric
from winokit.settings import Help, Without, verb
from winokit.stages.audit.page import write_report
from winokit.stages.audit.protocols import PROTOCOLS, Protocol
from winokit.stages.audit.sheet import AuditSheet, asked_problems
from winokit.text.language import ABILITIES, left_out

URL = re.compile(r"https?://[^\s\"']+")
"""Where a server is: part of what answers are kept under, and of no concern to whoever reads a run."""
OUT = Path("runs/DATA")
"""The folder of a run that is typed without one; DATA stands for the dataset's name."""
Run.shown_by = "winokit.stages.audit.table"


@verb
@collector_off()
def audit(
    data: Annotated[
        str | Path | Dataset | None,
        Help(f"{DATA_HELP} Default: the problems in the logs of --predictions, otherwise open.", metavar="DATA"),
    ] = None,
    model: Annotated[
        ModelLike | Sequence[ModelLike] | None,
        Help(f"{MODEL_HELP} Repeatable. Default: builtin.", metavar="SPEC", typed=list[str], option=True),
    ] = None,
    *,
    scoring: Annotated[str | Sequence[str] | None, Help("How to score; repeatable.", metavar="NAME")] = None,
    predictions: Annotated[
        Sequence[str | Path],
        Help(
            "Predictions instead of a model: winokit's, labels, a table, JSON by id, logs of lm-evaluation-harness or "
            "Inspect, the folder with its logs, or examples (bundled ones on open); repeatable.",
            metavar="FILE",
        ),
    ] = (),
    prediction_columns: Annotated[
        str | Mapping[str, str] | None,
        Help(
            "What the columns of a table of predictions are: id=nr,prediction=reply or id=nr,scores1=a,scores2=b; "
            "order=line matches by order (docs/audit.md). Default: recognised by name.",
            metavar="ROLE=COLUMN,…",
        ),
    ] = None,
    out: Annotated[str | Path | None, Help("The run's folder.", metavar="RUN", otherwise=OUT)] = None,
    protocol: Annotated[
        str | Sequence[str],
        Help("Only this protocol, optionally on a subset (artifacts@non_associative); repeatable.", metavar="NAME"),
    ] = (),
    margin: Annotated[
        float | None,
        Help(
            "An effect that matters, in points: the verdict says whether the score is above chance by more.",
            above=0,
            most=100,
        ),
    ] = None,
    style: Annotated[
        Style,
        Help(
            "How variants are made: ours (default), as their papers describe them (paper), or as the released scripts "
            "make them (code), counted as there (docs/transforms.md).",
            noun="style",
        ),
    ] = "default",
    perturbed: Perturbed = (),
    labels: Labels = (),
    as_: As = None,
    reading: Annotated[Reading, Without("columns")] = Reading(),
    columns: Annotated[
        str | Mapping[str, str] | None,
        Help(
            "What the columns of DATA's table are (docs/data.md); with a role prediction or scores, "
            "those of --predictions.",
            metavar="ROLE=COLUMN,…",
        ),
    ] = None,
    lenient: Lenient = False,
    plan: Annotated[ScoringPlan, Without("scoring")] = ScoringPlan(),
    spending: Spending = Spending(),
    cluster: ClusterSettings = ClusterSettings(),
    limit: Limit = None,
    cache: CacheFile = None,
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
    plan
        How models are asked: shots, their seed and the substitution, which can be given by themselves.

    Returns
    -------
    Run
        The rows of every protocol in `metrics`, and what could not be used in `left_out`.
    """
    protocols = (protocol,) if isinstance(protocol, str) else tuple(protocol or PROTOCOLS)
    scorings = (scoring,) if scoring is None or isinstance(scoring, str) else tuple(scoring)
    chosen = {name.partition("@")[0]: PROTOCOLS[name.partition("@")[0]] for name in protocols}
    wanted = {name for name in TRANSFORMS if any(each.wants(name) for each in chosen.values())}
    if perturbed and not any(each.wants(PERTURBED) for each in chosen.values()):
        raise BadInput(f"--perturbed has no effect on {', '.join(chosen)}; add stability or strict")
    if columns is not None and prediction_columns is None and are_of_predictions(columns):
        columns, prediction_columns = (None, columns) if predictions else split_columns(columns)
    named_columns: Mapping[str, str] | None = None
    if prediction_columns is not None:
        named_columns = checked_columns(prediction_columns)
    if named_columns and not predictions:
        predictions = paths_of(data) if data is not None else []
        if not predictions:
            raise BadInput("--prediction-columns says what the columns of --predictions FILE are; name one")
    if columns is not None:
        reading = replace(reading, columns=columns)
    files = prediction_files(predictions)
    if data is not None:
        check_no_log(data, files)
    elif (logged := logged_data(files, lenient=lenient)) is not None:
        data, perturbed = logged[0], [*perturbed, *logged[1]]
    whole = load_one("open" if data is None else data, as_=as_, reading=reading, labels=labels, lenient=lenient)
    perturbed_data = [load(each, lenient=lenient) for each in perturbed]
    dataset = whole if limit is None else whole[:limit]
    within = PredictionsWithin()
    if data is not None and not files and model is None:
        is_scored = scoring is not None or plan != ScoringPlan(seed=plan.seed)
        within = predictions_within(data, whole, is_scored=is_scored)
        tell(within.notes)
        files = list(within.files)
        named_columns = None if within.columns is None else dict(within.columns)
    folder = OUT.with_name(whole.card.file_name) if out == OUT else None if out is None else Path(out)
    if folder is not None:
        check_folder(folder)
    named: Any = ([] if files else ["builtin"]) if model is None else model
    models = [as_model(each) for each in (named if isinstance(named, (list, tuple)) else [named])]
    for each in models:
        check_model(each)
    if all(problem.answer is None for problem in dataset):
        raise BadInput(
            f"{dataset.card.name}: no problem has an answer to compare with; `winokit score` does not need answers"
        )
    if not models and (scoring is not None or plan != ScoringPlan(seed=plan.seed)):
        raise BadInput(
            "--scoring, --shots, --prompt and --substitution apply to models; predictions are used as they are"
        )
    _check_names(models, scorings)
    versions = perturbed_variants(whole, whole, perturbed_data)
    if style != "default":
        versions |= make_variants(whole, wanted, style)
    reads, passed_over = read_files(files, whole, versions, named_columns, lenient=lenient)
    # Without a model only those variants are made that somebody has predictions for.
    read = [part for parts in reads.values() for part in parts]
    needed = wanted if models else wanted & {part.variant for part in read}
    variants = make_variants(dataset, needed, style) | perturbed_variants(whole, dataset, perturbed_data)
    ids = {problem.id for problem in dataset}
    sources = {
        str(path): [row for part in parts for row in part.predictions if row.id in ids] for path, parts in reads.items()
    }
    _check_apart(sources)
    texts = {ORIGINAL: dataset} | {name: variant.problems for name, variant in variants.items()}
    plan = replace(load_shots(plan, dataset), prompt=read_prompt(plan.prompt))
    with open_cache(cache, spending) as known:
        answers = ModelAnswers()
        plans = [replace(plan, scoring=name) for name in scorings]
        for each in models:
            loaded = load_on(each, cluster)
            try:
                answers.ask(loaded, texts, plans, chosen, bool(protocol), known, progress)
            finally:
                if loaded is not each:  # two large ones never sit in memory together
                    release(loaded)
    for part in read:
        if part.surprisals:
            answers.asked.setdefault(part.model, {})["naturalness"] = part.surprisals
    about = _about(dataset, answers.fingerprints, [file.path for file in files], protocols, plan)
    if style != "default":
        about["style"] = style
    if spending.dry_run:
        looked_at = {
            name: [ORIGINAL, *filter(each.wants, texts), *([name] if each.asks else ())]
            for name, each in chosen.items()
        }
        return Run({**about, "plan": known.ledger.planned(looked_at)}, [], [], dataset)
    _check_apart({"--model": answers.rows, **sources})
    rows = [*answers.rows, *(row for own in sources.values() for row in own)]
    if not rows:
        raise BadInput("nothing to audit: no model and no predictions")
    run = _judged(dataset, variants, rows, answers, protocols, about)
    run.transcripts = answers.transcripts
    run.settings["asked"] = known.ledger.spent()
    if margin is not None:
        run.settings["margin"] = margin
    run.settings["replayed"] = known.ledger.replays.to_json()
    run.settings["notes"] = [
        *dataset.notes,
        *within.notes,
        *_styles(style, variants, {part.variant for part in read}),
        # Candidates' lengths are in letters where words cannot be told.
        *left_out(dataset.languages, [name for name in ABILITIES if name in {*needed, *chosen} - {"length"}]),
        *unread_languages(models, dataset),
        *passed_over,
        *_together(
            (f"{part.model}: {path}: ", note.removeprefix(f"{path}: "))
            for path, parts in reads.items()
            for part in parts
            for note in part.notes
        ),
        *answers.notes,
        *reply_notes(answers.transcripts),
        *known.ledger.notes,
        *known.ledger.replays.notes,
        *_unanswered(rows, ids),
        *_without_blank(dataset, chosen),
        *(_without_rows(run, protocols) if protocol else ()),
    ]
    # Rows of files that belong to no problem: never guessed, always told.
    unused = [
        LeftOut("predictions", f"{part.model} ({part.scoring})", f"the first: {part.unmatched[0]}", len(part.unmatched))
        for part in read
        if part.unmatched
    ]
    run.left_out[:0] = unused
    shown = known.ledger.replays.notes  # beside the result, by `table.lines`
    tell(note for note in run.notes if note not in shown)
    tell(f"{row.subset}: {row.n:,} rows not used: {row.why}" for row in unused)
    if folder is not None:
        run.save(folder)
        run.report = write_report(run, folder / "report")
    return run


@dataclass
class ModelAnswers:
    """What models answered, one after the other, and what is known of each when it is let go."""

    rows: list[Prediction] = field(default_factory=list)
    asked: dict[str, dict[str, Mapping[str, float]]] = field(default_factory=dict)
    """By model and protocol, what was asked beside predictions: a number per problem id."""
    formalizations: dict[str, str | None] = field(default_factory=dict)
    fingerprints: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    transcripts: list[Transcript] = field(default_factory=list)

    def ask(
        self,
        model: Model,
        texts: Mapping[str, Dataset],
        plans: Sequence[ScoringPlan],
        protocols: Mapping[str, Protocol],
        by_name: bool,
        cache: Cache,
        progress: Progress | None,
    ) -> None:
        """Ask a model everything."""
        # In a dry run each variant is entered by itself; else all are asked in one pass.
        parts = [{name: texts[name]} for name in texts] if cache.ledger.spending.dry_run else [texts]
        for plan in plans:
            name = plan.scoring or default_scoring(model, texts[ORIGINAL])
            if cache.ledger.spending.dry_run and model.kind != "any":  # of a part alone the default may be another
                plan = replace(plan, scoring=name)
            for part in parts:
                with cache.ledger.under(model.spec, name, *part):
                    self.rows += score_variants(
                        part, model, plan, cache=cache, progress=progress, transcripts=self.transcripts
                    )
        self.asked[model.spec] = {}
        for name, protocol in protocols.items():
            if protocol.asks is not None:
                with cache.ledger.under(model.spec, "", name):
                    self.asked[model.spec][name] = protocol.asks(texts[ORIGINAL], model, cache, by_name)
        self.formalizations[model.spec] = getattr(model, "formalization", None)
        self.fingerprints[model.spec] = URL.sub("…", model.fingerprint)
        self.notes += notes_of(model)


def _styles(style: str, variants: Collection[str], read: Collection[str]) -> list[str]:
    """Which variants a style does not have, and which of it predictions are taken to be of."""
    made = [name for name in variants if name in TRANSFORMS and name != REVERSED]
    missing = [name for name in made if style_of(name, style) != style]
    taken = [name for name in made if name in read and name not in missing]
    what = "no paper describes" if style == "paper" else "no released script makes"
    notes = []
    if style != "default" and missing:
        notes.append(f"--style {style}: {what} {', '.join(missing)}; ours are used")
    if style != "default" and taken:
        notes.append(f"--style {style}: predictions for {', '.join(taken)} are taken to be of variants in this style")
    return notes


def _without_blank(dataset: Dataset, protocols: Mapping[str, Protocol]) -> list[str]:
    """Which protocols leave out the whole texts of a dataset, where it has any."""
    whole = sum(problem.is_whole for problem in dataset)
    needing = [name for name, each in protocols.items() if any(map(each.wants, TRANSFORMS.keys() - {REVERSED}))]
    note = f"{whole:,} of {len(dataset):,} problems are whole texts, without a blank for {', '.join(needing)}"
    return [note] if whole and needing else []


def _without_rows(run: Run, protocols: Sequence[str]) -> list[str]:
    """The protocols that were asked for by name, and found nothing to work on."""
    present = {(row.protocol, row.subset.partition("@")[2]) for row in run.metrics}
    names = [name for name in protocols if (name.partition("@")[0], name.partition("@")[2]) not in present]
    return [f"protocol {name}: the data and predictions have nothing for it" for name in names]


def _check_names(models: Sequence[str | Model], scorings: Sequence[str | None]) -> None:
    """Refuse what is named twice, and two models that rows could not tell apart."""
    for what, names in (("model", [each for each in models if isinstance(each, str)]), ("scoring", scorings)):
        for name in names:
            if names.count(name) > 1:
                raise BadInput(f"{what} {name!r} is named twice: name it once")
    named: dict[str, str | Model] = {}
    for each in models:
        name = str(Spec.parse(each)) if isinstance(each, str) else each.spec
        if named.setdefault(name, each) != each:
            raise BadInput(f"two models are called {name!r}: give one of them another name, with ?name= or def")


def _check_apart(sources: Mapping[str, Sequence[Prediction]]) -> None:
    """Refuse two sources of predictions for the same problems under one name: the first would be lost."""
    owners: dict[tuple[str, str, str], dict[str, str]] = {}
    for source, rows in sources.items() if sum(map(bool, sources.values())) > 1 else ():
        for row in rows:
            owner = owners.setdefault((row.model, row.scoring, row.variant), {}).setdefault(row.id, source)
            if owner != source:
                raise BadInput(
                    f"{owner} and {source} both have predictions by {row.model!r} ({row.scoring}), as for {row.id}; "
                    "rename one of the files, or the model in it, or leave one out"
                )


def _unanswered(rows: Iterable[Prediction], ids: Collection[str]) -> list[str]:
    """For each scorer that says nothing about some problems, how many they are."""
    answered = grouped(((row.model, row.scoring), row.id if row.variant == ORIGINAL else None) for row in rows)
    return _together(
        (
            f"{model} ({scoring}): ",
            f"no prediction for {len(ids) - len(seen):,} of {len(ids):,} problems; "
            "they are left out, not counted as wrong",
        )
        for (model, scoring), names in answered.items()
        if len(seen := {*names} - {None}) < len(ids)
    )


def _together(notes: Iterable[tuple[str, str]]) -> list[str]:
    """Notes, each given as whom it is about and what it says; what is said of several is listed once, and counted."""
    return [
        who[0] + note + (f" ({len(who) - 1:,} more like this)" if len(who) > 1 else "")
        for note, who in grouped((note, who) for who, note in notes).items()
    ]


def _judged(
    dataset: Dataset,
    variants: Mapping[str, Variant],
    predictions: Sequence[Prediction],
    answers: ModelAnswers,
    protocols: Sequence[str],
    about: dict[str, Any],
) -> Run:
    """The run with the rows of every protocol, for every model and scoring."""
    named: dict[tuple[str, str], dict[str, dict[str, Prediction]]] = {}
    for prediction in predictions:
        by_variant = named.setdefault((prediction.model, prediction.scoring), {})
        by_variant.setdefault(prediction.variant, {})[prediction.id] = prediction
    metrics: list[Metric] = []
    left_out = []
    asked: dict[str, tuple[Dataset, AskedProblems]] = {}
    for (model, scoring), by_variant in named.items():
        sheets: dict[str, AuditSheet] = {}
        for name in protocols:
            protocol, _, subset = name.partition("@")
            if subset not in sheets:
                if subset not in asked:
                    chosen = _subset(dataset, subset)
                    asked[subset] = chosen, asked_problems(chosen, variants)
                selected, problems = asked[subset]
                formalization = answers.formalizations.get(model)
                more = answers.asked.get(model, {})
                sheets[subset] = AuditSheet(
                    selected, by_variant, variants, model, scoring, formalization, more, problems
                )
            rows = PROTOCOLS[protocol].rows(sheets[subset])
            metrics += [replace(row, subset=f"{row.subset}@{subset}") if subset else row for row in rows]
        for sheet in sheets.values():
            left_out += [row for row in sheet.left_out if row not in left_out]
    kept_variants = {name: variant.problems for name, variant in variants.items() if variant.kept}
    return Run(about, metrics, list(predictions), dataset, kept_variants, left_out)


def _subset(dataset: Dataset, name: str) -> Dataset:
    """The problems a protocol is asked on: all, those with a label, or without it (`artifacts@non_associative`)."""
    if not name:
        return dataset
    label, wanted = (name.removeprefix("non_"), False) if name.startswith("non_") else (name, True)
    known = {key for problem in dataset for key, value in problem.labels.items() if isinstance(value, bool)}
    if label not in known:
        raise UnknownName("subset", name, [*known, *(f"non_{key}" for key in known)])
    return dataset.filter(lambda problem: problem.labels.get(label) is wanted)


def _about(
    dataset: Dataset,
    fingerprints: Mapping[str, str],
    predictions: Sequence[str | Path],
    protocols: Sequence[str],
    plan: ScoringPlan,
) -> dict[str, Any]:
    """The settings of a run: what would be needed to do it again."""
    return {
        "winokit": winokit.__version__,
        "python": platform.python_version(),
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "dataset": dataset.card.name,
        "dataset_hash": dataset.content_hash,
        "licence": dataset.card.licence,
        "problems": len(dataset),
        "models": dict(fingerprints),
        "predictions": [Path(path).name for path in predictions],
        "protocols": list(protocols),
        "seed": plan.seed,
        "substitution": plan.substitution,
        "shots": plan.shots,
        **({"shots_from": plan.shots_from.content_hash} if isinstance(plan.shots_from, Dataset) else {}),
        **({"prompt": plan.prompt.text} if isinstance(plan.prompt, PromptTemplate) else {}),
    }
