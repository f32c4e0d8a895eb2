"""What candidates are beside their meaning: their place, the order in which they are offered, their length.

Masked models are primed by length (Elazar et al., 2021). Lengths are word pieces of the built-in model's tokenizer for
every model, so that rows compare, and so that logs without a model have them too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from winokit.methods.metrics.consistency import choice_kept, choice_kept_chance, choice_turned, in_first_order
from winokit.methods.metrics.measuring import original_id
from winokit.models.builtin import piece_counts
from winokit.results import Metric
from winokit.stages.audit.protocols import protocol
from winokit.stages.audit.sheet import AuditSheet, GradedProblem


@protocol("reversed")
def position(sheet: AuditSheet) -> Iterable[Metric]:
    """Accuracy where the answer is the first or the second candidate, and how often the order changes nothing."""
    # The candidates of a judgement are "no" and "yes": there is no place to prefer.
    graded = [one for one in sheet.graded() if len(one.problem.candidates) == 2 and one.problem.query is None]
    first, second = ([one for one in graded if one.problem.answer == answer] for answer in (0, 1))
    yield from sheet.accuracy("position", "answer_first", first)
    yield from sheet.accuracy("position", "answer_second", second)
    yield from sheet.gap(("position", "all", "first_minus_second"), first, second)
    if not sheet.has("reversed") or (sheet.known_scoring is not None and sheet.known_scoring.both_orders):
        return
    backwards = {original_id(one.problem): one for one in sheet.graded("reversed")}
    asked = [one for one in graded if one.problem.id in backwards]
    if asked:
        found = sheet.columns(asked)
        turned = [backwards[one.problem.id].choice for one in asked]
        again = in_first_order(turned, [(1, 0)] * len(asked))
        kept = choice_kept(found.predictions, again)
        guessing = choice_kept_chance(found.predictions, again, found.candidates)
        yield from sheet.head.share(("position", "all", "order_invariance"), kept, found.clusters, guessing)
        changed = choice_turned(found.predictions, again)
        yield from sheet.head.share(("position", "all", "order_turned"), changed, found.clusters, guessing)


@protocol()
def length(sheet: AuditSheet) -> Iterable[Metric]:
    """Accuracy with equally and unequally long candidates, and how often the shorter one is chosen."""
    graded = [one for one in sheet.graded() if len(one.problem.candidates) == 2]
    counts = piece_counts(candidate for one in graded for candidate in one.problem.candidates)
    shorter = [(one, _shorter(one, counts)) for one in graded]
    yield from sheet.accuracy("length", "equal", [one for one, which in shorter if which is None])
    yield from sheet.accuracy("length", "unequal", [one for one, which in shorter if which is not None])
    answered = [(one, which) for one, which in shorter if which is not None and one.choice is not None]
    chosen = [one.choice == which for one, which in answered]
    found = sheet.columns([one for one, _ in answered])
    yield from sheet.head.share(("length", "unequal", "shorter_chosen"), chosen, found.clusters, 0.5)


def _shorter(one: GradedProblem, counts: Mapping[str, int]) -> int | None:
    first, second = (counts[candidate] for candidate in one.problem.candidates)
    return None if first == second else int(second < first)
