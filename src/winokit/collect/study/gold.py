"""Gold questions: judgements whose answer is known, mixed into the work so that nobody can tell them from it.

They are problems of the study itself that people have settled: all votes are in and say the same, and that is what the
author, or the dataset, says. Until a study has enough of its own, and where twins are written, those that come with
winokit stand in, or a file of the requester's; they are written like what workers write.

Nothing about them is special to whoever looks: the same page, pay, lease and receipt, the same number of statements,
and a count of what is left that goes down by one whatever comes. When one comes is drawn with the study's secret. One
that is skipped, or left until its time is over, counts as not right.
"""

from __future__ import annotations

import random
from typing import Any

from sqlalchemy import Row, Select, func, select, update
from sqlalchemy.orm import Session, aliased

from winokit.collect.study import ledger, schema
from winokit.collect.study.content import place_of, read_gold
from winokit.collect.study.schema import Lease, ProblemRow, Task, Vote
from winokit.collect.study.study import Study
from winokit.collect.study.tasks import end_leases
from winokit.collect.study.validity import UNANIMOUS_YES, settle_problem
from winokit.collect.study.voting import SHOWN_AS
from winokit.problem import Problem

MOST_OWN = 500
"""So many problems of a study become gold, for each kind of judgement: more than one worker will ever see."""
FEWEST = 2
"""One vote alone settles nothing."""
MISSED = (schema.RELEASED, schema.EXPIRED)
"""How a lease ends whose holder has not answered."""


def has_given_gold(study: Study) -> bool:
    """Whether a study has gold questions from a file: of the requester's, or those that are like written twins."""
    kinds, own = set(study.config.tasks.kinds), study.config.gold
    return bool(study.config.quality.gold_share and kinds & set(schema.VOTES) and (own or schema.WRITE in kinds))


def add_given(study: Study, session: Session) -> None:
    """Add the gold questions of the study's file; twins stay together, so that nobody gets both."""
    gold = read_gold(place_of(study, study.config.gold, "gold.jsonl"), study.config.language)
    groups = {name: schema.Group(name=name, origin=schema.GOLD) for name in gold.groups}
    session.add_all(groups.values())
    session.flush()
    for problem in gold:
        group_id = groups[problem.group].id if problem.group is not None else None
        row = schema.to_row(problem, schema.GOLD, study.now(), group_id=group_id)
        session.add(row)
        session.flush()
        answers = {kind: gold_answer(problem, kind) for kind in study.config.tasks.kinds}
        session.add_all(_gold_task(row, kind, row.id, answer) for kind, answer in answers.items() if answer is not None)


def gold_answer(problem: Problem, kind: str) -> int | None:
    """What a vote of a kind must be on a gold question, or None where that is not known or cannot be shown."""
    if kind in (schema.VALIDATE, schema.EVALUATE):
        return problem.answer
    label = problem.labels.get(kind)
    if not isinstance(label, bool) or kind not in SHOWN_AS or SHOWN_AS[kind](problem) is None:
        return None
    return int(label)


def is_right(study: Study, held: Row[Any], choice: int | None) -> bool:
    """Whether a vote on a gold question is the known one."""
    known = (held.topic or {}).get("answer")  # not written down by earlier versions, which had no gold of the study's
    return choice == (
        gold_answer(schema.to_problem(held, study.config.language), held.kind) if known is None else known
    )


def settle(session: Session, study: Study, row: ProblemRow, *kinds: str) -> None:
    """Write down what is decided about a problem by the votes of some kinds, or of all.

    What follows is written down too: whether it is gold now, and what is owed for fooling the model.
    """
    if not kinds or schema.VALIDATE in kinds:
        settle_problem(session, study.config, row)
        ledger.settle_fooling(session, study, row)
    for kind in kinds or study.config.tasks.kinds:
        if kind in schema.VOTES and study.config.quality.gold_share:
            _settle_gold(session, study, row, kind)


def _settle_gold(session: Session, study: Study, row: ProblemRow, kind: str) -> None:
    known = session.execute(_votes_on(row, kind)).one()
    reference = gold_answer(schema.to_problem(row, study.config.language), kind)
    is_settled = known.votes >= max(known.asked or 0, FEWEST) and known.least == known.most
    is_settled &= reference in (None, known.most) and not row.withdrawn and row.variant == "original"
    if kind == schema.VALIDATE:
        is_settled &= bool(row.valid) and row.agreement == UNANIMOUS_YES
    elif row.valid is False:
        is_settled = False
    if known.own is not None:
        _renew(session, known.own, known.most if is_settled else None)
    elif is_settled and known.others < MOST_OWN:
        session.add(_gold_task(row, kind, -row.id, known.most))


def _votes_on(row: ProblemRow, kind: str) -> Select[Any]:
    """How the votes of a kind fell on a problem, how many were asked for, and what gold of the study's own there is."""
    task, own = aliased(Task), (Task.kind == kind, Task.rank < 0, Task.asked.is_(None))
    asked = select(task.asked).where(task.problem_id == row.id, task.kind == kind, task.asked.is_not(None))
    sums = (
        func.count(Vote.choice).label("votes"),
        func.min(Vote.choice).label("least"),
        func.max(Vote.choice).label("most"),
    )
    return select(
        *sums,
        asked.scalar_subquery().label("asked"),
        select(Task.id).where(*own, Task.problem_id == row.id).limit(1).scalar_subquery().label("own"),
        select(func.count()).where(*own, Task.gold).scalar_subquery().label("others"),
    ).where(Vote.problem_id == row.id, Vote.kind == kind, Vote.counted, ~Vote.gold)


def _gold_task(row: ProblemRow, kind: str, rank: int, answer: int) -> Task:
    """A judgement for everybody; a problem of the study's own has a rank below nought."""
    about = {name: getattr(row, name) for name in ("group_id", "family", "author_id", "domain")}
    return Task(kind=kind, asked=None, rank=rank, gold=True, problem_id=row.id, topic={"answer": answer}, **about)


def _renew(session: Session, task_id: int, answer: int | None) -> None:
    """Ask a gold question of the study's own with another answer, or, if that is not known any more, no longer.

    What was said to it then counts neither for nor against anybody.
    """
    task = session.get_one(Task, task_id)
    if answer is not None and task.topic == {"answer": answer}:
        task.gold = True
        return
    session.execute(update(Vote).where(Vote.task_id == task_id).values(is_right=None))
    if answer is None:
        end_leases(session, schema.RELEASED, Lease.task_id == task_id)
    task.gold, task.topic = answer is not None, {"answer": answer}


def gold_score(session: Session, worker_id: int) -> tuple[int, int]:
    """How many gold questions a worker was asked, and how many they got right."""
    counts = select(func.count(), func.count().filter(Vote.is_right.is_(True)))
    missed = select(func.count()).select_from(Lease).join(Task, Task.id == Lease.task_id)
    missed = missed.where(Lease.worker_id == worker_id, Lease.state.in_(MISSED), Task.gold)
    answered = counts.add_columns(missed.scalar_subquery()).where(
        Vote.worker_id == worker_id, Vote.gold, Vote.is_right.is_not(None)
    )
    seen, right, skipped = session.execute(answered).one()
    return seen + skipped, right


def looks_last(token: str, votes: int) -> bool:
    """Whether a vote on gold is treated like the last on a problem: as often as others are."""
    return random.Random(token).random() < 1 / votes
