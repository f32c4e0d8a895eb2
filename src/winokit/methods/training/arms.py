"""Which version of the problems a model is trained on, and which it is tested on.

Two arms have names. `original->variant`: trained on whole problems and tested on what is left of them, which tells
what the *test* gives away (Elazar et al., 2021, Tables 1 and 6). `variant->variant`: trained and tested on what is
left, which tells what could be *learned* from it (Sakaguchi et al., 2019, local context). The dev set follows the
training set, since it chooses the weights.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import parse_qsl

from winokit.errors import BadInput, UnknownName
from winokit.methods.transforms.local_context import local_context
from winokit.methods.transforms.no_cands import no_cands
from winokit.methods.transforms.pairs import special_word_pairs
from winokit.methods.transforms.part_sent import part_sent
from winokit.problem import Dataset, Problem

ORIGINAL = "original"
ARMS = ("original->variant", "variant->variant")
STYLED: dict[str, Callable[..., Problem | str]] = {
    "no-cands": no_cands,
    "part-sent": part_sent,
    "local-context": local_context,
}
SPECIAL_WORD = "special-word"
VARIANTS = (*STYLED, SPECIAL_WORD)


@dataclass(frozen=True)
class VariantArm:
    """A variant (`part-sent`, `part-sent?style=code`), or the original, to train on and one to test on."""

    trained_on: str = ORIGINAL
    tested_on: str = ORIGINAL

    @classmethod
    def of(cls, variant: str | None, name: str | None) -> VariantArm:
        """The arm of that name for a variant; without a variant there is only the original."""
        if variant is None:
            if name is not None:
                raise BadInput(f"arm {name!r}: which variant? Known: {', '.join(VARIANTS)}")
            return cls()
        _parsed(variant)
        if name is None:
            raise BadInput(f"variant {variant!r}: which arm? Known: {', '.join(ARMS)}")
        if name not in ARMS:
            raise UnknownName("arm", name, ARMS)
        return cls(variant if name.startswith("variant") else ORIGINAL, variant)


def make_variant(dataset: Dataset, variant: str) -> Dataset:
    """The problems of a dataset that have this variant, each with its original's id; notes count the others by reason.

    Special-word problems come in pairs. Their candidates stand in alphabetical order, so that the place says nothing.
    """
    if variant == ORIGINAL:
        return dataset
    name, options = _parsed(variant)
    if name == SPECIAL_WORD:
        pairs = special_word_pairs(dataset, style=options.get("style", "default"))
        made = [_alphabetical(problem) for pair in pairs for problem in pair]
        left_out = Counter({"no twin that differs in one place": len(dataset) - len(made)})
    else:
        made, left_out = _each(dataset, lambda problem: STYLED[name](problem, **options))
    if not made:
        raise BadInput(f"{dataset.card.name}: no problem has the variant {variant} ({_told(left_out)})")
    notes = [f"{dataset.card.name}: {len(made):,} of {len(dataset):,} problems as {variant} ({_told(left_out)})"]
    return dataset.with_problems(made, notes if left_out.total() else [])


def _each(dataset: Dataset, make: Callable[[Problem], Problem | str]) -> tuple[list[Problem], Counter[str]]:
    made: list[Problem] = []
    left_out: Counter[str] = Counter()
    for problem in dataset:
        outcome = make(problem)
        if isinstance(outcome, str):
            left_out[outcome] += 1
        else:
            made.append(outcome.replace(provenance={**outcome.provenance, "of": problem.id}))
    return made, left_out


def _alphabetical(problem: Problem) -> Problem:
    order = sorted(range(len(problem.candidates)), key=lambda index: problem.candidates[index])
    return problem.with_order(order)


def _told(left_out: Counter[str]) -> str:
    return "; ".join(f"{why}: {count:,}" for why, count in left_out.most_common(3)) or "nothing left out"


def _parsed(variant: str) -> tuple[str, dict[str, str]]:
    name, _, query = variant.partition("?")
    options = dict(parse_qsl(query))
    if name not in VARIANTS:
        raise UnknownName("variant to train or test on", name, VARIANTS)
    for option in options:
        if option != "style":
            raise UnknownName(f"option of variant {name!r}", option, ("style",))
    return name, options
