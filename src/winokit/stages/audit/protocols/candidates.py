"""Properties of candidates other than their meaning: place, order and length.

Masked models are primed by length (Elazar et al., 2021). For every model, a length is the number of word pieces of the
built-in model's tokenizer. So rows can be compared, and logs without a model have them too. The tokenizer knows English
alone: in any other language a length is a number of letters.
"""

from collections.abc import Iterable
from functools import lru_cache

import numpy as np

from winokit.answers import Answers
from winokit.methods.metrics.consistency import choice_kept, choice_kept_chance, choice_turned, in_first_order
from winokit.models.pieces import piece_counts
from winokit.problem import Dataset, Problem
from winokit.results import Metric
from winokit.stages.audit.protocols import protocol
from winokit.stages.audit.sheet import AuditSheet, flags
from winokit.text.words import letters


@protocol("reversed")
def position(sheet: AuditSheet) -> Iterable[Metric]:
    """Accuracy by the place of the right candidate, and effect of order.

    Only problems with two candidates count, and no judgements. The effect of order needs predictions of reversed
    candidates, and a scorer that does not itself ask in both orders.
    """
    everything = sheet.answers()
    has_places = flags(_has_places(problem) for problem in everything.problems)
    answers = everything.subset(has_places)
    is_first = answers.answers == 0
    yield from sheet.accuracy("position", "answer_first", answers.subset(is_first), by_answer=True)
    yield from sheet.accuracy("position", "answer_second", answers.subset(~is_first), by_answer=True)
    yield from sheet.gap(("position", "all", "first_minus_second"), answers, is_first, by_answer=True)
    if sheet.has("reversed") and not sheet.asks_both_orders:
        yield from _compare_orders(sheet, answers)


def _has_places(problem: Problem) -> bool:
    """Whether a scorer may prefer a candidate's place.

    The candidates of a judgement are "no" and "yes": there is no place to prefer.
    """
    return len(problem.candidates) == 2 and problem.query is None


def _compare_orders(sheet: AuditSheet, answers: Answers) -> Iterable[Metric]:
    """Shares of choices that stay and that change if candidates are reversed."""
    forwards, backwards = answers.matched(sheet.answers("reversed"))
    if not len(forwards):
        return
    choices_backwards = in_first_order(backwards.predictions, [(1, 0)] * len(forwards))
    chance = choice_kept_chance(forwards.predictions, choices_backwards, forwards.candidates)
    units = forwards.units
    n = forwards.problem_count
    is_kept = choice_kept(forwards.predictions, choices_backwards)
    yield from sheet.judge.share(("position", "all", "order_invariance"), is_kept, units, chance, n=n)
    is_turned = choice_turned(forwards.predictions, choices_backwards)
    yield from sheet.judge.share(("position", "all", "order_turned"), is_turned, units, chance, n=n)


@protocol()
def length(sheet: AuditSheet) -> Iterable[Metric]:
    """Accuracy by equal or unequal length, and choices of the shorter candidate.

    Only problems with two candidates count.
    """
    everything = sheet.answers()
    answers = everything.subset(everything.candidates == 2)
    shorter_by_candidates = _find_shorter(sheet.dataset)
    shorter = [shorter_by_candidates[problem.candidates] for problem in answers.problems]
    is_equal = flags(index is None for index in shorter)
    yield from sheet.accuracy("length", "equal", answers.subset(is_equal))
    yield from sheet.accuracy("length", "unequal", answers.subset(~is_equal))
    rows = np.flatnonzero(~is_equal & ~answers.silent)
    chose_shorter = [answers.choices[row] == shorter[row] for row in rows]
    units = answers.units.take(rows)
    n = answers.subset(rows).problem_count
    yield from sheet.judge.share(("length", "unequal", "shorter_chosen"), chose_shorter, units, 0.5, n=n)


@lru_cache(2)  # the same for every scorer of a dataset
def _find_shorter(dataset: Dataset) -> dict[tuple[str, ...], int | None]:
    """Index of the shorter of two candidates, by the candidates.

    None if they are equally long. In English the length is in word pieces, in other languages in letters.
    """
    binary_problems = [problem for problem in dataset if len(problem.candidates) == 2]
    english_candidates: list[str] = []
    for problem in binary_problems:
        if is_english(problem):
            english_candidates += problem.candidates
    pieces = piece_counts(english_candidates)
    shorter: dict[tuple[str, ...], int | None] = {}
    for problem in binary_problems:
        if is_english(problem):
            first, second = (pieces[candidate] for candidate in problem.candidates)
        else:
            first, second = (len(letters(candidate)) for candidate in problem.candidates)
        shorter[problem.candidates] = None if first == second else int(second < first)
    return shorter


def is_english(problem: Problem) -> bool:
    """Whether the built-in model's tokenizer knows the problem's language."""
    return problem.language.partition("-")[0] == "en"
