"""What the scripts on Back to Square One (Elazar et al., 2021) share: its datasets in pairs, and their variants."""

from __future__ import annotations

from collections.abc import Iterable

from common import Options, named

from winokit.methods.transforms.no_cands import no_cands
from winokit.methods.transforms.part_sent import part_sent
from winokit.methods.transforms.special_word import (
    Pair,
    non_associative,
    special_word_pairs,
    twin_pairs,
    with_both_twins,
)
from winokit.models.builtin import piece_counts
from winokit.problem import Card, Dataset

BASELINES = {"no-cands": no_cands, "part-sent": part_sent}


def in_pairs(options: Options) -> dict[str, Dataset]:
    """WSC, WSC-na and WinoGrande's dev set, reduced to twin pairs."""
    wsc, dev = options.wsc273(), options.load("winogrande/dev.jsonl")
    found = {"WSC": wsc, "WSC-na": non_associative(wsc, style="elazar"), "WinoGrande": dev}
    return {name: unfolded(name, twin_pairs(data)) for name, data in found.items()}


def baselines(data: Dataset, style: str) -> dict[str, Dataset]:
    """A dataset as it is, without candidates, and in part; a problem whose twin could not be made goes with it."""
    made = {"original": data}
    for name, make in BASELINES.items():
        some = named(data, name, (make(problem, style=style) for problem in data))
        made[name] = some.with_problems(with_both_twins(some))
    return made


def special_words(data: Dataset) -> list[Pair]:
    """Special-word pairs as the released code makes them, each word one piece of the built-in model's vocabulary.

    The paper asks for one piece in each of six tokenizers; that vocabulary is BERT's, one of the six.
    """
    pairs = special_word_pairs(data, style="code")
    pieces = piece_counts(word for pair in pairs for word in pair[0].candidates)
    return [pair for pair in pairs if all(pieces[word] == 1 for word in pair[0].candidates)]


def unfolded(name: str, pairs: Iterable[Pair]) -> Dataset:
    """Pairs as a dataset."""
    return Dataset((problem for pair in pairs for problem in pair), Card(name))


def originals(data: Dataset, pairs: Iterable[Pair]) -> Dataset:
    """The problems that special-word pairs were made from."""
    wanted = {str(problem.provenance["of"]) for pair in pairs for problem in pair}
    return named(data, "matched", (problem for problem in data if problem.id in wanted))


def word_scoring(kind: str) -> str | None:
    """How special words are scored: by the whole text where a model reads from left to right."""
    return "full" if kind == "causal" else None
