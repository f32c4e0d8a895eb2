"""`winokit train`: fine-tune an encoder under one of six formalizations, test it, and write its page.

The page has the curve of a run, what it has on every set, what is wrong with it, and what it is worth. A run is judged
by its test sets, which had no say in it; by the dev set, on which weights are chosen, only where there is no other.
That a model is above chance does not say that it learned: it may have been before. So nothing here says "learned".
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from winokit.data.loading import Data, DataLike, Loading, Plain, check_part
from winokit.drawing import decision
from winokit.drawing.decision import BAD, EACH, SEVERAL, DecisionTable, Verdict, VerdictPoint
from winokit.drawing.page import INDEX, flat, write_page
from winokit.drawing.plots import STEP, Chart, tenths_around
from winokit.drawing.protocols import CITATIONS
from winokit.drawing.tables import Lines, table
from winokit.drawing.wording import say, say_chance, say_interval
from winokit.errors import BadInput, refusing
from winokit.methods.training import settings as training
from winokit.methods.training.data import TrainingData, VariantArm, hold_out
from winokit.problem import Dataset
from winokit.progress import Progress, tell
from winokit.results import Metric, rows_to_json
from winokit.settings import Help, verb

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
    """Fine-tune a model, choose weights on a dev set, test it, and write a folder that loads as hf:DIR.

    After an interruption, the same command continues.

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
    data: DataLike,
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
    return TrainingData(trained_on[:limit], chosen_on, tuple(loading.one(test) for test in tests))


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
    metric, share = row.metric.replace("_", " "), f"{say(row)} {say_interval(row)}".strip()
    return where(row), str(row.details["variant"]), metric, share, say_chance(row), f"{row.n:,}"


RESULTS, CURVE, REPORT = "results.json", "curve.json", "report"


def is_training(folder: Path) -> bool:
    """Whether a folder holds a training run that came to its end."""
    return (folder / RESULTS).is_file() and (folder / CURVE).is_file()


def write_train_page(folder: Path) -> Path:
    """Write the page of a training run's folder from the files that are in it."""
    with refusing(
        f"{folder}: not the folder of a finished training run", OSError, ValueError, KeyError, TypeError, AttributeError
    ):
        results = json.loads((folder / RESULTS).read_text("utf-8"))
        curve = json.loads((folder / CURVE).read_text("utf-8"))
        run, rows = results["run"], [Metric.from_json(row) for row in results["metrics"]]
        shown = {
            "run": run,
            "verdict": verdict_of_training(rows, results["warnings"], curve, run["seed"]),
            "charts": tuple(charts(curve)),
            "rows": [(where(row), str(row.details.get("variant", "")), row) for row in rows],
            "settings": tuple(flat(run)),
            "notes": results["notes"],
        }
    return write_page(page_of(folder), "stages/train/page.html.j2", **shown, sources=(CITATIONS["LIU"],))


def page_of(folder: Path) -> Path:
    """Where the page of a run's folder lies."""
    return folder / REPORT / INDEX


def charts(curve: Mapping[str, Any]) -> Iterator[Chart]:
    """Training loss by step and, where there is a dev set, accuracy on it and that of its whole groups."""
    steps, losses = zip(*((row["step"], row["loss"]) for row in curve["train"]), strict=True)
    guessing = curve["guessing_loss"]
    highest = max(losses) if guessing is None else max(*losses, guessing)
    yield Chart("Training loss", losses, steps, 0.0, highest, unit=STEP, mark=guessing, mark_name="guessing")
    dev = curve["dev"]
    intervals = tuple((row["low"], row["high"]) for row in dev)
    measures = (
        ("accuracy", "Right on the dev set", "chance", intervals),
        ("group_accuracy", "Whole groups right on the dev set", "group_chance", ()),
    )
    for name, title, level, band in measures:
        values = tuple(row[name] for row in dev if row[name] is not None)
        if values:
            guessed = curve[level]
            inside = (*values, guessed - 0.05, guessed + 0.05, *(end for interval in band for end in interval))
            yield Chart(
                *(title, values, tuple(row["step"] for row in dev), *tenths_around(inside), STEP, True, guessed),
                mark_name="guessing",
                band=band,
                kept=curve["kept_step"],
            )


TEST, GROUPS, DEV, SIGNS, PLACES = "test", "groups", "dev", "signs", "places"
YES, NO = "yes", "no"
ONE, MORE = "one", "several"

TRAIN = DecisionTable.of_stage(
    "train", {TEST: SEVERAL, GROUPS: SEVERAL, DEV: EACH, SIGNS: (YES, NO), PLACES: (ONE, MORE)}
)


def state_of(rows: Sequence[Metric], warnings: Sequence[str]) -> dict[str, str]:
    """The facts of a run."""
    among = len(judged(rows))
    tests = [row for row in rows if row.subset != DEV]
    dev = next((row for row in rows if row.subset == DEV and row.metric == "accuracy"), None)
    return {
        TEST: decision.together(decision.standing(row, among) for row in tests if row.metric == "accuracy"),
        GROUPS: decision.together(decision.standing(row, among) for row in tests if row.metric == "group_accuracy"),
        DEV: decision.standing(dev, among),
        SIGNS: YES if warnings else NO,
        PLACES: ONE if any(row.is_in_one_place for row in rows) else MORE,
    }


def judged(rows: Sequence[Metric]) -> list[Metric]:
    """The rows a verdict says something of: one family of tests."""
    return [row for row in rows if row.metric in ("accuracy", "group_accuracy")]


def verdict_of_training(
    rows: Sequence[Metric], warnings: Sequence[str], curve: Mapping[str, Any], seed: int
) -> Verdict:
    """A word, a sentence and the findings behind them."""
    case = TRAIN.decide(state_of(rows, warnings))
    early = ", stopped early" if curve["stopped_early"] else ""
    kept = f"; the weights of step {curve['kept_step']:,} were kept" if curve["dev"] else ""
    steps = f"{curve['steps']:,} steps over {curve['examples']:,} examples in {curve['seconds']:,.0f} seconds"
    once = f"This is one run, with seed {seed}; another seed may give another result."
    headline = " ".join(part for part in (case.sentence, f"{steps}{early}{kept}.", once) if part)
    return Verdict(case.word, case.tone, headline, tuple(_points(rows, warnings)))


def _points(rows: Sequence[Metric], warnings: Sequence[str]) -> Iterator[VerdictPoint]:
    """Each set, problems and whole groups apart, since these are different populations; then what is wrong."""
    family = judged(rows)
    for row in family:
        place = decision.standing(row, len(family))
        unit = "problems" if row.metric == "accuracy" else "groups as a whole"
        told = decision.said(row, place, unit)
        if row.is_in_one_place:
            told = f"{say(row)} of {row.n:,} {unit}: {row.note}"
        text = f"{where(row)}: {told}."
        yield decision.point_of(f"{row.subset}/{row.metric}", place, text)
    for warning in warnings:
        yield VerdictPoint(f"{warning[0].upper()}{warning[1:]}.", BAD, {SIGNS: YES})


def where(row: Metric) -> str:
    """The set of a row, as the page names it."""
    return f"dev: {row.dataset}" if row.subset == DEV else row.dataset
