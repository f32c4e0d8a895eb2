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
    model_names = [of] if isinstance(of, str) else list(of)
    if is_training(folder):
        refuse_unused(report, "only an audit has several models", of=of)
        return write_train_page(folder)
    loaded_run = Run.load(folder)
    for name in model_names:
        check_known("model", name, {row.model for row in loaded_run.metrics})
    if model_names:
        loaded_run = loaded_run.of_models(model_names)
    return write_report(loaded_run, folder / "report")


def lines(page: Path) -> Iterator[str]:
    """Line for the terminal with the path of the report."""
    yield f"report: {page}"


def as_json(page: Path) -> dict[str, str]:
    """The path of the report as a JSON object."""
    return {"report": str(page)}
