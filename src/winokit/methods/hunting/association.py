"""Which candidate the blank's clause goes with by association alone, estimated from counts in a corpus.

Trichelair et al., "On the Evaluation of Common-Sense Reasoning in Natural Language Understanding" (2018),
https://arxiv.org/abs/1811.01778, call a problem *associative* if one candidate is strongly associated with the clause
of the pronoun and the other is not; people who saw only the clause and the candidates said so for 37 of WSC273. Where
no people were asked, this estimates the same thing: how much more often a candidate's word shares a sentence with the
clause's words than chance would have it. It is an estimate, it depends on the corpus, and names have no association.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

from winokit.errors import BadInput
from winokit.methods.arrays import clusters
from winokit.methods.hunting.search import AllOf, SentenceIndex, any_of
from winokit.methods.metrics.intervals import Interval
from winokit.problem import Dataset, Problem
from winokit.progress import Progress
from winokit.text.clauses import clause_words
from winokit.text.english import ENGLISH
from winokit.text.grammar import forms
from winokit.text.language import language_of

LEVEL = 0.95
DRAWS = 2000
UNSEEN = 0.5
"""Added to observed and expected counts, so that a few chance meetings of rare words do not look like a bond."""


@dataclass(frozen=True, slots=True)
class WordPair:
    """A candidate's word and a word of the clause: in how many sentences each stands, and in how many both."""

    candidate: str
    word: str
    with_candidate: int
    with_word: int
    with_both: int
    sentences: int

    @property
    def expected(self) -> float:
        """In how many sentences chance would have both."""
        return self.with_candidate * self.with_word / self.sentences


@dataclass(frozen=True, slots=True)
class Strength:
    """How strongly a candidate goes with the whole clause: the logarithm of observed over expected meetings."""

    observed: int
    expected: float

    @property
    def value(self) -> float:
        """0 for what chance gives."""
        return log((self.observed + UNSEEN) / (self.expected + UNSEEN))

    @property
    def interval(self) -> Interval:
        """By the exact interval of a Poisson count."""
        low = float(stats.chi2.ppf((1 - LEVEL) / 2, 2 * self.observed)) / 2 if self.observed else 0.0
        high = float(stats.chi2.ppf((1 + LEVEL) / 2, 2 * self.observed + 2)) / 2
        low, high = (log((end + UNSEEN) / (self.expected + UNSEEN)) for end in (low, high))
        return Interval(low, high, LEVEL, "poisson")


@dataclass(frozen=True)
class Association:
    """The association of a problem's candidates with the clause of its blank; `why` says what there is none of."""

    pairs: tuple[WordPair, ...] = ()
    strengths: tuple[Strength, ...] = ()
    why: str | None = None

    @property
    def difference(self) -> float:
        """How far the strongest candidate is ahead of the next; 0 where there is no association."""
        values = sorted((strength.value for strength in self.strengths), reverse=True)
        return values[0] - values[1] if len(values) > 1 else 0.0

    @property
    def associative(self) -> bool:
        """Whether one candidate goes with the clause, and surely more than any other does."""
        if not self.strengths:
            return False
        best, *rest = sorted(self.strengths, key=lambda strength: -strength.value)
        low = best.interval.low
        return low > 0 and all(low > other.interval.high for other in rest)

    @property
    def scores(self) -> tuple[float, ...] | str:
        """A number for each candidate, or why there is none."""
        return self.why if self.why is not None else tuple(strength.value for strength in self.strengths)


def associate(problem: Problem, corpus: SentenceIndex) -> Association:
    """The association of each candidate with the clause of the blank."""
    if refusal := language_of(problem.language).refusal("hunting"):
        return Association(why=refusal)
    units = candidate_words(problem)
    if units is None:
        return Association(why="a candidate is a name, and names have no association")
    words = clause_words(problem)
    if not words:
        return Association(why="the blank's clause has no word to go by")
    pairs: list[WordPair] = []
    strengths: list[Strength] = []
    for unit in units:
        met = [_pair(unit, word, corpus) for word in words]
        if not met[0].with_candidate:
            return Association(why=f"the corpus has no {unit!r}")
        pairs += met
        strengths.append(Strength(sum(pair.with_both for pair in met), sum(pair.expected for pair in met)))
    if not any(pair.with_word for pair in pairs):
        return Association(tuple(pairs), why="the corpus has none of the clause's words")
    return Association(tuple(pairs), tuple(strengths))


def candidate_words(problem: Problem) -> list[str] | None:
    """The word that tells each candidate from the others, in lower case; None where one is a name.

    >>> candidate_words(Problem("I like ", " best.", ("the oatmeal cookies", "the ginger cookies")))
    ['oatmeal', 'ginger']
    """
    names = [ENGLISH.core(candidate) for candidate in problem.candidates]
    if problem.query is not None or any(_is_a_name(name) for name in names):
        return None
    words = [name.split(" of ")[0].casefold().split() for name in names]
    own = [[word for word in mine if sum(word in other for other in words) == 1] for mine in words]
    return [mine[-1] for mine in own] if all(own) else None


def _is_a_name(words: str) -> bool:
    """Whether some words are the name of a person; places and peoples have associations like any noun."""
    several = len(words.split()) > 1 and all(word[:1].isupper() for word in words.split())
    return ENGLISH.gender_of(words) is not None or (several and ENGLISH.is_proper(words))


def _pair(unit: str, word: str, corpus: SentenceIndex) -> WordPair:
    unit_forms, word_forms = any_of(forms(unit)), any_of(forms(word))
    both = 0 if unit == word else corpus.count(AllOf((unit_forms, word_forms)))
    return WordPair(unit, word, corpus.count(unit_forms), corpus.count(word_forms), both, corpus.sentences)


def with_associations(
    dataset: Dataset, corpus: SentenceIndex, progress: Progress | None = None
) -> tuple[Dataset, list[Association]]:
    """The dataset with an estimate on every problem, and the associations themselves.

    `associative` is set where it is not known from people, with `associative_by` beside it; `association` is always
    how far ahead the strongest candidate is.
    """
    problems, associations = [], []
    for number, problem in enumerate(dataset, 1):
        association = associate(problem, corpus)
        labels: dict[str, object] = {"association": round(association.difference, 4)}
        if "associative" not in problem.labels:
            labels |= {"associative": association.associative, "associative_by": f"estimated from {corpus.name}"}
        problems.append(problem.with_labels(**labels))
        associations.append(association)
        if progress:
            progress(number, len(dataset))
    return dataset.with_problems(problems), associations


def auc(scores: npt.ArrayLike, labels: npt.ArrayLike) -> float:
    """How often a problem with the label scores higher than one without; a tie counts half, chance is 0.5.

    >>> auc([3.0, 1.0, 2.0, 1.0], [True, False, True, False])
    1.0
    """
    values, wanted = np.asarray(scores, float), np.asarray(labels, bool)
    if not wanted.any() or wanted.all():
        raise BadInput("an AUC needs problems with the label and problems without it")
    ranks = stats.rankdata(values)
    positive = int(wanted.sum())
    above = ranks[wanted].sum() - positive * (positive + 1) / 2
    return float(above / (positive * (len(wanted) - positive)))


def auc_interval(scores: Sequence[float], labels: Sequence[bool], groups: Sequence[object], seed: int = 0) -> Interval:
    """Of an AUC, by drawing whole groups with replacement; draws without one of the labels are left out."""
    numbers = clusters(groups)
    rows = [np.flatnonzero(numbers == number) for number in range(numbers.max() + 1)]
    rng = np.random.default_rng(seed)
    values, wanted = np.asarray(scores, float), np.asarray(labels, bool)
    drawn_values = []
    for _ in range(DRAWS):
        drawn = np.concatenate([rows[number] for number in rng.integers(len(rows), size=len(rows))])
        if 0 < wanted[drawn].sum() < len(drawn):
            drawn_values.append(auc(values[drawn], wanted[drawn]))
    low, high = np.quantile(drawn_values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(float(low), float(high), LEVEL, "cluster bootstrap")


def compare_with_labels(dataset: Dataset, associations: Sequence[Association]) -> dict[str, Any]:
    """How well the difference tells problems that people call associative from others; nothing without both kinds."""
    rows = [(p, a) for p, a in zip(dataset, associations, strict=True) if "associative" in p.labels]
    labels = [bool(problem.labels["associative"]) for problem, _ in rows]
    if not any(labels) or all(labels):
        return {}
    scores = [association.difference for _, association in rows]
    groups = [problem.group or problem.id for problem, _ in rows]
    interval = auc_interval(scores, labels, groups)
    worded = [(a.difference, label) for (_, a), label in zip(rows, labels, strict=True) if a.why is None]
    both = len({label for _, label in worded}) == 2
    return {
        "labelled": len(rows),
        "labelled_associative": sum(labels),
        "auc": auc(scores, labels),
        "auc_interval": (interval.low, interval.high),
        "auc_with_words": auc(*map(list, zip(*worded, strict=True))) if both else None,
    }
