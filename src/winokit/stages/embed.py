"""`winokit embed`: a vector for each problem, for debiasing, from a model as it is or fine-tuned on some of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from winokit.data.loading import Data, Limited, Loading
from winokit.drawing.wording import percent
from winokit.errors import BadInput
from winokit.methods.cluster import ClusterSettings
from winokit.methods.scoring import features as plain
from winokit.methods.scoring.cache import CacheFile, open_cache
from winokit.methods.scoring.features import FeatureKind, Pooling, check_features_file, write_features
from winokit.methods.scoring.ray_model import load_on
from winokit.methods.training.settings import Device, TrainSettings, need_training
from winokit.models.base import notes_of
from winokit.models.registry import ModelSpec, as_model
from winokit.problem import Dataset
from winokit.progress import Progress, tell
from winokit.results import ABOVE, Brief, Metric, stands
from winokit.settings import Help, Without, verb

DEV = "dev"
"""The subset of the rows on the problems that chose the weights."""
AS_IT_IS = TrainSettings("mc-sent?style=winogrande")
UNUSED = (
    "an option of --finetune N; a model that is embedded as it is takes its device after a question mark, "
    "hf:NAME?device=cuda"
)


@dataclass(frozen=True, repr=False)
class Embedding(Brief):
    """One row per problem of the dataset, in its order, and where the rows were written."""

    rows: NDArray[np.float32]
    dataset: Dataset
    name: str
    """The data as it was asked for."""
    out: Path | None = None
    settings: Path | None = None
    """The file beside `out`."""
    finetuned: dict[str, Any] = field(default_factory=dict)
    """What the encoder was made of, where it was fine-tuned; `dataset` is then what was left."""
    notes: tuple[str, ...] = ()


@verb
def embed(
    data: Data,
    model: ModelSpec = "builtin",
    *,
    out: Annotated[
        str | Path | None,
        Help("The .npy file to write; settings and ids go into a .json file next to it.", otherwise=Path("X.npy")),
    ] = None,
    features: Annotated[
        FeatureKind, Help("concat (both candidates), difference or single (the blank).", noun="kind of features")
    ] = "concat",
    pooling: Annotated[Pooling, Help("first token, mean over tokens, or span (the candidate's).")] = "first",
    finetune: Annotated[
        int | None,
        Help(
            "Fine-tune the model first on so many problems (the paper: 6000), five in six to train on and the "
            "others to choose on, twins together; they are not embedded, and debias leaves them out.",
            metavar="N",
            least=6,
        ),
    ] = None,
    formalization: Annotated[
        str, Help("With --finetune: the formalization for training and embedding.", "NAME")
    ] = AS_IT_IS.formalization,
    steps: Annotated[int | None, Help("With --finetune: maximum number of steps.", least=1)] = None,
    seed: Annotated[int, Help("With --finetune: seed for the held-out problems, head and batches.", least=0)] = 0,
    settings: Annotated[
        TrainSettings,
        Without(
            *("formalization", "steps", "seed", "tokens", "accumulate", "warmup", "weight_decay", "clip"),
            *("evaluate_every", "patience", "keep", "checkpoint_every"),
        ),
    ] = AS_IT_IS,
    device: Device = None,
    cluster: ClusterSettings = ClusterSettings(),
    loading: Limited = Loading(),
    cache: CacheFile = None,
    progress: Progress | None = None,
) -> Embedding:
    """Embed every problem and write one row each to a .npy file.

    With --finetune the model is trained on some of them first, which are then discarded, as AFLite's authors do;
    the same command continues interrupted training.
    """
    settings = replace(settings, formalization=formalization, steps=steps, seed=seed)
    file = None if out is None else Path(out)
    if file is not None:
        check_features_file(file)
    dataset, model = loading.one(data), as_model(model)
    spec = model if isinstance(model, str) else model.spec
    about: dict[str, Any] = {"model": spec, "features": features, "pooling": pooling}
    finetuned: dict[str, Any] = {}
    if finetune is None:
        for name, value in {**settings.identity(), "device": device}.items():
            if value != getattr(AS_IT_IS, name, None):
                raise BadInput(f"--{name.replace('_', '-')}: {UNUSED}")
        loaded = load_on(model, cluster)
        notes = [*dataset.notes, *notes_of(loaded)]
        tell(notes)
        with open_cache(cache) as known:
            rows = plain.embed(dataset, loaded, features=features, pooling=pooling, cache=known, progress=progress)
        later = [note for note in (*notes_of(loaded), *known.ledger.replays.notes) if note not in notes]
        tell(later)
        notes += later
    else:
        need_training("embed --finetune")
        from winokit.methods.training.embedding import SentenceParts, finetuned_features

        if cluster.engine != "local":
            raise BadInput(f"--engine {cluster.engine}: a model is fine-tuned on this machine; leave one of them out")
        if cache is not None:
            raise BadInput("--cache is for models that stay the same; this one is fine-tuned")
        parts = SentenceParts.of(dataset, finetune, seed)
        folder = (file or Path("X.npy")).with_suffix(".finetuned")
        rows, outcome = finetuned_features(
            parts, folder, spec, settings, device=device, progress=progress, features=features, pooling=pooling
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
        about |= {"finetuned": finetuned, "held_out": parts.held_out}
        notes = [*dataset.notes, *outcome.notes, *outcome.warnings]
        if not finetuned["informed"]:
            notes.append(uninformed_note(finetuned))
        tell(notes)
        dataset = parts.rest
    beside = None if file is None else write_features(rows, dataset, file, about)
    name = str(data) if isinstance(data, (str, Path)) else dataset.card.name
    return Embedding(rows, dataset, name, file, beside, finetuned, tuple(notes))


def dev_verdict(metrics: Sequence[Metric]) -> dict[str, Any]:
    """What the problems that chose the weights say of a fine-tuned encoder.

    Its features are informed if its accuracy there is above that of its own choices when right answers change places.
    """
    row = next(row for row in metrics if (row.metric, row.subset) == ("accuracy", DEV))
    return {
        "dev_accuracy": row.value,
        "dev_null": row.level,
        "dev_p": row.p,
        "informed": stands(row) == ABOVE,
    }


def uninformed_note(finetuned: Mapping[str, Any]) -> str:
    """That features know nothing, with the numbers that say so and what to do about it."""
    right = percent(finetuned["dev_accuracy"])
    null = percent(finetuned["dev_null"])
    return (
        f"these features know nothing: {right} of {finetuned['chosen_on']:,} dev problems right, not above the {null} "
        "that the same choices get by chance; fine-tune longer, at another learning rate or with another --seed"
    )


def as_json(embedding: Embedding) -> dict[str, Any]:
    """Where the rows are, and how many."""
    rows, columns = embedding.rows.shape
    written = {"out": str(embedding.out), "settings": str(embedding.settings)}
    return {**written, "rows": rows, "columns": columns, **embedding.finetuned}


def lines(embedding: Embedding) -> Iterator[str]:
    """The same for a person."""
    if embedding.finetuned:
        yield (
            "fine-tuned on {trained_on:,} problems, chosen on {chosen_on:,}, of which {right} right; "
            "these are not embedded".format(right=percent(embedding.finetuned["dev_accuracy"]), **embedding.finetuned)
        )
    yield "{rows:,} x {columns:,} written to {out}, settings and ids to {settings}".format(**as_json(embedding))
    if embedding.finetuned:
        command = f"winokit debias aflite {embedding.name} --features {embedding.out}"
        if embedding.finetuned["informed"]:
            yield f"debias it: {command}"
        else:
            yield f"debias refuses these features; to use them all the same: {command} --allow-uninformed"
