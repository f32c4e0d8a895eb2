"""How good the work is: each worker's gold questions, haste and pasting, and how far workers agree.

Agreement is Fleiss' kappa for every question, and the answers by Dawid and Skene's model of workers. Fleiss' kappa asks
for the same number of votes on every problem, so problems whose votes are still out do not count.
"""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import selectinload

from winokit.collect.study import schema
from winokit.collect.study.config import QualityConfig
from winokit.collect.study.schema import ProblemRow, Task, Vote, Worker
from winokit.collect.study.study import Study
from winokit.errors import BadInput, MissingExtra
from winokit.methods.metrics.agreement import fleiss_kappa, rating_table

FEW = 5
"""Fewer votes than this say nothing about a worker."""
OFTEN = 0.2
"""A share of hasty submissions, or of pasted texts, from which on a worker is marked."""
QUESTIONS: tuple[tuple[str, str, Callable[[Vote], Hashable]], ...] = (
    (schema.VALIDATE, "answer", lambda vote: vote.choice),
    (schema.VALIDATE, "equally plausible", lambda vote: vote.equally_plausible),
    (schema.VALIDATE, "decided by the clause", lambda vote: vote.local_decides),
    (schema.SWITCHABLE, "switchable", lambda vote: vote.choice),
    (schema.ASSOCIATIVE, "associative", lambda vote: vote.choice),
    (schema.EVALUATE, "answer", lambda vote: vote.choice),
)


class WorkerQuality:
    """What is known about one worker's work.

    Of their votes, `compared` were on problems on which most others say the same, and `agreed` say so too.
    """

    def __init__(self, worker: Worker, asked: QualityConfig, agreed: int, compared: int) -> None:
        handed_in = worker.submissions
        written = [submission for submission in handed_in if submission.kind == schema.WRITE]
        self.code, self.state = worker.code, worker.state
        self.submissions, self.votes = len(handed_in), len(handed_in) - len(written)
        self.agreement = agreed / compared if compared >= FEW else None
        gold = [bool(vote.is_right) for vote in worker.votes if vote.gold]
        self.gold_seen, self.gold_right = len(gold), sum(gold)
        self.median_seconds = median(submission.seconds for submission in handed_in) if handed_in else None
        self.hasty = sum(
            submission.seconds
            < (asked.fast_write_seconds if submission.kind == schema.WRITE else asked.fast_vote_seconds)
            for submission in handed_in
        )
        self.pasted = sum(submission.pasted >= 40 for submission in handed_in)  # characters: more than a name or a word
        self.earned_cents = sum(payment.cents for payment in worker.payments)
        flags = {
            "fails gold questions": len(gold) >= FEW and sum(gold) < asked.gold_least_accuracy * len(gold),
            "disagrees with others": self.agreement is not None and self.agreement < 0.6,
            "hasty": len(handed_in) >= FEW and self.hasty > OFTEN * len(handed_in),
            "pastes texts": self.pasted > OFTEN * len(written),
        }
        self.flags = tuple(flag for flag, holds in flags.items() if holds)


def workers(study: Study) -> list[WorkerQuality]:
    """Everybody who has joined, in that order, those who have withdrawn included."""
    known = (selectinload(shown) for shown in (Worker.submissions, Worker.votes, Worker.payments))
    with study.store.read() as session:
        people = session.scalars(select(Worker).options(*known).order_by(Worker.id)).all()
    agreement = agreement_with_others([vote for worker in people for vote in worker.votes])
    return [WorkerQuality(worker, study.config.quality, *agreement[worker.id]) for worker in people]


def agreement_with_others(votes: Sequence[Vote]) -> dict[int, tuple[int, int]]:
    """For each worker: how many votes are those of most others on the same problem, of how many with such a most."""
    by_task: dict[int, list[Vote]] = defaultdict(list)
    for vote in votes:
        if vote.counted and not vote.gold:
            by_task[vote.task_id].append(vote)
    counts: dict[int, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for together in by_task.values():
        for vote in together:
            others = Counter(other.choice for other in together if other is not vote).most_common(2)
            if others and (len(others) == 1 or others[0][1] > others[1][1]):
                agreed, compared = counts[vote.worker_id]
                counts[vote.worker_id] = (agreed + (vote.choice == others[0][0]), compared + 1)
    return counts


@dataclass(frozen=True)
class QuestionAgreement:
    """Agreement on one question of one kind of task."""

    kind: str
    question: str
    problems: int
    """Problems with all their votes."""
    unanimous: int
    """Those on which all said the same."""
    kappa: float | None
    why_not: str | None = None
    """Why there is no kappa."""


@dataclass(frozen=True)
class DawidSkene:
    """What Dawid and Skene's model makes of the votes of one kind."""

    labels: dict[str, int]
    """The most likely choice, by the problem's public id."""
    differs: tuple[str, ...]
    """Problems where that is not the choice of most."""
    reliability: dict[str, float]
    """How often each worker is right according to the model."""


def agreement_by_question(study: Study) -> list[QuestionAgreement]:
    """Agreement on every question the study asks, over tasks with as many votes as it asks for."""
    complete = select(Task).where(Task.accepted == study.config.tasks.votes, ~Task.gold).order_by(Task.id)
    by_kind: dict[str, list[list[Vote]]] = defaultdict(list)
    with study.store.read() as session:
        for task in session.scalars(complete.options(selectinload(Task.votes))):
            by_kind[task.kind].append([vote for vote in task.votes if vote.counted])
    return [
        _agreement(kind, question, [[answer(vote) for vote in votes] for votes in by_kind[kind]])
        for kind, question, answer in QUESTIONS
        if kind in study.config.tasks.kinds
    ]


def _agreement(kind: str, question: str, ratings: Sequence[Sequence[Hashable]]) -> QuestionAgreement:
    asked = [votes for votes in ratings if None not in votes]
    kappa, why_not = None, None if asked else "no problem has all its votes yet"
    try:
        kappa = fleiss_kappa(rating_table(asked)) if asked else None
    except BadInput as error:
        why_not = str(error)
    return QuestionAgreement(kind, question, len(asked), sum(len(set(votes)) == 1 for votes in asked), kappa, why_not)


def dawid_skene(study: Study, kind: str, *, iterations: int = 100) -> DawidSkene:
    """Dawid and Skene (1979) through crowd-kit: answers and workers' reliability, estimated together."""
    try:
        import pandas
        from crowdkit.aggregation.classification.dawid_skene import DawidSkene as Model
    except ModuleNotFoundError:
        raise MissingExtra("Dawid and Skene's model", "crowd") from None
    query = (
        select(ProblemRow.public_id, Worker.code, Vote.choice)
        .join(ProblemRow, ProblemRow.id == Vote.problem_id)
        .join(Worker, Worker.id == Vote.worker_id)
        .where(Vote.counted, ~Vote.gold, Vote.kind == kind, Vote.choice.is_not(None))
        .order_by(Vote.id)
    )
    with study.store.read() as session:
        rows = [(name, worker, int(choice or 0)) for name, worker, choice in session.execute(query)]
    if not rows:
        raise BadInput(f"no votes of the kind {kind!r} yet")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # crowd-kit calls pandas in ways that newer versions of it warn about
        model: Any = Model(n_iter=iterations).fit(pandas.DataFrame(rows, columns=["task", "worker", "label"]))
    labels = {str(name): int(label) for name, label in model.labels_.items()}
    votes: dict[str, Counter[int]] = defaultdict(Counter)
    for name, _, choice in rows:
        votes[name][choice] += 1
    differs = tuple(name for name, label in labels.items() if votes[name][label] < max(votes[name].values()))
    # How often each worker says what is so: P(says l | is l), over the labels as frequent as the model thinks.
    reliability: dict[str, float] = defaultdict(float)
    for (worker, label), says in model.errors_.iterrows():
        reliability[str(worker)] += float(model.priors_[label]) * float(says[label])
    return DawidSkene(labels, differs, dict(reliability))
