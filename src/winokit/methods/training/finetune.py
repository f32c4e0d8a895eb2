"""Fine-tuning: data, a model and settings in; a folder out that loads as `hf:FOLDER` and remembers its formalization.

    winokit.json  config.json  model.safetensors  tokenizer.json …   the model, under its formalization
    results.json                                                    accuracies in flat rows, settings, warnings
    curve.json                                                      loss and dev accuracy by step
    predictions/dev.jsonl  predictions/NAME.jsonl                   what it predicts

The same call goes on where it was killed, and does nothing where it is done. BERT-seqft is two calls, the second with
`model="hf:FOLDER"` of the first.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
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
"""What every model folder of transformers has."""


@dataclass(frozen=True, repr=False)
class TrainOutcome(Brief):
    """What came of a run."""

    folder: Path
    run: dict[str, Any]
    """What would be needed to do it again."""
    metrics: list[Metric]
    curve: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    resumed: int | None = None
    """The step it went on from; None for a run in one go."""

    @classmethod
    def load(cls, folder: Path) -> "TrainOutcome | None":
        """The outcome that a folder holds; None where there is none, or one that cannot be read."""
        try:
            results = json.loads((folder / RESULTS).read_text("utf-8"))
            curve = json.loads((folder / CURVE).read_text("utf-8")) if (folder / CURVE).exists() else {}
            metrics = [Metric.from_json(row) for row in results["metrics"]]
            return cls(folder, results["run"], metrics, curve, results["warnings"], results["notes"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def save(self) -> None:
        """Write results.json."""
        results = {"run": self.run, "metrics": rows_to_json(self.metrics), "warnings": self.warnings}
        write_whole(self.folder / RESULTS, result_bytes({**results, "notes": self.notes}))

    def value(self, metric: str, subset: str = DEV) -> float | None:
        """A metric of the dev set, or of a test set by its name."""
        return next((row.value for row in self.metrics if row.metric == metric and row.subset == subset), None)

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
    identity = model_identity(model) | data.identity() | settings.identity() | {"formalization": formalization.spec}
    if any(problem.query is not None for dataset in data.sets for problem in dataset):
        identity["rivals"] = rivals_name(formalization)
    tests = [test.content_hash for test in data.tests]
    about = remembered(out) if out.is_dir() else None
    done = TrainOutcome.load(out)
    if done is not None and done.curve:
        check_same(out, done.run, identity)
        if done.run.get("tests") == tests and (about is not None or not save):
            return done
    _check_folder(out, model)
    notes = [note for note in data.notes if note not in loaded.notes]
    resumed = None
    if about is not None:
        check_same(out, about.get("run", {}), identity)
        network = open_network(folder_settings(out, device))
    else:
        network = load_network(model, formalization, seed=settings.seed, device=device)
    # A text that the model cannot read is refused here, not when hours of training are done.
    evaluations = {DEV: Evaluation(data.dev, network, data.arm.trained_on)} if data.dev is not None else {}
    for at, test in enumerate(data.tests):
        evaluations[file_name(test, at, data.tests)] = Evaluation(test, network, data.arm.tested_on)
    if about is None:
        more, resumed = _trained(network, data, evaluations.get(DEV), settings, out, identity, progress)
        notes += more
        if save:
            save_network(network, out, {"winokit": winokit.__version__, "run": identity})
    run = {"winokit": winokit.__version__, **identity, "tests": tests, "dropped": loaded.dropped}
    metrics, more, predictions = _evaluated(network, evaluations, out, f"hf:{out}")
    curve = json.loads((out / CURVE).read_text("utf-8"))
    losses = [row["loss"] for row in curve["train"]]
    on_dev = [row for row in metrics if row.subset == DEV]
    warnings = symptoms(losses, curve["guessing_loss"], data.dev, predictions.get(DEV, []), on_dev)
    outcome = TrainOutcome(out, run, metrics, curve, warnings, [*notes, *more], resumed)
    outcome.save()
    drop_checkpoint(out)
    return outcome


def untrained(
    tests: Sequence[Dataset], variant: str, out: Path, model: str, settings: TrainSettings, *, device: str | None = None
) -> TrainOutcome:
    """Test a model before any training: the first point of a learning curve, in a folder like that of a run.

    A head that is not part of the model is drawn by the seed, so that what `mc-sent` has at size zero is luck;
    `mc-mlm` asks the model's own head, and is the same for every seed. What is done is not done again.
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
    done = TrainOutcome.load(out)
    if done is not None and done.run == run:
        return done
    network = load_network(model, formalization, seed=settings.seed, device=device)
    evaluations = {
        f"{test.card.file_name}-{at}": Evaluation(test, network, variant) for at, test in enumerate(tests, 1)
    }
    metrics, notes, _ = _evaluated(network, evaluations, out, model)
    outcome = TrainOutcome(out, run, metrics, notes=notes)
    outcome.save()
    return outcome


def training_examples(dataset: Dataset, network: Network) -> tuple[list[Encoded], list[str]]:
    """The examples that a dataset gives under the network's formalization, and notes on what gives none."""
    cases, notes = training_cases(dataset, network.formalization)
    encoded = encode(cases, network.formalization, network.reader)
    examples = [case for case in encoded if not isinstance(case, str)]
    unread = [why for why in encoded if isinstance(why, str)]
    if unread:
        notes.append(f"{dataset.card.name}: problems not trained on: {len(unread):,} (the first: {unread[0]})")
    if not examples:
        raise BadInput(f"{dataset.card.name}: no problem to train {network.formalization.name} on ({notes[-1]})")
    if network.formalization.definition.pointwise:
        examples = [case.only(index) for case in examples for index in range(len(case.options))]
    return examples, notes


def _trained(
    network: Network,
    data: TrainingData,
    evaluation: Evaluation | None,
    settings: TrainSettings,
    out: Path,
    identity: dict[str, Any],
    progress: Progress | None,
) -> tuple[list[str], int | None]:
    """Train and write the curve; notes, and the step a killed run went on from."""
    examples, notes = training_examples(data.train, network)
    make_writable(out)
    with torch.random.fork_rng(devices=[network.device] if network.device.type == "cuda" else []):
        torch.manual_seed(settings.seed)
        learner = Learner(network, examples, evaluation, settings)
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
        **_chances(data.dev, network.formalization.spec),
        "steps": state.step,
        "kept_step": state.kept["step"] if state.kept is not None and settings.keep == "best" else state.step,
        "stopped_early": state.stopped,
        "examples": len(examples),
        "seconds": round(state.seconds, 3),
    }
    write_whole(out / CURVE, result_bytes(curve))
    return notes + learner.stepper.notes, resumed


def _chances(dev: Dataset | None, formalization: str) -> dict[str, float | None]:
    """What guessing among the options of a formalization gives on the dev set."""
    if dev is None:
        return {"chance": None, "group_chance": None}
    chance, group_chance = chances_of_guessing(dev, formalization)
    return {"chance": chance, "group_chance": group_chance}


def _evaluated(
    network: Network, evaluations: Mapping[str, Evaluation], out: Path, model: str
) -> tuple[list[Metric], list[str], dict[str, list[Prediction]]]:
    """Predict every set and write the predictions under its name; rows, notes, predictions."""
    metrics: list[Metric] = []
    notes: list[str] = []
    predictions: dict[str, list[Prediction]] = {}
    for name, evaluation in evaluations.items():
        predictions[name] = evaluation.predictions(network, model)
        write_predictions(predictions[name], out / PREDICTIONS / f"{name}.jsonl")
        metrics += rows(evaluation.dataset, predictions[name], name)
        notes += evaluation.notes
    return metrics, notes, predictions


def file_name(dataset: Dataset, at: int, among: Sequence[Dataset]) -> str:
    """A test set's name as a file may have it; numbered where another, or its numbered name, is the same."""
    names = [DEV, *(each.card.file_name for each in among)]
    taken = [*names, *(f"{name}-{place}" for place, name in enumerate(names))]
    name = dataset.card.file_name
    return name if taken.count(name) == 1 else f"{name}-{at + 1}"


def model_identity(model: str) -> dict[str, Any]:
    """What decides the weights that training begins with."""
    spec = Spec.parse(model)
    content = None
    if spec.prefix == "hf":
        content = fingerprint(replace(HfSettings.of(spec), dtype=TRAINED_IN))
    return {"model": spec.prefix + (f":{spec.place}" if spec.place else ""), "model_content": content}


def folder_settings(out: Path, device: str | None) -> HfSettings:
    """How a run's folder is loaded."""
    return HfSettings.of(Spec("hf", str(out), {} if device is None else {"device": device}))


def _check_folder(out: Path, model: str) -> None:
    """Refuse a folder whose files are not a training run's."""
    spec = Spec.parse(model)
    if spec.prefix == "hf" and Path(spec.place).resolve() == out.resolve():
        raise BadInput(f"{out}: is the model to be trained; choose another --out")
    ours = any((out / name).exists() for name in (ABOUT, CURVE))
    check_own_folder(out, (CONFIG, RESULTS), ours=ours, of="a training run")
