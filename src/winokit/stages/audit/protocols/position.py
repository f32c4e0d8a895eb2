"""Position: does the place of the right candidate matter, or the order in which candidates are offered?"""

from __future__ import annotations

from collections.abc import Iterable

from winokit.methods.metrics import choice_kept, choice_kept_chance, choice_turned, in_first_order
from winokit.methods.metrics.measuring import original_id
from winokit.results import Metric
from winokit.stages.audit.sheet import AuditSheet

BACKWARDS = (1, 0)
BOTH_ORDERS = ("ask",)
"""Scorings that put both orders themselves, so that turning the candidates round changes nothing."""


def position(sheet: AuditSheet) -> Iterable[Metric]:
    """Accuracy where the answer is the first or the second candidate, and how often the order changes nothing."""
    # The candidates of a judgement are "no" and "yes": there is no place to prefer.
    graded = [one for one in sheet.graded() if len(one.problem.candidates) == 2 and one.problem.query is None]
    first, second = ([one for one in graded if one.problem.answer == answer] for answer in (0, 1))
    yield from sheet.accuracy("position", "answer_first", first)
    yield from sheet.accuracy("position", "answer_second", second)
    yield from sheet.gap(("position", "all", "first_minus_second"), first, second)
    if "reversed" not in sheet.predictions or sheet.scoring.split("?")[0] in BOTH_ORDERS:
        return
    backwards = {original_id(one.problem): one for one in sheet.graded("reversed")}
    asked = [one for one in graded if one.problem.id in backwards]
    if asked:
        found = sheet.columns(asked)
        turned = [backwards[one.problem.id].choice for one in asked]
        again = in_first_order(turned, [BACKWARDS] * len(asked))
        kept, guessing = (
            choice_kept(found.predictions, again),
            choice_kept_chance(found.predictions, again, found.candidates),
        )
        yield from sheet.head.share(("position", "all", "order_invariance"), kept, found.clusters, guessing)
        changed = choice_turned(found.predictions, again)
        yield from sheet.head.share(("position", "all", "order_turned"), changed, found.clusters, guessing)
