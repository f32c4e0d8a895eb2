"""Choice of sets in a transfer: the papers' rules and their limits.

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
"""The papers' rules: a pattern for the name of a test set, one for the set to choose on, and words for that set."""


@dataclass(frozen=True)
class NamedData:
    """A dataset with the name it has in tables."""

    name: str
    data: Dataset

    def called(self) -> Self:
        """Return a copy whose dataset has the name of the tables.

        So no two datasets have the same name.
        """
        card = replace(self.data.card, name=self.name)
        return replace(self, data=Dataset(self.data, card, self.data.notes))


@dataclass(frozen=True)
class TransferTarget(NamedData):
    """A test set, and the set on which settings are chosen."""

    chosen_on: NamedData | None = None
    """None if nothing is chosen."""
    dropped: Mapping[str, int] = field(default_factory=dict)
    """How many problems were left out of the set to choose on, by kind of overlap with the test set."""


@dataclass(frozen=True)
class TrainingArm:
    """A row of the tables: the datasets trained on in turn."""

    name: str
    stages: tuple[Dataset, ...]
    dropped: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Counts of problems left out of a stage for a held-out set, by "STAGE for SET" and kind of overlap."""

    def without(self, held_out: Sequence[Dataset]) -> "TrainingArm":
        """Return the arm without training problems that overlap held-out sets.

        It counts them in `dropped`. If a set overlaps half of a stage or more, the stage keeps these problems: the arm
        was meant to train on them, and is not tested on the set.
        """
        stages = []
        dropped = dict(self.dropped)
        for stage in self.stages:
            remaining = stage
            for dataset in held_out:
                overlap_count = len(overlap(stage, dataset).given)
                if overlap_count >= len(stage) / 2:
                    continue
                remaining, counts = apart(remaining, dataset, "train on", True)
                if counts:
                    dropped[f"{stage.card.name} for {dataset.card.name}"] = counts
            stages.append(remaining)
        return replace(self, stages=tuple(stages), dropped=dropped)


@dataclass(frozen=True)
class TransferPlan:
    """Settings that all arms share: model, grid, device and saving."""

    model: str = "builtin"
    grid: tuple[TrainSettings, ...] = (TrainSettings(keep="last"),)
    """The settings that each arm is trained with, from which one is chosen."""
    device: str | None = None
    save: bool = False

    @property
    def chooses_weights(self) -> bool:
        """Whether each run keeps its best weights instead of the last."""
        return self.grid[0].keep == "best"


def with_choices(
    tests: Sequence[NamedData],
    *,
    choice_of: Mapping[str, NamedData],
    pool: Sequence[NamedData] = (),
    by_rule: bool = False,
    drop_overlap: bool = False,
) -> tuple[TransferTarget, ...]:
    """Pair each test set with the set to choose settings on.

    Raises BadInput if the two overlap and `drop_overlap` is not set, if the set to choose on lacks answers, or if it is
    unclear which set to choose on.

    Parameters
    ----------
    choice_of
        The set to choose on for some test sets, by the name of the test set.
    pool
        Sets to choose on for all other test sets: at most one, or with `by_rule` several.
    by_rule
        Whether the papers' rules pick the set to choose on, among the pool and the test sets.
    drop_overlap
        Leave problems that overlap a test set out of the set to choose on for it, whose name then says so.
    """
    test_names = [test.name for test in tests]
    for name in choice_of:
        if name not in test_names:
            raise BadInput(f"--choose {name}=…: no test set of that name; known: {', '.join(test_names)}")
    if len(pool) > 1 and not by_rule:
        names = ", ".join(choice.name for choice in pool)
        raise BadInput(
            f"several sets to choose on ({names}): say which test set each is for, TEST=DATA, or add --choose papers"
        )
    targets = []
    for test in tests:
        chosen_on = choice_of.get(test.name)
        if chosen_on is None and by_rule:
            chosen_on = _choose_by_rule(test, [*pool, *tests])
        elif chosen_on is None and pool:
            chosen_on = pool[0]
        targets.append(_make_target(test, chosen_on, drop_overlap))
    return tuple(targets)


def _make_target(test: NamedData, chosen_on: NamedData | None, drop_overlap: bool) -> TransferTarget:
    """Pair a test set with the set to choose on.

    Problems to choose on that overlap the test set are left out. Raises BadInput if a problem to choose on has no
    answer, or if something overlaps and `drop_overlap` is not set.
    """
    if chosen_on is None:
        return TransferTarget(test.name, test.data)
    hidden = sum(problem.answer is None for problem in chosen_on.data)
    problem_count = len(chosen_on.data)
    if hidden:
        raise BadInput(f"{chosen_on.name}: {hidden:,} of {problem_count:,} problems have no answer to choose on")
    remaining, dropped = apart(chosen_on.data, test.data, "choose on", drop_overlap)
    if dropped:
        chosen_on = NamedData(f"{chosen_on.name} without {test.name}", remaining)
    return TransferTarget(test.name, test.data, chosen_on, dropped)


def _choose_by_rule(test: NamedData, candidates: Sequence[NamedData]) -> NamedData:
    """Return the set that the papers choose on for a test set.

    It is the first of the candidates that fits the rule. Raises BadInput if the papers have no rule for the test set,
    or if no candidate is the set of the rule.
    """
    card_name = test.data.card.name.casefold()
    for test_pattern, choice_pattern, words in RULES:
        if not re.fullmatch(test_pattern, card_name):
            continue
        for choice in candidates:
            if re.fullmatch(choice_pattern, choice.data.card.name.casefold()):
                return choice
        raise BadInput(f"{test.name}: the papers choose on {words}: give it with --choose DATA, or {test.name}=DATA")
    raise BadInput(f"{test.name}: the papers have no rule for {test.data.card.name}; say --choose {test.name}=DATA")


def check_plan(arms: Sequence[TrainingArm], tests: Sequence[TransferTarget], plan: TransferPlan) -> None:
    """Raise BadInput for a plan that cannot be carried out.

    Names must be unique, training sets valid, and there must be a set to choose on if there is a choice.
    """
    _check_names("arms", [arm.name for arm in arms])
    _check_names("test sets", [test.name for test in tests])
    for stage in chain.from_iterable(arm.stages for arm in arms):
        TrainingData(stage).checked()
    setting_count = len(plan.grid)
    has_choice = setting_count > 1 or plan.chooses_weights
    names_without_choice = [test.name for test in tests if test.chosen_on is None]
    if has_choice and names_without_choice:
        options = f"{setting_count} settings" if setting_count > 1 else "weights"
        names = ", ".join(names_without_choice)
        raise BadInput(f"{options} to choose from and nothing to choose on for {names}: --choose DATA")


def _check_names(kind: str, names: Sequence[str]) -> None:
    """Raise BadInput if there are no names, or if one repeats.

    `kind` is what they name, in the plural.
    """
    repeated_names = {name for name in names if names.count(name) > 1}
    if repeated_names:
        raise BadInput(f"two {kind} named {', '.join(sorted(repeated_names))}: NAME=DATA tells them apart")
    if not names:
        raise BadInput(f"no {kind}: --train DATA and --test DATA, one or more of each")


def held_sets(tests: Sequence[TransferTarget]) -> list[NamedData]:
    """List all test sets and sets to choose on, each once.

    Nothing may be trained on these. Raises BadInput if two different sets have one name.
    """
    sets_by_name: dict[str, NamedData] = {}
    for test in tests:
        sets = [test] if test.chosen_on is None else [test, test.chosen_on]
        for held_set in sets:
            first = sets_by_name.setdefault(held_set.name, held_set)
            if first.data.content_hash != held_set.data.content_hash:
                raise BadInput(f"two sets named {held_set.name}: NAME=DATA tells them apart")
    return list(sets_by_name.values())


def arms_without_overlap(arms: Sequence[TrainingArm], tests: Sequence[TransferTarget]) -> list[TrainingArm]:
    """Return arms without training problems that overlap sets of the tests.

    These are the test sets and the sets to choose on.
    """
    held_out = [held_set.data for held_set in held_sets(tests)]
    return [arm.without(held_out) for arm in arms]


def reasons_for_empty_cells(arms: Sequence[TrainingArm], tests: Sequence[TransferTarget]) -> dict[tuple[str, str], str]:
    """Reasons why arms are not tested, by arm and test set.

    Pairs that are tested are absent.
    """
    reasons = {}
    for arm in arms:
        for test in tests:
            reason = why_not(arm, test)
            if reason is not None:
                reasons[arm.name, test.name] = reason
    return reasons


def refuse_overlap(reasons: Mapping[tuple[str, str], str]) -> None:
    """Raise BadInput with the first reason, if there is any.

    `reasons` says why arms are not tested, by the names of arm and test set.
    """
    for (arm, test), reason in reasons.items():
        raise BadInput(f"{arm} on {test}: {reason} (--drop-overlap leaves them out, or the cell empty)")


def why_not(arm: TrainingArm, test: TransferTarget) -> str | None:
    """Reason why an arm is not tested on a test set.

    It trained on problems of that, or of the set to choose on. None if it is tested.
    """
    training_problems = Dataset(list(chain.from_iterable(arm.stages)))
    for held_set in held_sets([test]):
        shared = overlap(training_problems, held_set.data)
        if not shared.held:
            continue
        counts = f"{len(shared.held):,} of its {len(held_set.data):,} problems"
        reason = f"trained on what overlaps {counts}: {shared.said}"
        if held_set is test:
            return reason
        return f"would be chosen on {held_set.name}, and was {reason}"
    return None
