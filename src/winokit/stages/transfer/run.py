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
from itertools import chain, product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import winokit
from winokit.answers import Answers, Scorer
from winokit.files import as_file_name, json_lines, result_bytes, write_whole
from winokit.methods.formalizations.base import Formalization
from winokit.methods.metrics.judge import BLIND, Judge, gender_rows, has_gender
from winokit.methods.overlap import said
from winokit.methods.training.data import TrainingData
from winokit.methods.training.settings import Trainable, TrainSettings, need_training
from winokit.problem import Dataset, grouped
from winokit.progress import Progress, part, tell
from winokit.results import Brief, Detail, Metric, rows_to_json
from winokit.settings import Help, Stored, Without, verb
from winokit.stages.transfer import selection
from winokit.stages.transfer.page import write_transfer_page
from winokit.stages.transfer.selection import NamedData, TrainingArm, TransferPlan, TransferTarget
from winokit.stages.transfer.settings import ARROW, CHOSEN_FROM, TransferDesign, TransferSets

if TYPE_CHECKING:
    from winokit.methods.training.finetune import TrainOutcome

OutcomesByTest = Mapping[str, "TrainOutcome"]
"""The training run that is tested on a test set, by the name of the set."""


@dataclass(frozen=True)
class TransferCell:
    """The results of one arm on one test set."""

    arm: str
    test: str
    rows: tuple[Metric, ...] = ()
    why: str | None = None
    """The reason why there are no rows. None if there are."""
    chosen: int | None = None
    """The number of the chosen setting, from 1. None if the arm was not tested."""
    folder: str | None = None
    """The folder of the chosen run. None if the arm was not tested."""

    def row(self, metric: str, subset: str = "all", protocol: str = "accuracy") -> Metric | None:
        """The row of a metric, or None if there is none."""
        key = (protocol, subset, metric)
        return next((row for row in self.rows if (row.protocol, row.subset, row.metric) == key), None)


@dataclass(frozen=True, repr=False)
class Transfer(Brief):
    """The results of a transfer: one cell per arm and test set."""

    run: dict[str, Any]
    arms: tuple[TrainingArm, ...]
    tests: tuple[TransferTarget, ...]
    cells: tuple[TransferCell, ...]
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    page: Path | None = None
    """The path of the page. None if it was not written."""

    def cell(self, arm: str, test: str) -> TransferCell:
        """The cell of an arm and a test set."""
        return next(cell for cell in self.cells if (cell.arm, cell.test) == (arm, test))

    @property
    def metrics(self) -> list[Metric]:
        """The rows of results.json."""
        return list(chain.from_iterable(cell.rows for cell in self.cells))

    def to_json(self) -> dict[str, Any]:
        """The content of results.json, without the notes.

        Cells without rows are under `left_out`.
        """
        left_out = [{"arm": cell.arm, "test": cell.test, "why": cell.why} for cell in self.cells if cell.why]
        metrics = rows_to_json(self.metrics)
        return {"run": self.run, "metrics": metrics, "left_out": left_out, "warnings": self.warnings}

    def save(self, folder: Path) -> "Transfer":
        """Write results.json, tables.md and the page.

        Returns the transfer with the path of the page.
        """
        write_whole(folder / "results.json", result_bytes(self.to_json() | {"notes": self.notes}))
        return replace(self, page=write_transfer_page(self, folder / "report"))


@verb
def transfer(
    *,
    train: Annotated[
        Sequence[str | Dataset | TrainingArm],
        Help(
            "An arm: DATA or NAME=DATA; repeatable. Sets of one name are trained on in turn.",
            "DATA",
        ),
    ],
    test: Annotated[Sequence[str | Dataset | NamedData], Help("DATA or NAME=DATA; repeatable.", "DATA")],
    sets: TransferSets = TransferSets(),
    model: Trainable = "builtin",
    design: TransferDesign = TransferDesign(),
    settings: Annotated[TrainSettings, Without(*CHOSEN_FROM, "keep"), Stored("training", "steps")] = TrainSettings(),
    out: Annotated[str | Path, Help("The folder to write.")] = Path("runs/transfer"),
    progress: Progress | None = None,
) -> Transfer:
    """Train arms, choose settings for each test set on another set, and test: WinoGrande's Tables 5 and 6.

    Choosing on what is tested, or on what overlaps it, is refused. An interrupted run continues.
    """
    need_training("transfer")
    targets = sets.targets(test)
    arms = sets.arms(train)
    plan = design.plan(model, settings)
    result = train_arms(arms, targets, Path(out), plan, drop_overlap=sets.drop_overlap, progress=progress)
    tell(result.notes)
    return result.save(Path(out))


def train_arms(
    arms: Sequence[TrainingArm],
    tests: Sequence[TransferTarget],
    out: Path,
    plan: TransferPlan = TransferPlan(),
    *,
    drop_overlap: bool = False,
    progress: Progress | None = None,
) -> Transfer:
    """Train every arm with every setting, choose settings, and test.

    An arm is a training set, or several that are trained on in turn. A setting is chosen for each test set. Runs are
    written into the folder `out`. With `drop_overlap`, training problems that overlap a test set or a set to choose on
    are left out, unless they are half of an arm or more: then the arm was meant to train on them, and its cell stays
    empty and says so. Without it any overlap raises BadInput.
    """
    selection.check_plan(arms, tests, plan)
    card_names = {test.name: test.data.card.name for test in tests}
    tests = [replace(test.called(), chosen_on=test.chosen_on and test.chosen_on.called()) for test in tests]
    if drop_overlap:
        arms = selection.arms_without_overlap(arms, tests)
    reasons = selection.reasons_for_empty_cells(arms, tests)
    if not drop_overlap:
        selection.refuse_overlap(reasons)
    outcomes_by_arm: dict[str, list[OutcomesByTest]] = {}
    for arm_index, arm in enumerate(arms):
        tests_of_arm = [test for test in tests if (arm.name, test.name) not in reasons]
        arm_progress = part(progress, arm_index, 1, len(arms))
        outcomes_by_arm[arm.name] = _train_settings(arm, tests_of_arm, out, plan, arm_progress)
    cells = []
    for arm, test in product(arms, tests):
        reason = reasons.get((arm.name, test.name))
        if reason is None:
            cells.append(_build_cell(arm, test, outcomes_by_arm[arm.name], plan.model))
        else:
            cells.append(TransferCell(arm.name, test.name, why=reason))
    notes_on_sets = _collect_set_notes(arms, tests)
    notes_on_runs = [note for note in _collect_run_notes(outcomes_by_arm) if note not in notes_on_sets]
    return Transfer(
        run=describe_transfer(arms, tests, card_names, plan),
        arms=tuple(arms),
        tests=tuple(tests),
        cells=tuple(cells),
        notes=(*notes_on_sets, *notes_on_runs),
        warnings=tuple(_collect_warnings(outcomes_by_arm)),
    )


def _train_settings(
    arm: TrainingArm, tests: Sequence[TransferTarget], out: Path, plan: TransferPlan, progress: Progress | None
) -> list[OutcomesByTest]:
    """Train an arm with each setting of the plan in turn.

    `tests` are the test sets of the arm. Returns the outcomes of each setting. They are empty without test sets.
    """
    if not tests:
        return []
    outcomes = []
    for number, settings in enumerate(plan.grid, 1):
        folder = out / "runs" / _as_folder_name(arm.name) / f"setting-{number}"
        setting_progress = part(progress, number - 1, 1, len(plan.grid))
        plan_of_setting = replace(plan, grid=(settings,))
        outcomes.append(_train_stages(arm, tests, folder, plan_of_setting, setting_progress))
    return outcomes


def _train_stages(
    arm: TrainingArm, tests: Sequence[TransferTarget], folder: Path, plan: TransferPlan, progress: Progress | None
) -> OutcomesByTest:
    """Train on the stages of an arm in turn, with one setting.

    It is the only one of the plan. Returns the outcome for each test set, by name: one run for all of them, or one for
    each set on which weights are chosen.
    """
    from winokit.methods.training.finetune import finetune

    (settings,) = plan.grid
    tests_by_choice = grouped((_find_choice_set(test, plan), test) for test in tests)
    *earlier_stages, last_stage = arm.stages
    folders = [folder]
    if earlier_stages:
        folders = [folder / f"stage-{number}" for number in range(1, len(arm.stages) + 1)]
    model = plan.model
    part_count = len(earlier_stages) + len(tests_by_choice)
    for stage_index, stage in enumerate(earlier_stages):
        stage_progress = part(progress, stage_index, 1, part_count)
        keep_last = replace(settings, keep="last")
        finetune(
            TrainingData(stage), folders[stage_index], model, keep_last, device=plan.device, progress=stage_progress
        )
        model = f"hf:{folders[stage_index]}"
    outcomes: dict[str, TrainOutcome] = {}
    for part_index, (name, targets) in enumerate(tests_by_choice.items(), len(earlier_stages)):
        chosen_on = targets[0].chosen_on
        dev = chosen_on.data if name and chosen_on else None
        held_out = tuple(held_set.data for held_set in selection.held_sets(targets) if held_set.name != name)
        target_folder = folders[-1] / f"chosen-on-{_as_folder_name(name)}" if name else folders[-1]
        run_progress = part(progress, part_index, 1, part_count)
        sets = TrainingData(last_stage, dev, held_out)
        outcome = finetune(
            sets, target_folder, model, settings, device=plan.device, save=plan.save, progress=run_progress
        )
        outcomes |= {test.name: outcome for test in targets}
    return outcomes


def _find_choice_set(test: TransferTarget, plan: TransferPlan) -> str:
    """Name of the set on which a test set's weights are chosen.

    Empty if the last weights are taken.
    """
    if test.chosen_on is None or not plan.chooses_weights:
        return ""
    return test.chosen_on.name


def _build_cell(arm: TrainingArm, test: TransferTarget, outcomes: Sequence[OutcomesByTest], model: str) -> TransferCell:
    """Build the cell of an arm and a test set.

    Its rows are those of the setting that is best on the set to choose on. `outcomes` are those of each setting. Of
    equal settings the first is taken. After the rows of the test set come the scores of every setting on the set to
    choose on: accuracy, with undecided problems counted 1/candidates.
    """
    runs = [outcome_of[test.name] for outcome_of in outcomes]
    scores = _collect_scores_on_choice_set(runs, test)
    best_index = scores.index(max(scores)) if scores else 0
    outcome = runs[best_index]
    test_rows = outcome.on(test.data.card.name)
    if not test_rows:
        reason = "its answers are hidden; predictions are in the run's folder"
        return TransferCell(arm.name, test.name, (), reason, best_index + 1, str(outcome.folder))
    chosen_on = None if test.chosen_on is None else test.chosen_on.data
    cell_details: Mapping[str, Detail] = {
        "arm": arm.name,
        "chosen_on": None if chosen_on is None else chosen_on.card.name,
        "setting": best_index + 1,
    }
    subsets = {"accuracy": "all", "groups": "complete"}  # as an audit's rows have them
    rows = []
    trained_model = f"{model} trained on {arm.name}"
    for row in test_rows:
        details = {**row.details, **cell_details}
        rows.append(replace(row, model=trained_model, subset=subsets[row.protocol], details=details))
    first_row = rows[0]
    if has_gender(test.data):
        rows += _make_gender_rows(outcome, test.data, first_row, cell_details)
    if chosen_on is not None:
        rows += _make_choice_rows(first_row, chosen_on, scores)
    return TransferCell(arm.name, test.name, tuple(rows), None, best_index + 1, str(outcome.folder))


def _make_choice_rows(first_row: Metric, chosen_on: Dataset, scores: Sequence[float]) -> list[Metric]:
    """Make rows of all settings' scores on the set to choose on.

    Everything else in them is from `first_row`, a row of the cell.
    """
    choice_row = replace(first_row, dataset=chosen_on.card.name, protocol="choice", metric="accuracy")
    choice_row = replace(choice_row, n=len(chosen_on), low=None, high=None)
    rows = []
    for number, score in enumerate(scores, 1):
        rows.append(replace(choice_row, subset=f"setting-{number}", value=score))
    return rows


def _collect_scores_on_choice_set(runs: "Sequence[TrainOutcome]", test: TransferTarget) -> list[float]:
    """Score of each setting on the set to choose on.

    It is the accuracy with undecided problems counted as guesses, if the run has that. `runs` has a run per setting.
    Empty if nothing is chosen.
    """
    if test.chosen_on is None:
        return []
    choice_name = test.chosen_on.data.card.name
    scores = []
    for run in runs:
        values = {row.metric: row.value for row in run.metrics if row.dataset == choice_name}
        scores.append(values.get("expected_accuracy", values["accuracy"]))
    return scores


def _make_gender_rows(
    outcome: "TrainOutcome", dataset: Dataset, first_row: Metric, details: Mapping[str, Detail]
) -> list[Metric]:
    """Make the rows by gender of a run's predictions.

    `dataset` is the test set. All rows get `details`.
    """
    subset = outcome.on(dataset.card.name)[0].subset
    path = outcome.folder / "predictions" / f"{subset}.jsonl"
    choices = [row["prediction"] for row in json_lines(path.read_text("utf-8"))]
    scorer = Scorer(first_row.model, first_row.scoring, first_row.formalization)
    reads_pronoun = Formalization.parse(first_row.scoring).definition.reads_pronoun
    answers = Answers.of_choices(dataset, choices, scorer)
    judge = Judge(first_row.dataset, scorer, details)
    note = None if reads_pronoun else BLIND
    return list(gender_rows(judge, answers, note))


def _collect_set_notes(arms: Sequence[TrainingArm], tests: Sequence[TransferTarget]) -> list[str]:
    """Collect notes on training sets and on problems left out.

    Problems are left out of sets to choose on.
    """
    notes: list[str] = []
    for arm in arms:
        for stage in arm.stages:
            notes += stage.notes
    for test in tests:
        if test.chosen_on and test.dropped:
            notes.append(f"{test.chosen_on.name}: left out: {said(test.dropped)}")
    return notes


def _collect_run_notes(outcomes_by_arm: Mapping[str, Sequence[OutcomesByTest]]) -> list[str]:
    """Collect the notes of all runs, each once."""
    notes: dict[str, None] = {}
    for outcome_of in chain.from_iterable(outcomes_by_arm.values()):
        for outcome in outcome_of.values():
            notes |= dict.fromkeys(outcome.notes)
    return list(notes)


def _collect_warnings(outcomes_by_arm: Mapping[str, Sequence[OutcomesByTest]]) -> list[str]:
    """Collect the warnings of all runs, each once, with arm and setting."""
    warnings: dict[str, None] = {}
    for arm, outcomes in outcomes_by_arm.items():
        for number, outcome_of in enumerate(outcomes, 1):
            for outcome in outcome_of.values():
                warnings |= dict.fromkeys(f"{arm}, setting {number}: {warning}" for warning in outcome.warnings)
    return list(warnings)


def _as_folder_name(name: str) -> str:
    """A folder name for the name of an arm or a set."""
    return as_file_name(name.replace(ARROW, " then "))


def describe_transfer(
    arms: Sequence[TrainingArm], tests: Sequence[TransferTarget], card_names: dict[str, str], plan: TransferPlan
) -> dict[str, Any]:
    """Settings of a transfer as results.json records them.

    They are enough to run it again. `card_names` are the names of the test sets on their cards, by their names in
    tables.
    """
    dropped: dict[str, Any] = {arm.name: arm.dropped for arm in arms}
    for test in tests:
        if test.chosen_on and test.dropped:
            dropped[test.chosen_on.name] = test.dropped
    stages_by_arm: dict[str, list[str]] = {}
    hashes_by_arm: dict[str, list[str]] = {}
    for arm in arms:
        stages_by_arm[arm.name] = [f"{stage.card.name}, {len(stage):,}" for stage in arm.stages]
        hashes_by_arm[arm.name] = [stage.content_hash for stage in arm.stages]
    chosen_on = {}
    for test in tests:
        chosen_on[test.name] = test.chosen_on.name if test.chosen_on else None
    return {
        "winokit": winokit.__version__,
        "model": plan.model,
        "formalization": Formalization.parse(plan.grid[0].formalization).spec,
        "arms": stages_by_arm,
        "arms_content": hashes_by_arm,
        "tests": card_names,
        "tests_content": {test.name: test.data.content_hash for test in tests},
        "chosen_on": chosen_on,
        "dropped": dropped,
        "settings": [settings.identity() for settings in plan.grid],
    }
