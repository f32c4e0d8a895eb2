"""Leaks: what predicts the answer without reading the problem, each with a test and its p-value.

WinoGrande's qID ends in the answer; WSC's first twin usually has the first candidate as its answer; names may be
right more often than wrong. p-values are corrected for the number of tests (Holm).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from winokit.problem import Dataset, Problem
from winokit.words import bare, mention_places

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


def find_leaks(dataset: Dataset) -> list[Leak]:
    """Every test that can be made on a dataset, with corrected p-values."""
    problems = [problem for problem in dataset if problem.answer is not None]
    if not problems:
        return []
    tests = [*_id_leaks(problems), *_order_leaks(dataset), *_position_leaks(problems), *_candidate_leaks(problems)]
    return _holm(tests)


def _id_leaks(problems: Sequence[Problem]) -> Iterable[Leak]:
    """Does the end of a source id go with the answer?"""
    ids: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for problem in problems:
        for key, value in problem.provenance.items():
            if isinstance(value, (str, int)) and problem.answer is not None and str(value)[-1:].isalnum():
                ids[key].append((str(value), problem.answer))
    for key, named in ids.items():
        if len({value for value, _ in named}) < MOSTLY * len(named):
            continue  # not an id: "(Winograd 1972)" stands under many problems
        pairs = [(value[-1], answer) for value, answer in named]
        by_ending: dict[str, Counter[int]] = defaultdict(Counter)
        for ending, answer in pairs:
            by_ending[ending][answer] += 1
        if len(by_ending) > 1:
            # Guess each ending's more frequent answer; endings are few, so the guess is hardly fitted to the data.
            right = sum(max(counts.values()) for counts in by_ending.values())
            p = _independence([list(counts.values()) for counts in _aligned(by_ending)])
            yield Leak("source id", f"the last character of {key} goes with the answer", right, len(pairs), 0.5, p)


def _aligned(by_ending: dict[str, Counter[int]]) -> Iterable[dict[int, int]]:
    answers = sorted({answer for counts in by_ending.values() for answer in counts})
    return ({answer: counts[answer] for answer in answers} for counts in by_ending.values())


def _order_leaks(dataset: Dataset) -> Iterable[Leak]:
    """Does the place in the file go with the answer? Twins are judged by their first member: the other follows."""
    seen: set[str] = set()
    firsts: list[tuple[int, int]] = []
    leading: list[int] = []
    for row, problem in enumerate(dataset):
        new = problem.group is None or problem.group not in seen
        if problem.group is not None:
            seen.add(problem.group)
        if new and problem.answer is not None:
            firsts.append((row, problem.answer))
            if problem.group is not None:
                leading.append(problem.answer)
    answers = [answer for _, answer in firsts]
    if len(set(answers)) == 2:
        same, n = sum(a == b for a, b in pairwise(answers)), len(answers)
        # Where one answer is more frequent, neighbours are the same more often than not in any order.
        chance = sum(count * (count - 1) for count in Counter(answers).values()) / (n * (n - 1))
        p = _binomial(same, n - 1, chance)
        yield Leak("order", "an answer goes with the one before it", same, n - 1, chance, p)
        yield _trend(firsts)
    if leading and max(leading) < 2:
        right = sum(answer == 0 for answer in leading)
        says = "the first of twins has the first candidate as its answer"
        yield Leak("order", says, right, len(leading), 0.5, _binomial(right, len(leading), 0.5))


def _trend(firsts: Sequence[tuple[int, int]]) -> Leak:
    from scipy.stats import mannwhitneyu

    low, high = sorted({answer for _, answer in firsts})
    rows = [[row for row, answer in firsts if answer == value] for value in (low, high)]
    half = firsts[len(firsts) // 2][0]
    right = sum((row >= half) == (answer == high) for row, answer in firsts)
    says = "answers change from the start of the file to its end"
    return Leak("order", says, max(right, len(firsts) - right), len(firsts), 0.5, float(mannwhitneyu(*rows).pvalue))


def _position_leaks(problems: Sequence[Problem]) -> Iterable[Leak]:
    """Is the first candidate, the first one mentioned, or the longer one right more often than not?"""
    guesses: tuple[tuple[str, str, Callable[[Problem], int | None]], ...] = (
        ("answer position", "the first candidate is the answer", lambda problem: 0),
        ("mention order", "the candidate mentioned first is the answer", _mentioned_first),
        ("length", "the longer candidate is the answer", _longer),
    )
    for name, says, guess in guesses:
        tried = [(g, p.answer, len(p.candidates)) for p in problems if (g := guess(p)) is not None]
        if tried:
            right = sum(g == answer for g, answer, _ in tried)
            chance = sum(1 / count for _, _, count in tried) / len(tried)
            yield Leak(name, says, right, len(tried), chance, _binomial(right, len(tried), chance))


def _mentioned_first(problem: Problem) -> int | None:
    places = [mention_places(problem.text, candidate)[:1] for candidate in problem.candidates]
    if problem.query is not None or not all(places) or len(set(map(tuple, places))) < len(places):
        return None
    return places.index(min(places))


def _longer(problem: Problem) -> int | None:
    sizes = [len(candidate.split()) for candidate in problem.candidates]
    return sizes.index(max(sizes)) if problem.query is None and sizes.count(max(sizes)) == 1 else None


def _candidate_leaks(problems: Sequence[Problem]) -> Iterable[Leak]:
    """Is a candidate that occurs often right more, or less, often than the others?"""
    right: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    expected: dict[str, float] = defaultdict(float)
    for problem in problems:
        for index, candidate in enumerate(problem.candidates):
            name = bare(candidate)
            seen[name] += 1
            expected[name] += 1 / len(problem.candidates)
            right[name] += index == problem.answer
    for name, n in seen.items():
        if n >= RARE:
            chance = expected[name] / n
            says = f"{name!r} is the answer"
            yield Leak("candidate", says, right[name], n, chance, _binomial(right[name], n, chance))


def _binomial(right: int, n: int, chance: float) -> float:
    from scipy.stats import binomtest

    return float(binomtest(right, n, chance).pvalue) if n else 1.0


def _independence(table: Sequence[Sequence[int]]) -> float:
    from scipy.stats import chi2_contingency

    columns = list(zip(*table, strict=True))
    if len(table) < 2 or len(columns) < 2 or not all(map(sum, columns)):
        return 1.0
    return float(chi2_contingency(table).pvalue)


def _holm(tests: Sequence[Leak]) -> list[Leak]:
    """The same tests with p-values corrected by Holm's step-down method, most surprising first."""
    worst, corrected = 0.0, []
    for rank, leak in enumerate(sorted(tests, key=lambda leak: leak.p)):
        worst = max(worst, min(1.0, leak.p * (len(tests) - rank)))
        corrected.append(replace(leak, p_corrected=worst))
    return corrected
