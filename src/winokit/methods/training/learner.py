"""The training loop: steps, evaluations and checkpoints, until steps or patience end.

The next step depends on the state, the weights, the optimiser, the shapes to which batches are padded, and the random
numbers. A checkpoint has all of these, in one file that is replaced at once: a resumed run continues as if it had never
stopped, and ends on a CPU with the same weights to the bit.

The order of an epoch depends on the seed and the epoch alone, so that a resumed run continues with the same batches.
Examples are shuffled, sorted by length within stretches of at most 50 steps so that little is padded, and cut into
steps, which are shuffled again. A small dataset has shorter stretches: sorted as a whole, it would have the same
batches in every epoch.
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
"""Checkpoints are written every two minutes, or less often if that takes more than this share of the time."""
FEWEST_LOSSES = 20
CONTENT = "_content"
"""Ending of the names of hashes."""
PRECISION = re.compile(r" dtype=\w+")

Step: TypeAlias = list[list[int]]
"""Indices of the examples in each batch of a step: several batches if gradients are accumulated."""

STRETCH = 50
"""Maximum number of steps in a stretch."""
FEWEST = 4
"""Minimum number of stretches in an epoch, if it has enough steps."""


@dataclass
class LearnerState:
    """Progress of a training run."""

    step: int = 0
    """Number of steps taken."""
    losses: list[dict[str, float]] = field(default_factory=list)
    """Recorded losses, each with its step, epoch and learning rate."""
    marks: list[dict[str, Any]] = field(default_factory=list)
    """Evaluations on the dev set, as returned by `mark`."""
    kept: dict[str, Any] | None = None
    """The best evaluation on the dev set so far."""
    since_kept: int = 0
    """Number of evaluations since the best one."""
    stopped: bool = False
    """Whether training stopped early."""
    total: float = 0.0
    """Sum of the losses since the last record."""
    count: int = 0
    """Number of losses in `total`."""
    seconds: float = 0.0
    """Seconds spent on steps, without evaluations and checkpoints."""


class Learner:
    """Trains a network on encoded examples, and evaluates it on the way.

    `evaluation` is that of the dev set; None trains without one.
    """

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
        """Take all remaining steps, and load the weights to keep.

        Checkpoints are written into the folder, with the identity of the run. Raises Diverged if a loss or a score is
        not a number.
        """
        with self.stepper.working():
            self._take_steps(folder, identity, progress)
        if progress:
            progress(len(self.steps), len(self.steps))
        if self.settings.keep == "best" and self.best is not None:
            self.network.load_state_dict(self.best)
        # The last loss was computed before the last update of the weights.
        for _, numbers in self.network.numbers(self.examples[:1]):
            finite(numbers)

    def _take_steps(self, folder: Path, identity: dict[str, Any], progress: Progress | None) -> None:
        """Take steps until the last, or until patience ends, with losses, evaluations and checkpoints."""
        step_count = len(self.steps)
        last_saved = time.monotonic()
        save_seconds = 0.0
        while self.state.step < step_count and not self.state.stopped:
            if progress:
                progress(self.state.step, step_count)
            start = time.monotonic()
            self._take_step()
            is_last = self.state.step == step_count
            if is_last or self.state.step % self.log_every == 0:
                self._log_loss()
            self.state.seconds += time.monotonic() - start
            if self.evaluation is not None and self._evaluation_is_due():
                self._evaluate_dev(self.evaluation)
            if self._checkpoint_is_due(time.monotonic() - last_saved, save_seconds):
                start = time.monotonic()
                self._save_checkpoint(folder, identity)
                last_saved = time.monotonic()
                save_seconds = last_saved - start

    def _evaluation_is_due(self) -> bool:
        """Whether the dev set is evaluated after this step.

        It is evaluated every `evaluate_every` steps, by default after every epoch, and after the last step.
        """
        step = self.state.step
        every = self.settings.evaluate_every
        if step == len(self.steps):
            return True
        if every is None:
            return self._epoch_after(step).is_integer()
        return step % every == 0

    def _epoch_after(self, step: int) -> float:
        """Number of epochs finished after a step, as a fraction."""
        return self.steps[step - 1][0]

    def resume(self, folder: Path, identity: dict[str, Any]) -> bool:
        """Load the folder's checkpoint, and return whether there is one.

        It replaces weights, optimiser and state of this learner, and the random state of torch.
        Raises BadInput if it cannot be read, or belongs to a run with another identity.
        """
        path = folder / NAME
        if not path.exists():
            return False
        try:
            content: dict[str, Any] = torch.load(path, map_location=self.network.device, weights_only=True)
        except Exception as error:  # other files can raise any error
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
        """Write a checkpoint to a temporary file, and replace the old one with it.

        It is on the disk when this returns. Raises BadInput if it cannot be written.
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
        """Take one step by the mean loss over its batches. Raises BadInput if memory runs out."""
        step = self.state.step
        self.network.train()
        _, batch_indices = self.steps[step]
        batches = [self._collate_examples(indices) for indices in batch_indices]
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
        """Put the examples with these indices into one batch."""
        examples = [self.examples[index] for index in indices]
        return self.network.collated(examples)

    def _log_loss(self) -> None:
        """Record the mean loss since the last record.

        Only here does the CPU wait for a number from the device. Raises Diverged if it is not finite.
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
        """Number of epochs finished, as a fraction."""
        return round(self._epoch_after(self.state.step), 3)

    def _evaluate_dev(self, evaluation: Evaluation) -> None:
        """Evaluate on the dev set, copy the best weights, and stop if patience ends."""
        state = self.state
        predictions = evaluation.predictions(self.network)
        dev_mark = mark(evaluation.dataset, predictions, state.step, self.epoch)
        state.marks.append(dev_mark)
        if state.kept is None or dev_mark["accuracy"] > state.kept["accuracy"]:
            state.kept = dict(dev_mark)
            state.since_kept = 0
            if self.settings.keep == "best":
                weights = {name: value.cpu() for name, value in self.network.state_dict().items()}
                self.best = copy.deepcopy(weights)
        else:
            state.since_kept += 1
        patience = self.settings.patience
        state.stopped = patience is not None and state.since_kept >= patience

    def _checkpoint_is_due(self, seconds_since: float, save_seconds: float) -> bool:
        """Whether to write a checkpoint after this step.

        `seconds_since` have passed since the last one, which took `save_seconds` to write.
        """
        every = self.settings.checkpoint_every
        if self.state.step == len(self.steps) or every == 0:
            return False
        if every is not None:
            return self.state.step % every == 0
        return seconds_since > max(SECONDS, save_seconds / AT_MOST)


def planned(examples: Sequence[Encoded], settings: TrainSettings) -> list[tuple[float, Step]]:
    """Return all steps of a run, each with the number of epochs finished after it.

    That number is a fraction, such as 1.5 in the middle of the second epoch.
    """
    steps: list[tuple[float, Step]] = []
    for epoch in range(settings.epochs):
        epoch_plan = epoch_steps(examples, settings, epoch)
        for number, step in enumerate(epoch_plan, 1):
            epochs_after = epoch + number / len(epoch_plan)
            steps.append((epochs_after, step))
        if settings.steps is not None and len(steps) >= settings.steps:
            break
    return steps[: settings.steps]


def epoch_steps(examples: Sequence[Encoded], settings: TrainSettings, epoch: int) -> list[Step]:
    """Return the steps of one epoch, in which each example appears once.

    Examples are named by their indices. The order depends on the seed and the epoch alone.
    """
    rng = np.random.default_rng([settings.seed, epoch])
    lengths = [example.longest for example in examples]
    row_counts = [len(example.rows) for example in examples]
    order = rng.permutation(len(examples)).tolist()
    batch_size = settings.batch_size
    if settings.tokens is not None:
        mean_tokens = np.mean(np.multiply(lengths, row_counts))
        batch_size = max(1, int(settings.tokens / mean_tokens))
    step_size = batch_size * settings.accumulate
    stretch_steps = min(STRETCH, len(lengths) // (step_size * FEWEST))
    stretch_size = step_size * max(1, stretch_steps)  # number of examples that are sorted together
    steps: list[Step] = []
    for stretch_start in range(0, len(order), stretch_size):
        stretch = order[stretch_start : stretch_start + stretch_size]
        sorted_indices = sorted(stretch, key=lambda index: -lengths[index])
        batches = _cut_batches(sorted_indices, lengths, row_counts, settings)
        for start in range(0, len(batches), settings.accumulate):
            steps.append(batches[start : start + settings.accumulate])
    return [steps[index] for index in rng.permutation(len(steps))]


def _cut_batches(
    indices: Sequence[int], lengths: Sequence[int], row_counts: Sequence[int], settings: TrainSettings
) -> list[list[int]]:
    """Cut the indices of examples, sorted by falling length, into batches.

    `lengths` and `row_counts` are those of all examples. With a limit on tokens, padding is counted.
    """
    if settings.tokens is None:
        size = settings.batch_size
        return [list(indices[start : start + size]) for start in range(0, len(indices), size)]
    batches: list[list[int]] = []
    batch_rows = 0
    longest = 0
    for index in indices:
        rows_with_next = batch_rows + row_counts[index]
        if batches and rows_with_next * longest <= settings.tokens:
            batches[-1].append(index)
            batch_rows = rows_with_next
        else:
            batches.append([index])
            batch_rows = row_counts[index]
            longest = lengths[index]
    return batches


def check_same(folder: Path, there: dict[str, Any], here: dict[str, Any]) -> None:
    """Raise BadInput if a folder has a run of another identity.

    `there` is the identity stored in the folder, and `here` that of the present run. Entries that only `there` has are
    ignored. The message names the first difference.
    """
    for name, value in here.items():
        stored_value = there.get(name)
        if _is_same(stored_value, value):
            continue
        difference = f"another {name} ({_shortened_text(stored_value)}, here {_shortened_text(value)})"
        if name.endswith(CONTENT):  # nobody can read a hash
            difference = f"other content under {name.removesuffix(CONTENT)}"
        raise BadInput(f"{folder}: holds a run with {difference}; choose another --out, or remove it to start again")


def _shortened_text(value: Any) -> str:
    """Return a value as text of at most 40 characters."""
    text = str(value)
    return text if len(text) <= 40 else f"{text[:37]}…"


def _is_same(stored_value: Any, value: Any) -> bool:
    """Whether an entry of two identities is the same, whatever the precision of the model.

    Training has one precision, but earlier versions wrote `auto` if there was a GPU.
    """
    if isinstance(stored_value, str) and isinstance(value, str):
        return PRECISION.sub("", stored_value) == PRECISION.sub("", value)
    return bool(stored_value == value)


def make_writable(folder: Path) -> None:
    """Make a folder, and check before training that files can be written there."""
    with refused(folder):
        folder.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=folder).close()


def drop_checkpoint(folder: Path) -> None:
    """Remove the checkpoint of a run, and unfinished files of killed processes."""
    for path in [folder / NAME, *folder.glob(f".{NAME}.*")]:
        path.unlink(missing_ok=True)
