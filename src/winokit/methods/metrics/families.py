"""Families of models: fine-tunes and merges of one base are one witness, not hundreds.

By name, models that name one base are a family; by agreement, those that are right and wrong on nearly the same items.
Agreement is Cohen's kappa of right and wrong (1960, "A coefficient of agreement for nominal scales"), so that two
strong models which agree because both are right are no family by that alone.
"""

import re
from collections.abc import Hashable, Iterable, Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from winokit.methods.arrays import BoolArray, IntArray

HalfArray: TypeAlias = NDArray[np.float32]
LEAST_KAPPA = 0.75
"""Models of one family agree at least so much: 100 of 106 items among models that are right on 85 %."""
BASES = (
    *("mixtral", "mistral", "zephyr", "solar", "llama", "vicuna", "alpaca", "qwen", "falcon", "gemma", "pythia"),
    *("deepseek", "starcoder", "bloom", "opt", "mpt", "yi", "phi", "gpt-neox", "gpt-neo", "gpt-j", "gpt2", "gpt-4"),
    *("gpt-3", "stablelm", "internlm", "baichuan", "redpajama", "cerebras", "rwkv", "flan", "bert", "claude", "olmo"),
)
"""Bases that names of models mention; the first one that is found counts."""
WORD = re.compile(r"[^\W\d_]{2,}")
BLOCK = 256
"""Models that are compared with all first members at once."""
FEWEST_ITEMS = 20
"""Models with fewer common items are never one family."""


def base_of_name(name: str) -> str:
    """Base model that a model's name mentions, or the first word.

    The owner before the last slash is ignored, and so is case. The first of `BASES` with which a word of the name
    begins counts, and else the first word of two letters or more.

    >>> base_of_name("someone/OpenHermes-2.5-Mistral-7B"), base_of_name("Orca-2-7b")
    ('mistral', 'orca')
    """
    bare_name = name.rpartition("/")[2].casefold()
    for base in BASES:
        if _compile_base(base).search(bare_name):
            return base
    word = WORD.search(bare_name)
    return bare_name if word is None else word[0]


@lru_cache
def _compile_base(base: str) -> re.Pattern[str]:
    """Pattern that finds a base as a separate word in a name."""
    return re.compile(rf"(?<![a-z]){re.escape(base)}(?![a-z])")


def families_by_name(names: Iterable[str]) -> list[str]:
    """Family of each model: the base model that its name mentions."""
    return [base_of_name(name) for name in names]


def family_numbers(families: Sequence[Hashable]) -> IntArray:
    """Number the families from 0 in order of appearance.

    Returns the number for each model.
    """
    numbers: dict[Hashable, int] = {}
    for family in families:
        numbers.setdefault(family, len(numbers))
    return np.array([numbers[family] for family in families], np.int64)


def families_by_agreement(right: BoolArray, asked: BoolArray, least: float = LEAST_KAPPA) -> IntArray:
    """Family number of each model, by agreement on items.

    `right` and `asked` have a row per model and a column per item: whether it is right, and whether it was asked.

    Models are taken from the strongest to the weakest. Each joins the family whose first member it agrees with most,
    if Cohen's kappa is at least `least`, and else begins a family. Items that one of the two was not asked are left
    out. With fewer than 20 common items two models never agree.
    """
    columns = asked.any(axis=0)
    right_signs = np.where(right, 1.0, -1.0)
    asked_signs = np.where(asked, right_signs, 0.0).astype(np.float32)
    signs = asked_signs[:, columns]
    present = asked.astype(np.float32)[:, columns]
    order = np.argsort(-signs.sum(axis=1), kind="stable")
    families = np.zeros(len(signs), np.int64)
    leaders: list[int] = []
    for start in range(0, len(order), BLOCK):
        block = order[start : start + BLOCK]
        earlier = np.array(leaders, np.int64)
        with_earlier = _compute_kappas(signs[block], present[block], signs[earlier], present[earlier])
        within = _compute_kappas(signs[block], present[block], signs[block], present[block])
        new_places: list[int] = []
        for place, row in enumerate(block.tolist()):
            kappas = np.concatenate([with_earlier[place], within[place, new_places]])
            best = int(kappas.argmax()) if len(kappas) else 0
            if len(kappas) and kappas[best] >= least:
                families[row] = best
                continue
            families[row] = len(leaders)
            leaders.append(row)
            new_places.append(place)
    return family_numbers(families.tolist())


def _compute_kappas(signs: HalfArray, present: HalfArray, others: HalfArray, others_present: HalfArray) -> HalfArray:
    """Cohen's kappa of each model with each other model.

    Signs are 1 for right, -1 for wrong and 0 for not asked; `present` is 1 for asked. -1 if two models have fewer
    than 20 common items.
    """
    common = present @ others_present.T
    enough = np.maximum(common, 1)
    own_share = (signs @ others_present.T / enough + 1) / 2
    other_share = (present @ others.T / enough + 1) / 2
    agreed = (signs @ others.T / enough + 1) / 2
    expected = own_share * other_share + (1 - own_share) * (1 - other_share)
    kappas = (agreed - expected) / np.maximum(1 - expected, 1e-9)
    return np.where(common >= FEWEST_ITEMS, kappas, -1.0).astype(np.float32)
