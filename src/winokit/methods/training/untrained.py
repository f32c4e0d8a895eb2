"""A model as it is before training, under a formalization: the first point of a learning curve.

A head that is not part of the model is drawn by the seed, so that what `mc-sent` has at size nought is luck; `mc-mlm`
asks the model's own head, and is the same for every seed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import winokit
from winokit.files import write_whole
from winokit.methods.formalizations.base import Formalization
from winokit.methods.formalizations.network import load_network
from winokit.methods.scoring.scorer import write_predictions
from winokit.methods.training.exam import Exam, rows
from winokit.methods.training.finetune import PREDICTIONS, RESULTS, TrainOutcome
from winokit.methods.training.settings import TrainSettings
from winokit.models.hf import HfSettings as ModelSettings
from winokit.models.hf import fingerprint
from winokit.models.registry import Spec
from winokit.problem import Dataset
from winokit.results import Metric, rows_to_json


def untrained(
    tests: Sequence[Dataset], variant: str, out: Path, model: str, settings: TrainSettings, *, device: str | None = None
) -> TrainOutcome:
    """Test a model before any training, and write a folder like that of a run; one that is done is not done again."""
    formalization = Formalization.parse(settings.formalization)
    run = _identity(tests, variant, model, formalization.spec, settings.seed)
    try:
        told = json.loads((out / RESULTS).read_text("utf-8"))
        if told["run"] == run:
            return TrainOutcome(out, run, [Metric.from_json(row) for row in told["metrics"]], {}, [], told["notes"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        pass
    network = load_network(model, formalization, seed=settings.seed, device=device)
    metrics: list[Metric] = []
    notes: list[str] = []
    for at, test in enumerate(tests, 1):
        exam = Exam(test, network, variant)
        predictions = exam.sit(network, model)
        name = f"{test.card.file_name}-{at}"
        write_predictions(predictions, out / PREDICTIONS / f"{name}.jsonl")
        metrics += rows(test, predictions, name)
        notes += exam.notes
    results = {"run": run, "metrics": rows_to_json(metrics), "warnings": [], "notes": notes}
    write_whole(out / RESULTS, (json.dumps(results, indent=1, ensure_ascii=False) + "\n").encode())
    return TrainOutcome(out, run, metrics, {}, [], notes)


def _identity(tests: Sequence[Dataset], variant: str, model: str, formalization: str, seed: int) -> dict[str, Any]:
    spec = Spec.parse(model)
    return {
        "winokit": winokit.__version__,
        "model": str(spec),
        "model_content": fingerprint(ModelSettings.of(spec)) if spec.prefix == "hf" else None,
        "train": None,
        "formalization": formalization,
        "seed": seed,
        "tested_on": variant,
        "tests": [test.content_hash for test in tests],
    }
