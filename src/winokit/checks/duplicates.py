"""Problems that stand in more than one place: the same, nearly the same, or the twin of one in another file.

Texts that share enough four-word sequences are compared by token edit distance, so that 40,000 problems take seconds.
Within one file the twins of a group are nearly the same by design and do not count.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rapidfuzz.distance import Levenshtein

from winokit.problem import Dataset, Problem
from winokit.words import bare, same_words

SHINGLE = 4
COMMON = 60
"""Four-word sequences that occur in more texts than this say nothing and are passed over."""
SIMILAR = 0.8
SHARED = 0.2
"""Share of its sequences a text must share with another before the two are compared."""


@dataclass(frozen=True)
class Duplicate:
    """Two problems that repeat each other. `kind` is same, contradiction, near or twin; places are (dataset, row)."""

    kind: str
    first: tuple[int, int]
    second: tuple[int, int]
    similarity: float

    @property
    def across(self) -> bool:
        """Whether the two stand in different datasets."""
        return self.first[0] != self.second[0]


def find_duplicates(datasets: Sequence[Dataset]) -> list[Duplicate]:
    """All repetitions within and across datasets, in order of place."""
    places = [(d, row) for d, dataset in enumerate(datasets) for row in range(len(dataset))]
    problems = [problem for dataset in datasets for problem in dataset]
    coded = _coded(problems)
    found = []
    for a, b in _alike(coded):
        x, y = coded[a], coded[b]
        similarity = 1.0 if x == y else Levenshtein.normalized_similarity(x, y, score_cutoff=SIMILAR)
        if similarity:
            kind = _kind(problems[a], problems[b], same_file=places[a][0] == places[b][0], same_text=x == y)
            if kind:
                found.append(Duplicate(kind, places[a], places[b], similarity))
    return sorted(found, key=lambda duplicate: (duplicate.first, duplicate.second))


def _kind(a: Problem, b: Problem, *, same_file: bool, same_text: bool) -> str | None:
    """What two similar problems are to each other; None for what is as it should be."""
    same_candidates = sorted(map(bare, a.candidates)) == sorted(map(bare, b.candidates))
    differ = a.right is not None and b.right is not None and bare(a.right) != bare(b.right)
    if same_text and same_candidates and (a.pronoun or "").casefold() == (b.pronoun or "").casefold():
        if a.query != b.query:
            return None
        return "contradiction" if differ else "same"
    if same_file and ((a.group is not None and a.group == b.group) or same_words(a.sentence, b.sentence)):
        return None  # twins, or two blanks of one sentence
    if same_file and (a.query is not None or (a.labels.get("occupation") or a) == b.labels.get("occupation")):
        return None  # judgements about twins, or sentences of one template of Winogender's
    if a.is_continuation and not same_candidates:
        return None  # COPA: short premises alike, with other things to choose from
    if same_candidates and differ:
        return "twin"
    return "near"


def _coded(problems: Sequence[Problem]) -> list[str]:
    """Each text as a string of one character a word, lower-cased, punctuation at word ends dropped."""
    codes: dict[str, str] = {}
    coded = []
    for problem in problems:
        words = [word.strip(".,;:!?\"'“”‘’()") for word in problem.text.casefold().split()]
        coded.append("".join([codes.setdefault(word, chr(0x10000 + len(codes))) for word in words if word]))
    return coded


def _alike(coded: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Pairs of texts that share enough sequences of words to be worth comparing."""
    where: dict[str, list[int]] = defaultdict(list)
    for index, text in enumerate(coded):
        for shingle in _shingles(text):
            where[shingle].append(index)
    for index, text in enumerate(coded):
        shingles = _shingles(text)
        shared: Counter[int] = Counter()
        for shingle in shingles:
            others = where[shingle]
            if len(others) <= COMMON:
                shared.update(other for other in others if other > index)
        for other, count in shared.items():
            if count >= max(1, SHARED * len(shingles)):
                yield index, other
    whole: dict[str, list[int]] = defaultdict(list)
    for index, text in enumerate(coded):
        whole[text].append(index)
    for same in whole.values():
        # Texts made of common sequences alone were passed over above; those repeated to the letter are still found.
        if len(same) > 1 and all(len(where[s]) > COMMON for s in _shingles(coded[same[0]])):
            yield from ((a, b) for i, a in enumerate(same) for b in same[i + 1 :])


def _shingles(text: str) -> set[str]:
    return {text[i : i + SHINGLE] for i in range(max(1, len(text) - SHINGLE + 1))}
