"""`winokit check`: malformed records, leaks, broken twins, duplicates across splits, rule violations.

With `--data DATA` the files are predictions, and the command shows how they are read.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from winokit.answers import ORIGINAL
from winokit.data.checks import checkup
from winokit.data.checks.checkup import Finding, Findings
from winokit.data.checks.rules import RuleSet
from winokit.data.loading import DataLike, Datasets, Labelled, Loading, load_all, load_with_records
from winokit.data.predictions.columns import are_of_predictions
from winokit.data.predictions.understanding import UnderstoodPredictions, read_predictions
from winokit.drawing.tables import Lines, dim, styled, table
from winokit.drawing.wording import percent, plural
from winokit.errors import BadInput
from winokit.methods.hunting.ngram_corpus import CorpusSettings, NgramCorpus
from winokit.methods.hunting.search import Corpus
from winokit.problem import grouped
from winokit.progress import Progress, tell
from winokit.settings import Help, Settings, verb

UnderstoodPredictions.shown_by = "winokit.stages.check"


@dataclass(frozen=True)
class CheckSettings(Settings):
    """Settings of a check: checks to make, rules, and examples."""

    only: Annotated[
        Sequence[checkup.Check],
        Help(
            "records, groups, leaks, duplicates, rules, structure, corpus or facts; repeatable. Default: all.",
            noun="check",
        ),
    ] = ()
    rules: Annotated[
        RuleSet | None,
        Help(
            "universal, or winogrande: also its writers' rules (length, overlap, kind). Default: universal, but "
            "winogrande for what `winokit collect` exported.",
            "NAME",
            noun="set of rules",
            shown=False,
        ),
    ] = None
    train: Annotated[
        Datasets, Help("Training data: report its closest fact for each problem; repeatable.", "DATA")
    ] = ()
    examples: Annotated[int, Help("How many examples to show per finding.", least=0)] = 2


@verb
def check(
    data: Datasets,
    *,
    settings: CheckSettings = CheckSettings(),
    problems: Annotated[
        DataLike | None,
        Help(
            "What predictions are about: then the files are predictions, and what is understood of them is shown.",
            "DATA",
            also="data",
        ),
    ] = None,
    prediction_columns: Annotated[
        str | Mapping[str, str] | None,
        Help("With --data: what the columns of a table of predictions are.", "ROLE=COLUMN,…", typed=str),
    ] = None,
    loading: Labelled = Loading(),
    source: CorpusSettings = CorpusSettings(),
    progress: Progress | None = None,
) -> checkup.Findings:
    """Find malformed records, leaks, broken twins, duplicates and broken rules.

    Each file is checked by itself and against the others. Every record that is malformed, unanswered or doubled is
    listed with its line; the others are read. The command's exit code is 1 if anything is found.
    """
    if problems is not None:
        if prediction_columns is None and loading.columns is not None and are_of_predictions(loading.columns):
            prediction_columns = loading.columns
            loading = replace(loading, columns=None)
        understood = _read_understood(data, problems, prediction_columns, loading)
        return Findings(_find_prediction_faults(understood), settings.examples, understood)
    if prediction_columns is not None:
        raise BadInput("--prediction-columns: of which problems? name them with --data DATA")
    loaded = load_with_records(data, **{**loading.how, "lenient": True}, groups=False, keep_empty=True)
    training_sets = load_all(settings.train, **{**loading.how, "labels": ()}, groups=False)
    chosen_checks = settings.only or checkup.CHECKS
    with source.opened() as corpus:
        findings = checkup.check(
            [data_with_records.dataset for data_with_records in loaded],
            chosen_checks,
            settings.rules,
            corpus=corpus,
            train=training_sets,
            files=[data_with_records.files for data_with_records in loaded],
            progress=progress,
        )
        return checkup.Findings(_date_findings(findings, corpus), settings.examples)


def _date_findings(findings: Sequence[checkup.Finding], corpus: Corpus | None) -> list[checkup.Finding]:
    """Add counts and dates of replayed lookups to findings in a corpus.

    Notes of the corpus are printed. Findings of other checks stay as they are.
    """
    if not isinstance(corpus, NgramCorpus):
        return list(findings)
    tell(corpus.notes)
    dated_findings = []
    for finding in findings:
        if finding.check == checkup.CORPUS:
            finding = replace(finding, details={**finding.details, "replayed": corpus.replayed})
        dated_findings.append(finding)
    return dated_findings


def _read_understood(
    predictions: Any, problems: DataLike, columns: str | Mapping[str, str] | None, loading: Loading
) -> UnderstoodPredictions:
    """Read one file or frame of predictions of these problems.

    Raises BadInput if there are several files.
    """
    if isinstance(predictions, (list, tuple)) and len(predictions) == 1:
        predictions = predictions[0]
    if isinstance(predictions, (list, tuple)):
        raise BadInput(f"--data: one file of predictions at a time, found {len(predictions)}")
    return read_predictions(predictions, loading.one(problems), columns=columns)


def _find_prediction_faults(understood: UnderstoodPredictions) -> Iterator[Finding]:
    """Yield findings about unused rows, contradictions, abstentions and notes.

    Only unused rows and contradictions are warnings.
    """
    for kind, warns in (("unmatched", True), ("contradictions", True), ("abstentions", False)):
        examples = getattr(understood, kind)
        if examples:
            message = f"{understood.name}: {len(examples):,} {kind}"
            yield Finding(understood.dataset, "predictions", warns, message, len(examples), tuple(examples))
    for note in understood.notes:
        yield Finding(understood.dataset, "predictions", False, note, 1)


def lines(findings: Findings | UnderstoodPredictions) -> Lines:
    """Lines for the terminal: how predictions were read, and the findings."""
    if isinstance(findings, UnderstoodPredictions):
        findings = Findings(_find_prediction_faults(findings), understood=findings)
    if findings.understood is not None:
        yield from prediction_lines(findings.understood)
    yield from finding_lines(findings)


def prediction_lines(understood: UnderstoodPredictions) -> Lines:
    """Lines on predictions: roles of columns, and a table of models."""
    yield f"{understood.name}: {understood.kind}, about {understood.dataset}"
    if understood.roles:
        yield table(("role", "column"), understood.roles.items(), left=2)
    heads = ("model", "scoring", "matched", "right", "accuracy", "unmatched", "abstentions", "contradictions")
    rows = []
    for model in understood.models:
        matched = f"{model.matched:,} of {model.problems:,}"
        right = "" if model.right is None else f"{model.right:,}"
        scoring_name = model.scoring if model.variant == ORIGINAL else f"{model.scoring}, {model.variant}"
        row_lists = (model.unmatched, model.abstentions, model.contradictions)
        counts = [f"{len(row_list):,}" for row_list in row_lists]
        rows.append((model.model, scoring_name, matched, right, percent(model.accuracy, 2), *counts))
    yield table(heads, rows, left=2)


def finding_lines(findings: Findings) -> Lines:
    """Lines on findings by dataset, each with some examples."""
    by_dataset = grouped((finding.dataset, finding) for finding in findings)
    for name, dataset_findings in by_dataset.items():
        yield styled((name, "bold"))
        for finding in dataset_findings:
            mark = ("!", "red") if finding.warns else ("·", "green")
            yield styled("  ", mark, f" {finding.message}")
            shown_count = len(finding.examples) if finding.lists_all else findings.shown
            yield from (dim(f"      {example}") for example in finding.examples[:shown_count])
    warnings = sum(finding.warns for finding in findings)
    yield plural(warnings, "finding") if warnings else "nothing found"


def as_json(findings: Findings) -> Any:
    """All findings, or the description of predictions, as JSON-ready values."""
    if findings.understood is not None:
        return findings.understood.to_json()
    return [finding.to_json() for finding in findings]


def code(findings: Findings) -> int:
    """Exit code: 1 if any finding is a warning, else 0."""
    return int(any(finding.warns for finding in findings))
