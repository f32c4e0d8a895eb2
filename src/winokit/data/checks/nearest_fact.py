"""What a problem asks one to know, and the nearest thing to it that training says.

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
"""Words that stand in more than this share of many facts say nothing and cost the most time."""
MANY = 1000
AT_ONCE = 512


@dataclass(frozen=True, slots=True)
class NearestFact:
    """A problem's fact and the nearest one of training; `place` is (dataset, row), None where no word is shared."""

    row: int
    fact: str
    place: tuple[int, int] | None
    training_fact: str
    similarity: float
    shares_pair: bool
    """Whether training has one of its (special word, candidate) pairs."""


@dataclass(frozen=True, slots=True)
class _Fact:
    row: tuple[int, int]
    text: str
    weights: dict[str, float]


def fact_pairs(members: Sequence[Problem]) -> set[tuple[str, str]]:
    """The (special word, candidate) pairs of a group, or of a problem whose special word is known.

    >>> problem = Problem("The cup hit the tray because ", " was loose.", ("the cup", "the tray"), 0)
    >>> sorted(fact_pairs([problem, problem.replace(after=" was tilted.", answer=1)]))
    [('loose', 'cup'), ('loose', 'tray'), ('tilted', 'cup'), ('tilted', 'tray')]
    """
    specials = zip(members, _special_words(members), strict=True)
    return {
        (word, language_of(problem.language).bare(candidate))
        for problem, word in specials
        if word
        for candidate in problem.candidates
    }


def _special_words(members: Sequence[Problem]) -> list[str]:
    """The special word of each member: what it has and the next has not, else what its labels say."""
    if len(members) > 1:
        others = [*members[1:], members[0]]
        return [special_words(member.text, other.text)[0] for member, other in zip(members, others, strict=True)]
    known = members[0].labels.get("special_word")
    return [known.casefold() if isinstance(known, str) else ""]


def nearest_facts(test: Dataset, training: Sequence[Dataset], progress: Progress | None = None) -> list[NearestFact]:
    """The nearest training fact of each test problem, in the order of the test. Groups must have been found."""
    asked = _facts(0, test)
    known = [fact for place, dataset in enumerate(training) for fact in _facts(place, dataset)]
    trained = set().union(*(pairs for dataset in training for pairs in _pairs(dataset)))
    shared = [bool(pairs & trained) for pairs in _pairs(test)]
    best: list[tuple[float, int, int]] = [(0.0, -1, -1)] * len(test)
    for done, (place, similarity, other) in enumerate(_compared(asked, known), 1):
        row = asked[place].row[1]
        if similarity > best[row][0] or best[row][1] < 0:
            best[row] = (similarity, place, other)
        if progress:
            progress(done, len(asked))
    return [
        NearestFact(
            row,
            asked[place].text,
            known[other].row if similarity else None,
            known[other].text if similarity else "",
            round(similarity, 4),
            shared[row],
        )
        for row, (similarity, place, other) in enumerate(best)
    ]


def _pairs(dataset: Dataset) -> list[set[tuple[str, str]]]:
    """The pairs of each problem, with the special words that its group tells."""
    of_group = {name: fact_pairs(members) for name, members in dataset.groups.items()}
    return [fact_pairs([p]) if p.group is None else of_group[p.group] for p in dataset]


def _facts(place: int, dataset: Dataset) -> list[_Fact]:
    """The facts of a dataset: one a problem, or one a candidate where the answer is hidden."""
    specials: dict[str, str] = {}
    for members in dataset.groups.values():
        specials |= {p.id: word for p, word in zip(members, _special_words(members), strict=True)}
    facts = []
    for row, problem in enumerate(dataset):
        special = specials.get(problem.id) or _special_words([problem])[0]
        for candidate in problem.candidates if problem.right is None else (problem.right,):
            text = fact_text(problem, candidate)
            counts = Counter(_words(problem, text))
            emphasised = set(_words(problem, special))
            weights = {word: n * (SPECIAL_WEIGHT if word in emphasised else 1.0) for word, n in counts.items()}
            facts.append(_Fact((place, row), text, weights))
    return facts


def _words(problem: Problem, text: str) -> list[str]:
    """The words of a text in a problem's language."""
    return WORD.findall(text.casefold()) if language_of(problem.language).spaced else list(letters(text))


def fact_text(problem: Problem, candidate: str) -> str:
    """The clause of the blank with a candidate in it, a person's name left open.

    >>> fact_text(Problem("Ian gave Dennis the soup because ", " was full. So he slept.", ("Ian", "Dennis"), 0), "Ian")
    'someone was full'
    """
    clause = part_sent(problem, style="code")
    before = problem.before if isinstance(clause, str) else clause.before
    # In the whole text: at the head of a clause by itself a candidate would get a capital.
    is_name = not problem.is_whole and language_of(problem.language).gender_of(candidate) is not None
    filled = substitute(problem, SOMEONE if is_name else candidate)
    after = SENTENCE_END.split(filled.after.lstrip(), maxsplit=1)[0] if filled.after.strip() else ""
    before = filled.before[len(problem.before) - len(before) :]
    return " ".join(f"{before}{filled.candidate} {after}".split()).strip(" .,;!?")


def _compared(asked: Sequence[_Fact], known: Sequence[_Fact]) -> Iterator[tuple[int, float, int]]:
    """For each fact asked: its place, and the similarity and place of the nearest known one."""
    if not known:
        yield from ((place, 0.0, -1) for place in range(len(asked)))
        return
    facts = [*asked, *known]
    counts = Counter(word for fact in facts for word in fact.weights)
    most = COMMON * len(facts) if len(facts) > MANY else len(facts)
    # How much a word says: the logarithm of how few facts have it; words that many have are left out.
    rarity = {word: log(1 + len(facts) / count) for word, count in sorted(counts.items()) if count <= most}
    columns = {word: column for column, word in enumerate(rarity)}
    theirs = _matrix(known, rarity, columns).T.tocsc()
    for start in range(0, len(asked), AT_ONCE):
        products = (_matrix(asked[start : start + AT_ONCE], rarity, columns) @ theirs).tocsr()
        for line in range(products.shape[0]):
            span = slice(products.indptr[line], products.indptr[line + 1])
            values = products.data[span]
            places = products.indices[span]
            if len(values):
                best = float(values.max())
                yield start + line, min(best, 1.0), int(places[values >= best - 1e-9].min())
            else:
                yield start + line, 0.0, -1


def _matrix(facts: Sequence[_Fact], rarity: dict[str, float], columns: dict[str, int]) -> Any:
    """One row of length 1 a fact."""
    from scipy.sparse import csr_matrix

    starts: list[int] = [0]
    places: list[int] = []
    values: list[float] = []
    for fact in facts:
        own = {columns[word]: weight * rarity[word] for word, weight in fact.weights.items() if word in rarity}
        length = sum(value * value for value in own.values()) ** 0.5
        places += own.keys()
        values += [value / length for value in own.values()]
        starts.append(len(places))
    return csr_matrix((np.array(values), np.array(places, np.int32), np.array(starts)), (len(facts), len(columns)))
