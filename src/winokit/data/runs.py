"""A run: a folder with `predictions.jsonl`, `results.json` and `report/`.

Rows are flat, so that one line of pandas or jq reads them.
"""

import gzip
import json
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import winokit
from winokit.answers import Answers, AskedProblems, Scorer, choice_numbers
from winokit.data.formats import WriteOptions, jsonl, read, write
from winokit.errors import BadInput, UnknownName, check_known
from winokit.files import check_own_folder, json_lines, json_rows, result_bytes, write_whole
from winokit.methods.scoring.replay import replay_sentences
from winokit.methods.scoring.scorer import Prediction, sample_column, write_predictions
from winokit.methods.transforms.variants import TRANSFORMS, make_variants
from winokit.notebook import to_frame
from winokit.problem import ORIGINAL, Dataset, Problem, collector_off, original_id
from winokit.progress import tell
from winokit.results import Brief, Metric, rows_to_json

if TYPE_CHECKING:
    from winokit.methods.scoring.transcripts import Transcript

RESULTS = "results.json"
PREDICTIONS = "predictions.jsonl"
PROBLEMS = "problems.jsonl"
VARIANTS = "variants"
TRANSCRIPTS = "transcripts.jsonl.gz"
READING_PREDICTIONS = "readings.jsonl"
"""The predictions of an audit under several readings."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Number of problems that a protocol could not use, and why."""

    protocol: str
    subset: str
    why: str
    n: int


PROTOCOLS_NAMED = "protocols_named"
"""The setting of an audit whose protocols were named, and are not the usual ones."""


@dataclass(repr=False)
class Run(Brief):
    """The outcome of an audit: metrics, predictions, and problems left out.

    `summary` says what the scores are worth, `accuracy` and `pairs` are the rows most asked for, and `find` picks any
    other. `to_frame` makes a data frame of all, `figure` draws one of the report's figures, and `save` and `load` write
    and read its folder.
    """

    settings: dict[str, Any]
    """Versions, seeds, settings, hashes."""
    metrics: list[Metric]
    predictions: list[Prediction]
    dataset: Dataset
    variants: Mapping[str, Dataset] = field(default_factory=dict)
    """The problems of each variant; each carries the id of its original in provenance["of"]."""
    left_out: list[LeftOut] = field(default_factory=list)
    transcripts: "list[Transcript]" = field(default_factory=list)
    """What was said where models were asked questions."""
    report: Path | None = None
    """The page on it, where one was written."""

    @property
    def notes(self) -> list[str]:
        """Notes for the user on the data, the models and the predictions."""
        return list(self.settings.get("notes", ()))

    @property
    def replay_notes(self) -> list[str]:
        """A sentence for each model whose answers were replayed from the cache."""
        return replay_sentences(self.settings.get("replayed", {}))

    def find(
        self, protocol: str, subset: str, metric: str, model: str | None = None, scoring: str | None = None
    ) -> Metric:
        """The first row of metrics with these names.

        Parameters
        ----------
        protocol, subset, metric
            The names in the row.
        model, scoring
            The scorer of the row. None takes any.

        Raises
        ------
        UnknownName
            The run has no such row; the message has the closest name.
        """
        row = self.find_or_none(protocol, subset, metric, model, scoring)
        if row is not None:
            return row
        of_model = [row for row in self.metrics if model in (None, row.model)]
        rows = [row for row in of_model if scoring in (None, row.scoring)]
        if not rows:
            check_known("model in the run", str(model), {row.model for row in self.metrics})
            check_known("scoring in the run", str(scoring), {row.scoring for row in self.metrics})
        check_known("protocol in the run", protocol, {row.protocol for row in rows})
        of_protocol = [row for row in rows if row.protocol == protocol]
        row_names = {f"{row.protocol} {row.subset} {row.metric}" for row in of_protocol}
        raise UnknownName("row", f"{protocol} {subset} {metric}", row_names)

    def find_or_none(
        self, protocol: str, subset: str, metric: str, model: str | None = None, scoring: str | None = None
    ) -> Metric | None:
        """The row that `find` returns, or None if there is none."""
        for row in self.metrics:
            is_named = (row.protocol, row.subset, row.metric) == (protocol, subset, metric)
            if is_named and model in (None, row.model) and scoring in (None, row.scoring):
                return row
        return None

    @property
    def accuracy(self) -> Metric:
        """The row of the accuracy on all problems.

        Raises BadInput if there are several scorers: use `find` with the name of one.
        """
        return self._find_only_row("accuracy", "all", "accuracy")

    @property
    def pairs(self) -> Metric:
        """The row of the share of pairs with both twins right.

        Raises BadInput if there are several scorers: use `find` with the name of one.
        """
        return self._find_only_row("groups", "complete", "group_accuracy")

    def _find_only_row(self, protocol: str, subset: str, metric: str) -> Metric:
        """The row with these names of the run's only scorer.

        Raises BadInput if there are several scorers.
        """
        scorers = {(row.model, row.scoring) for row in self.metrics}
        if len(scorers) > 1:
            scorer_names = [f"{model} ({scoring})" for model, scoring in scorers]
            listed = ", ".join(sorted(scorer_names))
            call = f"run.find({protocol!r}, {subset!r}, {metric!r}, model=…)"
            raise BadInput(f"the run has {len(scorers)} scorers: name one, as in {call}: {listed}")
        return self.find(protocol, subset, metric)

    def summary(self) -> str:
        """The verdict on each scorer, and where to find more."""
        return "\n".join(import_module(self.shown_by).summary(self))

    def answers(
        self,
        variant: str = ORIGINAL,
        model: str | None = None,
        scoring: str | None = None,
        formalization: str | None = None,
    ) -> Answers:
        """Answers of one scorer to the problems of one variant.

        They are in the dataset's order. A scorer that was asked several times has a row for each sample of each
        problem.

        Problems without an answer or a prediction are left out. The right answer is the one beside the prediction if
        that differs from the dataset's. The problems of a variant that is not stored in the run are made again.

        Parameters
        ----------
        model, scoring
            Which scorer; may be left out if the run has only one.
        formalization
            That of a fine-tuned model; by default as the run's rows say.

        Raises
        ------
        BadInput
            The run has several models or scorings, and none was named.
        UnknownName
            It has none of that name.
        """
        model = _choose_only("model", [row.model for row in self.predictions], model)
        scoring = _choose_only("scoring", [row.scoring for row in self.predictions if row.model == model], scoring)
        predictions = self._predictions_of(model, scoring, variant)
        asked, problem_rows = _find_rows_with_answers(self._find_asked(variant), variant, predictions)
        ids = [original_id(asked.problems[row]) for row in problem_rows]
        answered: list[Prediction] = []
        for name in ids:
            answered += predictions[name]
        counts = [len(predictions[name]) for name in ids]
        rows = np.repeat(np.array(problem_rows, np.int64), counts).tolist()
        if formalization is None:
            formalization = self._find_formalization(model, scoring)
        option_chances = None
        if formalization is not None:
            from winokit.methods.formalizations.cases import guesses

            chances = guesses([asked.problems[row] for row in rows], formalization)
            option_chances = None if chances is None else np.array(chances)
        choices = choice_numbers([row.prediction for row in answered])
        scores = tuple(row.scores for row in answered)
        return Answers(
            asked,
            np.array(rows, np.int64),
            choices,
            (Scorer(model, scoring, formalization),),
            samples=sample_column(answered),
            scores=scores,
            option_chances=option_chances,
        )

    def _find_formalization(self, model: str, scoring: str) -> str | None:
        """The formalization in a scorer's first row, or None."""
        for row in self.metrics:
            if (row.model, row.scoring) == (model, scoring):
                return row.formalization
        return None

    def _predictions_of(self, model: str, scoring: str, variant: str) -> Mapping[str, Sequence[Prediction]]:
        """Predictions of one scorer for one variant, by the problem's id."""
        count, by_scorer = self._predictions_by_scorer
        if count != len(self.predictions):
            del self._predictions_by_scorer
            _, by_scorer = self._predictions_by_scorer
        return by_scorer.get((model, scoring, variant), {})

    @cached_property
    def _predictions_by_scorer(self) -> tuple[int, dict[tuple[str, str, str], dict[str, list[Prediction]]]]:
        """The number of predictions, and the predictions by scorer and problem.

        The first key is model, scoring and variant, the second the problem's id. The number tells whether predictions
        were added since.
        """
        by_scorer: dict[tuple[str, str, str], dict[str, list[Prediction]]] = {}
        for row in self.predictions:
            by_id = by_scorer.setdefault((row.model, row.scoring, row.variant), {})
            by_id.setdefault(row.id, []).append(row)
        return len(self.predictions), by_scorer

    def _find_asked(self, variant: str) -> AskedProblems:
        """The problems of a variant, stored in the run or made again."""
        if variant in (ORIGINAL, *self.variants):
            return self._kept_problems
        if variant not in self._problems_made_again:
            self._problems_made_again[variant] = AskedProblems.of(self.dataset, {variant: self._make_again(variant)})
        return self._problems_made_again[variant]

    @cached_property
    def _kept_problems(self) -> AskedProblems:
        """The problems of all variants that are stored in the run."""
        return AskedProblems.of(self.dataset, self.variants)

    @cached_property
    def _problems_made_again(self) -> dict[str, AskedProblems]:
        """The problems of other variants that were made so far, by variant."""
        return {}

    def _make_again(self, variant: str) -> Dataset:
        """Make the problems of a variant not stored in the run.

        An unknown variant gives the original problems.
        """
        if variant in TRANSFORMS:
            variants = make_variants(self.dataset, [variant])
            return variants[variant].problems if variant in variants else Dataset([])
        return self.dataset

    def of_models(self, names: Collection[str]) -> "Run":
        """The same run with only the models that are named.

        Settings, problems and the counts of those left out stay as they are.
        """
        metrics = [row for row in self.metrics if row.model in names]
        predictions = [row for row in self.predictions if row.model in names]
        transcripts = [row for row in self.transcripts if row.model in names]
        return replace(self, metrics=metrics, predictions=predictions, transcripts=transcripts)

    def to_frame(self, library: str | None = None) -> Any:
        """The metrics as a data frame, with a row for each.

        Parameters
        ----------
        library
            "pandas" or "polars". None takes the one that is installed.
        """
        return to_frame(rows_to_json(self.metrics), library)

    def figure(self, name: str) -> Any:
        """A figure of the report as matplotlib's: `forest`, `groups`, `switching`, `artifacts`, `margins` …

        Raises
        ------
        UnknownName
            This run has no such figure; the message lists those it has.
        MissingExtra
            matplotlib is not installed; it is the extra `figures`.
        """
        return import_module(self.shown_by).figure(self, name)

    @collector_off()
    def save(self, folder: str | Path) -> None:
        """Write the run into a folder, replacing an earlier audit.

        Raises BadInput if the folder has other files. Each file is written atomically.
        """
        folder = Path(folder)
        check_folder(folder)
        if gone := sorted(_list_audited(_read_settings(folder)) - _list_audited(self.settings)):
            tell([f"{folder}: the audit of {', '.join(gone)} that was there is replaced; another --out keeps both"])
        metrics = rows_to_json(self.metrics)
        left_out = [asdict(row) for row in self.left_out]
        results = {"run": self.settings, "metrics": metrics, "left_out": left_out}
        # First, since it is what tells that the folder is an audit's, should the rest not come to be written.
        write_whole(folder / RESULTS, result_bytes(results))
        write_predictions(self.predictions, folder / PREDICTIONS)
        if self.transcripts:
            transcript_lines = json_rows([row.to_json() for row in self.transcripts])
            write_whole(folder / TRANSCRIPTS, gzip.compress(transcript_lines.encode(), mtime=0))
        else:
            (folder / TRANSCRIPTS).unlink(missing_ok=True)
        write(self.dataset, folder / PROBLEMS, "jsonl")
        for name, variant in self.variants.items():
            rows = [jsonl.render(problem, WriteOptions(source_ids=True)) for problem in variant]
            write_whole(folder / VARIANTS / f"{name}.jsonl", json_rows(rows).encode())
        for path in (folder / VARIANTS).glob("*.jsonl"):
            if path.stem not in self.variants:  # the audit that was here had it
                path.unlink(missing_ok=True)

    @classmethod
    def load(cls, folder: str | Path) -> "Run":
        """Read a run from its folder.

        Raises BadInput if it is not there or damaged.
        """
        folder = Path(folder)
        try:
            results = json.loads((folder / RESULTS).read_text("utf-8"))
            metrics = [Metric.from_json(row) for row in results["metrics"]]
            left_out = [LeftOut(**row) for row in results.get("left_out", [])]
            predictions = [*map(Prediction.from_json, json_lines((folder / PREDICTIONS).read_text("utf-8")))]
            if twice := len(predictions) - len({_make_key(row) for row in predictions}):
                raise ValueError(f"{twice:,} of {len(predictions):,} predictions repeat an earlier one")
            settings = dict(results["run"])
            transcripts = list(_read_transcripts(folder / TRANSCRIPTS))
        except FileNotFoundError as error:
            raise BadInput(f"{folder}: no run there ({Path(str(error.filename)).name} is missing)") from None
        except OSError as error:
            raise BadInput(f"{folder}: no run there ({error.strerror})") from None
        except (ValueError, KeyError, TypeError, AttributeError, EOFError, zlib.error) as error:
            ours = winokit.__version__
            version = _read_settings(folder).get("winokit")
            other = f": written by winokit {version}, this is {ours}" if version not in (None, ours) else ""
            raise BadInput(f"{folder}: not a run that can be read ({error}){other}") from None
        variant_paths = sorted((folder / VARIANTS).glob("*.jsonl"))
        variants = {path.stem: read(path, "jsonl") for path in variant_paths}
        dataset = read(folder / PROBLEMS, "jsonl")
        return cls(settings, metrics, predictions, dataset, variants, left_out, transcripts)


def _make_key(row: Prediction) -> tuple[str, str, str, str, int]:
    """A key that only one prediction of a run has."""
    return row.id, row.variant, row.model, row.scoring, row.sample or 0


def _choose_only(kind: str, present: Iterable[str], wanted: str | None) -> str:
    """The name that is wanted, or without one the only name present.

    Raises BadInput if there are several, UnknownName if the wanted one is not there.

    Parameters
    ----------
    kind
        "model" or "scoring", for the message.
    """
    names = list(dict.fromkeys(present))
    if wanted is None and len(names) == 1:
        return names[0]
    if wanted is None:
        listed = ", ".join(names) or "none"
        raise BadInput(f"the run has {len(names)} {kind}s, expected one or the name of one: {listed}")
    if wanted not in names:
        raise UnknownName(f"{kind} in the run", wanted, names)
    return wanted


def _find_rows_with_answers(
    asked: AskedProblems, variant: str, predictions: Mapping[str, Sequence[Prediction]]
) -> tuple[AskedProblems, list[int]]:
    """The problems with the right answers that the predictions state.

    Returns them, and the rows of those in the variant that have a prediction. If a problem has several predictions,
    the first one's answer counts.

    Parameters
    ----------
    asked
        The problems of all stored variants.
    predictions
        Predictions by the id of the original problem.
    """
    names = [original_id(problem) for problem in asked.problems]
    rows = []
    for row, name in enumerate(names):
        if asked.variants[row] == variant and name in predictions:
            rows.append(row)
    changed: dict[int, Problem] = {}
    for row in rows:
        right = predictions[names[row]][0].answer
        problem = asked.problems[row]
        if right is not None and right != problem.answer:
            changed[row] = problem.replace(answer=right)
    if not changed:
        return asked, rows
    problems = [changed.get(row, problem) for row, problem in enumerate(asked.problems)]
    return AskedProblems(problems, asked.units, asked.group_sizes, asked.variants, asked.dataset), rows


def check_folder(folder: Path) -> None:
    """Raise BadInput if an audit in a folder would overwrite other files."""
    names = (RESULTS, PREDICTIONS, TRANSCRIPTS, READING_PREDICTIONS, PROBLEMS, VARIANTS, "report")
    check_own_folder(folder, names, ours="protocols" in _read_settings(folder), of="an audit")


def _read_settings(folder: Path) -> dict[str, Any]:
    """The settings of the run in a folder.

    Empty if they cannot be read.
    """
    try:
        return dict(json.loads((folder / RESULTS).read_bytes())["run"])
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _list_audited(settings: Mapping[str, Any]) -> set[str]:
    """Models and files of predictions in the settings of a run."""
    audited: set[str] = set()
    for names in (settings.get("models"), settings.get("predictions")):
        if isinstance(names, (list, dict)):
            audited.update(map(str, names))
    return audited


def _read_transcripts(path: Path) -> "Iterator[Transcript]":
    """Yield the transcripts in a file, none if it does not exist.

    Only models that are asked questions have transcripts.
    """
    if path.exists():
        from winokit.methods.scoring.transcripts import Transcript

        with gzip.open(path, "rt", encoding="utf-8") as file:
            yield from (Transcript.from_json(json.loads(line)) for line in file)
