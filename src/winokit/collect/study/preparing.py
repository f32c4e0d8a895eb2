"""The tasks a study starts with: topics to write about, gold questions, and problems for people to solve.

Preparing again adds what the config asks for beyond what is there, and takes nothing away.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from winokit.collect.study.content import DOMAINS, Topic, place_of, read_gold, read_topics
from winokit.collect.study.evaluate import evaluation_dataset, evaluation_problems
from winokit.collect.study.problems import Origin, clause, switched_text, to_row
from winokit.collect.study.schema import (
    ASSOCIATIVE,
    EVALUATE,
    GOLD,
    IMPORTED,
    SWITCHABLE,
    VALIDATE,
    VOTES,
    WRITE,
    Group,
    ProblemRow,
    Task,
)
from winokit.problem import Problem

if TYPE_CHECKING:
    from winokit.collect.study.study import Study


def prepare(study: Study) -> None:
    """Make the tasks that are missing."""
    kinds = study.config.tasks.kinds
    with study.store.read() as session:
        wanted = study.config.tasks.twins if WRITE in kinds else 0
        written = session.scalar(select(func.count()).where(Task.kind == WRITE)) or 0
        has_gold = session.scalar(select(ProblemRow.id).where(ProblemRow.origin == GOLD).limit(1)) is not None
        has_data = session.scalar(select(ProblemRow.id).where(ProblemRow.origin == IMPORTED).limit(1)) is not None
    if wanted > written:
        _add_topics(study, written, wanted)
    if study.config.quality.gold_share and not has_gold and set(kinds) & set(VOTES):
        _add_gold(study)
    if EVALUATE in kinds and not has_data:
        _add_evaluation(study)


def _add_topics(study: Study, start: int, end: int) -> None:
    topics = read_topics(place_of(study.folder, study.config.topics, "topics.jsonl"))
    with study.store.write(alone=True) as session:
        # Asked again under the lock: another process may have been faster.
        start = session.scalar(select(func.count()).where(Task.kind == WRITE)) or 0
        for rank in range(start, end):
            domain = domain_at(rank, study.config.tasks.social_share)
            topic = topic_at(
                _place_in_domain(rank, domain, study.config.tasks.social_share), domain, topics, study.config.seed
            )
            told = {"topic": topic.topic, "words": list(topic.words)}
            session.add(Task(kind=WRITE, asked=1, rank=rank, domain=domain, topic=told))


def domain_at(rank: int, social_share: float) -> str:
    """The domain of the task at a rank: at every rank the share of social ones is as near as can be to what is asked.

    >>> [domain_at(rank, 0.5) for rank in range(4)]
    ['physical', 'social', 'physical', 'social']
    """
    social, physical = DOMAINS
    return social if int((rank + 1) * social_share) > int(rank * social_share) else physical


def topic_at(place: int, domain: str, topics: list[Topic], seed: int) -> Topic:
    """The topic of a domain's task number `place`: every fitting topic once in a random order, then all in another."""
    fitting = [topic for topic in topics if topic.fits(domain)] or topics
    round_, place = divmod(place, len(fitting))
    order = list(range(len(fitting)))
    random.Random(f"{seed} {domain} {round_}").shuffle(order)
    return fitting[order[place]]


def _place_in_domain(rank: int, domain: str, social_share: float) -> int:
    social = int(rank * social_share)
    return social if domain == DOMAINS[0] else rank - social


def _add_gold(study: Study) -> None:
    gold = read_gold(place_of(study.folder, study.config.gold, "gold.jsonl"))
    with study.store.write(alone=True) as session:
        if session.scalar(select(ProblemRow.id).where(ProblemRow.origin == GOLD).limit(1)) is not None:
            return
        rows = [to_row(problem, Origin(GOLD, study.now())) for problem in gold]
        session.add_all(rows)
        session.flush()
        session.add_all(
            Task(kind=kind, asked=None, rank=row.id, gold=True, problem_id=row.id)
            for problem, row in zip(gold, rows, strict=True)
            for kind in study.config.tasks.kinds
            if gold_answer(problem, kind) is not None
        )


def gold_answer(problem: Problem, kind: str) -> int | None:
    """What a vote of a kind must be on a gold question, or None where that is not known or cannot be shown."""
    if kind in (VALIDATE, EVALUATE):
        return problem.answer
    label = problem.labels.get(kind)
    shown = {SWITCHABLE: switched_text, ASSOCIATIVE: clause}.get(kind)
    if not isinstance(label, bool) or shown is None or shown(problem) is None:
        return None
    return int(label)


def _add_evaluation(study: Study) -> None:
    dataset = evaluation_dataset(study.folder, study.config)
    problems, _ = evaluation_problems(dataset, study.config.evaluate.variants)
    with study.store.write(alone=True) as session:
        if session.scalar(select(ProblemRow.id).where(ProblemRow.origin == IMPORTED).limit(1)) is not None:
            return
        names = dict.fromkeys(problem.group for _, problem in problems if problem.group is not None)
        groups = {name: Group(name=name, origin=IMPORTED) for name in names}
        session.add_all(groups.values())
        session.flush()
        rows = []
        for variant, problem in problems:
            group_id = None if problem.group is None else groups[problem.group].id
            rows.append(to_row(problem, Origin(IMPORTED, study.now(), group_id, variant=variant)))
        session.add_all(rows)
        session.flush()
        session.add_all(vote_task(EVALUATE, row, study.config.tasks.votes) for row in rows)


def vote_task(kind: str, row: ProblemRow, votes: int) -> Task:
    """So many workers, asked about a problem."""
    return Task(
        kind=kind,
        asked=votes,
        rank=row.id,
        problem_id=row.id,
        group_id=row.group_id,
        family=row.family,
        author_id=row.author_id,
        domain=row.domain,
    )


def add_judgements(session: Session, study: Study, row: ProblemRow, problem: Problem) -> None:
    """Ask about a new problem whatever the study asks; what cannot be shown is not asked."""
    kinds, votes = study.config.tasks.kinds, study.config.tasks.votes
    if VALIDATE in kinds:
        session.add(vote_task(VALIDATE, row, votes))
    if SWITCHABLE in kinds and switched_text(problem) is not None:
        session.add(vote_task(SWITCHABLE, row, votes))
    if ASSOCIATIVE in kinds and clause(problem) is not None:
        session.add(vote_task(ASSOCIATIVE, row, votes))
