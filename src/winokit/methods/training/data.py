"""What is trained on, chosen on and tested on: kept apart (`overlap`), and in the variant that an arm wants.

A variant has two arms. Trained on whole problems and tested on what is left of them, it tells
what the *test* gives away (Elazar et al., 2021, Tables 1 and 6). Trained and tested on what is
left, it tells what could be *learned* from it (Sakaguchi et al., 2019, local context). The dev set follows the
training set, since it chooses the weights.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from urllib.parse import parse_qsl

import numpy as np

from winokit.errors import BadInput, check_known
from winokit.methods.overlap import find_matches, overlap, said
from winokit.methods.transforms.local_context import local_context
from winokit.methods.transforms.no_cands import no_cands
from winokit.methods.transforms.part_sent import part_sent
from winokit.methods.transforms.special_word import special_word_pairs
from winokit.methods.transforms.variants import one_by_one
from winokit.problem import ORIGINAL, Dataset, Problem, joined
from winokit.text.words import letters

STYLED: dict[str, Callable[..., Problem | str]] = {
    "no-cands": no_cands,
    "part-sent": part_sent,
    "local-context": local_context,
}
SPECIAL_WORD = "special-word"
VARIANTS = (*STYLED, SPECIAL_WORD)
MORE = 10
"""The part of a holdout by which it may be larger than asked for, so that what hangs together stays together."""


@dataclass(frozen=True)
class VariantArm:
    """A variant (`part-sent`, `part-sent?style=code`), or the original, to train on and one to test on."""

    trained_on: str = ORIGINAL
    tested_on: str = ORIGINAL

    @classmethod
    def of(cls, variant: str | None, train_on: str = "variant") -> "VariantArm":
        """The arm that tests a variant, trained on it or on the original; without a variant there is no other."""
        if variant is None:
            return cls()
        _parsed(variant)
        return cls(ORIGINAL if train_on == ORIGINAL else variant, variant)


@dataclass(frozen=True)
class TrainingData:
    """A training set, a dev set to choose weights on, and test sets, as loaded; `in_arm` makes the arm's variants."""

    train: Dataset
    dev: Dataset | None = None
    tests: tuple[Dataset, ...] = ()
    arm: VariantArm = field(default_factory=VariantArm)

    dropped: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """By what was dropped from what ("train for wsc273"), how many problems by kind of overlap."""

    def checked(self, *, drop_overlap: bool = False) -> "TrainingData":
        """The same data, after a look for what nobody could learn from or be fairly tested on.

        With `drop_overlap` problems of the training set that overlap a dev or test set are left out, and problems of
        the dev set that overlap a test set; `dropped` and the notes say how many. Without it they are refused.
        """
        _check_some(self.train, "train on", answered=True)
        if self.dev is not None:
            _check_some(self.dev, "choose on", answered=True)
        for test in self.tests:
            _check_some(test, "test on")
        train = self.train
        dev = self.dev
        counts = {}
        for test in self.tests:
            if dev is not None:
                dev, counts[f"dev for {test.card.name}"] = apart(dev, test, "choose on", drop_overlap)
        for held in (*([] if dev is None else [dev]), *self.tests):
            train, counts[f"train for {held.card.name}"] = apart(train, held, "train on", drop_overlap)
        dropped = {**self.dropped, **{name: kinds for name, kinds in counts.items() if kinds}}
        return replace(self, train=train, dev=dev, dropped=dropped)

    @property
    def sets(self) -> list[Dataset]:
        """All its sets."""
        return [self.train, *([] if self.dev is None else [self.dev]), *self.tests]

    @property
    def notes(self) -> list[str]:
        """What was noted of any of its sets."""
        return list(dict.fromkeys(note for dataset in self.sets for note in dataset.notes))

    def in_arm(self) -> "TrainingData":
        """The variants that the arm trains and tests on."""
        trained = self.arm.trained_on
        tested = self.arm.tested_on
        return replace(
            self,
            train=make_variant(self.train, trained),
            dev=None if self.dev is None else make_variant(self.dev, trained),
            tests=tuple(make_variant(test, tested) for test in self.tests),
        )

    def identity(self) -> dict[str, Any]:
        """What decides the weights, test sets aside, flat, so that a difference has a name."""
        return {
            "train": self.train.card.name,
            "train_content": self.train.content_hash,
            "dev": None if self.dev is None else self.dev.card.name,
            "dev_content": None if self.dev is None else self.dev.content_hash,
            "trained_on": self.arm.trained_on,
            "tested_on": self.arm.tested_on,
        }


def make_variant(dataset: Dataset, variant: str) -> Dataset:
    """The problems of a dataset that have this variant, each with its original's id; notes count the others by reason.

    Special-word problems come in pairs. Their candidates stand in alphabetical order, so that the place says nothing.
    """
    if variant == ORIGINAL:
        return dataset
    name, options = _parsed(variant)
    if name == SPECIAL_WORD:
        pairs = special_word_pairs(dataset, style=options.get("style", "default"))
        problems = [
            problem.with_order(sorted(range(len(problem.candidates)), key=problem.candidates.__getitem__))
            for pair in pairs
            for problem in pair
        ]
        left_out = Counter({"no twin that differs in one place": len(dataset) - len(problems)})
    else:
        rewritten = one_by_one(partial(STYLED[name], **options))(dataset)
        problems = list(rewritten.problems)
        left_out = Counter(rewritten.refused.values())
    reasons = "; ".join(f"{why}: {count:,}" for why, count in left_out.most_common(3)) or "nothing left out"
    if not problems:
        raise BadInput(f"{dataset.card.name}: no problem has the variant {variant} ({reasons})")
    note = f"{dataset.card.name}: {len(problems):,} of {len(dataset):,} problems as {variant} ({reasons})"
    return dataset.with_problems(problems, [note] if left_out.total() else [])


def _parsed(variant: str) -> tuple[str, dict[str, str]]:
    name, _, query = variant.partition("?")
    options = dict(parse_qsl(query))
    check_known("variant to train or test on", name, VARIANTS)
    for option in options:
        check_known(f"option of variant {name!r}", option, ("style",))
    return name, options


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
    _check_some(kept, "train on once problems are held out")
    if not out:
        raise BadInput(f"{dataset.card.name}: {count:,} cannot be held out: its problems overlap, in larger clusters")
    return kept, Dataset(out, replace(dataset.card, name=f"{dataset.card.name}, held out"))


def _units(dataset: Dataset) -> list[int]:
    """Of each problem what it must not be torn from, as a number: its group, its sentence, and whatever overlaps it."""
    links: list[list[tuple[str, Hashable]]] = [
        [("text", letters(problem.sentence)), ("group", problem.group)] for problem in dataset
    ]
    for number, match in enumerate(find_matches([dataset], within=True)):
        for _, row in (match.first, match.second):
            links[row].append(("match", number))
    return joined(links)


def apart(given: Dataset, held: Dataset, use: str, drop_overlap: bool) -> tuple[Dataset, Mapping[str, int]]:
    """A set to train or choose on without what overlaps a held-out set, and how many that were, by kind.

    Raises
    ------
    BadInput
        Where something overlaps and is not to be dropped, or nothing is left.
    """
    shared = overlap(given, held)
    if not shared.given:
        return given, {}
    if not drop_overlap:
        first = held[min(shared.held)].text
        count = len(shared.given)
        way_out = f"--drop-overlap leaves {count:,} out of it" if count < len(given) else "all of it overlaps"
        raise BadInput(
            f"{given.card.name}, to {use}, overlaps {held.card.name}: {shared.said} of its {len(held):,} problems (the "
            f"first: {first[:60]!r}); {way_out}"
        )
    kept = given.with_problems(
        (problem for row, problem in enumerate(given) if row not in shared.given),
        [f"{given.card.name}: left out for {held.card.name}: {said(shared.dropped)}"],
    )
    _check_some(kept, f"{use} once those of {held.card.name} are left out")
    return kept, shared.dropped


def _check_some(dataset: Dataset, use: str, *, answered: bool = False) -> None:
    """Refuse a set without problems and, where it must be `answered`, one with hidden answers."""
    if not len(dataset):
        raise BadInput(f"{dataset.card.name}: no problem to {use}")
    hidden = sum(problem.answer is None for problem in dataset)
    if answered and hidden:
        raise BadInput(f"{dataset.card.name}: {hidden:,} of {len(dataset):,} problems have no answer to {use}")
