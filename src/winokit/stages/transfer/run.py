"""Transfer: train on one dataset, choose on another, test on a third.

    runs/ARM/setting-1/              one training run each; of a sequence, stage-1/, stage-2/ …
    runs/ARM/setting-1/chosen-on-X/  the same where weights are chosen too, one for each set that is chosen on
    results.json                     flat rows: accuracy, groups, gender, and what each setting had where it was chosen

An arm is a training set, or several one after the other: `DPR>WinoGrande` is BERT-seqft. Where an arm trained on
problems of a test set, or of what is chosen on for it, that cell stays empty and says why. The last weights of every
setting are compared, as the authors' code does; `keep="best"` chooses among the weights of each run as well.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import winokit
from winokit.errors import BadInput
from winokit.files import write_whole
from winokit.methods.formalizations.base import Formalization
from winokit.methods.overlap import said
from winokit.methods.training.data import TrainingData
from winokit.methods.training.finetune import RESULTS, TrainOutcome, finetune
from winokit.problem import Dataset
from winokit.results import Metric, rows_to_json
from winokit.stages.transfer.cells import TransferCell, cell_of, choice_of
from winokit.stages.transfer.plan import TrainingArm, TransferPlan, check_plan, held_sets, why_not
from winokit.stages.transfer.selection import NamedData, TransferTarget

RUNS = "runs"
ARROW = ">"
FINE = 1000
"""Parts of a part that progress is told in."""
Told = Callable[[int, int], None]


@dataclass(frozen=True)
class Transfer:
    """What came of it: a cell for each arm and test set."""

    run: dict[str, Any]
    arms: tuple[TrainingArm, ...]
    tests: tuple[TransferTarget, ...]
    cells: tuple[TransferCell, ...]
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def cell(self, arm: str, test: str) -> TransferCell:
        """The cell of an arm and a test set."""
        return next(cell for cell in self.cells if (cell.arm, cell.test) == (arm, test))

    @property
    def metrics(self) -> list[Metric]:
        """The rows of results.json."""
        return [row for cell in self.cells for row in cell.rows]

    def save(self, folder: Path) -> None:
        """Write results.json."""
        left_out = [{"arm": cell.arm, "test": cell.test, "why": cell.why} for cell in self.cells if cell.why]
        told = {"run": self.run, "metrics": rows_to_json(self.metrics), "left_out": left_out}
        told |= {"warnings": self.warnings, "notes": self.notes}
        write_whole(folder / RESULTS, (json.dumps(told, indent=1, ensure_ascii=False) + "\n").encode())


def transfer(
    arms: Sequence[TrainingArm],
    tests: Sequence[TransferTarget],
    out: Path,
    plan: TransferPlan | None = None,
    *,
    drop_overlap: bool = False,
    progress: Told | None = None,
) -> Transfer:
    """Train every arm with every setting, choose for each test set where it says, and test.

    With `drop_overlap` training problems that overlap a test set or a set to choose on are left out, unless they are
    half of an arm or more: then the arm was meant to train on them, and its cell stays empty and says so. Without it
    any overlap is refused.
    """
    plan = plan or TransferPlan()
    check_plan(arms, tests, plan)
    cards = {test.name: test.data.card.name for test in tests}
    tests = [_under_own_name(test) for test in tests]
    sets = held_sets(tests)
    if drop_overlap:
        arms = [arm.without([one.data for one in sets]) for arm in arms]
    else:
        for arm, test in product(arms, tests):
            if (why := why_not(arm, test)) is not None:
                raise BadInput(f"{arm.name} on {test.name}: {why} (--drop-overlap leaves them out, or the cell empty)")
    notes = [note for arm in arms for stage in arm.stages for note in stage.notes]
    notes += [
        f"{test.chosen_on.name}: left out: {said(test.dropped)}" for test in tests if test.chosen_on and test.dropped
    ]
    runs = iter(_parts_of(progress, len(arms) * len(plan.grid)))
    cells: list[TransferCell] = []
    warnings: list[str] = []
    for arm in arms:
        found = [TransferCell(arm.name, test.name, why=why_not(arm, test)) for test in tests]
        wanted = [test for test, cell in zip(tests, found, strict=True) if cell.why is None]
        outcomes: list[dict[str, TrainOutcome]] = []
        for number, settings in enumerate(plan.grid, 1):
            folder = out / RUNS / _file_name(arm.name) / f"setting-{number}"
            own, part = replace(plan, grid=(settings,)), next(runs)
            outcomes.append(_trained(arm, wanted, folder, own, part) if wanted else {})
        for number, outcome in ((at, one) for at, some in enumerate(outcomes, 1) for one in some.values()):
            notes += [note for note in outcome.notes if note not in notes]
            told = [f"{arm.name}, setting {number}: {warning}" for warning in outcome.warnings]
            warnings += [warning for warning in told if warning not in warnings]
        cells += [
            cell if cell.why else _chosen(arm, test, outcomes, plan) for test, cell in zip(tests, found, strict=True)
        ]
    run = _told(arms, tests, cards, plan)
    return Transfer(run, tuple(arms), tuple(tests), tuple(cells), tuple(notes), tuple(warnings))


def _under_own_name(test: TransferTarget) -> TransferTarget:
    """The same with datasets that are called what their columns are, so that no two have one name."""
    chosen_on = None if test.chosen_on is None else replace(test.chosen_on, data=_called(test.chosen_on))
    return replace(test, data=_called(test), chosen_on=chosen_on)


def _called(one: NamedData | TransferTarget) -> Dataset:
    return Dataset(one.data, replace(one.data.card, name=one.name), one.data.notes)


def _trained(
    arm: TrainingArm, tests: Sequence[TransferTarget], folder: Path, plan: TransferPlan, progress: Told | None
) -> dict[str, TrainOutcome]:
    """The outcome for each test set's name: one run for all of them, or one for each set that is chosen on."""
    (settings,) = plan.grid
    model, shared = plan.model, list(_by_dev(tests, plan))
    calls = iter(_parts_of(progress, len(arm.stages) - 1 + len(shared)))
    for number, stage in enumerate(arm.stages[:-1], 1):
        place = folder / f"stage-{number}"
        finetune(
            TrainingData(stage), place, model, replace(settings, keep="last"), device=plan.device, progress=next(calls)
        )
        model = f"hf:{place}"
    last = arm.stages[-1]
    place = folder / f"stage-{len(arm.stages)}" if len(arm.stages) > 1 else folder
    found: dict[str, TrainOutcome] = {}
    for dev, some in shared:
        held = [one.data for one in held_sets(some) if dev is None or one.name != dev.name]
        data = TrainingData(last, None if dev is None else dev.data, tuple(held))
        own = place if dev is None else place / f"chosen-on-{_file_name(dev.name)}"
        outcome = finetune(data, own, model, settings, device=plan.device, save=plan.save, progress=next(calls))
        found |= {test.name: outcome for test in some}
    return found


def _by_dev(
    tests: Sequence[TransferTarget], plan: TransferPlan
) -> Iterator[tuple[NamedData | None, list[TransferTarget]]]:
    """Test sets that share a run, with its dev set where weights are chosen on one."""
    if not plan.chooses_weights:
        yield None, list(tests)
        return
    devs = {test.chosen_on.name: test.chosen_on for test in tests if test.chosen_on is not None}
    for name, dev in devs.items():
        yield dev, [test for test in tests if test.chosen_on is not None and test.chosen_on.name == name]


def _chosen(
    arm: TrainingArm, test: TransferTarget, outcomes: Sequence[dict[str, TrainOutcome]], plan: TransferPlan
) -> TransferCell:
    """The cell of the setting that does best where it is chosen; the first of several alike."""
    runs = [some[test.name] for some in outcomes]
    marks = None if test.chosen_on is None else [choice_of(run, test.chosen_on) for run in runs]
    best = 0 if marks is None else max(range(len(runs)), key=lambda at: marks[at])
    chosen_on = None if test.chosen_on is None else test.chosen_on.name
    about = {"arm": arm.name, "chosen_on": chosen_on, "setting": best + 1}
    return cell_of(test, runs[best], f"{plan.model} trained on {arm.name}", about, marks)


def _parts_of(progress: Told | None, parts: int) -> list[Told | None]:
    """A teller for each of several equal parts, which tells the whole how far it is."""
    return [None if progress is None else _part_of(progress, before, parts) for before in range(parts)]


def _part_of(progress: Told, before: int, whole: int) -> Told:
    return lambda done, total: progress(FINE * before + FINE * done // max(1, total), FINE * whole)


def _file_name(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name.replace(ARROW, " then "))


def _told(
    arms: Sequence[TrainingArm], tests: Sequence[TransferTarget], cards: dict[str, str], plan: TransferPlan
) -> dict[str, Any]:
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
