"""Choice of sets in a transfer: the papers' rules, and what they forbid.

Sakaguchi et al. (2019) choose hyper-parameters for WSC on PDP and the other way round, for DPR and COPA on their
training sets, and for Winogender, which has a test set alone, on WinoGrande's dev set. Never on the evaluated set, nor
on one that overlaps it (`methods.overlap`): SuperGLUE-WSC's training set has 215 of WSC273's problems. With nothing to
choose on, nothing is chosen: one setting, its last weights.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Self

from winokit.errors import BadInput
from winokit.files import our_toml
from winokit.methods.overlap import overlap
from winokit.methods.training.data import TrainingData, apart
from winokit.methods.training.settings import TrainSettings
from winokit.problem import Dataset

RULES = our_toml("assets/transfer.toml")["rules"]
"""A test set's name, the name of what is chosen on for it, and what that is."""


@dataclass(frozen=True)
class NamedData:
    """A dataset under the name it has in tables."""

    name: str
    data: Dataset

    def called(self) -> Self:
        """The same, with the dataset named as its column is.

        So no two datasets have one name.
        """
        return replace(self, data=Dataset(self.data, replace(self.data.card, name=self.name), self.data.notes))


@dataclass(frozen=True)
class TransferTarget(NamedData):
    """A test set, with the set that is chosen on for it."""

    chosen_on: NamedData | None = None
    dropped: Mapping[str, int] = field(default_factory=dict)
    """How many problems were left out of what is chosen on, by kind of overlap with the test set."""


@dataclass(frozen=True)
class TrainingArm:
    """A row of the tables: what is trained on, one set after the other."""

    name: str
    stages: tuple[Dataset, ...]
    dropped: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """As of `TrainingData`: by what was dropped for what, how many problems by kind of overlap."""

    def without(self, held: Sequence[Dataset]) -> "TrainingArm":
        """The same without problems that overlap held-out sets.

        A set that overlaps half of a stage or more is let be: the arm was meant to train on it, and is not tested
        on it.
        """
        stages = []
        dropped = dict(self.dropped)
        for stage in self.stages:
            remaining = stage
            for dataset in held:
                if len(overlap(stage, dataset).given) < len(stage) / 2:
                    remaining, counts = apart(remaining, dataset, "train on", True)
                    if counts:
                        dropped[f"{stage.card.name} for {dataset.card.name}"] = counts
            stages.append(remaining)
        return replace(self, stages=tuple(stages), dropped=dropped)


@dataclass(frozen=True)
class TransferPlan:
    """Settings of all arms: model, grid to choose from, and what is saved."""

    model: str = "builtin"
    grid: tuple[TrainSettings, ...] = (TrainSettings(keep="last"),)
    device: str | None = None
    save: bool = False

    @property
    def chooses_weights(self) -> bool:
        """Whether the weights of a run are chosen too."""
        return self.grid[0].keep == "best"


def with_choices(
    tests: Sequence[NamedData],
    *,
    own: Mapping[str, NamedData],
    pool: Sequence[NamedData] = (),
    by_rule: bool = False,
    drop_overlap: bool = False,
) -> tuple[TransferTarget, ...]:
    """Pair each test set with the set that is chosen on for it.

    Raises BadInput if that would be choosing on the test set.

    Parameters
    ----------
    own
        By a test set's name, what was given for it.
    pool
        What may be chosen on for any: one set, or by the papers' rules several, test sets among them.
    drop_overlap
        Leave what overlaps a test set out of what is chosen on for it, under a name that says so.
    """
    for name in own:
        if name not in {test.name for test in tests}:
            raise BadInput(f"--choose {name}=…: no test set of that name; known: {', '.join(t.name for t in tests)}")
    if len(pool) > 1 and not by_rule:
        names = ", ".join(choice.name for choice in pool)
        raise BadInput(
            f"several sets to choose on ({names}): say which test set each is for, TEST=DATA, or add --choose papers"
        )
    targets = []
    for test in tests:
        chosen_on = own.get(test.name) or (
            _choose_by_rule(test, [*pool, *tests]) if by_rule else next(iter(pool), None)
        )
        dropped: Mapping[str, int] = {}
        if chosen_on is not None:
            hidden = sum(problem.answer is None for problem in chosen_on.data)
            problem_count = len(chosen_on.data)
            if hidden:
                raise BadInput(
                    f"{chosen_on.name}: {hidden:,} of {problem_count:,} problems have no answer to choose on"
                )
            remaining, dropped = apart(chosen_on.data, test.data, "choose on", drop_overlap)
            if dropped:
                chosen_on = NamedData(f"{chosen_on.name} without {test.name}", remaining)
        targets.append(TransferTarget(test.name, test.data, chosen_on, dropped))
    return tuple(targets)


def _choose_by_rule(test: NamedData, known: Sequence[NamedData]) -> NamedData:
    card = test.data.card.name.casefold()
    for pattern, wanted, what in RULES:
        if re.fullmatch(pattern, card):
            for choice in known:
                if re.fullmatch(wanted, choice.data.card.name.casefold()):
                    return choice
            raise BadInput(f"{test.name}: the papers choose on {what}: give it with --choose DATA, or {test.name}=DATA")
    raise BadInput(f"{test.name}: the papers have no rule for {test.data.card.name}; say --choose {test.name}=DATA")


def check_plan(arms: Sequence[TrainingArm], tests: Sequence[TransferTarget], plan: TransferPlan) -> None:
    """Refuse what cannot be trained, chosen or told apart."""
    for what, names in (("arms", [arm.name for arm in arms]), ("test sets", [test.name for test in tests])):
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise BadInput(f"two {what} named {', '.join(sorted(twice))}: NAME=DATA tells them apart")
        if not names:
            raise BadInput(f"no {what}: --train DATA and --test DATA, one or more of each")
    for stage in chain.from_iterable(arm.stages for arm in arms):
        TrainingData(stage).checked()
    idle = [test.name for test in tests if test.chosen_on is None]
    if idle and (len(plan.grid) > 1 or plan.chooses_weights):
        what = f"{len(plan.grid)} settings" if len(plan.grid) > 1 else "weights"
        raise BadInput(f"{what} to choose from and nothing to choose on for {', '.join(idle)}: --choose DATA")


def held_sets(tests: Sequence[TransferTarget]) -> list[NamedData]:
    """Test sets and sets to choose on, each once.

    Raises BadInput if two have one name.
    """
    held: dict[str, NamedData] = {}
    for test in tests:
        sets = [test] if test.chosen_on is None else [test, test.chosen_on]
        for named in sets:
            first = held.setdefault(named.name, named)
            if first.data.content_hash != named.data.content_hash:
                raise BadInput(f"two sets named {named.name}: NAME=DATA tells them apart")
    return list(held.values())


def arms_without_overlap(arms: Sequence[TrainingArm], tests: Sequence[TransferTarget]) -> list[TrainingArm]:
    """Drop training problems that overlap a set to test or choose on."""
    held_out = [held_set.data for held_set in held_sets(tests)]
    return [arm.without(held_out) for arm in arms]


def reasons_for_empty_cells(arms: Sequence[TrainingArm], tests: Sequence[TransferTarget]) -> dict[tuple[str, str], str]:
    """Reasons why arms are not tested on sets, by arm and test set.

    Cells that are tested are absent.
    """
    reasons = {}
    for arm in arms:
        for test in tests:
            reason = why_not(arm, test)
            if reason is not None:
                reasons[arm.name, test.name] = reason
    return reasons


def refuse_overlap(reasons: Mapping[tuple[str, str], str]) -> None:
    """Refuse the first arm that is not tested on a set."""
    for (arm, test), why in reasons.items():
        raise BadInput(f"{arm} on {test}: {why} (--drop-overlap leaves them out, or the cell empty)")


def why_not(arm: TrainingArm, test: TransferTarget) -> str | None:
    """Reason why an arm is not tested on a set, or None."""
    trained_on = Dataset(list(chain.from_iterable(arm.stages)))
    for held in held_sets([test]):
        shared = overlap(trained_on, held.data)
        if shared.held:
            trained = f"trained on what overlaps {len(shared.held):,} of its {len(held.data):,} problems: {shared.said}"
            return trained if held is test else f"would be chosen on {held.name}, and was {trained}"
    return None
