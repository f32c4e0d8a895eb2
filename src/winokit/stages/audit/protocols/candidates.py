"""Candidates beside their meaning: place, order and length.

Masked models are primed by length (Elazar et al., 2021). Lengths are word pieces of the built-in model's tokenizer for
every model, so that rows compare, and so that logs without a model have them too. It knows English alone: in any other
language they are letters.
"""

from collections.abc import Iterable
from functools import lru_cache

import numpy as np

from winokit.methods.metrics.consistency import choice_kept, choice_kept_chance, choice_turned, in_first_order
from winokit.models.pieces import piece_counts
from winokit.problem import Dataset, Problem
from winokit.results import Metric
from winokit.stages.audit.protocols import protocol
from winokit.stages.audit.sheet import AuditSheet, flags
from winokit.text.words import letters


@protocol("reversed")
def position(sheet: AuditSheet) -> Iterable[Metric]:
    """Accuracy where the answer is the first or the second candidate, and how often the order changes nothing."""
    answers = sheet.answers()
    # The candidates of a judgement are "no" and "yes": there is no place to prefer.
    has_places = flags(len(p.candidates) == 2 and p.query is None for p in answers.problems)
    answers = answers.subset(has_places)
    is_first = answers.answers == 0
    yield from sheet.accuracy("position", "answer_first", answers.subset(is_first), by_answer=True)
    yield from sheet.accuracy("position", "answer_second", answers.subset(~is_first), by_answer=True)
    yield from sheet.gap(("position", "all", "first_minus_second"), answers, is_first, by_answer=True)
    if not sheet.has("reversed") or sheet.asks_both_orders:
        return
    asked_answers, backwards = answers.matched(sheet.answers("reversed"))
    if len(asked_answers):
        again = in_first_order(backwards.predictions, [(1, 0)] * len(asked_answers))
        is_kept = choice_kept(asked_answers.predictions, again)
        guessing = choice_kept_chance(asked_answers.predictions, again, asked_answers.candidates)
        n = asked_answers.problem_count
        yield from sheet.judge.share(
            ("position", "all", "order_invariance"), is_kept, asked_answers.units, guessing, n=n
        )
        changed = choice_turned(asked_answers.predictions, again)
        yield from sheet.judge.share(("position", "all", "order_turned"), changed, asked_answers.units, guessing, n=n)


@protocol()
def length(sheet: AuditSheet) -> Iterable[Metric]:
    """Accuracy with equally and unequally long candidates, and how often the shorter one is chosen."""
    answers = sheet.answers()
    answers = answers.subset(answers.candidates == 2)
    which_of = _find_shorter(sheet.dataset)
    shorter = [which_of[problem.candidates] for problem in answers.problems]
    is_equal = flags(which is None for which in shorter)
    yield from sheet.accuracy("length", "equal", answers.subset(is_equal))
    yield from sheet.accuracy("length", "unequal", answers.subset(~is_equal))
    rows = np.flatnonzero(~is_equal & ~answers.silent)
    chosen = [answers.choices[row] == shorter[row] for row in rows]
    units = answers.units.take(rows)
    n = answers.subset(rows).problem_count
    yield from sheet.judge.share(("length", "unequal", "shorter_chosen"), chosen, units, 0.5, n=n)


@lru_cache(2)  # the same for every scorer of a dataset
def _find_shorter(dataset: Dataset) -> dict[tuple[str, ...], int | None]:
    """Index of the shorter of two candidates, or None if they are equally long."""
    paired = [problem for problem in dataset if len(problem.candidates) == 2]
    pieces = piece_counts(candidate for problem in paired if is_english(problem) for candidate in problem.candidates)
    shorter: dict[tuple[str, ...], int | None] = {}
    for problem in paired:
        first, second = (pieces[c] if is_english(problem) else len(letters(c)) for c in problem.candidates)
        shorter[problem.candidates] = None if first == second else int(second < first)
    return shorter


def is_english(problem: Problem) -> bool:
    """Whether the built-in model's tokenizer knows its language."""
    return problem.language.partition("-")[0] == "en"
