"""The datasets of everything that is trained, under short names, with whatever overlaps a held-out set left out.

Looking for overlap in 40,398 problems takes minutes of a CPU, so it is done once: `prepared` keeps the sets in a file,
and a machine that trains needs neither the datasets nor what reads them.
"""

from __future__ import annotations

import json
import lzma
import pickle
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import winokit
from runs.square_one import special_words, unfolded, with_both_twins
from winokit.errors import BadInput
from winokit.files import write_whole
from winokit.methods.training import data as training_data
from winokit.methods.training.data import TrainingData, hold_out, make_variant
from winokit.methods.training.embedding import SentenceParts
from winokit.methods.transforms.no_cands import no_cands
from winokit.methods.transforms.part_sent import part_sent
from winokit.methods.transforms.special_word import (
    Pair,
    non_associative,
    special_word_pairs,
    twin_pairs,
)
from winokit.problem import Card, Dataset, Problem
from winokit.stages.curve.nested import nested
from winokit.stages.transfer.selection import TrainingArm, TransferTarget, why_not

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
CHOSEN_ON = {
    "wsc273": "pdp",
    "pdp": "wsc273",
    "dpr-test": "dpr-train",
    "copa-test": "copa-dev",
    "superglue-wsc-val": "superglue-wsc-train",
    "winogender": "winogrande-dev",
    "knowref": "winogrande-dev",
}
"""The papers' rules, as `stages.transfer.selection` has them; WinoGrande's dev set has none: its last weights count."""
OPEN = "open"
"""The bundled twins: on no page, but in the examples that `make demo` audits."""
LABELS = ("trichelair/WSC_switched_label.json", "trichelair/WSC_associative_label.json")
SIZES = ("xs", "s", "m", "l")
WORD_SIZES = (100, 1000, 4000, 8000, 16_000)
"""Of Square One's learning curves; nought is the untrained model."""
PRINTED_SIZES = (100, 500, 1000, *range(2000, 16_001, 2000))
"""The sizes in Square One's Tables 4 and 5, each the first lines of one list."""
RESTARTS = 3
TESTED_PAIRS = 1000
HELD_OUT, DPR_HELD_OUT, SEEDS = 6000, 260, 5
HELD_OUT_OF_DPR = "dpr-held-out-2"
"""The second part of DPR's training set that was held out: the first, `dpr-held-out` in stored results, is what the
rule for overlap gave that asked for the same pronoun."""
LIKE_DEBIASED = "train:like-debiased:"
"""And a seed: a random subset of train_xl with the pairs and the lone problems that the debiased set has."""
CARTOGRAPHY, FIRST_GUID = "cartography", 10_000


@dataclass
class Sets:
    """Datasets by name; why an arm is not tested on a set, or not chosen for it; and what is known of train_xl."""

    data: dict[str, Dataset] = field(default_factory=dict)
    empty: dict[str, dict[str, str]] = field(default_factory=dict)
    """By arm and test set, why the cell is empty; `test|choice` where only choosing is out of the question."""
    dropped: dict[str, Any] = field(default_factory=dict)
    """By training set, how many of its problems were left out for what, by kind of overlap."""
    parts: list[tuple[Any, Any, Any]] = field(default_factory=list)
    """Of each seed the rows of train_xl that are filtered, fine-tuned on, and chosen on."""
    removed: Any = None
    """Of each row of train_xl whether the authors' AFLite removed it."""
    confidence: Any = None
    """Of each row of train_xl the mean probability of its answer while a RoBERTa-large was trained."""

    def about(self) -> dict[str, Any]:
        """What tables need of the test sets: sizes, answers, and what hangs together."""
        tests = {}
        for name, data in self.data.items():
            if not name.startswith("train:"):
                answers = "".join("-" if problem.answer is None else str(problem.answer) for problem in data)
                tests[name] = {"n": len(data), "answers": answers, "clusters": first_rows(data)}
        trained = {name: len(data) for name, data in self.data.items() if name.startswith("train:")}
        return {"tests": tests, "train": trained, "empty": self.empty, "dropped": self.dropped, "rules": CHOSEN_ON}


def first_rows(data: Dataset) -> list[int]:
    """Of each problem the first row of its unit."""
    starts = [int(rows[0]) for rows in data.units.rows()]
    return [starts[unit] for unit in data.units.numbers.tolist()]


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
    sets.data["train:whole"] = whole
    _arms(sets, load, whole)
    _liu(sets, load)
    _aflite(sets, load, whole, folder)
    wsc = winokit.load(f"wsc273:{folder / 'wsc/WSCollection.xml'}", labels=[folder / name for name in LABELS])[:limit]
    _square_one(sets, wsc, load("winogrande/train_debiased.jsonl"))
    return sets


def _load(folder: Path, limit: int | None, name: str) -> Dataset:
    kind, colon, file = name.rpartition(":")
    return winokit.load(f"{kind}{colon}{folder / file}")[:limit]


def _arms(sets: Sets, load: Any, whole: Dataset) -> None:
    """What is trained on in WinoGrande's tables, each apart from every test set and every set that is chosen on."""
    held = [TransferTarget(name, sets.data[name]).called() for name in FILES]
    stages = {
        "wsc": sets.data["wsc273"],
        "dpr": sets.data["dpr-train"],
        "debiased": load("winogrande/train_debiased.jsonl"),
        "xl": whole,
    }
    for name, stage in stages.items():
        arm = TrainingArm(name, (stage,)).without([target.data for target in held])
        sets.data[f"train:{name}"] = arm.stages[0]
        sets.dropped[name] = {key: dict(kinds) for key, kinds in arm.dropped.items()}
        reasons = {target.name: why_not(arm, target) for target in held}
        sets.empty[name] = {test: why for test, why in reasons.items() if why is not None}
    sets.empty["dpr>xl"] = {**sets.empty["dpr"], **sets.empty["xl"]}
    kept = {problem.id for problem in sets.data["train:xl"]}
    for size in SIZES:
        part = load(f"winogrande/train_{size}.jsonl")
        sets.data[f"train:{size}"] = part.filter(lambda problem: problem.id in kept)
    targets = [sets.data[name] for name in ("winogender", "dpr-test", "superglue-wsc-val")]
    arm = TrainingArm("superglue-wsc", (sets.data["superglue-wsc-train"],)).without(targets)
    sets.data["train:superglue-wsc"] = arm.stages[0]
    sets.dropped["superglue-wsc"] = {key: dict(kinds) for key, kinds in arm.dropped.items()}


def _liu(sets: Sets, load: Any) -> None:
    """What is searched on: training set, what is chosen on, what is tested on."""
    dpr, held = hold_out(sets.data["dpr-train"], min(DPR_HELD_OUT, len(sets.data["dpr-train"]) // 4), 0)
    searched = {
        "winogrande-m": (load("winogrande/train_m.jsonl"), "winogrande-dev", ()),
        "superglue-wsc": (sets.data["superglue-wsc-train"], "superglue-wsc-val", ()),
        "dpr": (dpr, HELD_OUT_OF_DPR, ("dpr-test",)),
    }
    sets.data[HELD_OUT_OF_DPR] = held
    for name, (train, dev, tests) in searched.items():
        data = TrainingData(train, sets.data[dev], tuple(sets.data[test] for test in tests))
        data = data.checked(drop_overlap=True)
        sets.data[f"train:liu-{name}"] = data.train
        sets.dropped[f"liu-{name}"] = {key: dict(kinds) for key, kinds in data.dropped.items()}
        if data.dev is not None:
            sets.data[dev] = data.dev


def _aflite(sets: Sets, load: Any, whole: Dataset, folder: Path) -> None:
    """What is held out for fine-tuning, by seed; what the authors removed; what a trained model made of it."""
    row = {problem.id: at for at, problem in enumerate(whole)}
    usual = training_data._find_units
    known: dict[str, list[int]] = {}  # 15 seconds of looking for overlap, the same for every seed
    training_data._find_units = lambda dataset: (
        known.get(key := dataset.content_hash) or known.setdefault(key, usual(dataset))
    )
    try:
        for seed in range(SEEDS):
            parts = SentenceParts.of(whole, min(HELD_OUT, len(whole) // 6), seed)
            sides = (parts.rest, parts.train, parts.dev)
            rest, train, dev = (np.array([row[problem.id] for problem in side], np.int32) for side in sides)
            sets.parts.append((rest, train, dev))
    finally:
        training_data._find_units = usual
    kept = {problem.id for problem in load("winogrande/train_debiased.jsonl")}
    sets.removed = np.array([problem.id not in kept for problem in whole])
    sets.confidence = np.full(len(whole), np.nan, np.float32)
    for file in sorted((folder / CARTOGRAPHY).glob("*.jsonl")):
        for line in file.read_text("utf-8").splitlines():
            dynamics = json.loads(line)
            if 0 <= dynamics["guid"] - FIRST_GUID < len(whole):
                sets.confidence[dynamics["guid"] - FIRST_GUID] = dynamics["confidence"]


def _square_one(sets: Sets, wsc: Dataset, debiased: Dataset) -> None:
    """Back to Square One: pairs and their variants, special words in both forms, and its re-split training set."""
    dev, train = sets.data["winogrande-dev"], sets.data["train:xl"]
    sets.data["dev-local-context"] = make_variant(dev, "local-context")
    pairs = {"wsc": wsc, "wsc-na": non_associative(wsc, style="elazar"), "winogrande": dev}
    for name, data in pairs.items():
        twins = unfolded(name, twin_pairs(data))
        sets.data[f"{name}:original"] = twins
        for variant, make in (("no-cands", no_cands), ("part-sent", part_sent)):
            made = [problem for twin in twins if isinstance(problem := make(twin, style="code"), Problem)]
            sets.data[f"{name}:{variant}"] = Dataset(with_both_twins(made), Card(f"{name} {variant}"))
        words = special_words(twins)
        wanted = {str(problem.provenance["of"]) for pair in words for problem in pair}
        sets.data[f"{name}:matched"] = twins.with_problems(problem for problem in twins if problem.id in wanted)
        sets.data[f"{name}:words"] = unfolded(f"{name} words", words)
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
    sets.dropped["words"] = {key: dict(kinds) for key, kinds in split.dropped.items()}
    for size in PRINTED_SIZES:
        first_rows_of_file = split.train[:size]
        if len(first_rows_of_file) == size:
            sets.data[f"train:words-first-{size}"] = first_rows_of_file
    for restart in range(RESTARTS):
        sizes = [size for size in WORD_SIZES if size <= len(split.train)]
        for size, part in zip(sizes, nested(split.train, sizes, restart), strict=True):
            sets.data[f"train:words-{size}-{restart}"] = part


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


def some_of(data: Dataset, count: int, seed: int) -> Dataset:
    """So many problems; twins are drawn one by one, as AFLite parts them too."""
    chosen = set(np.random.default_rng([seed, count]).permutation(len(data))[:count].tolist())
    return data.with_problems(problem for at, problem in enumerate(data) if at in chosen)


def renamed(data: Dataset, name: str) -> Dataset:
    """The same under another name."""
    return Dataset(data, replace(data.card, name=name), data.notes)


def rows_of(data: Dataset, rows: Iterable[int]) -> Dataset:
    """The problems of some rows."""
    return data.with_problems(data[int(row)] for row in rows)


Names = Mapping[str, Dataset]
