"""Problems that a corpus contains, word for word or nearly.

A model that read the corpus may remember the answer.

The corpus finds the sentences that may be a problem's own (`Corpus.alike`), and they are compared with it. There are
three kinds:

- `verbatim`: it contains the sentence of the blank, with a candidate, the pronoun or the blank itself in the blank;
- `near`: it contains four fifths of that sentence's words in the same order, with hardly anything between them;
- `part`: it contains a run of ten words or more, of any sentence of the problem.
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
"""Number of words in a row that make a part."""
NEAR = 0.8
SHORTEST = 6
SHORTEST_NEARLY = 8
"""Sentences with fewer words say nothing; with fewer than eight, a few words changed say nothing."""


@dataclass(frozen=True, slots=True)
class CorpusCopy:
    """A problem that a corpus contains.

    `kind` says how: verbatim, near or part. `source` is the file of the sentence, or None. `row` is the problem's in
    its dataset, from 0, and `sentence` the corpus's.
    """

    row: int
    kind: str
    sentence: str
    source: str | None


def find_copies(dataset: Dataset, corpus: Corpus, progress: Progress | None = None) -> list[CorpusCopy]:
    """The problems of a dataset that a corpus contains.

    Each is there once, with the corpus sentence that is most like it: verbatim before near, and near before part.
    """
    copies = []
    expected_sentences = chain.from_iterable(map(_split_sentences, dataset))
    corpus.expect(list(expected_sentences))
    for row, problem in enumerate(dataset):
        places = list(_find_places(problem, corpus))
        if places:
            kind, sentence, source = min(places, key=lambda place: KINDS.index(place[0]))
            copies.append(CorpusCopy(row, kind, sentence, source))
        if progress:
            progress(row + 1, len(dataset))
    return copies


def _find_places(problem: Problem, corpus: Corpus) -> Iterator[tuple[str, str, str | None]]:
    """Yield each place where a corpus has a problem.

    A place is the kind of copy, the corpus sentence and its file.
    """
    for sentence in _split_sentences(problem):
        words = folded_words(sentence)
        fillings = _fill_blank(words, problem)
        is_telling = problem.is_whole or BLANK in words
        for hit in corpus.alike(sentence):
            kind = _classify_copy(fillings, is_telling, hit.text)
            if kind:
                yield kind, hit.text, hit.source


def _split_sentences(problem: Problem) -> list[str]:
    """The sentences of a problem that are long enough to be searched.

    They have six words or more.
    """
    texts = problem.candidates if problem.is_whole else (problem.text,)
    every_sentence = chain.from_iterable(map(sentences, texts))
    return [sentence for sentence in every_sentence if len(folded_words(sentence)) >= SHORTEST]


def _fill_blank(words: Sequence[str], problem: Problem) -> list[list[str]]:
    """The words of a sentence with each possible filling of its blank.

    Fillings are the candidates, the blank itself and the pronoun.
    """
    words = list(words)
    if problem.is_whole or BLANK not in words:
        return [words]
    blank = words.index(BLANK)
    fillings = [*problem.candidates, BLANK]
    if problem.pronoun:
        fillings.append(problem.pronoun)
    before = words[:blank]
    after = words[blank + 1 :]
    return [[*before, *folded_words(filling), *after] for filling in fillings]


def _classify_copy(fillings: Sequence[Sequence[str]], tells: bool, text: str) -> str | None:
    """The kind of copy of a problem's sentence in a corpus sentence.

    It is "verbatim", "near" or "part" (ten words in a row or more), or None if there is no copy.

    Parameters
    ----------
    fillings
        The words of the problem's sentence, with each filling of its blank.
    tells
        Whether the sentence is particular to the problem: it has the blank, or is a text to choose. Others count
        only as "part".
    text
        The corpus sentence.
    """
    corpus_words = folded_words(text)
    if tells:
        padded_text = f" {' '.join(corpus_words)} "
        if any(f" {' '.join(filling)} " in padded_text for filling in fillings):
            return "verbatim"
        if any(_nearly_contains(corpus_words, filling) for filling in fillings):
            return "near"
    for filling in fillings:
        matcher = SequenceMatcher(None, filling, corpus_words, autojunk=False)
        if matcher.find_longest_match().size >= RUN:
            return "part"
    return None


def _nearly_contains(corpus_words: Sequence[str], words: Sequence[str]) -> bool:
    """Whether a corpus sentence has most of some words in order.

    Most are four fifths, and fewer than eight words never count. They must be in one stretch of it. The stretch may
    be a quarter longer than the words.
    """
    enough = ceil(NEAR * len(words))
    size = ceil(len(words) / NEAR)
    if len(words) < SHORTEST_NEARLY or LCSseq.similarity(words, corpus_words) < enough:
        return False
    start_count = max(1, len(corpus_words) - size + 1)
    for start in range(start_count):
        stretch = corpus_words[start : start + size]
        if LCSseq.similarity(words, stretch) >= enough:
            return True
    return False
