"""Candidate length: masked models are primed by it.

Lengths are word pieces of the built-in model's tokenizer for every model, so that rows compare, and so that logs
without a model have them too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from winokit.models.builtin import piece_counts
from winokit.results import Metric
from winokit.stages.audit.sheet import AuditSheet, GradedProblems


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


def _shorter(one: GradedProblems, counts: Mapping[str, int]) -> int | None:
    first, second = (counts[candidate] for candidate in one.problem.candidates)
    return None if first == second else int(second < first)
