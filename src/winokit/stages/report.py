"""`winokit report`: rebuild the page of a run from its folder."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

from winokit.data.runs import Run
from winokit.errors import check_known
from winokit.settings import Help, refuse_unused, verb
from winokit.stages.audit.page import write_report
from winokit.stages.train.page import is_training, write_train_page


@verb
def report(
    run: Annotated[str | Path, Help("The folder of a run.", "RUN")],
    *,
    of: Annotated[str | Sequence[str], Help("Of an audit, only this model; repeatable.", "NAME", was="model")] = (),
) -> Path:
    """Rebuild the report of an audit or a training run.

    Returns
    -------
    Path
        The page.
    """
    folder = Path(run)
    chosen = [of] if isinstance(of, str) else list(of)
    if is_training(folder):
        refuse_unused(report, "only an audit has several models", of=of)
        return write_train_page(folder)
    whole = Run.load(folder)
    for name in chosen:
        check_known("model", name, {row.model for row in whole.metrics})
    return write_report(whole.of_models(chosen) if chosen else whole, folder / "report")


def lines(page: Path) -> Iterator[str]:
    """Yield the path of the report."""
    yield f"report: {page}"


def as_json(page: Path) -> dict[str, str]:
    """Return the path of the report."""
    return {"report": str(page)}
