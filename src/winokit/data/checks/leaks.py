"""Leaks: signs that predict the answer without a look at the problem.

Each has a test and its p-value.

WinoGrande's qID ends in the answer; WSC's first twin usually has the first candidate as its answer; names may be
right more often than wrong.

The answers of twins go together, and so do those of a text that is in the file several times (Winogender's, once a
gender) and of one template. So the tests count the dataset's *units* (`Dataset.units`). By chance, each unit has the
answers that it has, or those with every right candidate exchanged for the next: one coin for each unit, not for each
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
"""A source field is an id if at least this share of its values occurs once."""
RARE = 10
"""Candidates that occur in fewer problems than this are not tested one by one."""


@dataclass(frozen=True)
class Leak:
    """A way to guess answers, and how often it is right.

    `right` of `n` guesses were right, and `chance` is the share that is expected.
    """

    name: str
    says: str
    right: int
    n: int
    chance: float
    p: float
    p_corrected: float = 1.0

    @property
    def found(self) -> bool:
        """Whether the corrected p-value is small enough for a warning.

        That is below 0.01.
        """
        return self.p_corrected < ALPHA


@dataclass(frozen=True)
class _Case:
    """A problem with an answer, and what it depends on.

    `row` is its row in the dataset. A unit is what varies independently. Judgements about one text are one question
    of a unit.
    """

    row: int
    unit: int
    question: int
    problem: Problem
    answer: int


def find_leaks(dataset: Dataset) -> list[Leak]:
    """Test every way to guess the answers of a dataset.

    Returns
    -------
    list of Leak
        Each with how often it is right, of how many problems, and its p-value by Holm's method, smallest first; empty
        where no problem has an answer.
    """
    units = dataset.units.numbers.tolist()
    questions = joined(map(_link_questions, dataset))
    cases = []
    for row, (unit, question, problem) in enumerate(zip(units, questions, dataset, strict=True)):
        if problem.answer is not None:
            cases.append(_Case(row, unit, question, problem, problem.answer))
    if not cases:
        return []
    leaks = [*_test_ids(cases), *_test_order(cases), *_test_positions(cases), *_test_candidates(cases)]
    corrected_ps = holm([leak.p for leak in leaks])
    corrected_leaks = [replace(leak, p_corrected=p) for leak, p in zip(leaks, corrected_ps, strict=True)]
    return sorted(corrected_leaks, key=lambda leak: leak.p)


def _link_questions(problem: Problem) -> list[tuple[str, Hashable]]:
    """Keys that problems of one question have in common.

    They are the text with the candidates, the group, and the template.
    """
    candidates = tuple(sorted(problem.candidates))
    text = (problem.before, problem.after, problem.query, candidates)
    template = problem.labels.get("template")
    return [("text", text), ("group", problem.group), ("template", template)]


def _test_ids(cases: Sequence[_Case]) -> Iterable[Leak]:
    """Test whether a source id's last character goes with the answer.

    A field of the source is an id if nine in ten of its values are different. Other fields are not tested.
    """
    for field_name, cases_by_id in _group_by_field(cases).items():
        distinct_ids = {value for value, _ in cases_by_id}
        if len(distinct_ids) < MOSTLY * len(cases_by_id):
            continue  # not an id: many problems have "(Winograd 1972)"
        endings = [value[-1] for value, _ in cases_by_id]
        if len(set(endings)) < 2:
            continue
        answers = [case.answer for _, case in cases_by_id]
        units = Units.of_names(case.unit for _, case in cases_by_id)
        p = p_independent(endings, answers, units)
        says = f"the last character of {field_name} goes with the answer"
        right = _count_most_frequent(endings, answers)
        yield Leak("source id", says, right, len(cases_by_id), 0.5, p)


def _group_by_field(cases: Iterable[_Case]) -> dict[str, list[tuple[str, _Case]]]:
    """For each field of the source, its values with their cases.

    Values that do not end in a letter or a digit are left out.
    """
    values = []
    for case in cases:
        for field_name, value in case.problem.provenance.items():
            if isinstance(value, (str, int)) and str(value)[-1:].isalnum():
                values.append((field_name, (str(value), case)))
    return grouped(values)


def _count_most_frequent(endings: Sequence[str], answers: Sequence[int]) -> int:
    """Number of right guesses if each ending's more frequent answer is guessed.

    There are few endings, so the guess is hardly fitted to the data.
    """
    most_frequent: dict[str, int] = {}
    for (ending, _), count in Counter(zip(endings, answers, strict=True)).items():
        most_frequent[ending] = max(count, most_frequent.get(ending, 0))
    return sum(most_frequent.values())


def _test_order(cases: Sequence[_Case]) -> Iterable[Leak]:
    """Test whether answers depend on the position in the file.

    A unit counts by its first member, because the others follow it.
    """
    first_of_unit: dict[int, _Case] = {}
    for case in reversed(cases):
        first_of_unit[case.unit] = case
    # The first case of each unit. The units are in the order of their last cases.
    firsts = list(first_of_unit.values())
    firsts.reverse()
    answers = [case.answer for case in firsts]
    if len(set(answers)) == 2:
        same_count = sum(answer == next_answer for answer, next_answer in pairwise(answers))
        n = len(answers)
        # If one answer is more frequent, neighbours are the same more often than not in any order.
        same_pairs = sum(count * (count - 1) for count in Counter(answers).values())
        chance = same_pairs / (n * (n - 1))
        p = p_binomial(same_count, n - 1, chance)
        yield Leak("order", "an answer goes with the one before it", same_count, n - 1, chance, p)
        yield _test_trend([(case.row, case.answer) for case in firsts])
    leading_answers = [case.answer for case in firsts if case.problem.group is not None]
    if leading_answers and max(leading_answers) < 2:
        right = leading_answers.count(0)
        n = len(leading_answers)
        says = "the first of twins has the first candidate as its answer"
        yield Leak("order", says, right, n, 0.5, p_binomial(right, n, 0.5))


def _test_trend(firsts: Sequence[tuple[int, int]]) -> Leak:
    """Test whether the answers change from a file's start to its end.

    `firsts` has row and answer of the first problem of each unit, with two different answers. The better of two
    guesses counts: the first half has the lower answer and the second the higher one, or the reverse.
    """
    low, high = sorted({answer for _, answer in firsts})
    low_rows = [row for row, answer in firsts if answer == low]
    high_rows = [row for row, answer in firsts if answer == high]
    middle_row, _ = firsts[len(firsts) // 2]
    right = 0
    for row, answer in firsts:
        is_in_second_half = row >= middle_row
        is_high = answer == high
        if is_in_second_half == is_high:
            right += 1
    best_right = max(right, len(firsts) - right)
    says = "answers change from the start of the file to its end"
    return Leak("order", says, best_right, len(firsts), 0.5, p_drift(low_rows, high_rows))


def _test_positions(cases: Sequence[_Case]) -> Iterable[Leak]:
    """Test whether the first, first mentioned or longer candidate is often right."""
    guessers: tuple[tuple[str, str, Callable[[Problem], int | None]], ...] = (
        ("answer position", "the first candidate is the answer", lambda problem: 0),
        ("mention order", "the candidate mentioned first is the answer", _guess_first_mentioned),
        ("length", "the longer candidate is the answer", _guess_longer),
    )
    for name, says, guess in guessers:
        guesses = []
        for case in cases:
            candidate_index = guess(case.problem)
            if candidate_index is not None:
                guesses.append((case, candidate_index))
        if guesses:
            yield _test_guesses(name, says, guesses)


def _guess_first_mentioned(problem: Problem) -> int | None:
    """Index of the candidate that the text mentions first.

    None if a candidate is not mentioned, or the problem is a judgement.
    """
    if problem.query is not None or problem.is_whole:
        return None
    language = language_of(problem.language)
    first_places = []
    for candidate in problem.candidates:
        places = language.mention_places(problem.text, candidate)
        if not places:
            return None
        first_places.append(places[0])
    if len(set(first_places)) < len(first_places):
        return None
    return first_places.index(min(first_places))


def _guess_longer(problem: Problem) -> int | None:
    """Index of the candidate with most words, or None.

    None if several have as many, or the problem is a judgement.
    """
    if problem.query is not None:
        return None
    sizes = [len(candidate.split()) for candidate in problem.candidates]
    longest = max(sizes)
    return sizes.index(longest) if sizes.count(longest) == 1 else None


def _test_candidates(cases: Sequence[_Case]) -> Iterable[Leak]:
    """Test for each frequent candidate whether it is right unusually often.

    A candidate that is right unusually rarely is found too. Frequent ones are in ten problems or more.
    """
    named_guesses = []
    for case in cases:
        # "Yes" is no candidate: the test of its position already says how often it is right.
        if case.problem.query is not None:
            continue
        language = language_of(case.problem.language)
        for index, name in enumerate(case.problem.candidates):
            named_guesses.append((language.bare(name), (case, index)))
    for name, guesses in grouped(named_guesses).items():
        if len(guesses) >= RARE:
            yield _test_guesses("candidate", f"{name!r} is the answer", guesses)


def _test_guesses(name: str, says: str, guesses: Sequence[tuple[_Case, int]]) -> Leak:
    """Test whether some guesses are right more often than chance.

    Chance is a coin for each unit, since answers within a unit depend on each other.

    Parameters
    ----------
    name
        The name of the way to guess.
    says
        A sentence that is true of the answers if the guess is good.
    guesses
        Each case with the index of the guessed candidate.
    """
    right = sum(case.answer == index for case, index in guesses)
    guesses_by_unit = grouped((guess[0].unit, guess) for guess in guesses)
    chance, p = _compare_with_coins(list(guesses_by_unit.values()), right)
    if any(case.problem.query is not None for case, _ in guesses):
        guesses_by_question = grouped((guess[0].question, guess) for guess in guesses)
        _, p_by_question = _compare_with_coins(list(guesses_by_question.values()), right)
        p = max(p, p_by_question)
    return Leak(name, says, right, len(guesses), chance, p)


def _compare_with_coins(clusters: Sequence[Sequence[tuple[_Case, int]]], right: int) -> tuple[float, float]:
    """Expected share of right guesses, and p-value of `right` right ones.

    Parameters
    ----------
    clusters
        The guesses of each unit, which one coin decides together.
    """
    outcomes = [_count_outcomes(members) for members in clusters]
    guess_count = sum(len(members) for members in clusters)
    return p_of_turned_units(outcomes, guess_count, right)


def _count_outcomes(members: Sequence[tuple[_Case, int]]) -> tuple[int, ...]:
    """Numbers of right guesses in a unit if its answers are exchanged.

    There is one number for each way to exchange them.
    """
    sizes = [len(case.problem.candidates) for case, _ in members]
    counts = [0] * lcm(*sizes)
    for (case, index), size in zip(members, sizes, strict=True):
        order: Sequence[int] = (0, 1)
        if size > 2:
            # In alphabetical order, so that the same candidate becomes right in every member, however they are listed.
            order = sorted(range(size), key=case.problem.candidates.__getitem__)
        first_turn = (order.index(index) - order.index(case.answer)) % size
        for turn in range(first_turn, len(counts), size):
            counts[turn] += 1
    return tuple(sorted(counts))
