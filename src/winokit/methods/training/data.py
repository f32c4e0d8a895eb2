"""Training, dev and test sets without overlap, as variants of their problems.

A variant such as `part-sent` has two arms. A model trained on whole problems and tested on the variant shows what the
*test* gives away (Elazar et al., 2021, Tables 1 and 6). A model trained and tested on the variant shows what could be
*learned* from it (Sakaguchi et al., 2019, local context). The dev set has the variant of the training set, since it
chooses the weights.
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
"""A holdout may be larger than asked for by one part in this many, since overlapping problems stay together."""


@dataclass(frozen=True)
class VariantArm:
    """The variant to train on, and the variant to test on.

    Each is `original`, or a variant such as `part-sent` or `part-sent?style=code`.
    """

    trained_on: str = ORIGINAL
    tested_on: str = ORIGINAL

    @classmethod
    def of(cls, variant: str | None, train_on: str = "variant") -> "VariantArm":
        """Return the arm that tests a variant, trained on it or on the original.

        `train_on` is `variant` or `original`. Without a variant, training and test use the original.
        """
        if variant is None:
            return cls()
        parse_variant(variant)
        return cls(ORIGINAL if train_on == ORIGINAL else variant, variant)


@dataclass(frozen=True)
class TrainingData:
    """A training set, a dev set to choose weights on, and test sets.

    They have the problems as loaded. `in_arm` makes the variants of the arm.
    """

    train: Dataset
    dev: Dataset | None = None
    tests: tuple[Dataset, ...] = ()
    arm: VariantArm = field(default_factory=VariantArm)

    dropped: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Number of dropped problems by kind of overlap, for each pair of sets: `train for wsc273`."""

    def checked(self, *, drop_overlap: bool = False) -> "TrainingData":
        """Check the sets for overlap and missing answers, and return them.

        Raises BadInput if a set is empty, or if training or dev problems have no answers. Problems overlap if one gives
        the other away. With `drop_overlap`, training problems that overlap a dev or test set are left out, and dev
        problems that overlap a test set. `dropped` and the notes have their numbers. Without it BadInput is raised.
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
        """The training set, the dev set and the test sets."""
        if self.dev is None:
            return [self.train, *self.tests]
        return [self.train, self.dev, *self.tests]

    @property
    def notes(self) -> list[str]:
        """Notes of all sets, without repetitions."""
        notes: list[str] = []
        for dataset in self.sets:
            notes += dataset.notes
        return list(dict.fromkeys(notes))

    def in_arm(self) -> "TrainingData":
        """Return the sets as the variants of the arm."""
        train = make_variant(self.train, self.arm.trained_on)
        dev = None if self.dev is None else make_variant(self.dev, self.arm.trained_on)
        tests = tuple(make_variant(test, self.arm.tested_on) for test in self.tests)
        return replace(self, train=train, dev=dev, tests=tests)

    def identity(self) -> dict[str, Any]:
        """Return names and hashes of the data that determine the weights.

        Test sets are not among them. The dict is flat, so that messages can name the entry that differs.
        """
        dev_name = None
        dev_content = None
        if self.dev is not None:
            dev_name = self.dev.card.name
            dev_content = self.dev.content_hash
        return {
            "train": self.train.card.name,
            "train_content": self.train.content_hash,
            "dev": dev_name,
            "dev_content": dev_content,
            "trained_on": self.arm.trained_on,
            "tested_on": self.arm.tested_on,
        }


def make_variant(dataset: Dataset, variant: str) -> Dataset:
    """Return a variant of each problem that has one, with the original ids.

    Notes count the other problems by reason. Raises BadInput if no problem has the variant.

    The candidates of special-word problems are sorted, so that their order says nothing about the answer.
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
    main_reasons = [f"{reason}: {count:,}" for reason, count in left_out.most_common(3)]
    reasons = "; ".join(main_reasons) or "nothing left out"
    if not problems:
        raise BadInput(f"{dataset.card.name}: no problem has the variant {variant} ({reasons})")
    notes = []
    if left_out.total():
        notes.append(f"{dataset.card.name}: {len(problems):,} of {len(dataset):,} problems as {variant} ({reasons})")
    return dataset.with_problems(problems, notes)


def _with_sorted_candidates(problem: Problem) -> Problem:
    """Return the problem with its candidates in alphabetical order."""
    order = sorted(range(len(problem.candidates)), key=problem.candidates.__getitem__)
    return problem.with_order(order)


def parse_variant(variant: str) -> tuple[str, dict[str, str]]:
    """Split `name?option=value` into the name of a variant and its options.

    Raises UnknownName if there is no such variant or option.
    """
    name, _, query = variant.partition("?")
    options = dict(parse_qsl(query))
    check_known("variant to train or test on", name, VARIANTS)
    for option in options:
        check_known(f"option of variant {name!r}", option, ("style",))
    return name, options


def hold_out(dataset: Dataset, count: int, seed: int = 0) -> tuple[Dataset, Dataset]:
    """Split a dataset at random into problems to keep and about `count` problems to hold out.

    Problems that overlap stay together, so that neither part gives away problems of the other. A cluster that is too
    large to be held out is kept. Raises BadInput if one of the parts would be empty.
    """
    if not 0 < count < len(dataset):
        raise BadInput(f"{dataset.card.name}: has {len(dataset):,} problems, of which {count:,} cannot be held out")
    units = _find_units(dataset)
    sizes = Counter(units)
    names = list(sizes)
    held_units: set[int] = set()
    held_count = 0
    most = count + max(1, count // MORE)
    rng = np.random.default_rng([seed, count])
    for index in rng.permutation(len(names)):
        if held_count >= count:
            break
        unit = names[index]
        new_count = held_count + sizes[unit]
        if new_count <= most:
            held_units.add(unit)
            held_count = new_count
    kept_problems: list[Problem] = []
    held_problems: list[Problem] = []
    for problem, unit in zip(dataset, units, strict=True):
        part = held_problems if unit in held_units else kept_problems
        part.append(problem)
    kept_dataset = dataset.with_problems(kept_problems)
    _check_not_empty(kept_dataset, "train on once problems are held out")
    if not held_problems:
        raise BadInput(f"{dataset.card.name}: {count:,} cannot be held out: its problems overlap, in larger clusters")
    held_out_card = replace(dataset.card, name=f"{dataset.card.name}, held out")
    return kept_dataset, Dataset(held_problems, held_out_card)


def _find_units(dataset: Dataset) -> list[int]:
    """Return the number of each problem's unit.

    Problems are in one unit if they have the same group or text, or if they overlap.
    """
    links: list[list[tuple[str, Hashable]]] = []
    for problem in dataset:
        text = letters(problem.sentence)
        links.append([("text", text), ("group", problem.group)])
    for number, match in enumerate(find_matches([dataset], within=True)):
        for _, row in (match.first, match.second):
            links[row].append(("match", number))
    return joined(links)


def apart(dataset: Dataset, held_out: Dataset, use: str, drop_overlap: bool) -> tuple[Dataset, Mapping[str, int]]:
    """Return a dataset without problems that overlap a held-out set, and their number by kind.

    Problems overlap if one gives the other away. Without `drop_overlap` the dataset must have no such problem.
    `use` says in messages what the dataset is for, such as "train on".

    Raises
    ------
    BadInput
        If problems overlap and `drop_overlap` is off, or if no problem is left.
    """
    shared = overlap(dataset, held_out)
    if not shared.given:
        return dataset, {}
    if not drop_overlap:
        first_text = held_out[min(shared.held)].text
        overlap_count = len(shared.given)
        if overlap_count < len(dataset):
            way_out = f"--drop-overlap leaves {overlap_count:,} out of it"
        else:
            way_out = "all of it overlaps"
        raise BadInput(
            f"{dataset.card.name}, to {use}, overlaps {held_out.card.name}: {shared.said} of its {len(held_out):,} "
            f"problems (the first: {first_text[:60]!r}); {way_out}"
        )
    note = f"{dataset.card.name}: left out for {held_out.card.name}: {said(shared.dropped)}"
    problems = [problem for row, problem in enumerate(dataset) if row not in shared.given]
    separate_dataset = dataset.with_problems(problems, [note])
    _check_not_empty(separate_dataset, f"{use} once those of {held_out.card.name} are left out")
    return separate_dataset, shared.dropped


def _check_not_empty(dataset: Dataset, use: str, *, answered: bool = False) -> None:
    """Raise BadInput if a set has no problems, or if it must be answered and answers are hidden.

    `use` says in messages what the set is for, such as "train on".
    """
    if not len(dataset):
        raise BadInput(f"{dataset.card.name}: no problem to {use}")
    hidden = sum(problem.answer is None for problem in dataset)
    if answered and hidden:
        raise BadInput(f"{dataset.card.name}: {hidden:,} of {len(dataset):,} problems have no answer to {use}")
