"""Luck: what a coin would do, what the best of ten coins would do, and how many problems it would take to tell."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from winokit.auditing.sheet import Sheet
from winokit.metrics import n_to_beat_chance, p_best_of, p_chance
from winokit.results import Metric

TRIES = 10


def luck(sheet: Sheet) -> Iterable[Metric]:
    """Probabilities that guessing, once or the best of ten times, does as well; problems needed to beat chance."""
    graded = sheet.graded()
    if not graded:
        return
    right, n = sum(one.correct for one in graded), len(graded)
    chance = float(np.mean([one.chance for one in graded]))
    yield sheet.row(("luck", "all", "p_chance"), p_chance(right, n, chance), n)
    yield sheet.row(("luck", "all", f"p_best_of_{TRIES}"), p_best_of(TRIES, right, n, chance), n)
    needed = n_to_beat_chance(right / n, chance)
    if needed is not None:
        yield sheet.row(("luck", "all", "n_to_beat_chance"), float(needed), n)
