"""What is trained on, chosen on and tested on, kept apart: no problem of one gives away one of another (`overlap`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from winokit.errors import BadInput
from winokit.methods.overlap import find_matches, overlap, said
from winokit.methods.training.arms import VariantArm, make_variant
from winokit.problem import Dataset
from winokit.text.words import letters

MORE = 10
"""The part of a holdout by which it may be larger than asked for, so that what hangs together stays together."""


@dataclass(frozen=True)
class TrainingData:
    """A training set, a dev set to choose weights on, and test sets; all as the arm wants them."""

    train: Dataset
    dev: Dataset | None = None
    tests: tuple[Dataset, ...] = ()
    arm: VariantArm = field(default_factory=VariantArm)

    dropped: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """By what was dropped from what ("train for wsc273"), how many problems by kind of overlap."""

    def checked(self, *, drop_overlap: bool = False) -> TrainingData:
        """The same data, after a look for what nobody could learn from or be fairly tested on.

        With `drop_overlap` problems of the training set that overlap a dev or test set are left out, and problems of
        the dev set that overlap a test set; `dropped` and the notes say how many. Without it they are refused.
        """
        _some(self.train, "train on")
        _answered(self.train, "train on")
        if self.dev is not None:
            _some(self.dev, "choose on")
            _answered(self.dev, "choose on")
        for test in self.tests:
            _some(test, "test on")
        train, dev, counts = self.train, self.dev, {}
        for test in self.tests:
            if dev is not None:
                dev, counts[f"dev for {test.card.name}"] = apart(dev, test, "choose on", drop_overlap)
        for held in (*([] if dev is None else [dev]), *self.tests):
            train, counts[f"train for {held.card.name}"] = apart(train, held, "train on", drop_overlap)
        dropped = {**self.dropped, **{name: some for name, some in counts.items() if some}}
        return replace(self, train=train, dev=dev, dropped=dropped)

    @property
    def notes(self) -> list[str]:
        """What was noted of any of its sets."""
        sets = [self.train, *([] if self.dev is None else [self.dev]), *self.tests]
        return list(dict.fromkeys(note for one in sets for note in one.notes))

    def in_arm(self) -> TrainingData:
        """The variants that the arm trains and tests on."""
        trained, tested = self.arm.trained_on, self.arm.tested_on
        return replace(
            self,
            train=make_variant(self.train, trained),
            dev=None if self.dev is None else make_variant(self.dev, trained),
            tests=tuple(make_variant(test, tested) for test in self.tests),
        )


def hold_out(dataset: Dataset, count: int, seed: int = 0) -> tuple[Dataset, Dataset]:
    """The dataset without about `count` problems, and these, drawn by `seed`; what overlaps stays together.

    So neither part gives away problems of the other. Problems that hang together and are too many to be held out are
    kept.
    """
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
        if taken + sizes[names[index]] <= count + max(1, count // MORE):
            held.add(names[index])
            taken += sizes[names[index]]
    kept = dataset.with_problems(problem for problem, unit in zip(dataset, units, strict=True) if unit not in held)
    out = [problem for problem, unit in zip(dataset, units, strict=True) if unit in held]
    _some(kept, "train on once problems are held out")
    if not out:
        raise BadInput(f"{dataset.card.name}: {count:,} cannot be held out: its problems overlap, in larger clusters")
    return kept, Dataset(out, replace(dataset.card, name=f"{dataset.card.name}, held out"))


def _units(dataset: Dataset) -> list[int]:
    """Of each problem what it must not be torn from, as a number: its group, its sentence, and whatever overlaps it."""
    first: dict[object, int] = {}
    unit = list(range(len(dataset)))

    def root(index: int) -> int:
        while unit[index] != index:
            index = unit[index]
        return index

    for index, problem in enumerate(dataset):
        for shared in (("text", letters(problem.sentence)), ("group", problem.group)):
            if shared[1] is not None:
                unit[root(index)] = root(first.setdefault(shared, index))
    for match in find_matches([dataset], within=True):
        one, other = root(match.first[1]), root(match.second[1])
        unit[max(one, other)] = min(one, other)
    return [root(index) for index in range(len(dataset))]


def apart(given: Dataset, held: Dataset, use: str, drop_overlap: bool) -> tuple[Dataset, Mapping[str, int]]:
    """A set to train or choose on without what overlaps a held-out set, and how many that were, by kind.

    Raises
    ------
    BadInput
        Where something overlaps and is not to be dropped, or nothing is left.
    """
    found = overlap(given, held)
    if not found.given:
        return given, {}
    if not drop_overlap:
        first, count = held[min(found.held)].text, len(found.given)
        way_out = f"--drop-overlap leaves {count:,} out of it" if count < len(given) else "all of it does"
        raise BadInput(
            f"{given.card.name}, to {use}, overlaps {held.card.name}: {found.said} of its {len(held):,} problems (the "
            f"first: {first[:60]!r}); {way_out}"
        )
    kept = given.with_problems(
        (problem for row, problem in enumerate(given) if row not in found.given),
        [f"{given.card.name}: left out for {held.card.name}: {said(found.dropped)}"],
    )
    _some(kept, f"{use} once those of {held.card.name} are left out")
    return kept, found.dropped


def _some(dataset: Dataset, what: str) -> None:
    if not len(dataset):
        raise BadInput(f"{dataset.card.name}: no problem to {what}")


def _answered(dataset: Dataset, what: str) -> None:
    hidden = sum(problem.answer is None for problem in dataset)
    if hidden:
        raise BadInput(f"{dataset.card.name}: {hidden:,} of {len(dataset):,} problems have no answer to {what}")
