"""Leaks: what predicts the answer without reading the problem, each with a test and its p-value.

WinoGrande's qID ends in the answer; WSC's first twin usually has the first candidate as its answer; names may be
right more often than wrong.

The answers of twins go together, and so do those of a text that stands there several times (Winogender's, once a
gender) and of one template. So the tests count the dataset's *units* (`Dataset.units`). By chance, each unit has the
answers that it has, or those with every right candidate exchanged for the next: a coin for each unit, and not for each
problem. Several yes/no questions on one text have one yes and more no, whoever wrote them: a guess among these must
stand out question by question too. p-values are corrected for the number of tests (Holm).
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import lcm

from winokit.methods.metrics.corrections import holm
from winokit.methods.metrics.judge_leaks import p_binomial, p_drift, p_independent, p_of_turned_units
from winokit.problem import Dataset, Problem, grouped, joined
from winokit.text.language import language_of
from winokit.units import Units

ALPHA = 0.01
MOSTLY = 0.9
"""A source field is an id when this share of its values, at least, occurs once."""
RARE = 10
"""Candidates that occur in fewer problems than this are not tested one by one."""


@dataclass(frozen=True)
class Leak:
    """One way to guess: how many problems it could be tried on, how often it is right, and how surprising that is."""

    name: str
    says: str
    right: int
    n: int
    chance: float
    p: float
    p_corrected: float = 1.0

    @property
    def found(self) -> bool:
        """Whether it is worth a warning."""
        return self.p_corrected < ALPHA


@dataclass(frozen=True)
class _Case:
    """An answered problem, its row, the unit that it belongs to, and what is the same question within that."""

    row: int
    unit: int
    question: int
    problem: Problem
    answer: int


def find_leaks(dataset: Dataset) -> list[Leak]:
    """Every test that can be made on a dataset, with corrected p-values.

    Returns
    -------
    list of Leak
        Each with how often it is right, of how many problems, and its p-value by Holm's method, smallest first; empty
        where no problem has an answer.
    """
    units = dataset.units.numbers.tolist()
    questions = joined(map(_question_links, dataset))
    cases = [
        _Case(row, unit, question, problem, problem.answer)
        for row, (unit, question, problem) in enumerate(zip(units, questions, dataset, strict=True))
        if problem.answer is not None
    ]
    if not cases:
        return []
    tests = [*_id_leaks(cases), *_order_leaks(cases), *_position_leaks(cases), *_candidate_leaks(cases)]
    corrected = [replace(leak, p_corrected=p) for leak, p in zip(tests, holm([leak.p for leak in tests]), strict=True)]
    return sorted(corrected, key=lambda leak: leak.p)


def _question_links(problem: Problem) -> list[tuple[str, Hashable]]:
    """What makes two problems the same question: text and query, group, or template."""
    text = (problem.before, problem.after, problem.query, tuple(sorted(problem.candidates)))
    return [("text", text), ("group", problem.group), ("template", problem.labels.get("template"))]


def _id_leaks(cases: Sequence[_Case]) -> Iterable[Leak]:
    """Does the end of a source id go with the answer?"""
    ids = grouped(
        (key, (str(value), case))
        for case in cases
        for key, value in case.problem.provenance.items()
        if isinstance(value, (str, int)) and str(value)[-1:].isalnum()
    )
    for key, named in ids.items():
        if len({value for value, _ in named}) < MOSTLY * len(named):
            continue  # not an id: "(Winograd 1972)" stands under many problems
        endings = [value[-1] for value, _ in named]
        if len(set(endings)) > 1:
            # Guess each ending's more frequent answer; endings are few, so the guess is hardly fitted to the data.
            counts = Counter((ending, case.answer) for ending, (_, case) in zip(endings, named, strict=True))
            best = {ending: max(n for (other, _), n in counts.items() if other == ending) for ending in set(endings)}
            units = Units.of_names(case.unit for _, case in named)
            p = p_independent(endings, [case.answer for _, case in named], units)
            says = f"the last character of {key} goes with the answer"
            yield Leak("source id", says, sum(best.values()), len(named), 0.5, p)


def _order_leaks(cases: Sequence[_Case]) -> Iterable[Leak]:
    """Does the place in the file go with the answer? A unit is judged by its first member: the others follow."""
    firsts = list({case.unit: case for case in reversed(cases)}.values())[::-1]
    answers = [case.answer for case in firsts]
    leading = [case.answer for case in firsts if case.problem.group is not None]
    if len(set(answers)) == 2:
        same = sum(a == b for a, b in pairwise(answers))
        n = len(answers)
        # Where one answer is more frequent, neighbours are the same more often than not in any order.
        chance = sum(count * (count - 1) for count in Counter(answers).values()) / (n * (n - 1))
        p = p_binomial(same, n - 1, chance)
        yield Leak("order", "an answer goes with the one before it", same, n - 1, chance, p)
        yield _trend([(case.row, case.answer) for case in firsts])
    if leading and max(leading) < 2:
        right = sum(answer == 0 for answer in leading)
        says = "the first of twins has the first candidate as its answer"
        yield Leak("order", says, right, len(leading), 0.5, p_binomial(right, len(leading), 0.5))


def _trend(firsts: Sequence[tuple[int, int]]) -> Leak:
    low, high = sorted({answer for _, answer in firsts})
    rows = [[row for row, answer in firsts if answer == value] for value in (low, high)]
    half = firsts[len(firsts) // 2][0]
    right = sum((row >= half) == (answer == high) for row, answer in firsts)
    says = "answers change from the start of the file to its end"
    return Leak("order", says, max(right, len(firsts) - right), len(firsts), 0.5, p_drift(*rows))


def _position_leaks(cases: Sequence[_Case]) -> Iterable[Leak]:
    """Is the first candidate, the first one mentioned, or the longer one right more often than not?"""
    guesses: tuple[tuple[str, str, Callable[[Problem], int | None]], ...] = (
        ("answer position", "the first candidate is the answer", lambda problem: 0),
        ("mention order", "the candidate mentioned first is the answer", _mentioned_first),
        ("length", "the longer candidate is the answer", _longer),
    )
    for name, says, guess in guesses:
        tried = [(case, place) for case in cases if (place := guess(case.problem)) is not None]
        if tried:
            yield _guessed(name, says, tried)


def _mentioned_first(problem: Problem) -> int | None:
    language = language_of(problem.language)
    places = [language.mention_places(problem.text, candidate)[:1] for candidate in problem.candidates]
    if problem.query is not None or problem.is_whole or not all(places) or len(set(map(tuple, places))) < len(places):
        return None
    return places.index(min(places))


def _longer(problem: Problem) -> int | None:
    sizes = [len(candidate.split()) for candidate in problem.candidates]
    return sizes.index(max(sizes)) if problem.query is None and sizes.count(max(sizes)) == 1 else None


def _candidate_leaks(cases: Sequence[_Case]) -> Iterable[Leak]:
    """Is a candidate that occurs often right more, or less, often than the others?"""
    # "Yes" is no candidate: how often it is right, its place has told.
    choices = [case for case in cases if case.problem.query is None]
    places = grouped(
        (language_of(case.problem.language).bare(name), (case, at))
        for case in choices
        for at, name in enumerate(case.problem.candidates)
    )
    for name, tried in places.items():
        if len(tried) >= RARE:
            yield _guessed("candidate", f"{name!r} is the answer", tried)


def _guessed(name: str, says: str, guesses: Sequence[tuple[_Case, int]]) -> Leak:
    """The test of a guess: how many it has right, against a coin for each unit."""
    right = sum(case.answer == place for case, place in guesses)
    by_unit = grouped((case.unit, (case, place)) for case, place in guesses)
    chance, p = _coins(list(by_unit.values()), right)
    if any(case.problem.query is not None for case, _ in guesses):
        by_question = grouped((case.question, (case, place)) for case, place in guesses)
        p = max(p, _coins(list(by_question.values()), right)[1])
    return Leak(name, says, right, len(guesses), chance, p)


def _coins(clusters: Sequence[Sequence[tuple[_Case, int]]], right: int) -> tuple[float, float]:
    """The share that coins get right, one for each cluster, and how probably they are as far from it as `right`."""
    return p_of_turned_units(list(map(_outcomes, clusters)), sum(map(len, clusters)), right)


def _outcomes(members: Sequence[tuple[_Case, int]]) -> tuple[int, ...]:
    """How many guesses would be right in a cluster, for each exchange of right candidates."""
    sizes = [len(case.problem.candidates) for case, _ in members]
    counts = [0] * lcm(*sizes)
    for (case, place), size in zip(members, sizes, strict=True):
        # In alphabetical order, so that the same candidate becomes right in every member, however they are listed.
        order = sorted(range(size), key=case.problem.candidates.__getitem__) if size > 2 else (0, 1)
        for turn in range((order.index(place) - order.index(case.answer)) % size, len(counts), size):
            counts[turn] += 1
    return tuple(sorted(counts))
