"""The datasets of everything that is trained, under short names, with whatever overlaps a held-out set left out.

Looking for overlap in 40,398 problems takes minutes of a CPU, so it is done once: `prepared` keeps the sets in a file,
and a machine that trains needs neither the datasets nor what reads them.
"""

from __future__ import annotations

import lzma
import pickle
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

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
"""And a seed: a random subset of train_xl with the pairs and the lone problems that the debiased set has."""


@dataclass
class Sets:
    """Datasets by name."""

    data: dict[str, Dataset] = field(default_factory=dict)


def prepared(file: Path, folder: Path, limit: int | None = None) -> Sets:
    """The sets of a file, which is made from a folder of datasets where it is missing."""
    if not file.exists():
        write_whole(file, lzma.compress(pickle.dumps(make_sets(folder, limit)), preset=1))
    sets: Sets = pickle.loads(lzma.decompress(file.read_bytes()))  # a file of our own making
    return sets


def make_sets(folder: Path, limit: int | None = None) -> Sets:
    """Read everything and set it apart; with a limit, the first problems of every file (a try)."""
    load = partial(_load, folder, limit)
    sets = Sets({name: load(file) for name, file in FILES.items()})
    whole = load("winogrande/train_xl.jsonl")
    _arms(sets, load, whole)
    _liu(sets, load)
    wsc = winokit.load(f"wsc273:{folder / 'wsc/WSCollection.xml'}", labels=[folder / name for name in LABELS])[:limit]
    _square_one(sets, wsc, load("winogrande/train_debiased.jsonl"))
    return sets


def _load(folder: Path, limit: int | None, name: str) -> Dataset:
    kind, colon, file = name.rpartition(":")
    return winokit.load(f"{kind}{colon}{folder / file}")[:limit]


def _arms(sets: Sets, load: Any, whole: Dataset) -> None:
    """What is trained on in WinoGrande's tables, each apart from every test set."""
    held = [TransferTarget(name, sets.data[name]).called() for name in FILES]
    stages = {
        "wsc": sets.data["wsc273"],
        "dpr": sets.data["dpr-train"],
        "debiased": load("winogrande/train_debiased.jsonl"),
        "xl": whole,
        "superglue-wsc": sets.data["superglue-wsc-train"],
    }
    for name, stage in stages.items():
        arm = TrainingArm(name, (stage,)).without([target.data for target in held])
        sets.data[f"train:{name}"] = arm.stages[0]
    kept = {problem.id for problem in sets.data["train:xl"]}
    for size in SIZES:
        part = load(f"winogrande/train_{size}.jsonl")
        sets.data[f"train:{size}"] = part.filter(lambda problem: problem.id in kept)


def _liu(sets: Sets, load: Any) -> None:
    """What is searched on, apart from what epochs are chosen on."""
    searched = {
        "winogrande-m": (load("winogrande/train_m.jsonl"), "winogrande-dev"),
        "superglue-wsc": (sets.data["superglue-wsc-train"], "superglue-wsc-val"),
    }
    for name, (train, dev) in searched.items():
        sets.data[f"train:liu-{name}"] = TrainingData(train, sets.data[dev], ()).checked(drop_overlap=True).train


def _square_one(sets: Sets, wsc: Dataset, debiased: Dataset) -> None:
    """Back to Square One: pairs and their variants, special words in both forms, and its re-split training set."""
    dev, train = sets.data["winogrande-dev"], sets.data["train:xl"]
    pairs = {"wsc": wsc, "wsc-na": non_associative(wsc, style="elazar"), "winogrande": dev}
    for name, data in pairs.items():
        twins = unfolded(name, twin_pairs(data))
        sets.data[f"{name}:original"] = twins
        for variant, make in (("no-cands", no_cands), ("part-sent", part_sent)):
            made = [problem for twin in twins if isinstance(problem := make(twin, style="code"), Problem)]
            sets.data[f"{name}:{variant}"] = Dataset(with_both_twins(made), Card(f"{name} {variant}"))
    sets.data["winogrande:words"] = unfolded("winogrande words", special_words(sets.data["winogrande:original"]))
    word_pairs = special_word_pairs(train, style="code")
    sets.data["train:words"] = unfolded("special words", word_pairs)
    sets.data["train:words-original"] = originals_of(word_pairs, train)
    for name, data in pairs.items():
        word_pairs = special_word_pairs(data, style="code")
        sets.data[f"{name}:every-word"] = unfolded(f"{name} every word", word_pairs)
        sets.data[f"{name}:every-matched"] = originals_of(word_pairs, data)
    kept = {problem.id for problem in debiased}
    words = special_words(train)
    tested = [pair for pair in words if all(str(problem.provenance["of"]) in kept for problem in pair)][:TESTED_PAIRS]
    chosen = {id(pair) for pair in tested}
    split = TrainingData(
        unfolded("special words, train", (pair for pair in words if id(pair) not in chosen)),
        None,
        (unfolded("special words, test", tested),),
    ).checked(drop_overlap=True)
    sets.data["words-test"] = split.tests[0]
    for size in PRINTED_SIZES:
        first_rows_of_file = split.train[:size]
        if len(first_rows_of_file) == size:
            sets.data[f"train:words-first-{size}"] = first_rows_of_file


def originals_of(word_pairs: Iterable[Pair], data: Dataset) -> Dataset:
    """The problems that special-word pairs were made from, in the pairs' order: the control of section 6.1."""
    by_id = {problem.id: problem for problem in data}
    return data.with_problems(by_id[str(made.provenance["of"])] for pair in word_pairs for made in pair)


def drawn_like(data: Dataset, model: Dataset, seed: int) -> Dataset:
    """A random subset with as many whole pairs and as many lone problems as another set has.

    A lone problem comes from a pair of which the other member is left out. Raises BadInput if there are too few pairs.
    """
    wanted_pairs = len(twin_pairs(model))
    wanted_alone = len(model) - 2 * wanted_pairs
    pairs = twin_pairs(data)
    if wanted_pairs + wanted_alone > len(pairs):
        raise BadInput(f"{data.card.name}: has {len(pairs):,} pairs, too few for a subset like {model.card.name}")
    generator = np.random.default_rng([seed, wanted_pairs, wanted_alone])
    order = generator.permutation(len(pairs)).tolist()
    whole = order[:wanted_pairs]
    broken = order[wanted_pairs : wanted_pairs + wanted_alone]
    sides = generator.integers(2, size=wanted_alone).tolist()
    wanted_ids = {problem.id for index in whole for problem in pairs[index]}
    wanted_ids |= {pairs[index][side].id for index, side in zip(broken, sides, strict=True)}
    return data.filter(lambda problem: problem.id in wanted_ids)


def renamed(data: Dataset, name: str) -> Dataset:
    """The same under another name."""
    return Dataset(data, replace(data.card, name=name), data.notes)
