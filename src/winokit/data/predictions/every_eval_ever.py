"""Runs as records of Every Eval Ever 0.3 (evaleval/every_eval_ever), for each model one file and its samples beside it.

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
"""The rows of a run that are written, and what they are called; samples are those of the first."""


@dataclass(frozen=True)
class WrittenRecords:
    """Records of a run in a folder."""

    folder: Path
    files: tuple[Path, ...]
    samples: int


def write_records(run: Run, folder: Path, *, timestamp: int) -> WrittenRecords:
    """Write the records of a run below a folder, in the paths that the datastore has.

    Parameters
    ----------
    timestamp
        When the run was made or read, in seconds since 1970.
    """
    files: list[Path] = []
    total = 0
    for model, scoring in dict.fromkeys((made.model, made.scoring) for made in run.predictions):
        record = ModelRecord(run, model, scoring, timestamp)
        samples = list(record.samples())
        if not samples:
            continue
        content = json_rows(samples).encode()
        identity = UUID(bytes=sha256(content).digest()[:16], version=4)
        place = Path("data", record.collection, *record.model_id.split("/"))
        sidecar = place / f"{identity}_samples.jsonl"
        aggregate = record.aggregate(sidecar, content, len(samples))
        write_whole(folder / sidecar, content)
        text = json.dumps(aggregate, ensure_ascii=False, indent=2) + "\n"
        write_whole(folder / place / f"{identity}.json", text.encode())
        files += [folder / place / f"{identity}.json", folder / sidecar]
        total += len(samples)
    if not files:
        raise BadInput("every-eval-ever: the run has no predictions of problems with answers")
    return WrittenRecords(folder, tuple(files), total)


class ModelRecord:
    """The record of one model under one scoring.

    Parameters
    ----------
    timestamp
        When the run was made or read, in seconds since 1970.
    """

    def __init__(self, run: Run, model: str, scoring: str, timestamp: int) -> None:
        self.run, self.model, self.scoring, self.timestamp = run, model, scoring, timestamp
        self.dataset_name = run.dataset.card.name or "data"
        self.collection = _path_part(self.dataset_name)
        developer, _, name = model.rpartition("/")
        self.model_id = f"{_path_part(developer or NOBODY)}/{_path_part(name)}"
        self.id = f"{self.collection}/{self.model_id}/{timestamp}"

    def samples(self) -> Iterator[dict[str, Any]]:
        """A sample for each problem with an answer that the model was asked."""
        problems = {problem.id: problem for problem in self.run.dataset}
        for made in self.run.predictions:
            is_own = (made.model, made.scoring, made.variant) == (self.model, self.scoring, ORIGINAL)
            problem = problems.get(made.id)
            if is_own and problem is not None and problem.answer is not None:
                yield self._sample(problem, made)

    def _sample(self, problem: Problem, made: Prediction) -> dict[str, Any]:
        assert problem.right is not None
        raw = problem.text
        reference = [problem.right]
        chosen = [] if made.prediction is None else [problem.candidates[made.prediction]]
        is_right = made.is_right
        return {
            "schema_version": SCHEMA,
            "evaluation_id": self.id,
            "model_id": self.model_id,
            "evaluation_name": self.dataset_name,
            "evaluation_result_id": f"{self.id}#accuracy",
            "sample_id": problem.id,
            "sample_hash": _sample_hash(raw, reference),
            "interaction_type": "single_turn",
            "input": {"raw": raw, "reference": reference, "choices": list(problem.candidates)},
            "output": {"raw": chosen},
            "answer_attribution": [
                {
                    "turn_idx": 0,
                    "source": "output.raw",
                    "extracted_value": name,
                    "extraction_method": self.scoring,
                    "is_terminal": True,
                }
                for name in chosen
            ],
            "evaluation": {"score": float(is_right), "is_correct": is_right},
            "metadata": _metadata(problem, made),
        }

    def aggregate(self, sidecar: Path, content: bytes, count: int) -> dict[str, Any]:
        """The record of the model, without its samples."""
        return {
            "schema_version": SCHEMA,
            "evaluation_id": self.id,
            "retrieved_timestamp": str(self.timestamp),
            "source_metadata": {
                "source_name": "winokit",
                "source_type": "evaluation_run",
                "source_organization_name": "winokit",
                "evaluator_relationship": "third_party",
            },
            "eval_library": {"name": "winokit", "version": winokit.__version__},
            "model_info": {
                "name": self.model,
                "id": self.model_id,
                "developer": self.model_id.partition("/")[0],
                "additional_details": {"deployment_type": "unknown", "model_availability": "unknown"},
            },
            "evaluation_results": list(self._results(count)),
            "detailed_evaluation_results": {
                "format": "jsonl",
                "file_path": sidecar.as_posix(),
                "hash_algorithm": "sha256",
                "checksum": sha256(content).hexdigest(),
                "total_rows": count,
            },
        }

    def _results(self, count: int) -> Iterator[dict[str, Any]]:
        for place, name in METRICS.items():
            row = self.run.find_or_none(*place, self.model, self.scoring)
            if row is None:
                continue
            yield {
                "evaluation_result_id": f"{self.id}#{name.replace(' ', '_')}",
                "evaluation_name": self.dataset_name,
                "source_data": {"dataset_name": self.dataset_name, "source_type": "other"},
                "metric_config": {
                    "metric_id": name.replace(" ", "_"),
                    "metric_name": name,
                    "metric_kind": "accuracy",
                    "metric_unit": "proportion",
                    "lower_is_better": False,
                    "score_type": "continuous",
                    "min_score": 0.0,
                    "max_score": 1.0,
                    "additional_details": {"scoring": self.scoring, "n": str(row.n)},
                },
                "score_details": {"score": row.value, **_uncertainty(row)},
            }


def _uncertainty(row: Metric) -> dict[str, Any]:
    """The interval of a row, if it has one."""
    if row.low is None or row.high is None:
        return {}
    interval = {"lower": row.low, "upper": row.high, "confidence_level": 0.95}
    return {"uncertainty": {"confidence_interval": interval, "num_samples": row.n}}


def _metadata(problem: Problem, made: Prediction) -> dict[str, str]:
    """What else is known of a sample, as texts."""
    scores = None if made.scores is None else json.dumps(made.scores)
    known = {"scores": scores, "why": made.why, "group": problem.group, "pronoun": problem.pronoun}
    return {key: value for key, value in known.items() if value is not None}


def _sample_hash(raw: str, reference: Sequence[str]) -> str:
    """The hash by which samples of several models are compared."""
    content = {"raw": raw, "reference": list(reference)}
    return sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _path_part(name: str) -> str:
    """A name as one part of the datastore's paths bears it."""
    return UNSAFE.sub("_", name).strip("._ ") or NOBODY
