"""`winokit train`: fine-tune an encoder, test it, and write its page."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from winokit.data.loading import Data
from winokit.methods.training.settings import Device, Trainable, TrainSettings, need_training
from winokit.problem import Dataset
from winokit.progress import Progress, tell
from winokit.settings import Help, Stored, verb
from winokit.stages.train.page import write_train_page
from winokit.stages.train.settings import TrainSets

if TYPE_CHECKING:
    from winokit.methods.training.finetune import TrainOutcome


@verb
def train(
    data: Data,
    *,
    model: Trainable = "builtin",
    settings: Annotated[TrainSettings, Stored("training", "keep")] = TrainSettings(),
    sets: TrainSets = TrainSets(),
    out: Annotated[str | Path | None, Help("The folder to write. Default: trained/DATA-FORMALIZATION.")] = None,
    device: Device = None,
    progress: Progress | None = None,
) -> "TrainOutcome":
    """Fine-tune a model, choose weights on a dev set, test it, and write a folder that loads as hf:DIR.

    After an interruption, the same command continues.

    Returns
    -------
    TrainOutcome
        The folder, the rows on the test sets, and the curve.
    """
    need_training("train")
    from winokit.methods.training.finetune import finetune

    loaded = sets.loaded(data, seed=settings.seed)
    folder = folder_of_run(out, loaded.train, settings)
    outcome = finetune(loaded, folder, model, settings, device=device, progress=progress)
    write_train_page(folder)
    tell(outcome.notes)
    return replace(outcome, notes=[*loaded.notes, *outcome.notes])


def folder_of_run(out: str | Path | None, dataset: Dataset, settings: TrainSettings) -> Path:
    """The folder to write: `out`, or one named after the run.

    Without `out` its name has the training set and the formalization.
    """
    if out is not None:
        return Path(out)
    formalization, _, _ = settings.formalization.partition("?")
    return Path("trained", f"{dataset.card.file_name}-{formalization}")
