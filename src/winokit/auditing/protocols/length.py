"""Candidate length: masked and causal models are primed by it. Lengths are in words, which every model shares."""

from __future__ import annotations

from collections.abc import Iterable

from winokit.auditing.run import Metric
from winokit.auditing.sheet import Graded, Sheet, clusters


def length(sheet: Sheet) -> Iterable[Metric]:
    """Accuracy with equally and unequally long candidates, and how often the shorter one is chosen."""
    graded = [one for one in sheet.graded() if len(one.problem.candidates) == 2]
    equal = [one for one in graded if _shorter(one) is None]
    unequal = [one for one in graded if _shorter(one) is not None]
    yield from sheet.accuracy("length", "equal", equal)
    yield from sheet.accuracy("length", "unequal", unequal)
    answered = [one for one in unequal if one.prediction.prediction is not None]
    chosen = [float(one.prediction.prediction == _shorter(one)) for one in answered]
    yield from sheet.mean(("length", "unequal", "shorter_chosen"), chosen, clusters(answered), 0.5)


def _shorter(one: Graded) -> int | None:
    first, second = (len(candidate.split()) for candidate in one.problem.candidates)
    return None if first == second else int(second < first)
