"""The training loop: steps, evaluations and checkpoints, until steps or patience end.

The state is small and plain, and everything that decides the next step is in it, in the weights, in the optimiser, in
the shapes that batches are filled up to or in the random numbers. A checkpoint has these, in one file that is written
whole: a resumed run goes on as if it had never stopped, and ends on a CPU with the same weights to the bit.

An epoch's order depends on the seed and the epoch alone, so that a resumed run goes on with the same batches. Examples
are shuffled, sorted by length within stretches of at most 50 steps so that little is padded, cut, and the steps
shuffled again. A small dataset has shorter stretches: sorted as a whole it would make the same batches in every epoch.
"""

import copy
import json
import math
import os
import re
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, TypeAlias

import numpy as np
import torch

from winokit.errors import BadInput
from winokit.files import refused
from winokit.methods.formalizations.batch import Batch
from winokit.methods.formalizations.inputs import Encoded
from winokit.methods.formalizations.network import Network
from winokit.methods.training.evaluation import Diverged, Evaluation, finite, mark
from winokit.methods.training.settings import TrainSettings
from winokit.methods.training.stepper import RecordedStepper, Stepper, rate
from winokit.models.batching import out_of_memory
from winokit.progress import Progress

NAME = "checkpoint.pt"
SECONDS = 120
AT_MOST = 0.05
"""Checkpoints come every two minutes, and later where writing one takes more than this share of the time."""
FEWEST_LOSSES = 20
CONTENT = "_content"
"""Hashes have names that end so."""
PRECISION = re.compile(r" dtype=\w+")

Step: TypeAlias = list[list[int]]
"""The batches of one step: several where gradients are accumulated."""

STRETCH = 50
FEWEST = 4
"""A stretch is at most so many steps, and an epoch has at least so many stretches."""


@dataclass
class LearnerState:
    """Progress of a run."""

    step: int = 0
    losses: list[dict[str, float]] = field(default_factory=list)
    marks: list[dict[str, Any]] = field(default_factory=list)
    kept: dict[str, Any] | None = None
    """The best mark on the dev set."""
    since_kept: int = 0
    stopped: bool = False
    total: float = 0.0
    """Loss since the last of `losses`, and over how many."""
    count: int = 0
    seconds: float = 0.0
    """Spent on steps; evaluations and checkpoints are not counted."""


class Learner:
    """A network on its way through the steps of a run."""

    def __init__(
        self, network: Network, examples: Sequence[Encoded], evaluation: Evaluation | None, settings: TrainSettings
    ) -> None:
        self.network = network
        self.examples = examples
        self.evaluation = evaluation
        self.settings = settings
        self.steps = planned(examples, settings)
        stepper_class = RecordedStepper if network.device.type == "cuda" else Stepper
        self.stepper = stepper_class(network, settings)
        self.log_every = max(1, min(50, len(self.steps) // FEWEST_LOSSES))
        self.state = LearnerState()
        self.best: dict[str, torch.Tensor] | None = None

    def learn(self, folder: Path, identity: dict[str, Any], progress: Progress | None = None) -> None:
        """Take all remaining steps, then load the weights that are to be kept."""
        with self.stepper.working():
            self._take_steps(folder, identity, progress)
        if progress:
            progress(len(self.steps), len(self.steps))
        if self.settings.keep == "best" and self.best is not None:
            self.network.load_state_dict(self.best)
        # The last loss is from before the last move of the weights.
        for _, numbers in self.network.numbers(self.examples[:1]):
            finite(numbers)

    def _take_steps(self, folder: Path, identity: dict[str, Any], progress: Progress | None) -> None:
        last_saved = time.monotonic()
        save_seconds = 0.0
        while self.state.step < len(self.steps) and not self.state.stopped:
            if progress:
                progress(self.state.step, len(self.steps))
            started = time.monotonic()
            self._take_step()
            if self.state.step % self.log_every == 0 or self.state.step == len(self.steps):
                self._log_loss()
            self.state.seconds += time.monotonic() - started
            if self.evaluation is not None and self._evaluation_is_due():
                self._evaluate_dev(self.evaluation)
            if self._checkpoint_is_due(time.monotonic() - last_saved, save_seconds):
                started = time.monotonic()
                self._save_checkpoint(folder, identity)
                last_saved = time.monotonic()
                save_seconds = last_saved - started

    def _evaluation_is_due(self) -> bool:
        """Whether the dev set is evaluated after this step: every so many steps or epochs, and after the last."""
        step = self.state.step
        every = self.settings.evaluate_every
        if step == len(self.steps):
            return True
        if every is None:
            return self._epoch_after(step).is_integer()
        return step % every == 0

    def _epoch_after(self, step: int) -> float:
        """Number of epochs done after a step."""
        return self.steps[step - 1][0]

    def resume(self, folder: Path, identity: dict[str, Any]) -> bool:
        """Go back to the folder's checkpoint, and return whether there is one.

        A checkpoint of another run is refused.
        """
        path = folder / NAME
        if not path.exists():
            return False
        try:
            content: dict[str, Any] = torch.load(path, map_location=self.network.device, weights_only=True)
        except Exception as error:  # what is no checkpoint fails in as many ways as there are
            error_name = type(error).__name__
            raise BadInput(f"{path}: cannot be read as a checkpoint ({error_name}); remove it to start again") from None
        try:
            check_same(folder, json.loads(content["identity"]), identity)
            self.state = LearnerState(**json.loads(content["state"]))
            self.network.load_state_dict(content["weights"])
            self.stepper.load(content["optimiser"])
            vars(self.stepper.shapes).update(content.get("shapes", {}))
            self.stepper.notes += content.get("notes", [])
            self.best = content["best"]
            self.stepper.running.fill_(self.state.total)
            torch.set_rng_state(content["random"]["cpu"].cpu())
            if self.network.device.type == "cuda" and "cuda" in content["random"]:
                torch.cuda.set_rng_state(content["random"]["cuda"].cpu(), self.network.device)
        except BadInput:
            raise
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            error_text = " ".join(str(error).split())[:120]
            raise BadInput(
                f"{path}: a checkpoint with other parts ({error_text}): written by another version of winokit; "
                "remove it to start again"
            ) from None
        return True

    def _save_checkpoint(self, folder: Path, identity: dict[str, Any]) -> None:
        """Write a checkpoint beside the old one, then replace it.

        It is on the disk when this returns.
        """
        random = {"cpu": torch.get_rng_state()}
        if self.network.device.type == "cuda":
            random["cuda"] = torch.cuda.get_rng_state(self.network.device)
        state = replace(self.state, total=self.stepper.running.item())
        content = {
            "identity": json.dumps(identity),
            "state": json.dumps(asdict(state)),
            "weights": self.network.state_dict(),
            "optimiser": self.stepper.optimiser.state_dict(),
            "shapes": vars(self.stepper.shapes),
            "notes": self.stepper.notes,
            "best": self.best,
            "random": random,
        }
        temporary = folder / f".{NAME}.{os.getpid()}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with temporary.open("wb") as file:
                torch.save(content, file)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(folder / NAME)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise BadInput(f"{folder / NAME}: cannot be written ({error.strerror or error})") from None

    def _take_step(self) -> None:
        """Take one step by the mean loss over all its batches."""
        step = self.state.step
        self.network.train()
        _, index_batches = self.steps[step]
        batches = [self._collate_examples(indices) for indices in index_batches]
        learning_rate = rate(step, len(self.steps), self.settings)
        try:
            self.state.count += self.stepper.step(batches, learning_rate)
        except RuntimeError as error:
            if not out_of_memory(error):
                raise
            raise BadInput(
                "out of memory: halve the batch size and double --set accumulate, which leaves the steps as they are"
            ) from error
        self.state.step += 1

    def _collate_examples(self, indices: Sequence[int]) -> Batch:
        """A batch of the examples with these indices."""
        return self.network.collated([self.examples[index] for index in indices])

    def _log_loss(self) -> None:
        """Record the mean loss since the last record.

        Only here does the CPU wait for a number from the device.
        """
        state = self.state
        loss = self.stepper.running.item() / max(1, state.count)
        if not math.isfinite(loss):
            raise Diverged(f"the loss is not a number at step {state.step:,}", self.settings.learning_rate)
        learning_rate = rate(state.step - 1, len(self.steps), self.settings)
        state.losses.append({"step": state.step, "epoch": self.epoch, "loss": loss, "learning_rate": learning_rate})
        self.stepper.running.zero_()
        state.count = 0

    @property
    def epoch(self) -> float:
        """Number of epochs done."""
        return round(self._epoch_after(self.state.step), 3)

    def _evaluate_dev(self, evaluation: Evaluation) -> None:
        """Evaluate on the dev set, keep the best weights, and stop if patience ends."""
        dev_mark = mark(evaluation.dataset, evaluation.predictions(self.network), self.state.step, self.epoch)
        self.state.marks.append(dev_mark)
        if self.state.kept is None or dev_mark["accuracy"] > self.state.kept["accuracy"]:
            self.state.kept = dict(dev_mark)
            self.state.since_kept = 0
            if self.settings.keep == "best":
                weights = {name: value.cpu() for name, value in self.network.state_dict().items()}
                self.best = copy.deepcopy(weights)
        else:
            self.state.since_kept += 1
        patience = self.settings.patience
        self.state.stopped = patience is not None and self.state.since_kept >= patience

    def _checkpoint_is_due(self, passed: float, took: float) -> bool:
        every = self.settings.checkpoint_every
        if self.state.step == len(self.steps) or every == 0:
            return False
        if every is not None:
            return self.state.step % every == 0
        return passed > max(SECONDS, took / AT_MOST)


def planned(examples: Sequence[Encoded], settings: TrainSettings) -> list[tuple[float, Step]]:
    """Return every step of a run, each with the epochs done after it."""
    steps: list[tuple[float, Step]] = []
    for epoch in range(settings.epochs):
        epoch_plan = epoch_steps(examples, settings, epoch)
        steps += [(epoch + number / len(epoch_plan), step) for number, step in enumerate(epoch_plan, 1)]
        if settings.steps is not None and len(steps) >= settings.steps:
            break
    return steps[: settings.steps]


def epoch_steps(examples: Sequence[Encoded], settings: TrainSettings, epoch: int) -> list[Step]:
    """Return the steps of one epoch, in which each example appears once."""
    rng = np.random.default_rng([settings.seed, epoch])
    lengths = [example.longest for example in examples]
    rows = [len(example.rows) for example in examples]
    order = rng.permutation(len(examples)).tolist()
    size = settings.batch_size
    if settings.tokens is not None:
        size = max(1, int(settings.tokens / np.mean(np.multiply(lengths, rows))))
    size *= settings.accumulate
    steps_together = min(STRETCH, len(lengths) // (size * FEWEST))
    stretch = size * max(1, steps_together)  # examples that are sorted together
    steps: list[Step] = []
    for start in range(0, len(order), stretch):
        alike = sorted(order[start : start + stretch], key=lambda index: -lengths[index])
        batches = _cut_batches(alike, lengths, rows, settings)
        steps += [batches[at : at + settings.accumulate] for at in range(0, len(batches), settings.accumulate)]
    return [steps[index] for index in rng.permutation(len(steps))]


def _cut_batches(
    alike: Sequence[int], lengths: Sequence[int], rows: Sequence[int], settings: TrainSettings
) -> list[list[int]]:
    """Cut examples, sorted by falling length, into batches."""
    if settings.tokens is None:
        size = settings.batch_size
        return [list(alike[at : at + size]) for at in range(0, len(alike), size)]
    batches: list[list[int]] = []
    filled = longest = 0
    for index in alike:
        if batches and (filled + rows[index]) * longest <= settings.tokens:
            batches[-1].append(index)
            filled += rows[index]
        else:
            batches.append([index])
            filled = rows[index]
            longest = lengths[index]
    return batches


def check_same(folder: Path, there: dict[str, Any], here: dict[str, Any]) -> None:
    """Refuse to continue in the folder of another run."""
    for name in here:
        if not _is_same(there.get(name), here[name]):
            before = _shortened_text(there.get(name))
            now = _shortened_text(here.get(name))
            other = f"another {name} ({before}, here {now})"
            if name.endswith(CONTENT):  # nobody can read a hash
                other = f"other content under {name.removesuffix(CONTENT)}"
            raise BadInput(f"{folder}: holds a run with {other}; choose another --out, or remove it to start again")


def _shortened_text(value: Any) -> str:
    """The value as a text of at most 40 characters."""
    text = str(value)
    return text if len(text) <= 40 else f"{text[:37]}…"


def _is_same(before: Any, now: Any) -> bool:
    """Whether an entry of two identities is the same, except for the precision of the model.

    Training has one precision, yet earlier versions named `auto` if there was a GPU.
    """
    if isinstance(before, str) and isinstance(now, str):
        return PRECISION.sub("", before) == PRECISION.sub("", now)
    return bool(before == now)


def make_writable(folder: Path) -> None:
    """Make a folder and check that files can be written there.

    This comes before minutes of training.
    """
    with refused(folder):
        folder.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=folder).close()


def drop_checkpoint(folder: Path) -> None:
    """Remove the checkpoint, and partial files of killed processes."""
    for path in [folder / NAME, *folder.glob(f".{NAME}.*")]:
        path.unlink(missing_ok=True)
