"""What one job does on its device: train and examine, give an encoder a head, or run AFLite.

Networks stay on the device from job to job: weights are put back where they lie, so that what the GPU was told for a
shape (`methods.training.stepper`) serves the next job too. Nothing is saved but records, and the weights that another
job begins with.
"""

from __future__ import annotations

import fcntl
import gc
import pickle
import platform
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import file_digest, sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

import winokit
from runs.sets import LIKE_DEBIASED, OPEN, Sets, drawn_like, rows_of, some_of
from winokit.answers import Answers, Scorer
from winokit.files import write_whole
from winokit.methods.formalizations.base import Formalization
from winokit.methods.formalizations.cases import rivals_name
from winokit.methods.formalizations.inputs import Encoded
from winokit.methods.formalizations.network import Network, load_network
from winokit.methods.metrics.accuracy import credit
from winokit.methods.metrics.judge import BLIND, Judge, gender_rows, has_gender
from winokit.methods.scoring.scorer import Prediction
from winokit.methods.training.data import make_variant
from winokit.methods.training.evaluation import Evaluation, rows
from winokit.methods.training.finetune import training_examples
from winokit.methods.training.learner import Learner
from winokit.methods.training.stepper import Stepper
from winokit.problem import Dataset
from winokit.results import Metric

if TYPE_CHECKING:
    from runs.jobs import Job

ROOM_KEPT = 6 * 2**30
"""Bytes on the device beyond which a worker keeps nothing: what large batches were recorded in is for others then."""
MADE = "made.txt"
"""In the folder of a model that was given a head, which one: the job, and a hash of the weights."""
Row = list[Any]


@dataclass
class Workshop:
    """Where a worker works: its sets, its models, what it keeps between jobs."""

    sets: Sets
    out: Path
    models: Mapping[str, str]
    """By short name the SPEC of a model."""
    device: str | None = None
    kept: dict[tuple[str, str], KeptNetwork] = field(default_factory=dict)
    """The network of the last job, if it is kept: it has some gigabytes, with its optimiser and its recordings."""

    def network(self, model: str, formalization: str) -> KeptNetwork:
        """The network of a model under a formalization, kept or new; one at a time is kept."""
        key = (model, formalization)
        if key not in self.kept:
            self.drop()
            self.kept[key] = KeptNetwork(self.models[model], Formalization.parse(formalization), self.device)
        return self.kept[key]

    def drop(self) -> None:
        """Keep no network, nor its recordings and what they hold of the device."""
        self.kept.clear()
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    def tidy(self) -> None:
        """Leave the device to others after a job that took much of it."""
        if torch.cuda.is_available() and torch.cuda.memory_reserved() > ROOM_KEPT:
            self.drop()

    def dataset(self, name: str) -> Dataset:
        """A set by its name; `kept` and `random` are made of what AFLite left, `like-debiased` is drawn by its seed."""
        if name == OPEN:
            self.sets.data.setdefault(OPEN, winokit.load(OPEN))
        if name in self.sets.data:
            return self.sets.data[name]
        if name.startswith(LIKE_DEBIASED):
            own_seed = int(name.removeprefix(LIKE_DEBIASED))
            self.sets.data[name] = drawn_like(self.sets.data["train:xl"], self.sets.data["train:debiased"], own_seed)
            return self.sets.data[name]
        kind, count, seed, variant = (*name.removeprefix("train:").split(":"), "")[:4]
        filtered = self.sets.parts[0][0]
        keep = np.unpackbits(np.load(self.out / "aflite" / "0.npz")["keep"])[: len(filtered)].astype(bool)
        apart = {problem.id for problem in self.sets.data["train:xl"]}
        rest = rows_of(self.sets.data["train:whole"], filtered[keep] if kind == "kept" else filtered)
        rest = rest.filter(lambda problem: problem.id in apart)
        data = some_of(rest, min(int(count) or int(keep.sum()), int(keep.sum())), int(seed))
        data = make_variant(data, variant) if variant else data
        self.sets.data[name] = data
        return data

    def examples(self, name: str, bench: KeptNetwork, model: str) -> tuple[list[Encoded], list[str]]:
        """A training set as the network reads it; read once, by whichever worker comes first."""
        place = self.out / "encoded" / f"{name}-{model}-{bench.network.formalization.spec}.pkl".replace("/", "-")
        with locked(place):
            if not place.exists():
                write_whole(place, pickle.dumps(training_examples(self.dataset(name), bench.network)))
        examples, notes = pickle.loads(place.read_bytes())  # a file of our own making
        return examples, notes


class KeptNetwork:
    """A network on its device, the weights it begins with, and its stepper."""

    def __init__(self, spec: str, formalization: Formalization, device: str | None) -> None:
        self.spec, self.device = spec, device
        self.network = load_network(spec, formalization, device=device)
        self.first = {name: weight.detach().clone() for name, weight in self.network.state_dict().items()}
        self.steppers: dict[tuple[object, ...], Stepper] = {}
        self.evaluations: dict[str, Evaluation] = {}

    def begin(self, seed: int, weights: Path | None = None) -> Network:
        """Put the weights back, with a head drawn by the seed, or those that another job ended with."""
        network, formalization = self.network, self.network.formalization
        if weights is not None:
            state = torch.load(weights, map_location=network.device, weights_only=True)
        elif formalization.switches.get("head") == "fresh":
            state = load_network(self.spec, formalization, seed=seed, device=self.device).state_dict()
        else:
            with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
                torch.manual_seed(seed)
                head = formalization.definition.head(network.encoder.config, formalization.switches)
            state = self.first | {f"head.{name}": weight for name, weight in head.state_dict().items()}
        network.load_state_dict(state)
        return network

    def stepper(self, new: Stepper) -> Stepper:
        """The stepper of earlier jobs that recorded the same, as if it had never moved; else the new one."""
        how = new.settings
        key = (how.weight_decay, how.clip, how.accumulate, how.precision)
        old = self.steppers.setdefault(key, new)
        if old is not new:
            # A plan of its own: what dropout draws goes by the shapes that batches are filled up to.
            old.settings, old.shapes = new.settings, new.shapes
            old.running.zero_()
            with torch.no_grad():
                for state in old.optimiser.state.values():
                    for value in state.values():
                        value.zero_()
        return old

    def evaluation(self, name: str, data: Dataset) -> Evaluation:
        """A test set made ready, once."""
        if name not in self.evaluations:
            self.evaluations[name] = Evaluation(data, self.network, name)
        return self.evaluations[name]


class MarkedLearner(Learner):
    """A learner that makes all its evaluations at the steps that are marked, or once an epoch, and keeps the sheets."""

    def __init__(
        self, bench: KeptNetwork, examples: Sequence[Encoded], job: Job, evaluations: Mapping[str, Evaluation]
    ) -> None:
        every = np.gcd.reduce(job.marks) if job.marks else None
        settings = replace(job.settings, evaluate_every=None if every is None else int(every), keep="last")
        super().__init__(bench.network, examples, next(iter(evaluations.values()), None), settings)
        self.stepper = bench.stepper(self.stepper)
        self.job, self.evaluations = job, evaluations
        self.sheets: dict[int, dict[str, list[Prediction]]] = {}
        self.most_right = -1.0
        """On the set that is chosen on, so far."""

    def _evaluate(self, evaluation: Evaluation) -> None:
        step = self.state.step
        if self.job.marks and step not in self.job.marks and step != len(self.steps):
            return
        over, chosen_on = step == len(self.steps), self.job.chosen_on
        known: dict[str, list[Prediction]] = {}
        if chosen_on is not None:
            sheet = self.evaluations[chosen_on].predictions(self.network, self.job.model)
            right = share_right(self.evaluations[chosen_on].dataset, sheet)
            if right <= self.most_right:
                return  # it will not be chosen: what other sets make of it need not be known
            self.most_right, known = right, {chosen_on: sheet}
        self.sheets[step] = known | {
            name: evaluation.predictions(self.network, self.job.model)
            for name, evaluation in self.evaluations.items()
            if name not in known and (over or name not in self.job.at_the_end)
        }


def trained(job: Job, shop: Workshop) -> dict[str, Any]:
    """Train as a job says, examine, and hand back its record."""
    began = time.monotonic()
    bench = shop.network(job.model, job.settings.formalization)
    weights = weights_file(shop.out, job.after) if job.after else None
    network = bench.begin(job.settings.seed, weights)
    evaluations = {name: bench.evaluation(name, shop.dataset(name)) for name in job.tests}
    notes = [note for evaluation in evaluations.values() for note in evaluation.notes]
    about: dict[str, Any] = {}
    if job.train is None:
        sheets = {0: {name: evaluation.predictions(network, job.model) for name, evaluation in evaluations.items()}}
    else:
        examples, more = shop.examples(job.train, bench, job.model)
        notes += more
        sheets, about = _steps(job, bench, examples, evaluations)
    if job.saves:
        place = weights_file(shop.out, job.name)
        place.parent.mkdir(parents=True, exist_ok=True)
        torch.save(network.state_dict(), place.with_suffix(".part"))
        place.with_suffix(".part").replace(place)
    # Where something is chosen, each step with a sheet is better than those before it.
    marks = sheets if job.chosen_on is None else dict(list(sheets.items())[-1:])
    tests = {name: _sheet(shop.dataset(name), name, marks, network) for name in job.tests}
    return record(job, shop, began) | about | {"notes": sorted(set(notes)), "tests": tests}


def _steps(
    job: Job, bench: KeptNetwork, examples: Sequence[Encoded], evaluations: Mapping[str, Evaluation]
) -> tuple[dict[int, dict[str, list[Prediction]]], dict[str, Any]]:
    """Take every step; what was predicted where, and how the training went."""
    network = bench.network
    with torch.random.fork_rng(devices=[network.device] if network.device.type == "cuda" else []):
        torch.manual_seed(job.settings.seed)
        learner = MarkedLearner(bench, examples, job, evaluations)
        learner.learn(Path(), {})
    state = learner.state
    losses = [round(entry["loss"], 4) for entry in state.losses]
    about = {
        "examples": len(examples),
        "steps": state.step,
        "step_seconds": round(state.seconds, 1),
        "losses": losses[:: max(1, len(losses) // 10)],
        "stepper": learner.stepper.notes,
    }
    return learner.sheets, about


def share_right(data: Dataset, predictions: Sequence[Prediction]) -> float:
    """How much of a set is right; what is undecided counts 1/candidates."""
    answers, sizes = [problem.answer or 0 for problem in data], [len(problem.candidates) for problem in data]
    return float(np.mean(credit([prediction.prediction for prediction in predictions], answers, sizes)))


def _sheet(data: Dataset, name: str, marks: Mapping[int, Mapping[str, list[Prediction]]], network: Network) -> Any:
    """By step what was predicted, one character per problem, and the rows it makes."""
    by_step: dict[str, Any] = {}
    for step, sheets in marks.items():
        if name in sheets:
            sheet = sheets[name]
            made = list(rows(data, sheet, "all"))
            if has_gender(data):
                answers = Answers.of_choices(data, [prediction.prediction for prediction in sheet])
                reads = network.formalization.definition.reads_pronoun
                made += gender_rows(Judge(name, Scorer()), answers, None if reads else BLIND)
            by_step[str(step)] = {"predictions": written(sheet), "rows": [short_row(row) for row in made]}
    return by_step


def written(predictions: Iterable[Prediction]) -> str:
    """One character per problem: the candidate's index, or - for an abstention."""
    return "".join("-" if prediction.prediction is None else str(prediction.prediction) for prediction in predictions)


def short_row(row: Metric) -> Row:
    """A row as a list: protocol, subset, metric, value, n, low, high, chance."""
    numbers = (row.value, row.low, row.high, row.chance)
    value, low, high, chance = (None if number is None else round(float(number), 5) for number in numbers)
    return [row.protocol, row.subset, row.metric, value, row.n, low, high, chance]


def record(job: Job, shop: Workshop, began: float) -> dict[str, Any]:
    """What a job was, and where and how long it ran."""
    cuda = torch.cuda.is_available() and shop.device != "cpu"
    versions = {"winokit": winokit.__version__, "torch": torch.__version__, "python": platform.python_version()}
    versions["float32"] = torch.get_float32_matmul_precision()
    formalization = Formalization.parse(job.settings.formalization)
    made = Path(shop.models[job.model].removeprefix("hf:")) / MADE
    return {
        "job": job.name,
        "model": job.model,
        "train": job.train,
        "after": job.after,
        "problems": None if job.train is None else len(shop.dataset(job.train)),
        "settings": job.settings.identity() | {"rivals": rivals_name(formalization)},
        "chosen_on": job.chosen_on,
        "weights": digest_of_weights(shop.models[job.model]),
        "data": {name: shop.dataset(name).content_hash for name in filter(None, (job.train, *job.tests))},
        "seconds": round(time.monotonic() - began, 1),
        "device": torch.cuda.get_device_name() if cuda else "CPU",
        "versions": versions,
        **({"more": {"head": made.read_text("utf-8")}} if made.exists() else {}),
    }


@lru_cache
def digest_of_weights(spec: str) -> str | None:
    """The sha256 of a model folder's weights; None if the weights are not one file of a folder."""
    file = Path(spec.removeprefix("hf:").partition("?")[0]) / "model.safetensors"
    if not file.is_file():
        return None
    with file.open("rb") as opened:
        return file_digest(opened, "sha256").hexdigest()


def weights_file(out: Path, name: str) -> Path:
    """Where the weights of a job are kept for the jobs that begin with them."""
    return out / "weights" / f"{name.replace('/', '-')}.pt"


def headed(job: Job, shop: Workshop) -> dict[str, Any]:
    """Give a model a language-modelling head, learned from a corpus, and keep it as a model of its own."""
    from runs.language_head import guessed, headed, held_out, learn, pieces_of
    from runs.trigrams import paragraphs

    began = time.monotonic()
    how = job.more
    model, tokenizer = headed(shop.models[job.model] + (f"?device={shop.device}" if shop.device else ""))
    train, held = held_out(pieces_of(tokenizer, paragraphs([Path(how["corpus"])])))
    before = guessed(model, tokenizer, held, how["batch_size"])
    learn(model, tokenizer, train, how["epochs"], how["batch_size"], how["learning_rate"])
    after = guessed(model, tokenizer, held, how["batch_size"])
    place = Path(shop.models[job.makes].removeprefix("hf:"))
    model.save_pretrained(place.with_name(f"{place.name}.part"))
    tokenizer.save_pretrained(place.with_name(f"{place.name}.part"))
    digest = sha256(place.with_name(f"{place.name}.part").joinpath("model.safetensors").read_bytes()).hexdigest()
    made = f"{job.name} {digest[:8]}"
    write_whole(place.with_name(f"{place.name}.part") / MADE, made.encode())
    place.with_name(f"{place.name}.part").rename(place)
    outcome = {"pieces": len(train), "held_out": len(held), "guessed_before": before, "guessed_after": after}
    return record(job, shop, began) | {"more": {**how, "corpus": Path(how["corpus"]).name, "head": made}, **outcome}


@contextmanager
def locked(place: Path) -> Iterator[None]:
    """Alone with a file: another process that comes meanwhile waits; the lock of one that was killed is gone."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.with_name(f"{place.name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
