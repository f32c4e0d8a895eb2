"""What candidates are beside their meaning: their place, the order in which they are offered, their length.

Masked models are primed by length (Elazar et al., 2021). Lengths are word pieces of the built-in model's tokenizer for
every model, so that rows compare, and so that logs without a model have them too. It knows English alone: in any other
language they are letters.
"""

from collections.abc import Iterable
from functools import lru_cache

from winokit.methods.metrics.consistency import choice_kept, choice_kept_chance, choice_turned, in_first_order
from winokit.models.builtin import piece_counts
from winokit.problem import Dataset, Problem
from winokit.results import Metric
from winokit.stages.audit.protocols import protocol
from winokit.stages.audit.sheet import AuditSheet
from winokit.text.words import letters


@protocol("reversed")
def position(sheet: AuditSheet) -> Iterable[Metric]:
    """Accuracy where the answer is the first or the second candidate, and how often the order changes nothing."""
    # The candidates of a judgement are "no" and "yes": there is no place to prefer.
    graded = [case for case in sheet.graded() if len(case.problem.candidates) == 2 and case.problem.query is None]
    first, second = ([case for case in graded if case.problem.answer == answer] for answer in (0, 1))
    yield from sheet.accuracy("position", "answer_first", first)
    yield from sheet.accuracy("position", "answer_second", second)
    yield from sheet.gap(("position", "all", "first_minus_second"), first, second)
    if not sheet.has("reversed") or (sheet.known_scoring is not None and sheet.known_scoring.both_orders):
        return
    backwards = {case.origin: case for case in sheet.graded("reversed")}
    asked = [case for case in graded if case.problem.id in backwards]
    if asked:
        columns = sheet.columns(asked)
        turned = [backwards[case.problem.id].choice for case in asked]
        again = in_first_order(turned, [(1, 0)] * len(asked))
        kept = choice_kept(columns.predictions, again)
        guessing = choice_kept_chance(columns.predictions, again, columns.candidates)
        yield from sheet.head.share(("position", "all", "order_invariance"), kept, columns.clusters, guessing)
        changed = choice_turned(columns.predictions, again)
        yield from sheet.head.share(("position", "all", "order_turned"), changed, columns.clusters, guessing)


@protocol()
def length(sheet: AuditSheet) -> Iterable[Metric]:
    """Accuracy with equally and unequally long candidates, and how often the shorter one is chosen."""
    graded = [case for case in sheet.graded() if len(case.problem.candidates) == 2]
    which_of = _shorter(sheet.dataset)
    shorter = [(case, which_of[case.problem.candidates]) for case in graded]
    yield from sheet.accuracy("length", "equal", [case for case, which in shorter if which is None])
    yield from sheet.accuracy("length", "unequal", [case for case, which in shorter if which is not None])
    answered = [(case, which) for case, which in shorter if which is not None and case.choice is not None]
    chosen = [case.choice == which for case, which in answered]
    columns = sheet.columns([case for case, _ in answered])
    yield from sheet.head.share(("length", "unequal", "shorter_chosen"), chosen, columns.clusters, 0.5)


@lru_cache(2)  # the same for every scorer of a dataset
def _shorter(dataset: Dataset) -> dict[tuple[str, ...], int | None]:
    """By two candidates which of them is the shorter; None where they are equally long."""
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
