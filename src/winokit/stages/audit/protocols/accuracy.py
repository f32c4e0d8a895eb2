"""Accuracy, what abstentions and the majority class do to it, and luck: what coins would do.

The lucky draw is of Trichelair et al. (2018), appendix B: one coin, the best of ten, and how many problems would tell.
"""

from collections import Counter
from collections.abc import Iterable

from winokit.methods.metrics.accuracy import abstained, majority_class
from winokit.methods.metrics.intervals import share
from winokit.methods.metrics.luck import n_to_beat_chance, p_best_of, p_chance
from winokit.models.thoughts import UNFINISHED
from winokit.results import TIE, Metric
from winokit.stages.audit.protocols import protocol
from winokit.stages.audit.sheet import AuditSheet

TRIES = 10


@protocol()
def accuracy(sheet: AuditSheet) -> Iterable[Metric]:
    """Accuracy with abstentions as wrong, expected accuracy with them as guesses, precision, and the majority class."""
    graded = sheet.graded()
    unlabelled = sum(problem.answer is None for problem in sheet.dataset)
    if unlabelled:
        sheet.leave_out("accuracy", "all", "the answer is hidden", unlabelled)
    missing = len(sheet.dataset) - unlabelled - len(graded)
    if missing:
        sheet.leave_out("accuracy", "all", "no prediction", missing)
    yield from sheet.accuracy("accuracy", "all", graded)
    if not graded:
        return
    columns = sheet.columns(graded)
    yield from sheet.head.expected_accuracy("all", columns)
    silent = abstained(columns.predictions)
    # Two answers that contradict each other, as a chat model may give where candidates change places, are a tie.
    whys = Counter(case.prediction.why for case in graded if case.choice is None)
    details = {"tied": whys[TIE] / len(graded)}
    if whys[UNFINISHED]:
        details["unfinished"] = whys[UNFINISHED] / len(graded)
    yield sheet.head.row(("accuracy", "all", "abstained"), silent, len(graded), details=details)
    if silent:
        # Precision, where plain accuracy is recall (Emami et al., 2018).
        answered = [case for case in graded if case.choice is not None]
        yield from sheet.accuracy("accuracy", "all", answered, "precision")
    constant = majority_class(columns.answers)
    yield sheet.head.row(("accuracy", "all", "majority_class"), constant, len(graded), chance=columns.settled_chance)


@protocol()
def luck(sheet: AuditSheet) -> Iterable[Metric]:
    """Probabilities that guessing, once or the best of ten times, does as well; problems needed to beat chance."""
    graded = sheet.graded()
    if not graded:
        return
    columns, n = sheet.columns(graded), len(graded)
    # Problems that read the same to the scorer are guessed once.
    texts = [
        (p.before, p.after, p.candidates, p.query, p.pronoun if sheet.reads_pronoun else None) for p in columns.problems
    ]
    guesses = Counter(zip(texts, columns.chances.tolist(), strict=True))
    chances = [chance for _, chance in guesses]
    once = p_chance(int(columns.correct.sum()), n, chances, list(guesses.values()))
    yield sheet.head.row(("luck", "all", "p_chance"), once, n)
    yield sheet.head.row(("luck", "all", f"p_best_of_{TRIES}"), p_best_of(TRIES, once), n)
    score = share(columns.correct, columns.clusters)
    needed = n_to_beat_chance(score.value, float(columns.chances.mean()), design_effect=score.design_effect)
    if needed is not None:
        yield sheet.head.row(("luck", "all", "n_to_beat_chance"), float(needed), n)
