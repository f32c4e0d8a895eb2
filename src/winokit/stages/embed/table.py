"""An embedding on the terminal and for scripts: where the rows are, and what to do next."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from winokit.drawing.wording import percent

if TYPE_CHECKING:
    from winokit.stages.embed.run import Embedding


def as_json(embedding: "Embedding") -> dict[str, Any]:
    """Return files, shape, and facts on the fine-tuning, JSON-ready."""
    row_count, column_count = embedding.rows.shape
    paths = {"out": str(embedding.out), "settings": str(embedding.settings)}
    return {**paths, "rows": row_count, "columns": column_count, **embedding.finetuned}


def lines(embedding: "Embedding") -> Iterator[str]:
    """Yield sentences on the files, and after fine-tuning the next command."""
    finetuned = embedding.finetuned
    if finetuned:
        yield (
            f"fine-tuned on {finetuned['trained_on']:,} problems, chosen on {finetuned['chosen_on']:,}, of which "
            f"{percent(finetuned['dev_accuracy'])} right; these are not embedded"
        )
    row_count, column_count = embedding.rows.shape
    yield f"{row_count:,} x {column_count:,} written to {embedding.out}, settings and ids to {embedding.settings}"
    if finetuned:
        yield _describe_next_step(embedding)


def _describe_next_step(embedding: "Embedding") -> str:
    """Return a sentence with the command that debiases with these features."""
    command = f"winokit debias aflite {embedding.name} --features {embedding.out}"
    if embedding.finetuned["informed"]:
        return f"debias it: {command}"
    return f"debias refuses these features; to use them all the same: {command} --set allow_uninformed=on"
