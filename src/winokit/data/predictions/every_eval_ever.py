"""Runs as records of Every Eval Ever 0.3 (evaleval/every_eval_ever).

Each model has one file, and its samples beside it.

A sample has the text with its blank, the candidates as choices, the right one as the reference and the chosen one as
the output: what makes a record of WinoGrande readable without the harness that made it. Where nothing was chosen there
is no output, and the sample says why.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID

import winokit
from winokit.data.runs import Run
from winokit.errors import BadInput
from winokit.files import json_rows, write_whole
from winokit.methods.scoring.scorer import Prediction
from winokit.problem import ORIGINAL, Problem
from winokit.results import Metric

SCHEMA = "0.3.0"
NOBODY = "local"
"""The developer of a model whose name has none."""
UNSAFE = re.compile(r"[^\w.-]+")
METRICS = {
    ("accuracy", "all", "accuracy"): "accuracy",
    ("groups", "complete", "group_accuracy"): "pair accuracy",
}
"""The rows of a run that are written, with their names. Samples are those of the first."""


@dataclass(frozen=True)
class WrittenRecords:
    """The files written for a run, and the number of samples."""

    folder: Path
    files: tuple[Path, ...]
    samples: int


def write_records(run: Run, folder: Path, *, timestamp: int) -> WrittenRecords:
    """Write the records of a run below a folder.

    Their paths are those that the datastore uses. Raises BadInput if the run has no predictions of problems with
    answers.

    Parameters
    ----------
    timestamp
        When the run was made or read, in seconds since 1970.
    """
    files: list[Path] = []
    total = 0
    model_scorings = dict.fromkeys((prediction.model, prediction.scoring) for prediction in run.predictions)
    for model, scoring in model_scorings:
        record = ModelRecord(run, model, scoring, timestamp)
        samples = list(record.samples())
        if not samples:
            continue
        content = json_rows(samples).encode()
        identity = UUID(bytes=sha256(content).digest()[:16], version=4)
        record_folder = Path("data", record.collection, *record.model_id.split("/"))
        sidecar = record_folder / f"{identity}_samples.jsonl"
        aggregate = record.aggregate(sidecar, content, len(samples))
        aggregate_text = json.dumps(aggregate, ensure_ascii=False, indent=2) + "\n"
        sample_path = folder / sidecar
        aggregate_path = folder / record_folder / f"{identity}.json"
        write_whole(sample_path, content)
        write_whole(aggregate_path, aggregate_text.encode())
        files += [aggregate_path, sample_path]
        total += len(samples)
    if not files:
        raise BadInput("every-eval-ever: the run has no predictions of problems with answers")
    return WrittenRecords(folder, tuple(files), total)


class ModelRecord:
    """The record of one model and scoring for Every Eval Ever.

    Parameters
    ----------
    timestamp
        When the run was made or read, in seconds since 1970.
    """

    def __init__(self, run: Run, model: str, scoring: str, timestamp: int) -> None:
        self.run = run
        self.model = model
        self.scoring = scoring
        self.timestamp = timestamp
        self.dataset_name = run.dataset.card.name or "data"
        self.collection = _make_path_part(self.dataset_name)
        developer, _, name = model.rpartition("/")
        self.model_id = f"{_make_path_part(developer or NOBODY)}/{_make_path_part(name)}"
        self.id = f"{self.collection}/{self.model_id}/{timestamp}"

    def samples(self) -> Iterator[dict[str, Any]]:
        """Yield a sample for each problem that the model was asked.

        Problems without an answer are left out. Only predictions on the original problems count, not those on
        variants.
        """
        problems = {problem.id: problem for problem in self.run.dataset}
        wanted_key = (self.model, self.scoring, ORIGINAL)
        for prediction in self.run.predictions:
            key = (prediction.model, prediction.scoring, prediction.variant)
            problem = problems.get(prediction.id)
            if key != wanted_key or problem is None:
                continue
            if problem.answer is not None:
                yield self._make_sample(problem, prediction)

    def _make_sample(self, problem: Problem, prediction: Prediction) -> dict[str, Any]:
        """The sample of one problem, with question, reply and evaluation."""
        assert problem.right is not None
        raw = problem.text
        reference = [problem.right]
        chosen: list[str] = []
        if prediction.prediction is not None:
            chosen.append(problem.candidates[prediction.prediction])
        is_right = prediction.is_right
        question = {"raw": raw, "reference": reference, "choices": list(problem.candidates)}
        return {
            "schema_version": SCHEMA,
            "evaluation_id": self.id,
            "model_id": self.model_id,
            "evaluation_name": self.dataset_name,
            "evaluation_result_id": f"{self.id}#accuracy",
            "sample_id": problem.id,
            "sample_hash": _hash_sample(raw, reference),
            "interaction_type": "single_turn",
            "input": question,
            "output": {"raw": chosen},
            "answer_attribution": [self._describe_attribution(name) for name in chosen],
            "evaluation": {"score": float(is_right), "is_correct": is_right},
            "metadata": _collect_metadata(problem, prediction),
        }

    def _describe_attribution(self, name: str) -> dict[str, Any]:
        """Describe the extraction method that found the answer of a sample.

        `name` is the chosen candidate.
        """
        return {
            "turn_idx": 0,
            "source": "output.raw",
            "extracted_value": name,
            "extraction_method": self.scoring,
            "is_terminal": True,
        }

    def aggregate(self, sidecar: Path, content: bytes, count: int) -> dict[str, Any]:
        """The record of the model's results, without its samples.

        Parameters
        ----------
        sidecar
            The file of the samples, to which the record points.
        content
            The bytes of that file, which are hashed.
        count
            The number of samples in it.
        """
        source = {
            "source_name": "winokit",
            "source_type": "evaluation_run",
            "source_organization_name": "winokit",
            "evaluator_relationship": "third_party",
        }
        model = {
            "name": self.model,
            "id": self.model_id,
            "developer": self.model_id.partition("/")[0],
            "additional_details": {"deployment_type": "unknown", "model_availability": "unknown"},
        }
        samples = {
            "format": "jsonl",
            "file_path": sidecar.as_posix(),
            "hash_algorithm": "sha256",
            "checksum": sha256(content).hexdigest(),
            "total_rows": count,
        }
        return {
            "schema_version": SCHEMA,
            "evaluation_id": self.id,
            "retrieved_timestamp": str(self.timestamp),
            "source_metadata": source,
            "eval_library": {"name": "winokit", "version": winokit.__version__},
            "model_info": model,
            "evaluation_results": list(self._make_results()),
            "detailed_evaluation_results": samples,
        }

    def _make_results(self) -> Iterator[dict[str, Any]]:
        """Yield a result for each metric of the model in the run."""
        for place, name in METRICS.items():
            row = self.run.find_or_none(*place, self.model, self.scoring)
            if row is not None:
                yield self._make_result(name, row)

    def _make_result(self, name: str, row: Metric) -> dict[str, Any]:
        """The result for one row of metrics.

        `name` is what the record calls the metric.
        """
        metric_id = name.replace(" ", "_")
        details = {"scoring": self.scoring, "n": str(row.n)}
        metric = {
            "metric_id": metric_id,
            "metric_name": name,
            "metric_kind": "accuracy",
            "metric_unit": "proportion",
            "lower_is_better": False,
            "score_type": "continuous",
            "min_score": 0.0,
            "max_score": 1.0,
            "additional_details": details,
        }
        return {
            "evaluation_result_id": f"{self.id}#{metric_id}",
            "evaluation_name": self.dataset_name,
            "source_data": {"dataset_name": self.dataset_name, "source_type": "other"},
            "metric_config": metric,
            "score_details": {"score": row.value, **_describe_interval(row)},
        }


def _describe_interval(row: Metric) -> dict[str, Any]:
    """The confidence interval of a metric in the record's format.

    Empty without one.
    """
    if row.low is None or row.high is None:
        return {}
    interval = {"lower": row.low, "upper": row.high, "confidence_level": 0.95}
    return {"uncertainty": {"confidence_interval": interval, "num_samples": row.n}}


def _collect_metadata(problem: Problem, prediction: Prediction) -> dict[str, str]:
    """Scores, reason for abstaining, group and pronoun of a sample, as texts.

    Facts that are not known are left out.
    """
    scores = None if prediction.scores is None else json.dumps(prediction.scores)
    metadata = {"scores": scores, "why": prediction.why, "group": problem.group, "pronoun": problem.pronoun}
    return {key: value for key, value in metadata.items() if value is not None}


def _hash_sample(raw: str, reference: Sequence[str]) -> str:
    """Hash of a question and its answer, equal for all models."""
    content = {"raw": raw, "reference": list(reference)}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()


def _make_path_part(name: str) -> str:
    """A name that can be part of the datastore's paths.

    It is "local" if nothing remains.
    """
    return UNSAFE.sub("_", name).strip("._ ") or NOBODY
