"""`winokit embed`: a vector for each problem, for debiasing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from winokit.cli.common import DATA_HELP, As, Json, Lenient, print_json, progress_bar, tell
from winokit.cli.guards import refuse_unused
from winokit.cli.score import CacheFile, Limit, Model, open_cache
from winokit.cli.training_options import BatchSize, Device, Epochs, LearningRate, Precision, need_training
from winokit.errors import BadInput

if TYPE_CHECKING:
    from winokit.methods.training.embedding import Embedded, EmbeddingKind, Matrix
    from winokit.methods.training.settings import TrainSettings
    from winokit.problem import Dataset

FINETUNED = ".finetuned"
TRAINING = ("formalization", "learning_rate", "epochs", "steps", "batch_size", "seed", "precision", "device")
"""Options that only fine-tuning has a use for."""
UNUSED = (
    "an option of --finetune N; a model that is embedded as it is takes its device after a question mark, "
    "hf:NAME?device=cuda"
)


def embed(
    context: typer.Context,
    data: Annotated[str, typer.Argument(help=DATA_HELP, metavar="DATA", show_default=False)],
    model: Model = "builtin",
    out: Annotated[Path, typer.Option("--out", help="The .npy file to write; settings and ids go beside it.")] = Path(
        "X.npy"
    ),
    features: Annotated[
        str, typer.Option(help="concat (both candidates), difference or single (the blank).")
    ] = "concat",
    pooling: Annotated[str, typer.Option(help="first token, mean over tokens, or span (the candidate's).")] = "first",
    finetune: Annotated[
        int | None,
        typer.Option(
            help="Fine-tune the model first on so many problems (the paper: 6000), five in six to train on and the "
            "others to choose on, twins together; they are not embedded, and debias leaves them out.",
            metavar="N",
            min=6,
        ),
    ] = None,
    formalization: Annotated[
        str, typer.Option(help="With --finetune: how it is trained, and reads.", metavar="NAME")
    ] = "mc-sent?style=winogrande",
    learning_rate: LearningRate = 1e-5,
    epochs: Epochs = 8,
    steps: Annotated[int | None, typer.Option(help="With --finetune: at most so many steps.", min=1)] = None,
    batch_size: BatchSize = 16,
    seed: Annotated[int, typer.Option(help="With --finetune: of the problems held out, head and batches.")] = 0,
    precision: Precision = "auto",
    device: Device = None,
    limit: Limit = None,
    as_: As = None,
    cache: CacheFile = None,
    lenient: Lenient = False,
    json: Json = False,
) -> None:
    """Embed every problem and write one row each to a .npy file.

    With --finetune the model is trained on some of them first, which are then discarded, as AFLite's authors do;
    training goes on where it was interrupted.
    """
    from winokit.data.loading import load
    from winokit.methods.scoring.features import check_features_file, write_features

    check_features_file(out)
    dataset = load(data, as_=as_, lenient=lenient)[:limit]
    tell(dataset.notes)
    about: dict[str, Any] = {"model": model, "features": features, "pooling": pooling}
    told: dict[str, Any] = {}
    if finetune is None:
        refuse_unused(context, TRAINING, UNUSED)
        rows = _plain(dataset, model, (features, pooling), cache)
    else:
        need_training("embed --finetune")
        if cache is not None:
            raise BadInput(
                "--cache keeps answers of a model that stays the same, which one that is fine-tuned does not"
            )
        from winokit.methods.training.embedding import EmbeddingKind
        from winokit.methods.training.settings import TrainSettings

        settings = TrainSettings(
            formalization=formalization,
            learning_rate=learning_rate,
            epochs=epochs,
            steps=steps,
            batch_size=batch_size,
            seed=seed,
            precision=precision,  # type: ignore[arg-type]
        )
        found = _finetuned(dataset, model, finetune, out, (settings, EmbeddingKind(features, pooling), device))
        rows, dataset, told = found.rows, found.parts.rest, _told(found)
        about |= {"finetuned": told, "held_out": found.parts.held_out}
        tell([*found.outcome.notes, *found.outcome.warnings])
    beside = write_features(rows, dataset, out, about)
    if json:
        print_json({"out": str(out), "settings": str(beside), "rows": rows.shape[0], "columns": rows.shape[1], **told})
        return
    if told:
        typer.echo(
            f"fine-tuned on {told['trained_on']:,} problems, chosen on {told['chosen_on']:,}, of which "
            f"{told['dev_accuracy']:.1%} are right; these are not embedded"
        )
    typer.echo(f"{rows.shape[0]:,} x {rows.shape[1]:,} written to {out}, settings and ids to {beside}")
    if told:
        typer.echo(f"debias it: winokit debias aflite {data} --features {out}")


def _plain(dataset: Dataset, model: str, kind: tuple[str, str], cache: str | None) -> Matrix:
    from winokit.methods.scoring import embed as run
    from winokit.models.base import notes_of
    from winokit.models.registry import load_model

    features, pooling = kind
    loaded = load_model(model)
    tell(notes_of(loaded))
    with open_cache(cache) as kept, progress_bar("embedding") as progress:
        return run(dataset, loaded, features=features, pooling=pooling, cache=kept, progress=progress)


def _finetuned(
    dataset: Dataset, model: str, count: int, out: Path, how: tuple[TrainSettings, EmbeddingKind, str | None]
) -> Embedded:
    from winokit.methods.training.embedding import SentenceParts, finetuned_features

    settings, kind, device = how
    parts = SentenceParts.of(dataset, count, settings.seed)
    folder = out.with_suffix(FINETUNED)
    with progress_bar("fine-tuning and embedding") as progress:
        return finetuned_features(parts, folder, model, settings, kind, device=device, progress=(progress, progress))


def _told(found: Embedded) -> dict[str, Any]:
    """What the encoder was made of."""
    run = found.outcome.run
    return {
        "folder": str(found.outcome.folder),
        "formalization": run["formalization"],
        "learning_rate": run["learning_rate"],
        "trained_on": len(found.parts.train),
        "chosen_on": len(found.parts.dev),
        "dev_accuracy": found.outcome.value("accuracy"),
        "seed": run["seed"],
    }
