"""How far workers agree: Fleiss' kappa for every question, and the answers by Dawid and Skene's model of workers.

Fleiss' kappa asks for the same number of votes on every problem, so problems whose votes are still out do not count.
"""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from winokit.collect.study.schema import ASSOCIATIVE, EVALUATE, SWITCHABLE, VALIDATE, ProblemRow, Task, Vote, Worker
from winokit.errors import BadInput, MissingExtra
from winokit.methods.metrics.agreement import fleiss_kappa, rating_table

if TYPE_CHECKING:
    from winokit.collect.study.study import Study

QUESTIONS: tuple[tuple[str, str, Callable[[Vote], Hashable]], ...] = (
    (VALIDATE, "answer", lambda vote: vote.choice),
    (VALIDATE, "equally plausible", lambda vote: vote.equally_plausible),
    (VALIDATE, "decided by the clause", lambda vote: vote.local_decides),
    (SWITCHABLE, "switchable", lambda vote: vote.choice),
    (ASSOCIATIVE, "associative", lambda vote: vote.choice),
    (EVALUATE, "answer", lambda vote: vote.choice),
)


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


def summary(study: Study) -> list[QuestionAgreement]:
    """Agreement on every question the study asks."""
    complete = _complete_votes(study)
    return [
        _agreement(kind, question, [[told(vote) for vote in votes] for votes in complete[kind]])
        for kind, question, told in QUESTIONS
        if kind in study.config.tasks.kinds
    ]


def _agreement(kind: str, question: str, ratings: Sequence[Sequence[Hashable]]) -> QuestionAgreement:
    asked = [votes for votes in ratings if None not in votes]
    unanimous = sum(len(set(votes)) == 1 for votes in asked)
    if not asked:
        return QuestionAgreement(kind, question, 0, 0, None, "no problem has all its votes yet")
    try:
        kappa = fleiss_kappa(rating_table(asked))
    except BadInput as error:
        return QuestionAgreement(kind, question, len(asked), unanimous, None, str(error))
    return QuestionAgreement(kind, question, len(asked), unanimous, kappa)


def _complete_votes(study: Study) -> dict[str, list[list[Vote]]]:
    """The counted votes of every task that has as many as the study asks for, by kind."""
    query = (
        select(Vote)
        .join(Task, Task.id == Vote.task_id)
        .where(Vote.counted, ~Vote.gold, Task.accepted == study.config.tasks.votes)
        .order_by(Vote.id)
    )
    by_task: dict[int, list[Vote]] = defaultdict(list)
    with study.store.read() as session:
        for vote in session.scalars(query):
            by_task[vote.task_id].append(vote)
    by_kind: dict[str, list[list[Vote]]] = defaultdict(list)
    for votes in by_task.values():
        by_kind[votes[0].kind].append(votes)
    return by_kind


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
    return DawidSkene(labels, differs, _reliability(model))


def _reliability(model: Any) -> dict[str, float]:
    """How often each worker says what is so: P(says l | is l), over the labels as frequent as the model thinks."""
    found: dict[str, float] = defaultdict(float)
    for (worker, label), says in model.errors_.iterrows():
        found[str(worker)] += float(model.priors_[label]) * float(says[label])
    return dict(found)
