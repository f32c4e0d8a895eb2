"""Which problems stand in a corpus, word for word or nearly: a model that read it may remember the answer.

The sentences of the corpus that may be a problem's own are compared with it; how they are found is for the corpus
(`Corpus.alike`). Three kinds are told apart:

- `verbatim`: the sentence of the blank stands there, with a candidate, the pronoun or the blank itself in its place;
- `near`: four fifths of its words stand there in the same order, with hardly anything between them;
- `part`: a run of ten words or more, of any of its sentences, stands there.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import chain
from math import ceil

from rapidfuzz.distance import LCSseq

from winokit.methods.hunting.search import Corpus, folded_words
from winokit.problem import BLANK, Dataset, Problem
from winokit.progress import Progress
from winokit.text.words import sentences

KINDS = ("verbatim", "near", "part")
RUN = 10
"""Words in a row that make a part."""
NEAR = 0.8
SHORTEST = 6
SHORTEST_NEARLY = 8
"""Sentences with fewer words say nothing; with fewer than eight, a few words changed say nothing."""


@dataclass(frozen=True, slots=True)
class CorpusCopy:
    """A row of a dataset that stands in a corpus: how, and in which sentence."""

    row: int
    kind: str
    sentence: str
    source: str | None


def find_copies(dataset: Dataset, corpus: Corpus, progress: Progress | None = None) -> list[CorpusCopy]:
    """The problems of a dataset that stand in a corpus, with the best sentence for each."""
    copies = []
    corpus.expect(list(chain.from_iterable(map(_split_sentences, dataset))))
    for row, problem in enumerate(dataset):
        places = (CorpusCopy(row, *place) for place in _places(problem, corpus))
        copies += sorted(places, key=lambda copy: KINDS.index(copy.kind))[:1]
        if progress:
            progress(row + 1, len(dataset))
    return copies


def _places(problem: Problem, corpus: Corpus) -> Iterator[tuple[str, str, str | None]]:
    """How a problem stands in a corpus, and in which sentence of which file, wherever it does."""
    for sentence in _split_sentences(problem):
        words = folded_words(sentence)
        fillings = _filled(words, problem)
        for hit in corpus.alike(sentence):
            if kind := _kind(fillings, problem.is_whole or BLANK in words, hit.text):
                yield kind, hit.text, hit.source


def _split_sentences(problem: Problem) -> list[str]:
    """The sentences of a problem that are long enough to say something."""
    texts = problem.candidates if problem.is_whole else (problem.text,)
    every_sentence = chain.from_iterable(map(sentences, texts))
    return [sentence for sentence in every_sentence if len(folded_words(sentence)) >= SHORTEST]


def _filled(own: Sequence[str], problem: Problem) -> list[list[str]]:
    """A sentence with the blank filled in every way it may have been."""
    if problem.is_whole or BLANK not in own:
        return [list(own)]
    at = list(own).index(BLANK)
    fillings = [*problem.candidates, BLANK, *([problem.pronoun] if problem.pronoun else [])]
    return [[*own[:at], *folded_words(filling), *own[at + 1 :]] for filling in fillings]


def _kind(fillings: Sequence[Sequence[str]], tells: bool, text: str) -> str | None:
    """How a sentence of a problem stands in a sentence of the corpus, or None if it does not.

    One that tells has the blank in it, or is a text that there is to choose from; others are what anybody may say.
    """
    there = folded_words(text)
    if tells:
        if any(f" {' '.join(filled)} " in f" {' '.join(there)} " for filled in fillings):
            return "verbatim"
        if any(_nearly_contains(there, filled) for filled in fillings):
            return "near"
    longest = (SequenceMatcher(None, own, there, autojunk=False).find_longest_match().size for own in fillings)
    return "part" if any(size >= RUN for size in longest) else None


def _nearly_contains(there: Sequence[str], own: Sequence[str]) -> bool:
    """Whether some stretch of words, a quarter longer at most, has enough of one's own in their order."""
    enough = ceil(NEAR * len(own))
    size = ceil(len(own) / NEAR)
    if len(own) < SHORTEST_NEARLY or LCSseq.similarity(own, there) < enough:
        return False
    stretches = (there[i : i + size] for i in range(max(1, len(there) - size + 1)))
    return any(LCSseq.similarity(own, stretch) >= enough for stretch in stretches)
