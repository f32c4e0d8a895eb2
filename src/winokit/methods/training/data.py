"""Training, dev and test sets, without overlap, as the variant that an arm asks for.

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
    """The variant to train on and the variant to test on.

    Each is the original or a variant such as `part-sent` or `part-sent?style=code`.
    """

    trained_on: str = ORIGINAL
    tested_on: str = ORIGINAL

    @classmethod
    def of(cls, variant: str | None, train_on: str = "variant") -> "VariantArm":
        """Arm that tests a variant, trained on it or on the original.

        Without a variant both are the original.
        """
        if variant is None:
            return cls()
        parse_variant(variant)
        return cls(ORIGINAL if train_on == ORIGINAL else variant, variant)


@dataclass(frozen=True)
class TrainingData:
    """A training set, a dev set to choose weights on, and test sets.

    They are as loaded; `in_arm` makes the variants of the arm.
    """

    train: Dataset
    dev: Dataset | None = None
    tests: tuple[Dataset, ...] = ()
    arm: VariantArm = field(default_factory=VariantArm)

    dropped: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """By what was dropped from what ("train for wsc273"), how many problems by kind of overlap."""

    def checked(self, *, drop_overlap: bool = False) -> "TrainingData":
        """Return the same data after a check for overlap and missing answers.

        With `drop_overlap` problems of the training set that overlap a dev or test set are left out, and problems of
        the dev set that overlap a test set; `dropped` and the notes say how many. Without it they are refused.
        """
        _check_not_empty(self.train, "train on", answered=True)
        if self.dev is not None:
            _check_not_empty(self.dev, "choose on", answered=True)
        for test in self.tests:
            _check_not_empty(test, "test on")
        train = self.train
        dev = self.dev
        counts = {}
        for test in self.tests:
            if dev is not None:
                dev, counts[f"dev for {test.card.name}"] = apart(dev, test, "choose on", drop_overlap)
        held_out_sets = list(self.tests) if dev is None else [dev, *self.tests]
        for held_out in held_out_sets:
            train, counts[f"train for {held_out.card.name}"] = apart(train, held_out, "train on", drop_overlap)
        dropped = dict(self.dropped)
        for name, kinds in counts.items():
            if kinds:
                dropped[name] = kinds
        return replace(self, train=train, dev=dev, dropped=dropped)

    @property
    def sets(self) -> list[Dataset]:
        """All its sets."""
        if self.dev is None:
            return [self.train, *self.tests]
        return [self.train, self.dev, *self.tests]

    @property
    def notes(self) -> list[str]:
        """Notes of all sets, each once."""
        notes: list[str] = []
        for dataset in self.sets:
            notes += dataset.notes
        return list(dict.fromkeys(notes))

    def in_arm(self) -> "TrainingData":
        """The variants that the arm trains and tests on."""
        train = make_variant(self.train, self.arm.trained_on)
        dev = None if self.dev is None else make_variant(self.dev, self.arm.trained_on)
        tests = tuple(make_variant(test, self.arm.tested_on) for test in self.tests)
        return replace(self, train=train, dev=dev, tests=tests)

    def identity(self) -> dict[str, Any]:
        """Settings that determine the weights, as a flat dict.

        Test sets are left out. It is flat so that a difference can be named.
        """
        return {
            "train": self.train.card.name,
            "train_content": self.train.content_hash,
            "dev": None if self.dev is None else self.dev.card.name,
            "dev_content": None if self.dev is None else self.dev.content_hash,
            "trained_on": self.arm.trained_on,
            "tested_on": self.arm.tested_on,
        }


def make_variant(dataset: Dataset, variant: str) -> Dataset:
    """Return the problems of a dataset that have this variant, with their original ids.

    Notes count the other problems by reason.

    Special-word problems come in pairs. Their candidates stand in alphabetical order, so that the place says nothing.
    """
    if variant == ORIGINAL:
        return dataset
    name, options = parse_variant(variant)
    if name == SPECIAL_WORD:
        style = options.get("style", "default")
        problems: list[Problem] = []
        for pair in special_word_pairs(dataset, style=style):
            problems += map(_with_sorted_candidates, pair)
        left_out_count = len(dataset) - len(problems)
        left_out = Counter({"no twin that differs in one place": left_out_count})
    else:
        rewrite = one_by_one(partial(STYLED[name], **options))
        rewritten = rewrite(dataset)
        problems = list(rewritten.problems)
        left_out = Counter(rewritten.refused.values())
    commonest = [f"{reason}: {count:,}" for reason, count in left_out.most_common(3)]
    reasons = "; ".join(commonest) or "nothing left out"
    if not problems:
        raise BadInput(f"{dataset.card.name}: no problem has the variant {variant} ({reasons})")
    notes = []
    if left_out.total():
        notes.append(f"{dataset.card.name}: {len(problems):,} of {len(dataset):,} problems as {variant} ({reasons})")
    return dataset.with_problems(problems, notes)


def _with_sorted_candidates(problem: Problem) -> Problem:
    """The problem with its candidates in alphabetical order."""
    order = sorted(range(len(problem.candidates)), key=problem.candidates.__getitem__)
    return problem.with_order(order)


def parse_variant(variant: str) -> tuple[str, dict[str, str]]:
    name, _, query = variant.partition("?")
    options = dict(parse_qsl(query))
    check_known("variant to train or test on", name, VARIANTS)
    for option in options:
        check_known(f"option of variant {name!r}", option, ("style",))
    return name, options


def hold_out(dataset: Dataset, count: int, seed: int = 0) -> tuple[Dataset, Dataset]:
    """Return the dataset without about `count` problems, and these, drawn by `seed`.

    Problems that overlap stay together, so that neither part gives away problems of the other. Problems that overlap
    and are too many to be held out stay in the first part.
    """
    if not 0 < count < len(dataset):
        raise BadInput(f"{dataset.card.name}: has {len(dataset):,} problems, of which {count:,} cannot be held out")
    units = _find_units(dataset)
    sizes = Counter(units)
    names = list(sizes)
    held_units: set[int] = set()
    held_count = 0
    most = count + max(1, count // MORE)
    for index in np.random.default_rng([seed, count]).permutation(len(names)):
        if held_count >= count:
            break
        size = sizes[names[index]]
        if held_count + size <= most:
            held_units.add(names[index])
            held_count += size
    kept_problems: list[Problem] = []
    held_problems: list[Problem] = []
    for problem, unit in zip(dataset, units, strict=True):
        part = held_problems if unit in held_units else kept_problems
        part.append(problem)
    rest = dataset.with_problems(kept_problems)
    _check_not_empty(rest, "train on once problems are held out")
    if not held_problems:
        raise BadInput(f"{dataset.card.name}: {count:,} cannot be held out: its problems overlap, in larger clusters")
    held_out_card = replace(dataset.card, name=f"{dataset.card.name}, held out")
    return rest, Dataset(held_problems, held_out_card)


def _find_units(dataset: Dataset) -> list[int]:
    """Unit of each problem, as a number: problems of one group or sentence, and overlapping ones."""
    links: list[list[tuple[str, Hashable]]] = []
    for problem in dataset:
        text = letters(problem.sentence)
        links.append([("text", text), ("group", problem.group)])
    for number, match in enumerate(find_matches([dataset], within=True)):
        for _, row in (match.first, match.second):
            links[row].append(("match", number))
    return joined(links)


def apart(given: Dataset, held: Dataset, use: str, drop_overlap: bool) -> tuple[Dataset, Mapping[str, int]]:
    """Return a set without what overlaps a held-out set, and counts of what was left out.

    The counts are by kind of overlap. `use` says what the set is for, in errors.

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
        if count < len(given):
            way_out = f"--drop-overlap leaves {count:,} out of it"
        else:
            way_out = "all of it overlaps"
        raise BadInput(
            f"{given.card.name}, to {use}, overlaps {held.card.name}: {shared.said} of its {len(held):,} problems (the "
            f"first: {first[:60]!r}); {way_out}"
        )
    note = f"{given.card.name}: left out for {held.card.name}: {said(shared.dropped)}"
    problems = [problem for row, problem in enumerate(given) if row not in shared.given]
    rest = given.with_problems(problems, [note])
    _check_not_empty(rest, f"{use} once those of {held.card.name} are left out")
    return rest, shared.dropped


def _check_not_empty(dataset: Dataset, use: str, *, answered: bool = False) -> None:
    """Refuse a set without problems and, where it must be `answered`, one with hidden answers."""
    if not len(dataset):
        raise BadInput(f"{dataset.card.name}: no problem to {use}")
    hidden = sum(problem.answer is None for problem in dataset)
    if answered and hidden:
        raise BadInput(f"{dataset.card.name}: {hidden:,} of {len(dataset):,} problems have no answer to {use}")
