"""`winokit embed`: a vector for each problem, for debiasing, from a model as it is or fine-tuned on some of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from winokit.data.loading import AsWrittenLimited, Data, Loading
from winokit.drawing.wording import percent
from winokit.methods.scoring.asking import Asking
from winokit.methods.scoring.features import check_features_file, write_features
from winokit.methods.scoring.features import embed as embed_problems
from winokit.methods.training.settings import need_training
from winokit.models.base import Model, notes_of
from winokit.models.registry import ModelSpec, as_model
from winokit.problem import Dataset
from winokit.progress import Progress, tell
from winokit.results import ABOVE, Brief, Metric, stands
from winokit.settings import Help, verb
from winokit.stages.embed.settings import EmbedDesign

DEV = "dev"
"""The subset of metrics on dev problems, by which the weights of a fine-tuned model were chosen."""
OUT = Path("X.npy")


@dataclass(frozen=True, repr=False)
class Embedding(Brief):
    """One vector per problem of a dataset, and the files they are in."""

    rows: NDArray[np.float32]
    """The vectors: (problems, features)."""
    dataset: Dataset
    """The embedded problems, without those that the model was fine-tuned on."""
    name: str
    """The data as the user named it, or the name of a dataset in memory."""
    out: Path | None = None
    """The .npy file. None if none was written."""
    settings: Path | None = None
    """The .json file with settings and ids, beside `out`."""
    finetuned: dict[str, Any] = field(default_factory=dict)
    """Facts on the fine-tuning of the model. Empty if it was not fine-tuned."""
    notes: tuple[str, ...] = ()


@verb
def embed(
    data: Data,
    model: ModelSpec = "builtin",
    *,
    design: EmbedDesign = EmbedDesign(),
    loading: AsWrittenLimited = Loading(),
    out: Annotated[
        str | Path | None,
        Help("The .npy file to write; settings and ids go into a .json file next to it.", otherwise=OUT),
    ] = None,
    progress: Progress | None = None,
) -> Embedding:
    """Embed every problem and write one row each to a .npy file.

    With --finetune the model is trained on some of them first, which are then discarded, as AFLite's authors do;
    the same command continues interrupted training.
    """
    file = None if out is None else Path(out)
    if file is not None:
        check_features_file(file)
    dataset = loading.one(data)
    encoder = as_model(model)
    if design.finetuning.finetune is None:
        vectors = embed_with_model(dataset, encoder, design, progress)
    else:
        folder = (file or OUT).with_suffix(".finetuned")
        vectors = embed_with_finetuned_model(dataset, encoder, design, folder, progress)
    settings = None
    if file is not None:
        settings = write_features(vectors.rows, vectors.dataset, file, describe_embedding(vectors, encoder, design))
    name = str(data) if isinstance(data, (str, Path)) else dataset.card.name
    return Embedding(vectors.rows, vectors.dataset, name, file, settings, vectors.finetuned, vectors.notes)


@dataclass(frozen=True)
class ProblemVectors:
    """The vectors of the problems that were embedded, before they are written."""

    rows: NDArray[np.float32]
    """The vectors: (problems, features)."""
    dataset: Dataset
    """The embedded problems, in the order of the rows."""
    notes: tuple[str, ...]
    finetuned: dict[str, Any] = field(default_factory=dict)
    """Facts on the fine-tuning of the model. Empty if it was not fine-tuned."""
    held_out: Sequence[str] = ()
    """Ids of the problems that the model was fine-tuned on."""


def embed_with_model(
    dataset: Dataset, encoder: str | Model, design: EmbedDesign, progress: Progress | None
) -> ProblemVectors:
    """Embed all problems with a model that is not fine-tuned.

    Its notes are shown on the terminal, and returned with the vectors.
    """
    asking = Asking(cluster=design.cluster, cache=design.cache)
    with asking.loaded(encoder) as loaded, asking.opened() as cache:
        notes = [*dataset.notes, *notes_of(loaded)]
        tell(notes)
        rows = embed_problems(
            dataset, loaded, features=design.features, pooling=design.pooling, cache=cache, progress=progress
        )
        later_notes = [note for note in (*notes_of(loaded), *cache.ledger.replays.notes) if note not in notes]
    tell(later_notes)
    return ProblemVectors(rows, dataset, (*notes, *later_notes))


def embed_with_finetuned_model(
    dataset: Dataset, encoder: str | Model, design: EmbedDesign, folder: Path, progress: Progress | None
) -> ProblemVectors:
    """Fine-tune a model on some problems, and embed the others.

    The model and its checkpoints are written to `folder`, and interrupted training continues from there. Its notes are
    shown on the terminal, and returned with the vectors.
    """
    need_training("embed --finetune")
    from winokit.methods.training.embedding import SentenceParts, finetuned_features

    finetuning = design.finetuning
    assert finetuning.finetune is not None
    parts = SentenceParts.of(dataset, finetuning.finetune, finetuning.seed)
    rows, outcome = finetuned_features(
        parts,
        folder,
        _get_spec(encoder),
        finetuning.training,
        device=finetuning.device,
        progress=progress,
        features=design.features,
        pooling=design.pooling,
    )
    finetuned = {
        "folder": str(folder),
        "formalization": outcome.run["formalization"],
        "learning_rate": outcome.run["learning_rate"],
        "trained_on": len(parts.train),
        "chosen_on": len(parts.dev),
        **dev_verdict(outcome.metrics),
        "seed": outcome.run["seed"],
    }
    notes = [*dataset.notes, *outcome.notes, *outcome.warnings]
    if not finetuned["informed"]:
        notes.append(uninformed_note(finetuned))
    tell(notes)
    return ProblemVectors(rows, parts.rest, tuple(notes), finetuned, parts.held_out)


def describe_embedding(vectors: ProblemVectors, encoder: str | Model, design: EmbedDesign) -> dict[str, Any]:
    """Return the settings for the .json file of the vectors."""
    description = {"model": _get_spec(encoder), "features": design.features, "pooling": design.pooling}
    if not vectors.finetuned:
        return description
    return {**description, "finetuned": vectors.finetuned, "held_out": vectors.held_out}


def _get_spec(encoder: str | Model) -> str:
    """Return the spec of a model, such as `hf:bert-base-uncased`."""
    return encoder if isinstance(encoder, str) else encoder.spec


def dev_verdict(metrics: Sequence[Metric]) -> dict[str, Any]:
    """Judge whether a fine-tuned model's features are informed, on dev problems.

    They are informed if the accuracy on dev is significantly above `dev_null`: what the same choices would get if right
    answers changed places at random. `dev_p` is the p-value. `metrics` are those of the fine-tuned model.
    """
    row = next(row for row in metrics if (row.metric, row.subset) == ("accuracy", DEV))
    return {
        "dev_accuracy": row.value,
        "dev_null": row.level,
        "dev_p": row.p,
        "informed": stands(row) == ABOVE,
    }


def uninformed_note(finetuned: Mapping[str, Any]) -> str:
    """Return a note that features are no better than chance.

    It has the numbers, and advice. `finetuned` has the facts on the fine-tuning (`dev_verdict` and the number of dev
    problems).
    """
    right = percent(finetuned["dev_accuracy"])
    null = percent(finetuned["dev_null"])
    return (
        f"these features know nothing: {right} of {finetuned['chosen_on']:,} dev problems right, not above the {null} "
        "that the same choices get by chance; fine-tune longer, at another learning rate or with another --set seed"
    )
