"""`winokit train`: fine-tune an encoder under one of six formalizations, test it, and write its page."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from winokit.data.loading import Data, Loading, Plain, check_part
from winokit.drawing.tables import Lines, table
from winokit.errors import BadInput
from winokit.methods.training import settings as training
from winokit.methods.training.data import TrainingData, VariantArm, hold_out
from winokit.problem import Dataset
from winokit.progress import Progress, tell
from winokit.results import Metric, rows_to_json
from winokit.settings import Help, verb
from winokit.stages.train.page import page_of, where, write_train_page

if TYPE_CHECKING:
    from winokit.methods.training.finetune import TrainOutcome

Holdout = Annotated[int | None, Help("Hold N problems of DATA out as the dev set, twins together.", "N", least=1)]
TrainLimit = Annotated[int | None, Help("Train on the first N problems only.", "N", least=1)]


@verb
def train(
    data: Data,
    *,
    model: training.Trainable = "builtin",
    settings: training.TrainSettings = training.TrainSettings(),
    dev: Annotated[str | Path | Dataset | None, Help("Choose the weights that do best on this.", "DATA")] = None,
    holdout: Holdout = None,
    test: Annotated[Sequence[str | Path | Dataset], Help("Test on this when done; repeatable.", "DATA")] = (),
    out: Annotated[str | Path | None, Help("The folder to write. Default: trained/DATA-FORMALIZATION.")] = None,
    variant: training.VariantName = None,
    arm: training.ArmName = None,
    device: training.Device = None,
    drop_overlap: training.DropOverlap = False,
    limit: TrainLimit = None,
    loading: Plain = Loading(),
    progress: Progress | None = None,
) -> "TrainOutcome":
    """Fine-tune a model, choose weights on a dev set, test it, and leave a folder that loads as hf:DIR.

    The same command goes on where it was interrupted.

    Returns
    -------
    TrainOutcome
        The folder, the rows on the test sets, and the curve.
    """
    training.need_training("train")
    from winokit.methods.training.finetune import finetune

    loaded = load_sets(data, dev, holdout, test, settings.seed, loading, limit)
    checked = replace(loaded, arm=VariantArm.of(variant, arm)).checked(drop_overlap=drop_overlap)
    tell(checked.notes)
    name = f"{loaded.train.card.file_name}-{settings.formalization.partition('?')[0]}"
    folder = Path("trained", name) if out is None else Path(out)
    outcome = finetune(checked, folder, model, settings, device=device, progress=progress)
    write_train_page(folder)
    tell(outcome.notes)
    return replace(outcome, notes=[*checked.notes, *outcome.notes])


def load_sets(
    data: str | Path | Dataset,
    dev: str | Path | Dataset | None,
    holdout: int | None,
    tests: Sequence[str | Path | Dataset],
    seed: int,
    loading: Loading,
    limit: int | None = None,
) -> TrainingData:
    """What is trained on, chosen on and tested on, loaded as the options name it; `seed` draws the holdout."""
    if dev is not None and holdout is not None:
        raise BadInput("--dev and --holdout: one dev set is enough, choose one of the two")
    check_part(data)
    chosen_on = None if dev is None else loading.one(dev)
    trained_on = loading.one(data)
    if holdout is not None:
        trained_on, chosen_on = hold_out(trained_on, holdout, seed)
    each = (tests,) if isinstance(tests, (str, Path, Dataset)) else tests
    tested_on = tuple(loading.one(test) for test in each)
    return TrainingData(trained_on[:limit], chosen_on, tested_on)


def as_json(outcome: "TrainOutcome") -> dict[str, Any]:
    """What scripts read of a run."""
    return {
        "out": str(outcome.folder),
        "run": outcome.run,
        "metrics": rows_to_json(outcome.metrics),
        "warnings": outcome.warnings,
        "report": str(page_of(outcome.folder)),
    }


def lines(outcome: "TrainOutcome") -> Lines:
    """What a person reads of a run: how it went, what it has on every set, and what is wrong with it."""
    if outcome.resumed is not None:
        yield f"went on from step {outcome.resumed:,}"
    curve, run = outcome.curve, outcome.run
    seconds = max(curve["seconds"], 1e-3)
    epochs = curve["train"][-1]["epoch"] if curve["train"] else 0
    speed = curve["examples"] * epochs / seconds
    kept = f"; step {curve['kept_step']:,} is best on the dev set" if curve["dev"] and run["keep"] == "best" else ""
    early = ", stopped early" if curve["stopped_early"] else ""
    yield (
        f"{run['formalization']} on {run['train']}: {curve['steps']:,} steps, {epochs:.1f} epochs of "
        f"{curve['examples']:,} examples in {seconds:,.0f} s ({speed:,.0f} per second){early}{kept}"
    )
    if outcome.metrics:
        heads = ("set", "variant", "result", "share", "chance", "n")
        yield table(heads, map(_cells, outcome.metrics), left=3)
    yield from (f"! {warning}" for warning in outcome.warnings)
    yield f"report: {page_of(outcome.folder)}"
    yield f"audit it: winokit audit DATA --model hf:{outcome.folder}"


def _cells(row: Metric) -> Sequence[str]:
    guess = "" if row.chance is None else f"{100 * row.chance:.1f} %"
    metric = row.metric.replace("_", " ")
    return where(row), str(row.details["variant"]), metric, share_and_interval(row), guess, f"{row.n:,}"


def share_and_interval(row: Metric) -> str:
    """A share in per cent and, where it has one, its interval."""
    interval = "" if row.low is None or row.high is None else f" [{100 * row.low:.1f}, {100 * row.high:.1f}]"
    return f"{100 * row.value:.1f} %{interval}"
