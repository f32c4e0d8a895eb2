"""The datasets of everything that is trained, under short names, without problems that overlap a held-out set.

Looking for overlap in 40,398 problems takes minutes of a CPU, so it is done once: `prepared` keeps the sets in a file,
and a machine that trains needs neither the datasets nor what reads them.
"""

from __future__ import annotations

import lzma
import pickle
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np

import winokit
from runs.square_one import special_words, unfolded, with_both_twins
from winokit.errors import BadInput
from winokit.files import write_whole
from winokit.methods.training.data import TrainingData
from winokit.methods.transforms.no_cands import no_cands
from winokit.methods.transforms.part_sent import part_sent
from winokit.methods.transforms.special_word import (
    Pair,
    non_associative,
    special_word_pairs,
    twin_pairs,
)
from winokit.problem import Card, Dataset, Problem
from winokit.stages.transfer.selection import TrainingArm, TransferTarget

FILES = {
    # the test sets of WinoGrande's Tables 4 to 6, and what the papers choose on for them
    "winogrande-dev": "winogrande/dev.jsonl",
    "wsc273": "wsc273:wsc/WSCollection.xml",
    "pdp": "pdp/PDPChallenge2016.xml",
    "superglue-wsc-val": "superglue-wsc/val.jsonl",
    "superglue-wsc-train": "superglue-wsc/train.jsonl",
    "dpr-test": "dpr/test.c.txt",
    "dpr-train": "dpr/train.c.txt",
    "copa-test": "copa/copa-test.xml",
    "copa-dev": "copa/copa-dev.xml",
    "knowref": "knowref/knowref_test.json",
    "winogender": "winogender/all_sentences.tsv",
}
LABELS = ("trichelair/WSC_switched_label.json", "trichelair/WSC_associative_label.json")
SIZES = ("xs", "s", "m", "l")
PRINTED_SIZES = (100, 500, 1000, *range(2000, 16_001, 2000))
"""The sizes in Square One's Tables 4 and 5, each the first lines of one list."""
TESTED_PAIRS = 1000
LIKE_DEBIASED = "train:like-debiased:"
"""Followed by a seed: a random subset of train_xl with as many pairs and lone problems as the debiased set."""


@dataclass
class Sets:
    """Datasets by name."""

    data: dict[str, Dataset] = field(default_factory=dict)


def prepared(file: Path, folder: Path, limit: int | None = None) -> Sets:
    """Read the prepared sets of a file, or make them from a folder of datasets and write the file if it is missing.

    `limit` is used only when they are made: the first problems of every file.
    """
    if not file.exists():
        write_whole(file, lzma.compress(pickle.dumps(make_sets(folder, limit)), preset=1))
    sets: Sets = pickle.loads(lzma.decompress(file.read_bytes()))  # a file of our own making
    return sets


def make_sets(folder: Path, limit: int | None = None) -> Sets:
    """Read every dataset of a folder, and make the sets for training and testing.

    With a limit, only the first problems of every file (a try).
    """
    load = partial(load_first, folder, limit)
    sets = Sets({name: load(file) for name, file in FILES.items()})
    add_arms(sets, load, load("winogrande/train_xl.jsonl"))
    add_liu_sets(sets, load)
    labels = [folder / name for name in LABELS]
    wsc = winokit.load(f"wsc273:{folder / 'wsc/WSCollection.xml'}", labels=labels)[:limit]
    debiased = load("winogrande/train_debiased.jsonl")
    add_pair_variants(sets, wsc)
    add_training_words(sets)
    add_every_word(sets, wsc)
    add_word_curve(sets, debiased)
    return sets


def load_first(folder: Path, limit: int | None, name: str) -> Dataset:
    """Load a dataset of a folder, the first `limit` problems of it. `name` may begin with FORMAT and a colon."""
    format_name, colon, file = name.rpartition(":")
    return winokit.load(f"{format_name}{colon}{folder / file}")[:limit]


def add_arms(sets: Sets, load: Callable[[str], Dataset], train_xl: Dataset) -> None:
    """Add the training sets of WinoGrande's tables, without problems that overlap a test set."""
    test_sets = [TransferTarget(name, sets.data[name]).called().data for name in FILES]
    stages = {
        "wsc": sets.data["wsc273"],
        "dpr": sets.data["dpr-train"],
        "debiased": load("winogrande/train_debiased.jsonl"),
        "xl": train_xl,
        "superglue-wsc": sets.data["superglue-wsc-train"],
    }
    for name, stage in stages.items():
        arm = TrainingArm(name, (stage,)).without(test_sets)
        sets.data[f"train:{name}"] = arm.stages[0]
    kept_ids = {problem.id for problem in sets.data["train:xl"]}
    for size in SIZES:
        part = load(f"winogrande/train_{size}.jsonl")
        sets.data[f"train:{size}"] = part.filter(lambda problem: problem.id in kept_ids)


def add_liu_sets(sets: Sets, load: Callable[[str], Dataset]) -> None:
    """Add the sets that Liu et al.'s searches train on, without problems of the sets that epochs are chosen on."""
    searched = {
        "winogrande-m": (load("winogrande/train_m.jsonl"), "winogrande-dev"),
        "superglue-wsc": (sets.data["superglue-wsc-train"], "superglue-wsc-val"),
    }
    for name, (train, dev) in searched.items():
        sets.data[f"train:liu-{name}"] = TrainingData(train, sets.data[dev], ()).checked(drop_overlap=True).train


def sets_of_pairs(sets: Sets, wsc: Dataset) -> dict[str, Dataset]:
    """Datasets that Back to Square One tests on: WSC, WSC-na and WinoGrande's dev set."""
    return {"wsc": wsc, "wsc-na": non_associative(wsc, style="elazar"), "winogrande": sets.data["winogrande-dev"]}


def add_pair_variants(sets: Sets, wsc: Dataset) -> None:
    """Add Back to Square One's test sets: twin pairs as they are, without candidates, and in part."""
    for name, data in sets_of_pairs(sets, wsc).items():
        twins = unfolded(name, twin_pairs(data))
        sets.data[f"{name}:original"] = twins
        for variant, transform in (("no-cands", no_cands), ("part-sent", part_sent)):
            results = [transform(twin, style="code") for twin in twins]
            problems = [result for result in results if isinstance(result, Problem)]
            sets.data[f"{name}:{variant}"] = Dataset(with_both_twins(problems), Card(f"{name} {variant}"))
    sets.data["winogrande:words"] = unfolded("winogrande words", special_words(sets.data["winogrande:original"]))


def add_training_words(sets: Sets) -> None:
    """Add the training set's special-word pairs, and the problems they were made from."""
    train = sets.data["train:xl"]
    word_pairs = special_word_pairs(train, style="code")
    sets.data["train:words"] = unfolded("special words", word_pairs)
    sets.data["train:words-original"] = originals_of(word_pairs, train)


def add_every_word(sets: Sets, wsc: Dataset) -> None:
    """Add special-word test sets whose words may have several pieces, and the problems they were made from."""
    for name, data in sets_of_pairs(sets, wsc).items():
        word_pairs = special_word_pairs(data, style="code")
        sets.data[f"{name}:every-word"] = unfolded(f"{name} every word", word_pairs)
        sets.data[f"{name}:every-matched"] = originals_of(word_pairs, data)


def add_word_curve(sets: Sets, debiased: Dataset) -> None:
    """Add the sets of Back to Square One's learning curve: a test set of debiased pairs, and the rest by size."""
    debiased_ids = {problem.id for problem in debiased}

    def is_debiased(pair: Pair) -> bool:
        return all(str(problem.provenance["of"]) in debiased_ids for problem in pair)

    pairs = special_words(sets.data["train:xl"])
    test_pairs = list(filter(is_debiased, pairs))[:TESTED_PAIRS]
    test_pair_ids = set(map(id, test_pairs))
    train_pairs = [pair for pair in pairs if id(pair) not in test_pair_ids]
    train = unfolded("special words, train", train_pairs)
    test = unfolded("special words, test", test_pairs)
    split = TrainingData(train, None, (test,)).checked(drop_overlap=True)
    sets.data["words-test"] = split.tests[0]
    for size in PRINTED_SIZES:
        first_rows_of_file = split.train[:size]
        if len(first_rows_of_file) == size:
            sets.data[f"train:words-first-{size}"] = first_rows_of_file


def originals_of(word_pairs: Iterable[Pair], data: Dataset) -> Dataset:
    """Look up the problems that special-word pairs were made from, in the pairs' order: the control of section 6.1."""
    by_id = {problem.id: problem for problem in data}
    word_problems = chain.from_iterable(word_pairs)
    return data.with_problems(by_id[str(problem.provenance["of"])] for problem in word_problems)


def drawn_like(data: Dataset, model: Dataset, seed: int) -> Dataset:
    """Draw a random subset with as many whole pairs and lone problems as the dataset `model` has.

    A lone problem comes from a pair of which the other member is left out. Raises BadInput if there are too few pairs.
    """
    pair_count = len(twin_pairs(model))
    lone_count = len(model) - 2 * pair_count
    pairs = twin_pairs(data)
    if pair_count + lone_count > len(pairs):
        raise BadInput(f"{data.card.name}: has {len(pairs):,} pairs, too few for a subset like {model.card.name}")
    generator = np.random.default_rng([seed, pair_count, lone_count])
    order = generator.permutation(len(pairs)).tolist()
    pair_indices = order[:pair_count]
    lone_indices = order[pair_count : pair_count + lone_count]
    sides = generator.integers(2, size=lone_count).tolist()
    drawn_ids = set()
    for index in pair_indices:
        drawn_ids |= {problem.id for problem in pairs[index]}
    for index, side in zip(lone_indices, sides, strict=True):
        drawn_ids.add(pairs[index][side].id)
    return data.filter(lambda problem: problem.id in drawn_ids)


def renamed(data: Dataset, name: str) -> Dataset:
    """Copy a dataset under another name."""
    return Dataset(data, replace(data.card, name=name), data.notes)
