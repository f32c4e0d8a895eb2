"""Luck: what a coin would do, what the best of ten coins would do, and how many problems it would take to tell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable

from winokit.methods.metrics import n_to_beat_chance, p_best_of, p_chance, share
from winokit.results import Metric
from winokit.stages.audit.sheet import AuditSheet, GradedProblems

TRIES = 10


def luck(sheet: AuditSheet) -> Iterable[Metric]:
    """Probabilities that guessing, once or the best of ten times, does as well; problems needed to beat chance."""
    graded = sheet.graded()
    if not graded:
        return
    found, n = sheet.columns(graded), len(graded)
    texts = zip(graded, found.chances.tolist(), strict=True)
    guesses = Counter((_seen(one, sheet.reads_pronoun), chance) for one, chance in texts)
    chances = [chance for _, chance in guesses]
    once = p_chance(int(found.correct.sum()), n, chances, list(guesses.values()))
    yield sheet.head.row(("luck", "all", "p_chance"), once, n)
    yield sheet.head.row(("luck", "all", f"p_best_of_{TRIES}"), p_best_of(TRIES, once), n)
    score = share(found.correct, found.clusters)
    needed = n_to_beat_chance(score.value, float(found.chances.mean()), design_effect=score.design_effect)
    if needed is not None:
        yield sheet.head.row(("luck", "all", "n_to_beat_chance"), float(needed), n)


def _seen(one: GradedProblems, reads_pronoun: bool) -> Hashable:
    """What the scorer reads: problems that read the same to it are guessed once."""
    problem = one.problem
    return problem.before, problem.after, problem.candidates, problem.query, problem.pronoun if reads_pronoun else None
