"""What is trained on, chosen on and tested on, kept apart.

Two problems are the same where the words around the blank are, whatever is asked about it: that finds the 195 problems
of WSC273 that are in SuperGLUE-WSC's training set, and nothing between the public splits of one dataset.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from winokit.errors import BadInput
from winokit.problem import Dataset, Problem
from winokit.training.arms import Arm, make_variant
from winokit.words import WORD

Key: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]


@dataclass(frozen=True)
class Data:
    """A training set, a dev set to choose weights on, and test sets; all as the arm wants them."""

    train: Dataset
    dev: Dataset | None = None
    tests: tuple[Dataset, ...] = ()
    arm: Arm = field(default_factory=Arm)

    def checked(self, *, drop_overlap: bool = False) -> Data:
        """The same data, after a look for what nobody could learn from or be fairly tested on.

        With `drop_overlap` training problems that are also in a dev or test set are left out, and noted.
        """
        _some(self.train, "train on")
        _answered(self.train, "train on")
        if self.dev is not None:
            _some(self.dev, "choose on")
            _answered(self.dev, "choose on")
        for test in self.tests:
            _some(test, "test on")
            if self.dev is not None:
                _apart(self.dev, "dev set", test, "weights must not be chosen on the set they are tested on")
        found = self
        for held in [*([self.dev] if self.dev is not None else []), *self.tests]:
            if drop_overlap:
                found = replace(found, train=_without(found.train, held))
            else:
                _apart(held, "dev or test set", self.train, "leave them out of the training set with --drop-overlap")
        return found

    @property
    def notes(self) -> list[str]:
        """What was noted of any of its sets."""
        sets = [self.train, *([] if self.dev is None else [self.dev]), *self.tests]
        return list(dict.fromkeys(note for one in sets for note in one.notes))

    def in_arm(self) -> Data:
        """The variants that the arm trains and tests on."""
        trained, tested = self.arm.trained_on, self.arm.tested_on
        return replace(
            self,
            train=make_variant(self.train, trained),
            dev=None if self.dev is None else make_variant(self.dev, trained),
            tests=tuple(make_variant(test, tested) for test in self.tests),
        )


def hold_out(dataset: Dataset, count: int, seed: int = 0) -> tuple[Dataset, Dataset]:
    """The dataset without about `count` problems, and these, drawn by `seed`; twins stay together."""
    if not 0 < count < len(dataset):
        raise BadInput(f"{dataset.card.name}: has {len(dataset):,} problems, of which {count:,} cannot be held out")
    units = _units(dataset)
    sizes = Counter(units)
    names = list(sizes)
    held: set[int] = set()
    taken = 0
    for index in np.random.default_rng([seed, count]).permutation(len(names)):
        if taken >= count:
            break
        held.add(names[index])
        taken += sizes[names[index]]
    kept = dataset.with_problems(problem for problem, unit in zip(dataset, units, strict=True) if unit not in held)
    out = [problem for problem, unit in zip(dataset, units, strict=True) if unit in held]
    _some(kept, "train on once problems are held out")
    return kept, Dataset(out, replace(dataset.card, name=f"{dataset.card.name}, held out"))


def _units(dataset: Dataset) -> list[int]:
    """Of each problem what it must not be torn from, as a number: its group, and whatever has the same sentence."""
    first: dict[object, int] = {}
    unit = list(range(len(dataset)))

    def root(index: int) -> int:
        while unit[index] != index:
            index = unit[index]
        return index

    for index, problem in enumerate(dataset):
        words = tuple(WORD.findall(problem.sentence.casefold()))
        for shared in (words, problem.group):
            if shared is not None:
                unit[root(index)] = root(first.setdefault(shared, index))
    return [root(index) for index in range(len(dataset))]


def key(problem: Problem) -> Key:
    """The words before and after the blank, whatever their case and punctuation."""
    before, after = (tuple(WORD.findall(part.casefold())) for part in (problem.before, problem.after))
    return before, after


def _keys(problems: Iterable[Problem]) -> set[Key]:
    return {key(problem) for problem in problems}


def _some(dataset: Dataset, what: str) -> None:
    if not len(dataset):
        raise BadInput(f"{dataset.card.name}: no problem to {what}")


def _answered(dataset: Dataset, what: str) -> None:
    hidden = sum(problem.answer is None for problem in dataset)
    if hidden:
        raise BadInput(f"{dataset.card.name}: {hidden:,} of {len(dataset):,} problems have no answer to {what}")


def _apart(one: Dataset, called: str, other: Dataset, advice: str) -> None:
    known = _keys(other)
    both = [problem for problem in one if key(problem) in known]
    if both:
        all_of_it = "all" if len(both) == len(one) else f"{len(both):,}"
        raise BadInput(
            f"{all_of_it} of the {len(one):,} problems of {one.card.name}, a {called}, are in {other.card.name} too "
            f"(the first: {both[0].text[:60]!r}): {advice}"
        )


def _without(train: Dataset, held: Sequence[Problem]) -> Dataset:
    known = _keys(held)
    kept = train.filter(lambda problem: key(problem) not in known)
    gone = len(train) - len(kept)
    if not gone:
        return train
    name = held.card.name if isinstance(held, Dataset) else "a held-out set"
    _some(kept, f"train on once those of {name} are left out")
    return kept.with_problems(kept, [f"{train.card.name}: {gone:,} problems left out that are in {name} too"])
