"""Fine-tuning: trains a model, tests it, and writes a folder that loads as `hf:FOLDER`.

    winokit.json  config.json  model.safetensors  tokenizer.json …   the model, under its formalization
    results.json                                                    accuracies in flat rows, settings, warnings
    curve.json                                                      loss and dev accuracy by step
    predictions/dev.jsonl  predictions/NAME.jsonl                   what it predicts

The same call continues a run that was killed, and does nothing if the run is finished. BERT-seqft is two calls, the
second with `model="hf:FOLDER"` of the first.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

import torch

import winokit
from winokit.errors import BadInput
from winokit.files import check_own_folder, result_bytes, write_whole
from winokit.methods.formalizations.base import Formalization
from winokit.methods.formalizations.cases import rivals_name, training_cases
from winokit.methods.formalizations.inputs import Encoded, encode
from winokit.methods.formalizations.network import (
    ABOUT,
    TRAINED_IN,
    Network,
    load_network,
    open_network,
    remembered,
    save_network,
)
from winokit.methods.scoring.scorer import Prediction, write_predictions
from winokit.methods.training.data import TrainingData
from winokit.methods.training.evaluation import (
    Diverged,
    Evaluation,
    chances_of_guessing,
    guessing_loss,
    rows,
    symptoms,
)
from winokit.methods.training.learner import Learner, check_same, drop_checkpoint, make_writable
from winokit.methods.training.settings import TrainSettings
from winokit.models.hf import HfSettings, fingerprint
from winokit.models.registry import Spec
from winokit.problem import Dataset
from winokit.progress import Progress
from winokit.results import Brief, Metric, rows_to_json

RESULTS = "results.json"
CURVE = "curve.json"
PREDICTIONS = "predictions"
DEV = "dev"
CONFIG = "config.json"
"""A file that every model folder of transformers has."""


@dataclass(frozen=True, repr=False)
class TrainOutcome(Brief):
    """The result of a training run."""

    folder: Path
    run: dict[str, Any]
    """Settings, names and hashes that are needed to repeat it."""
    metrics: list[Metric]
    curve: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    resumed: int | None = None
    """The step from which it was continued; None for a run without interruption."""

    @classmethod
    def load(cls, folder: Path) -> "TrainOutcome | None":
        """Load the outcome stored in a folder.

        None if there is none, or if it cannot be read.
        """
        try:
            results = json.loads((folder / RESULTS).read_text("utf-8"))
            curve_path = folder / CURVE
            curve = json.loads(curve_path.read_text("utf-8")) if curve_path.exists() else {}
            metrics = [Metric.from_json(row) for row in results["metrics"]]
            return cls(folder, results["run"], metrics, curve, results["warnings"], results["notes"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def save(self) -> None:
        """Write results.json into the folder."""
        results = {
            "run": self.run,
            "metrics": rows_to_json(self.metrics),
            "warnings": self.warnings,
            "notes": self.notes,
        }
        write_whole(self.folder / RESULTS, result_bytes(results))

    def value(self, metric: str, subset: str = DEV) -> float | None:
        """Return the value of a metric on the dev set, or on the test set with this file name.

        None if there is no such row.
        """
        for row in self.metrics:
            if row.metric == metric and row.subset == subset:
                return row.value
        return None

    def on(self, dataset: str) -> list[Metric]:
        """Return the rows of the test set with this name."""
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
    """Fine-tune a model, test it, and write its folder.

    A finished run with the same data and settings is loaded from the folder, and an interrupted one is continued.
    Raises BadInput if the folder has another run, or if data overlap, and Diverged if a loss is not a finite number.

    Parameters
    ----------
    data
        The sets as loaded. They are checked here, and made into the variants of their arm.
    out
        The folder of the run.
    model
        `builtin`, or `hf:NAME_OR_FOLDER`: any encoder of transformers, or the result of another run.
    save
        Whether to keep the weights. A search over many runs needs only their predictions.
    """
    settings = settings or TrainSettings()
    formalization = Formalization.parse(settings.formalization)
    loaded = data.checked()
    data = loaded.in_arm()
    identity = _run_identity(model, data, settings, formalization)
    tests = [test.content_hash for test in data.tests]
    stored_about = remembered(out) if out.is_dir() else None
    finished = TrainOutcome.load(out)
    if finished is not None and finished.curve:
        check_same(out, finished.run, identity)
        has_weights = stored_about is not None or not save
        if has_weights and finished.run.get("tests") == tests:
            return finished
    _check_folder(out, model)
    notes = [note for note in data.notes if note not in loaded.notes]
    resumed = None
    if stored_about is not None:
        check_same(out, stored_about.get("run", {}), identity)
        network = open_network(folder_settings(out, device))
    else:
        network = load_network(model, formalization, seed=settings.seed, device=device)
    # A text that the model cannot read raises an error here, not after hours of training.
    evaluations = _prepare_evaluations(data, network)
    if stored_about is None:
        dev_evaluation = evaluations.get(DEV)
        training_notes, resumed = _train_network(network, data, dev_evaluation, settings, out, identity, progress)
        notes += training_notes
        if save:
            save_network(network, out, {"winokit": winokit.__version__, "run": identity})
    run = {"winokit": winokit.__version__, **identity, "tests": tests, "dropped": loaded.dropped}
    metrics, evaluation_notes, predictions = _evaluate_sets(network, evaluations, out, f"hf:{out}")
    notes += evaluation_notes
    curve = json.loads((out / CURVE).read_text("utf-8"))
    losses = [row["loss"] for row in curve["train"]]
    dev_rows = [row for row in metrics if row.subset == DEV]
    warnings = symptoms(losses, curve["guessing_loss"], data.dev, predictions.get(DEV, []), dev_rows)
    outcome = TrainOutcome(out, run, metrics, curve, warnings, notes, resumed)
    outcome.save()
    drop_checkpoint(out)
    return outcome


def _run_identity(
    model: str, data: TrainingData, settings: TrainSettings, formalization: Formalization
) -> dict[str, Any]:
    """Return all that determines the weights of a run: model, data and settings.

    `data` are the variants to train on.
    """
    identity = model_identity(model) | data.identity() | settings.identity()
    identity["formalization"] = formalization.spec
    problems = chain.from_iterable(data.sets)
    if any(problem.query is not None for problem in problems):
        identity["rivals"] = rivals_name(formalization)
    return identity


def _prepare_evaluations(data: TrainingData, network: Network) -> dict[str, Evaluation]:
    """Encode the dev set and the test sets, by the names of their files."""
    evaluations: dict[str, Evaluation] = {}
    if data.dev is not None:
        evaluations[DEV] = Evaluation(data.dev, network, data.arm.trained_on)
    for index, test in enumerate(data.tests):
        name = file_name(test, index, data.tests)
        evaluations[name] = Evaluation(test, network, data.arm.tested_on)
    return evaluations


def untrained(
    tests: Sequence[Dataset], variant: str, out: Path, model: str, settings: TrainSettings, *, device: str | None = None
) -> TrainOutcome:
    """Test a model without training: the first point of a learning curve.

    `variant` is that of the test sets. The folder is like that of a training run, and a finished test is loaded from
    it. A head that is not part of the model is drawn by the seed, so the score of `mc-sent` without training is
    chance. `mc-mlm` uses the model's own head, so its score is the same for every seed.
    """
    formalization = Formalization.parse(settings.formalization)
    run = {
        "winokit": winokit.__version__,
        **model_identity(model),
        "train": None,
        "formalization": formalization.spec,
        "seed": settings.seed,
        "tested_on": variant,
        "tests": [test.content_hash for test in tests],
    }
    finished = TrainOutcome.load(out)
    if finished is not None and finished.run == run:
        return finished
    network = load_network(model, formalization, seed=settings.seed, device=device)
    evaluations: dict[str, Evaluation] = {}
    for number, test in enumerate(tests, 1):
        name = f"{test.card.file_name}-{number}"
        evaluations[name] = Evaluation(test, network, variant)
    metrics, notes, _ = _evaluate_sets(network, evaluations, out, model)
    outcome = TrainOutcome(out, run, metrics, notes=notes)
    outcome.save()
    return outcome


def training_examples(dataset: Dataset, network: Network) -> tuple[list[Encoded], list[str]]:
    """Return the encoded examples of a training set, and notes on problems without one.

    An example is a problem with all its options. For formalizations that judge options one by one, it is an option.
    Raises BadInput if there is no example.
    """
    cases, notes = training_cases(dataset, network.formalization)
    encoded = encode(cases, network.formalization, network.reader)
    examples = [case for case in encoded if not isinstance(case, str)]
    unread = [reason for reason in encoded if isinstance(reason, str)]
    if unread:
        notes.append(f"{dataset.card.name}: problems not trained on: {len(unread):,} (the first: {unread[0]})")
    if not examples:
        raise BadInput(f"{dataset.card.name}: no problem to train {network.formalization.name} on ({notes[-1]})")
    if network.formalization.definition.pointwise:
        examples = _split_options(examples)
    return examples, notes


def _split_options(examples: Sequence[Encoded]) -> list[Encoded]:
    """Return one example per option, for formalizations that judge each by itself."""
    single_options: list[Encoded] = []
    for example in examples:
        single_options += [example.only(index) for index in range(len(example.options))]
    return single_options


def _train_network(
    network: Network,
    data: TrainingData,
    evaluation: Evaluation | None,
    settings: TrainSettings,
    out: Path,
    identity: dict[str, Any],
    progress: Progress | None,
) -> tuple[list[str], int | None]:
    """Train the network from the folder's checkpoint, if there is one, and write its curve.

    Returns notes, and the step at which training was resumed, or None. `evaluation` is that of the dev set.
    """
    examples, notes = training_examples(data.train, network)
    make_writable(out)
    cuda_devices = [network.device] if network.device.type == "cuda" else []
    with torch.random.fork_rng(devices=cuda_devices):
        torch.manual_seed(settings.seed)
        learner = Learner(network, examples, evaluation, settings)
        resumed = learner.state.step if learner.resume(out, identity) else None
        try:
            learner.learn(out, identity, progress)
        except Diverged:
            drop_checkpoint(out)  # from there, training would diverge again
            raise
    state = learner.state
    kept_step = state.step
    if state.kept is not None and settings.keep == "best":
        kept_step = state.kept["step"]
    curve = {
        "train": state.losses,
        "dev": state.marks,
        "guessing_loss": guessing_loss(network, examples),
        **_chance_entries(data.dev, network.formalization.spec),
        "steps": state.step,
        "kept_step": kept_step,
        "stopped_early": state.stopped,
        "examples": len(examples),
        "seconds": round(state.seconds, 3),
    }
    write_whole(out / CURVE, result_bytes(curve))
    return notes + learner.stepper.notes, resumed


def _chance_entries(dev: Dataset | None, formalization: str) -> dict[str, float | None]:
    """Entries of the curve with the expected accuracy of guessing on the dev set."""
    if dev is None:
        return {"chance": None, "group_chance": None}
    chance, group_chance = chances_of_guessing(dev, formalization)
    return {"chance": chance, "group_chance": group_chance}


def _evaluate_sets(
    network: Network, evaluations: Mapping[str, Evaluation], out: Path, model: str
) -> tuple[list[Metric], list[str], dict[str, list[Prediction]]]:
    """Predict every set, and write its predictions.

    `evaluations` are by file name. Returns the rows of all sets, their notes, and the predictions by file name.
    """
    metrics: list[Metric] = []
    notes: list[str] = []
    predictions: dict[str, list[Prediction]] = {}
    for name, evaluation in evaluations.items():
        set_predictions = evaluation.predictions(network, model)
        write_predictions(set_predictions, out / PREDICTIONS / f"{name}.jsonl")
        predictions[name] = set_predictions
        metrics += rows(evaluation.dataset, set_predictions, name)
        notes += evaluation.notes
    return metrics, notes, predictions


def file_name(dataset: Dataset, at: int, among: Sequence[Dataset]) -> str:
    """Return a file name for a test set, with its number if another set has the same name.

    `at` is its index in `among`, all test sets.
    """
    names = [DEV, *(test.card.file_name for test in among)]
    numbered_names = [f"{name}-{number}" for number, name in enumerate(names)]
    name = dataset.card.file_name
    is_unique = [*names, *numbered_names].count(name) == 1
    return name if is_unique else f"{name}-{at + 1}"


def model_identity(model: str) -> dict[str, Any]:
    """Return the name and the fingerprint of a model before training.

    The fingerprint of `builtin` is None.
    """
    spec = Spec.parse(model)
    content = None
    if spec.prefix == "hf":
        settings = replace(HfSettings.of(spec), dtype=TRAINED_IN)
        content = fingerprint(settings)
    name = f"{spec.prefix}:{spec.place}" if spec.place else spec.prefix
    return {"model": name, "model_content": content}


def folder_settings(out: Path, device: str | None) -> HfSettings:
    """Return the settings that load a run's folder.

    `device` None is the best available device.
    """
    options = {} if device is None else {"device": device}
    return HfSettings.of(Spec("hf", str(out), options))


def _check_folder(out: Path, model: str) -> None:
    """Raise BadInput if the folder is the model's, or has files of something else."""
    spec = Spec.parse(model)
    if spec.prefix == "hf" and Path(spec.place).resolve() == out.resolve():
        raise BadInput(f"{out}: is the model to be trained; choose another --out")
    is_training_run = any((out / name).exists() for name in (ABOUT, CURVE))
    check_own_folder(out, (CONFIG, RESULTS), ours=is_training_run, of="a training run")
