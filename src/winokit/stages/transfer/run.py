"""Transfer: train on one dataset, choose on another, test on a third: Sakaguchi et al., "WinoGrande" (2020), section 5.

    runs/ARM/setting-1/              one training run each; of a sequence, stage-1/, stage-2/ …
    runs/ARM/setting-1/chosen-on-X/  the same where weights are chosen too, one for each set that is chosen on
    results.json                     flat rows: accuracy, groups, gender, and what each setting had where it was chosen

An arm is a training set, or several one after the other: `DPR>WinoGrande` is BERT-seqft. Where an arm trained on
problems of a test set, or of what is chosen on for it, that cell stays empty and says why. The last weights of every
setting are compared, as the authors' code does; `keep="best"` chooses among the weights of each run as well.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import winokit
from winokit.answers import Answers, Scorer
from winokit.data.loading import Loading, Plain
from winokit.errors import BadInput
from winokit.files import as_file_name, json_lines, result_bytes, write_whole
from winokit.methods.formalizations.base import Formalization
from winokit.methods.metrics.judge import BLIND, Judge, gender_rows, has_gender
from winokit.methods.overlap import said
from winokit.methods.training.data import TrainingData
from winokit.methods.training.settings import Device, DropOverlap, Keep, Save, Trainable, TrainSettings, need_training
from winokit.problem import Dataset, grouped
from winokit.progress import Progress, part, tell
from winokit.results import Brief, Detail, Metric, rows_to_json
from winokit.settings import Help, Without, verb
from winokit.stages.transfer import selection
from winokit.stages.transfer.page import write_transfer_page
from winokit.stages.transfer.selection import NamedData, TrainingArm, TransferPlan, TransferTarget

if TYPE_CHECKING:
    from winokit.methods.training.finetune import TrainOutcome

PAPERS = "papers"
ARROW = ">"


@dataclass(frozen=True)
class TransferCell:
    """One arm on one test set: rows, or why there are none."""

    arm: str
    test: str
    rows: tuple[Metric, ...] = ()
    why: str | None = None
    chosen: int | None = None
    """The number of the setting that was chosen."""
    folder: str | None = None
    """Where its run is."""

    def row(self, metric: str, subset: str = "all", protocol: str = "accuracy") -> Metric | None:
        """The row of that name."""
        named = (protocol, subset, metric)
        return next((row for row in self.rows if (row.protocol, row.subset, row.metric) == named), None)


@dataclass(frozen=True, repr=False)
class Transfer(Brief):
    """The results: one cell per arm and test set."""

    shown_by = "winokit.stages.transfer.page"
    run: dict[str, Any]
    arms: tuple[TrainingArm, ...]
    tests: tuple[TransferTarget, ...]
    cells: tuple[TransferCell, ...]
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    page: Path | None = None
    """Where its page was written."""

    def cell(self, arm: str, test: str) -> TransferCell:
        """The cell of an arm and a test set."""
        return next(cell for cell in self.cells if (cell.arm, cell.test) == (arm, test))

    @property
    def metrics(self) -> list[Metric]:
        """The rows of results.json."""
        return [row for cell in self.cells for row in cell.rows]

    def to_json(self) -> dict[str, Any]:
        """What results.json says, but for the notes."""
        left_out = [{"arm": cell.arm, "test": cell.test, "why": cell.why} for cell in self.cells if cell.why]
        metrics = rows_to_json(self.metrics)
        return {"run": self.run, "metrics": metrics, "left_out": left_out, "warnings": self.warnings}

    def save(self, folder: Path) -> "Transfer":
        """Write results.json, tables.md and the page, and return the transfer with the place of that."""
        write_whole(folder / "results.json", result_bytes(self.to_json() | {"notes": self.notes}))
        return replace(self, page=write_transfer_page(self, folder / "report"))


@verb
def transfer(
    *,
    train: Annotated[
        Sequence[str | Dataset | TrainingArm],
        Help(
            "An arm: DATA, NAME=DATA, DATA+DATA for both together, DATA>DATA for one, then the other; repeatable.",
            "DATA",
        ),
    ],
    test: Annotated[Sequence[str | Dataset | NamedData], Help("DATA or NAME=DATA; repeatable.", "DATA")],
    choose: Annotated[
        Sequence[str],
        Help(
            "Choose on this: DATA for every test set, TEST=DATA for one of them, or papers: by the papers' rules, "
            "among these and the test sets. Repeatable. Default: nothing is chosen.",
            "DATA",
        ),
    ] = (),
    model: Trainable = "builtin",
    out: Annotated[str | Path, Help("The folder to write.")] = Path("runs/transfer"),
    learning_rate: Annotated[Sequence[float], Help("Repeatable: one is chosen. Default: 1e-5.")] = (),
    epochs: Annotated[Sequence[int], Help("Repeatable: one is chosen. Default: 8.", least=1)] = (),
    batch_size: Annotated[Sequence[int], Help("Repeatable: one is chosen. Default: 16.", least=1)] = (),
    seed: Annotated[Sequence[int], Help("Repeatable: one is chosen. Default: 0.")] = (),
    keep: Annotated[
        Keep, Help("The last weights of each run, or the best where it is chosen.", noun="choice of weights")
    ] = "last",
    settings: Annotated[
        TrainSettings, Without("learning_rate", "epochs", "batch_size", "seed", "keep")
    ] = TrainSettings(),
    device: Device = None,
    drop_overlap: DropOverlap = False,
    save: Save = False,
    loading: Plain = Loading(),
    progress: Progress | None = None,
) -> Transfer:
    """Train arms, choose settings for each test set on another set, and test: WinoGrande's Tables 5 and 6.

    Choosing on what is tested, or on what overlaps it, is refused. An interrupted run continues.
    """
    need_training("transfer")
    grid = selection.grid_of(
        replace(settings, keep=keep),
        learning_rate=learning_rate or (settings.learning_rate,),
        epochs=epochs or (settings.epochs,),
        batch_size=batch_size or (settings.batch_size,),
        seed=seed or (settings.seed,),
    )
    choices = [_named(choice) for choice in choose]
    targets = selection.with_choices(
        [_set(given, loading) for given in test],
        own={name: _set(data, loading) for name, data in choices if name},
        pool=[_set(data, loading) for name, data in choices if not name and data != PAPERS],
        by_rule=PAPERS in choose,
        drop_overlap=drop_overlap,
    )
    arms, plan = [_arm(given, loading) for given in train], TransferPlan(model, grid, device, save)
    result = train_arms(arms, targets, Path(out), plan, drop_overlap=drop_overlap, progress=progress)
    tell(result.notes)
    return result.save(Path(out))


def _set(given: str | Dataset | NamedData, loading: Loading) -> NamedData:
    if isinstance(given, NamedData):
        return given
    name, data = _named(given) if isinstance(given, str) else ("", given)
    loaded = loading.one(data)
    return NamedData(name or loaded.card.name, loaded)


def _arm(given: str | Dataset | TrainingArm, loading: Loading) -> TrainingArm:
    if isinstance(given, TrainingArm):
        return given
    name, data = _named(given) if isinstance(given, str) else ("", given)
    whole = isinstance(data, Dataset) or Path(data).exists()
    parts = [data] if whole else [stage.strip() for stage in str(data).split(ARROW)]
    if "" in parts:
        raise BadInput(f"--train {given}: DATA{ARROW}DATA expected, the first trained on first")
    stages = tuple(loading.one(stage) for stage in parts)
    return TrainingArm(name or ARROW.join(stage.card.name for stage in stages), stages)


def _named(text: str) -> tuple[str, str]:
    """NAME=DATA apart; a file whose name has an equals sign is DATA alone."""
    name, equals, data = text.partition("=")
    if not equals or Path(text).exists() or "/" in name:
        return "", text
    return name.strip(), data.strip()


def train_arms(
    arms: Sequence[TrainingArm],
    tests: Sequence[TransferTarget],
    out: Path,
    plan: TransferPlan = TransferPlan(),
    *,
    drop_overlap: bool = False,
    progress: Progress | None = None,
) -> Transfer:
    """Train every arm with every setting, choose for each test set where it says, and test.

    With `drop_overlap` training problems that overlap a test set or a set to choose on are left out, unless they are
    half of an arm or more: then the arm was meant to train on them, and its cell stays empty and says so. Without it
    any overlap is refused.
    """
    selection.check_plan(arms, tests, plan)
    cards = {test.name: test.data.card.name for test in tests}
    tests = [replace(test.called(), chosen_on=test.chosen_on and test.chosen_on.called()) for test in tests]
    if drop_overlap:
        held = [held_set.data for held_set in selection.held_sets(tests)]
        arms = [arm.without(held) for arm in arms]
    else:
        for arm, test in product(arms, tests):
            if (why := selection.why_not(arm, test)) is not None:
                raise BadInput(f"{arm.name} on {test.name}: {why} (--drop-overlap leaves them out, or the cell empty)")
    notes = [note for arm in arms for stage in arm.stages for note in stage.notes]
    notes += [f"{t.chosen_on.name}: left out: {said(t.dropped)}" for t in tests if t.chosen_on and t.dropped]
    cells: list[TransferCell] = []
    warnings: list[str] = []
    for at, arm in enumerate(arms):
        reasons = {test.name: selection.why_not(arm, test) for test in tests}
        wanted = [test for test in tests if reasons[test.name] is None]
        outcomes: list[dict[str, TrainOutcome]] = []
        for number, settings in enumerate(plan.grid, 1):
            folder = out / "runs" / _file_name(arm.name) / f"setting-{number}"
            own_progress = part(progress, at * len(plan.grid) + number - 1, 1, len(arms) * len(plan.grid))
            own_plan = replace(plan, grid=(settings,))
            outcomes.append(_trained(arm, wanted, folder, own_plan, own_progress) if wanted else {})
            for outcome in outcomes[-1].values():
                notes += [note for note in outcome.notes if note not in notes]
                signs = [f"{arm.name}, setting {number}: {warning}" for warning in outcome.warnings]
                warnings += [sign for sign in signs if sign not in warnings]
        for test in tests:
            if (why := reasons[test.name]) is None:
                runs = [by_test[test.name] for by_test in outcomes]
                cells.append(_cell(arm.name, test, runs, f"{plan.model} trained on {arm.name}"))
            else:
                cells.append(TransferCell(arm.name, test.name, why=why))
    run = _run(arms, tests, cards, plan)
    return Transfer(run, tuple(arms), tuple(tests), tuple(cells), tuple(notes), tuple(warnings))


def _trained(
    arm: TrainingArm, tests: Sequence[TransferTarget], folder: Path, plan: TransferPlan, progress: Progress | None
) -> "dict[str, TrainOutcome]":
    """The outcome for each test set's name: one run for all of them, or one for each set that is chosen on."""
    from winokit.methods.training.finetune import finetune

    (settings,) = plan.grid
    shared = grouped((test.chosen_on.name if plan.chooses_weights and test.chosen_on else "", test) for test in tests)
    *earlier, last = arm.stages
    places = [folder / f"stage-{number}" for number in range(1, len(arm.stages) + 1)] if earlier else [folder]
    model, parts = plan.model, len(earlier) + len(shared)
    for at, stage in enumerate(earlier):
        own, own_progress = replace(settings, keep="last"), part(progress, at, 1, parts)
        finetune(TrainingData(stage), places[at], model, own, device=plan.device, progress=own_progress)
        model = f"hf:{places[at]}"
    outcomes: dict[str, TrainOutcome] = {}
    for at, (name, targets) in enumerate(shared.items(), len(earlier)):
        dev = targets[0].chosen_on.data if name and targets[0].chosen_on else None
        held = tuple(held_set.data for held_set in selection.held_sets(targets) if held_set.name != name)
        place = places[-1] / f"chosen-on-{_file_name(name)}" if name else places[-1]
        data, own_progress = TrainingData(last, dev, held), part(progress, at, 1, parts)
        outcome = finetune(data, place, model, settings, device=plan.device, save=plan.save, progress=own_progress)
        outcomes |= {test.name: outcome for test in targets}
    return outcomes


def _cell(arm: str, test: TransferTarget, runs: "Sequence[TrainOutcome]", model: str) -> TransferCell:
    """The cell of the setting that does best where it is chosen, the first of several alike, as an audit's rows.

    Beside them stands what every setting had where it was chosen: accuracy, undecided problems counted 1/candidates.
    """
    chosen_on, marks = None if test.chosen_on is None else test.chosen_on.data, []
    name = None if chosen_on is None else chosen_on.card.name
    for run in runs if name is not None else ():
        values = {row.metric: row.value for row in run.metrics if row.dataset == name}
        marks.append(values.get("expected_accuracy", values["accuracy"]))
    best = marks.index(max(marks)) if marks else 0
    about: Mapping[str, Detail] = {"arm": arm, "chosen_on": name, "setting": best + 1}
    outcome = runs[best]
    own = outcome.on(test.data.card.name)
    if not own:
        why = "its answers are hidden; predictions are in the run's folder"
        return TransferCell(arm, test.name, (), why, best + 1, str(outcome.folder))
    subsets = {"accuracy": "all", "groups": "complete"}  # as an audit's rows have them
    rows = [replace(row, model=model, subset=subsets[row.protocol], details={**row.details, **about}) for row in own]
    first = rows[0]
    if has_gender(test.data):
        path = outcome.folder / "predictions" / f"{own[0].subset}.jsonl"
        choices = [row["prediction"] for row in json_lines(path.read_text("utf-8"))]
        scorer = Scorer(first.model, first.scoring, first.formalization)
        note = None if Formalization.parse(first.scoring).definition.reads_pronoun else BLIND
        answers = Answers.of_choices(test.data, choices, scorer)
        rows += gender_rows(Judge(first.dataset, scorer, about), answers, note)
    if chosen_on is not None:
        named = replace(first, dataset=chosen_on.card.name, protocol="choice", metric="accuracy")
        each = replace(named, n=len(chosen_on), low=None, high=None)
        rows += [replace(each, subset=f"setting-{at}", value=mark) for at, mark in enumerate(marks, 1)]
    return TransferCell(arm, test.name, tuple(rows), None, best + 1, str(outcome.folder))


def _file_name(name: str) -> str:
    return as_file_name(name.replace(ARROW, " then "))


def _run(
    arms: Sequence[TrainingArm], tests: Sequence[TransferTarget], cards: dict[str, str], plan: TransferPlan
) -> dict[str, Any]:
    """What would be needed to do it again."""
    return {
        "winokit": winokit.__version__,
        "model": plan.model,
        "formalization": Formalization.parse(plan.grid[0].formalization).spec,
        "arms": {arm.name: [f"{stage.card.name}, {len(stage):,}" for stage in arm.stages] for arm in arms},
        "arms_content": {arm.name: [stage.content_hash for stage in arm.stages] for arm in arms},
        "tests": cards,
        "tests_content": {test.name: test.data.content_hash for test in tests},
        "chosen_on": {test.name: test.chosen_on.name if test.chosen_on else None for test in tests},
        "dropped": {
            **{arm.name: arm.dropped for arm in arms},
            **{test.chosen_on.name: test.dropped for test in tests if test.chosen_on and test.dropped},
        },
        "settings": [settings.identity() for settings in plan.grid],
    }
