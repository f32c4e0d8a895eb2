"""A trial: one fine-tuning run of a search, in its own folder, and its outcome."""

import gc
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from winokit.errors import BadInput, WinokitError
from winokit.files import as_file_name, write_whole
from winokit.methods.training.data import TrainingData
from winokit.methods.training.evaluation import Diverged
from winokit.methods.training.finetune import finetune
from winokit.methods.training.settings import TrainSettings
from winokit.models.hf import out_of_memory
from winokit.progress import Progress

DONE = "done"
DIVERGED = "diverged"
FAILED = "failed"
ERROR = "error.txt"


@dataclass(frozen=True)
class SearchJob:
    """Settings that all trials of a search share."""

    data: TrainingData
    out: Path
    model: str
    settings: TrainSettings
    """Training settings that are the same for all trials."""


@dataclass(frozen=True)
class SearchTask:
    """A trial to run."""

    formalization: str
    number: int
    """Its number among the trials of the formalization, from 0."""
    drawn: Mapping[str, Any]
    """Its drawn settings by name, with its seed."""

    @property
    def folder(self) -> Path:
        """Its folder, relative to that of the search."""
        return Path("trials") / as_file_name(self.formalization) / f"{self.number:04d}"


@dataclass(frozen=True)
class EndedTrial:
    """Outcome of a trial.

    A run that learned nothing is `done`, with warnings. A run whose loss is not a number has `diverged`. A run has
    `failed` if memory ran out or a worker died: then the next search repeats it. Numbers are None unless it is done.
    `steps` counts the steps of training, and `kept_step` is the one whose weights were kept.
    """

    state: str
    """`done`, `diverged` or `failed`."""
    accuracy: float | None = None
    """Accuracy on the dev set, by which weights are chosen. Undecided problems count as guesses."""
    group_accuracy: float | None = None
    steps: int | None = None
    kept_step: int | None = None
    stopped_early: bool | None = None
    seconds: float | None = None
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    why: str | None = None
    """The reason why it diverged or failed."""


@dataclass(frozen=True)
class Trial(SearchTask):
    """A trial that has ended, with its outcome."""

    ended: EndedTrial

    @property
    def degenerate(self) -> bool:
        """Whether the trial diverged, or shows a sign of having learned nothing."""
        return bool(self.ended.warnings) or self.ended.state == DIVERGED


def attempt(
    job: SearchJob, task: SearchTask, device: str | None = None, progress: Progress | None = None
) -> EndedTrial:
    """Run a trial, or resume it, and return its outcome.

    Errors that would stop every trial are raised: those of winokit, except a loss that is not a number and a lack of
    memory. Errors of this trial alone are in the outcome. The whole text of an unexpected one is written to its folder.
    """
    folder = job.out / task.folder
    try:
        settings = replace(job.settings, formalization=task.formalization, **task.drawn)
        outcome = finetune(job.data, folder, job.model, settings, device=device, save=False, progress=progress)
        accuracy = outcome.value("expected_accuracy")
        if accuracy is None:
            accuracy = outcome.value("accuracy")
        return EndedTrial(
            DONE,
            accuracy=accuracy,
            group_accuracy=outcome.value("group_accuracy"),
            steps=outcome.curve["steps"],
            kept_step=outcome.curve["kept_step"],
            stopped_early=outcome.curve["stopped_early"],
            seconds=outcome.curve["seconds"],
            warnings=tuple(outcome.warnings),
            notes=tuple(outcome.notes),
        )
    except Diverged as error:
        return EndedTrial(DIVERGED, why=str(error))
    except BadInput as error:
        if isinstance(error.__cause__, RuntimeError) and out_of_memory(error.__cause__):
            return EndedTrial(FAILED, why=str(error))
        raise
    except WinokitError:
        raise
    except Exception as error:  # an unexpected error of one trial must not stop the others
        write_whole(folder / ERROR, traceback.format_exc().encode())
        first = next(iter(str(error).splitlines()), "")
        return EndedTrial(FAILED, why=f"{type(error).__name__}: {first} ({folder / ERROR} has the whole text)")
    finally:
        if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
            # Free the memory of a GPU for the next trial, or for another worker.
            gc.collect()
            torch.cuda.empty_cache()
