"""Fine-tuning: data, a model and settings in; a folder out that loads as `hf:FOLDER` and remembers its formalization.

    winokit.json  config.json  model.safetensors  tokenizer.json …   the model, under its formalization
    results.json                                                    accuracies in flat rows, settings, warnings
    curve.json  curve.png                                           loss and dev accuracy by step
    predictions/dev.jsonl  predictions/NAME.jsonl                   what it predicts

The same call goes on where it was killed, and does nothing where it is done. BERT-seqft is two calls, the second with
`model="hf:FOLDER"` of the first.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

import winokit
from winokit.errors import BadInput
from winokit.files import check_own_folder, write_whole
from winokit.methods.formalizations.base import Formalization
from winokit.methods.formalizations.cases import training_cases as cases_to_train_on
from winokit.methods.formalizations.inputs import Encoded, encode
from winokit.methods.formalizations.network import ABOUT, Network, load_network, open_network, remembered, save_network
from winokit.methods.metrics.accuracy import chance
from winokit.methods.metrics.groups import complete_groups, group_accuracy_chance
from winokit.methods.scoring.scorer import Prediction, write_predictions
from winokit.methods.training.checkpoint import drop_checkpoint, make_writable
from winokit.methods.training.data import TrainingData
from winokit.methods.training.exam import Exam, rows
from winokit.methods.training.figure import write_figure
from winokit.methods.training.learner import Learner, Progress, check_same
from winokit.methods.training.settings import TrainSettings
from winokit.methods.training.symptoms import Diverged, guessing_loss, symptoms
from winokit.models.hf import HfSettings as ModelSettings
from winokit.models.hf import fingerprint
from winokit.models.registry import Spec
from winokit.problem import Dataset
from winokit.results import Metric, rows_to_json

RESULTS, CURVE, FIGURE, PREDICTIONS = "results.json", "curve.json", "curve.png", "predictions"
DEV = "dev"
CONFIG = "config.json"
"""What every model folder of transformers has."""


@dataclass(frozen=True)
class TrainOutcome:
    """What came of a run."""

    folder: Path
    run: dict[str, Any]
    """What would be needed to do it again."""
    metrics: list[Metric]
    curve: dict[str, Any]
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    resumed: int | None = None
    """The step it went on from; None for a run in one go."""

    def value(self, metric: str, subset: str = DEV) -> float | None:
        """A metric of the dev set, or of a test set by its name."""
        for row in self.metrics:
            if row.metric == metric and row.subset == subset:
                return row.value
        return None

    def on(self, dataset: str) -> list[Metric]:
        """The rows on a test set by its name; those of a dev set of the same name are others."""
        return [row for row in self.metrics if row.dataset == dataset and row.subset != DEV]


def finetune(
    data: TrainingData,
    out: Path,
    model: str = "builtin",
    settings: TrainSettings | None = None,
    *,
    device: str | None = None,
    save: bool = True,
    progress: Progress | None = None,
) -> TrainOutcome:
    """Fine-tune a model and test it.

    Parameters
    ----------
    data
        As loaded; it is checked and made into the variants of its arm here.
    out
        The run's folder.
    model
        `builtin`, or `hf:NAME_OR_FOLDER`: any encoder of transformers, or the result of another run.
    save
        Whether to keep the weights; a search over many runs needs their predictions only.
    """
    settings = settings or TrainSettings()
    formalization = Formalization.parse(settings.formalization)
    loaded = data.checked()
    data = loaded.in_arm()
    identity = _identity(data, model, settings, formalization)
    tests = [test.content_hash for test in data.tests]
    about = remembered(out) if out.is_dir() else None
    done = _done(out, identity)
    if done is not None and done.run.get("tests") == tests and (about is not None or not save):
        return done
    _check_folder(out, model)
    notes = _made(loaded, data)
    resumed = None
    if about is not None:
        check_same(out, about.get("run", {}), identity)
        network = open_network(folder_settings(out, device))
    else:
        network = load_network(model, formalization, seed=settings.seed, device=device)
        more, resumed = _trained(network, data, settings, out, identity, progress)
        notes += more
        if save:
            save_network(network, out, {"winokit": winokit.__version__, "run": identity})
    run = {**identity, "tests": tests, "dropped": loaded.dropped}
    outcome = _tested(network, data, out, run, notes, resumed)
    drop_checkpoint(out)
    return outcome


def _made(loaded: TrainingData, data: TrainingData) -> list[str]:
    """Notes on what the variants of the arm leave out."""
    return [note for note in data.notes if note not in loaded.notes]


def training_examples(dataset: Dataset, network: Network) -> tuple[list[Encoded], list[str]]:
    """The examples that a dataset gives under the network's formalization, and notes on what gives none."""
    found, notes = cases_to_train_on(dataset, network.formalization)
    encoded = encode(found, network.formalization, network.reader)
    whole = [one for one in encoded if not isinstance(one, str)]
    unread = [why for why in encoded if isinstance(why, str)]
    if unread:
        notes.append(f"{dataset.card.name}: problems that do not train: {len(unread):,} (the first: {unread[0]})")
    if not whole:
        raise BadInput(f"{dataset.card.name}: no problem to train {network.formalization.name} on ({notes[-1]})")
    if network.formalization.definition.pointwise:
        whole = [one.only(index) for one in whole for index in range(len(one.options))]
    return whole, notes


def _trained(
    network: Network,
    data: TrainingData,
    settings: TrainSettings,
    out: Path,
    identity: dict[str, Any],
    progress: Progress | None,
) -> tuple[list[str], int | None]:
    """Train and write the curve; notes, and the step a killed run went on from."""
    examples, notes = training_examples(data.train, network)
    exam = None if data.dev is None else Exam(data.dev, network, data.arm.trained_on)
    make_writable(out)
    with torch.random.fork_rng(devices=[network.device] if network.device.type == "cuda" else []):
        torch.manual_seed(settings.seed)
        learner = Learner(network, examples, exam, settings)
        resumed = learner.state.step if learner.resume(out, identity) else None
        try:
            learner.learn(out, identity, progress)
        except Diverged:
            drop_checkpoint(out)  # it would only lead here again
            raise
    state = learner.state
    curve = {
        "train": state.losses,
        "dev": state.marks,
        "guessing_loss": guessing_loss(network, examples),
        **_chances(data.dev),
        "steps": state.step,
        "kept_step": state.kept["step"] if state.kept is not None and settings.keep == "best" else state.step,
        "stopped_early": state.stopped,
        "examples": len(examples),
        "seconds": round(state.seconds, 3),
    }
    write_whole(out / CURVE, json.dumps(curve, indent=1).encode())
    write_figure(curve, out / FIGURE)
    return notes + learner.stepper.notes, resumed


def _chances(dev: Dataset | None) -> dict[str, float | None]:
    """What guessing gives on the dev set."""
    if dev is None:
        return {"chance": None, "group_chance": None}
    sizes, groups = [len(problem.candidates) for problem in dev], [problem.group for problem in dev]
    together = group_accuracy_chance(sizes, groups) if complete_groups(groups) else None
    return {"chance": chance(sizes), "group_chance": together}


def _tested(
    network: Network, data: TrainingData, out: Path, run: dict[str, Any], notes: list[str], resumed: int | None
) -> TrainOutcome:
    """Predict every set, write predictions and results."""
    curve = json.loads((out / CURVE).read_text("utf-8"))
    sets = [(DEV, data.dev, data.arm.trained_on)] if data.dev is not None else []
    sets += [(file_name(test, at, data.tests), test, data.arm.tested_on) for at, test in enumerate(data.tests)]
    metrics: list[Metric] = []
    on_dev: list[Prediction] = []
    for name, dataset, variant in sets:
        exam = Exam(dataset, network, variant)
        predictions = exam.sit(network, f"hf:{out}")
        write_predictions(predictions, out / PREDICTIONS / f"{name}.jsonl")
        metrics += rows(dataset, predictions, name)
        notes = [*notes, *exam.notes]
        on_dev = predictions if name == DEV else on_dev
    losses = [row["loss"] for row in curve["train"]]
    warnings = symptoms(losses, curve["guessing_loss"], data.dev, on_dev, [row for row in metrics if row.subset == DEV])
    told = {"winokit": winokit.__version__, **run}
    outcome = TrainOutcome(out, told, metrics, curve, warnings, notes, resumed)
    results = {"run": told, "metrics": rows_to_json(metrics), "warnings": warnings, "notes": notes}
    write_whole(out / RESULTS, (json.dumps(results, indent=1, ensure_ascii=False) + "\n").encode())
    return outcome


def file_name(dataset: Dataset, at: int, among: Sequence[Dataset]) -> str:
    """A test set's name as a file may have it; numbered where two have the same."""
    name = dataset.card.file_name
    alike = [other for other in among if other.card.name == dataset.card.name]
    return name if len(alike) == 1 and name != DEV else f"{name}-{at + 1}"


def _identity(data: TrainingData, model: str, settings: TrainSettings, formalization: Formalization) -> dict[str, Any]:
    """What decides the weights, flat, so that a difference has a name."""
    spec = Spec.parse(model)
    return {
        "model": spec.prefix + (f":{spec.place}" if spec.place else ""),
        "model_content": fingerprint(ModelSettings.of(spec)) if spec.prefix == "hf" else None,
        "train": data.train.card.name,
        "train_content": data.train.content_hash,
        "dev": None if data.dev is None else data.dev.card.name,
        "dev_content": None if data.dev is None else data.dev.content_hash,
        "trained_on": data.arm.trained_on,
        "tested_on": data.arm.tested_on,
        **settings.identity(),
        "formalization": formalization.spec,
    }


def _check_folder(out: Path, model: str) -> None:
    """Refuse a folder whose files are not a training run's."""
    spec = Spec.parse(model)
    if spec.prefix == "hf" and Path(spec.place).resolve() == out.resolve():
        raise BadInput(f"{out}: is the model that is to be trained; choose another --out")
    ours = any((out / name).exists() for name in (ABOUT, CURVE))
    check_own_folder(out, (CONFIG, RESULTS), ours=ours, of="a training run")


def _done(out: Path, identity: dict[str, Any]) -> TrainOutcome | None:
    """The outcome that the folder has, where one is there; that of another run is refused."""
    try:
        told = json.loads((out / RESULTS).read_text("utf-8"))
        curve = json.loads((out / CURVE).read_text("utf-8"))
        run, metrics = told["run"], [Metric.from_json(row) for row in told["metrics"]]
        warnings, notes = told["warnings"], told["notes"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    check_same(out, run, identity)
    return TrainOutcome(out, run, metrics, curve, warnings, notes)


def folder_settings(out: Path, device: str | None) -> ModelSettings:
    """How a run's folder is loaded."""
    return ModelSettings.of(Spec("hf", str(out), {} if device is None else {"device": device}))
