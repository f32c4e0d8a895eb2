"""The fact that a problem asks for, and the nearest fact in training data.

Elazar et al., "Back to Square One" (2021), §5: a model that was trained on "steel is hard" need not reason to know it
in the test. A problem's fact is the clause of its blank with the right candidate in it (each candidate, where the
answer is hidden), people's names left open: "the ball was made of steel", "someone despised eating intestine". Facts
are compared by their words, rare ones counting more (tf-idf, cosine) and the special word twice. That finds facts said
in the same words, not in others.

The stricter, countable notion is a pair of special word and candidate, (steel, ball): `split = knowledge` shares none.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np

from winokit.data.checks.statistics import special_words
from winokit.methods.transforms.part_sent import part_sent
from winokit.methods.transforms.substitute import substitute
from winokit.problem import Dataset, Problem
from winokit.progress import Progress
from winokit.text.language import language_of
from winokit.text.words import WORD, letters

SENTENCE_END = re.compile(r"(?<=[.;!?])\s")
SOMEONE = "someone"
SPECIAL_WEIGHT = 2.0
COMMON = 0.05
"""Words in more than this share of many facts say nothing and cost the most time."""
MANY = 1000
AT_ONCE = 512


@dataclass(frozen=True, slots=True)
class NearestFact:
    """The fact behind a test problem, and the nearest training fact.

    `place` is (dataset, row) of the training fact, or None if no fact shares a word. `similarity` is a cosine from 0
    to 1.
    """

    row: int
    fact: str
    place: tuple[int, int] | None
    training_fact: str
    similarity: float
    shares_pair: bool
    """Whether training has one of its (special word, candidate) pairs."""


@dataclass(frozen=True, slots=True)
class _Fact:
    """The fact behind a problem: its place, text and weighted words.

    `row` has the indices of the dataset and of the problem in it. Weights are counts, doubled for the special word.
    """

    row: tuple[int, int]
    text: str
    weights: dict[str, float]


def fact_pairs(members: Sequence[Problem]) -> set[tuple[str, str]]:
    """The pairs of special word and candidate in a group.

    The special word is the one in which twins differ. A problem alone has pairs only if a label has it.

    >>> problem = Problem("The cup hit the tray because ", " was loose.", ("the cup", "the tray"), 0)
    >>> sorted(fact_pairs([problem, problem.replace(after=" was tilted.", answer=1)]))
    [('loose', 'cup'), ('loose', 'tray'), ('tilted', 'cup'), ('tilted', 'tray')]
    """
    pairs = set()
    for problem, word in zip(members, _find_special_words(members), strict=True):
        if word:
            language = language_of(problem.language)
            pairs |= {(word, language.bare(candidate)) for candidate in problem.candidates}
    return pairs


def _find_special_words(members: Sequence[Problem]) -> list[str]:
    """The special word of each problem in a group.

    It is the word in which the text differs from the next problem's, in lower case. For a problem alone it is a
    label. Empty if it is not known.
    """
    if len(members) == 1:
        label = members[0].labels.get("special_word")
        return [label.casefold() if isinstance(label, str) else ""]
    next_members = [*members[1:], members[0]]
    words = []
    for member, other in zip(members, next_members, strict=True):
        special_word, _ = special_words(member.text, other.text)
        words.append(special_word)
    return words


def nearest_facts(test: Dataset, training: Sequence[Dataset], progress: Progress | None = None) -> list[NearestFact]:
    """For each test problem, the most similar fact of the training data.

    They are in the order of the test problems. Groups must have been found.
    """
    test_facts = _find_facts(0, test)
    training_facts: list[_Fact] = []
    training_pairs: set[tuple[str, str]] = set()
    for index, dataset in enumerate(training):
        training_facts += _find_facts(index, dataset)
        training_pairs.update(*_find_pairs(dataset))
    best: list[tuple[float, int, int]] = [(0.0, -1, -1)] * len(test)
    for done, (index, similarity, nearest) in enumerate(_find_nearest(test_facts, training_facts), 1):
        _, row = test_facts[index].row
        best_similarity, best_index, _ = best[row]
        if similarity > best_similarity or best_index < 0:
            best[row] = (similarity, index, nearest)
        if progress:
            progress(done, len(test_facts))
    nearest_facts = []
    for row, pairs in enumerate(_find_pairs(test)):
        similarity, index, nearest = best[row]
        fact = NearestFact(
            row,
            fact=test_facts[index].text,
            place=training_facts[nearest].row if similarity else None,
            training_fact=training_facts[nearest].text if similarity else "",
            similarity=round(similarity, 4),
            shares_pair=not training_pairs.isdisjoint(pairs),
        )
        nearest_facts.append(fact)
    return nearest_facts


def _find_pairs(dataset: Dataset) -> list[set[tuple[str, str]]]:
    """For each problem, its group's pairs of special word and candidate."""
    pairs_of_group = {name: fact_pairs(members) for name, members in dataset.groups.items()}
    return [fact_pairs([p]) if p.group is None else pairs_of_group[p.group] for p in dataset]


def _find_facts(dataset_index: int, dataset: Dataset) -> list[_Fact]:
    """The facts of a dataset: one for each problem.

    If the answer is hidden there is one for each candidate. `dataset_index` is a part of their places.
    """
    special_word_of: dict[str, str] = {}
    for members in dataset.groups.values():
        words = _find_special_words(members)
        special_word_of |= {problem.id: word for problem, word in zip(members, words, strict=True)}
    facts = []
    for row, problem in enumerate(dataset):
        special_word = special_word_of.get(problem.id) or _find_special_words([problem])[0]
        candidates = problem.candidates if problem.right is None else (problem.right,)
        for candidate in candidates:
            text = fact_text(problem, candidate)
            weights = _weigh_words(problem, text, special_word)
            facts.append(_Fact((dataset_index, row), text, weights))
    return facts


def _weigh_words(problem: Problem, text: str, special_word: str) -> dict[str, float]:
    """Counts of the words of a fact, doubled for the special word."""
    weights: dict[str, float] = {}
    emphasised_words = set(_split_words(problem, special_word))
    for word, word_count in Counter(_split_words(problem, text)).items():
        factor = SPECIAL_WEIGHT if word in emphasised_words else 1.0
        weights[word] = word_count * factor
    return weights


def _split_words(problem: Problem, text: str) -> list[str]:
    """The words of a text.

    In a language without spaces they are its letters.
    """
    if language_of(problem.language).spaced:
        return WORD.findall(text.casefold())
    return list(letters(text))


def fact_text(problem: Problem, candidate: str) -> str:
    """The clause of the blank, filled with a candidate.

    "someone" replaces a person's name.

    >>> fact_text(Problem("Ian gave Dennis the soup because ", " was full. So he slept.", ("Ian", "Dennis"), 0), "Ian")
    'someone was full'
    """
    clause = part_sent(problem, style="code")
    before = problem.before if isinstance(clause, str) else clause.before
    # The whole text is filled, because at the head of a clause by itself a candidate would get a capital.
    is_name = not problem.is_whole and language_of(problem.language).gender_of(candidate) is not None
    filled = substitute(problem, SOMEONE if is_name else candidate)
    after = ""
    if filled.after.strip():
        after, *_ = SENTENCE_END.split(filled.after.lstrip(), maxsplit=1)
    clause_start = len(problem.before) - len(before)
    words = f"{filled.before[clause_start:]}{filled.candidate} {after}".split()
    return " ".join(words).strip(" .,;!?")


def _find_nearest(test_facts: Sequence[_Fact], training_facts: Sequence[_Fact]) -> Iterator[tuple[int, float, int]]:
    """Yield the nearest training fact of each test fact.

    Each result is the index of the test fact, the similarity, and the index of the training fact. The last is -1 and
    the similarity 0 if no training fact shares a word.
    """
    if not training_facts:
        yield from ((index, 0.0, -1) for index in range(len(test_facts)))
        return
    rarity = _measure_rarity([*test_facts, *training_facts])
    columns = {word: column for column, word in enumerate(rarity)}
    training_matrix = _make_matrix(training_facts, rarity, columns).T.tocsc()
    for start in range(0, len(test_facts), AT_ONCE):
        test_matrix = _make_matrix(test_facts[start : start + AT_ONCE], rarity, columns)
        products = (test_matrix @ training_matrix).tocsr()
        for line in range(products.shape[0]):
            line_start = products.indptr[line]
            line_end = products.indptr[line + 1]
            values = products.data[line_start:line_end]
            indices = products.indices[line_start:line_end]
            if len(values):
                best = float(values.max())
                # The first one if several are equally near, whatever the order of the sum.
                nearest = int(indices[values >= best - 1e-9].min())
                yield start + line, min(best, 1.0), nearest
            else:
                yield start + line, 0.0, -1


def _measure_rarity(facts: Sequence[_Fact]) -> dict[str, float]:
    """Weight of each word, higher if fewer facts have it (idf).

    If there are more than 1,000 facts, words that more than 5 % of them have are left out.
    """
    counts: Counter[str] = Counter()
    for fact in facts:
        counts.update(fact.weights.keys())
    most = COMMON * len(facts) if len(facts) > MANY else len(facts)
    rarity = {}
    for word, count in sorted(counts.items()):
        if count <= most:
            rarity[word] = log(1 + len(facts) / count)
    return rarity


def _make_matrix(facts: Sequence[_Fact], rarity: dict[str, float], columns: dict[str, int]) -> Any:
    """A sparse matrix with facts as rows and words as columns.

    Every row has length 1.

    Parameters
    ----------
    rarity
        Weight of each word.
    columns
        Column of each word.
    """
    from scipy.sparse import csr_matrix

    starts: list[int] = [0]
    places: list[int] = []
    values: list[float] = []
    for fact in facts:
        value_of = {columns[word]: weight * rarity[word] for word, weight in fact.weights.items() if word in rarity}
        length = sum(value * value for value in value_of.values()) ** 0.5
        places += value_of.keys()
        values += [value / length for value in value_of.values()]
        starts.append(len(places))
    arrays = (np.array(values), np.array(places, np.int32), np.array(starts))
    return csr_matrix(arrays, (len(facts), len(columns)))
