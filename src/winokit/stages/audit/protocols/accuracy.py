"""Accuracy with its variations for abstentions and the majority class, and luck.

Luck is of Trichelair et al. (2018), appendix B: how often a coin does as well, how often the best of ten coins, and how
many problems would be needed to tell.
"""

from collections import Counter
from collections.abc import Iterable

from winokit.methods.metrics.accuracy import abstained, majority_class
from winokit.results import TIE, WITHOUT_ERRATA, Metric
from winokit.stages.audit.protocols import protocol
from winokit.stages.audit.sheet import AuditSheet, flags


@protocol()
def accuracy(sheet: AuditSheet) -> Iterable[Metric]:
    """Accuracy, expected accuracy, precision, abstentions and the majority class.

    Abstentions count as wrong in accuracy, and as guesses in expected accuracy. Precision is of answered problems, and
    is there only if some are not answered. If people found problems wrong, the accuracy without them is there too.
    """
    answers = sheet.answers()
    unlabelled = sum(problem.answer is None for problem in sheet.dataset)
    if unlabelled:
        sheet.leave_out("accuracy", "all", "the answer is hidden", unlabelled)
    missing = len(sheet.dataset) - unlabelled - answers.problem_count
    if missing:
        sheet.leave_out("accuracy", "all", "no prediction", missing)
    yield from sheet.accuracy("accuracy", "all", answers)
    if not len(answers):
        return
    is_sound = flags(not problem.has_erratum for problem in answers.problems)
    if not is_sound.all():
        yield from sheet.accuracy("accuracy", WITHOUT_ERRATA, answers.subset(is_sound))
    yield from sheet.judge.expected_accuracy("all", answers)
    silent = abstained(answers.predictions)
    n = answers.problem_count
    yield sheet.judge.row(("accuracy", "all", "abstained"), silent, n, details=_count_abstentions(sheet))
    if silent:
        # Precision, where plain accuracy is recall (Emami et al., 2018).
        yield from sheet.accuracy("accuracy", "all", answers.subset(~answers.silent), "precision")
    constant = majority_class(answers.answers)
    chance = float((1 / answers.candidates).mean())
    yield sheet.judge.row(("accuracy", "all", "majority_class"), constant, n, chance=chance)


def _count_abstentions(sheet: AuditSheet) -> dict[str, float]:
    """Shares of answers that are ties (`tied`) or cut off (`unfinished`).

    They are shares of all answers, not of abstentions. `unfinished` is there only if it is not 0.
    """
    answers = sheet.answers()
    # Two answers that contradict each other, as a chat model may give when candidates change places, are a tie.
    reasons = Counter(sheet.reasons(answers.subset(answers.silent)))
    shares = {"tied": reasons[TIE] / len(answers)}
    if not reasons:
        return shares
    from winokit.models.thoughts import UNFINISHED

    if reasons[UNFINISHED]:
        shares["unfinished"] = reasons[UNFINISHED] / len(answers)
    return shares


@protocol()
def luck(sheet: AuditSheet) -> Iterable[Metric]:
    """Probability that guessing does as well, and the problems needed to tell.

    Guessing is a single guesser, or the best of ten.
    """
    answers = sheet.answers()
    # Problems that read the same to the scorer are guessed once.
    texts = []
    for problem in answers.problems:
        pronoun = problem.pronoun if sheet.reads_pronoun else None
        texts.append((problem.before, problem.after, problem.candidates, problem.query, pronoun))
    return sheet.judge.luck(answers, texts)
