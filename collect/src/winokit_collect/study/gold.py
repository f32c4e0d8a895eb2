"""Gold questions: judgements whose answer is known, mixed into the work so that nobody can tell them from it.

They are problems of the study itself that people have settled: all votes are in and say the same, and that is what the
author, or the dataset, says. Until a study has enough of its own, and where twins are written, those that come with
winokit stand in, or a file of the requester's; they are written like what workers write.

Nothing about them is special to whoever looks: the same page, pay, lease and receipt, the same number of statements,
and a count of what is left that goes down by one whatever comes. When one comes is drawn with the study's secret. One
that is skipped, or left until its time is over, counts as not right.
"""

from typing import Any

from sqlalchemy import BindParameter, Row, bindparam, func, or_, select, update
from sqlalchemy.orm import Session

from winokit import Problem
from winokit_collect.study import ledger, schema
from winokit_collect.study.content import place_of, read_gold
from winokit_collect.study.prepared import Prepared
from winokit_collect.study.schema import LEASES, TASKS, VOTE_ROWS, Lease, ProblemRow, Task, Vote
from winokit_collect.study.settings import rule_of
from winokit_collect.study.study import Study
from winokit_collect.study.tasks import end_leases
from winokit_collect.study.validity import UNANIMOUS_YES, settle_problem
from winokit_collect.study.voting import SHOWN_AS

MOST_OWN = 500
"""So many problems of a study become gold, for each kind of judgement: more than one worker will ever see."""
FEWEST = 2
"""One vote alone settles nothing."""
MISSED = (schema.RELEASED, schema.EXPIRED)
"""How a lease ends whose worker has not answered."""
# Asked after every vote, and made once: making a query takes longer than running it.
_PROBLEM: BindParameter[int] = bindparam("problem")
_KIND: BindParameter[str] = bindparam("kind")
_ME: BindParameter[int] = bindparam("me")
_VOTED = TASKS.alias().c
_OWN = (TASKS.c.kind == _KIND, TASKS.c.rank < 0, TASKS.c.asked.is_(None))
_ASKED = select(_VOTED.asked).where(_VOTED.problem_id == _PROBLEM, _VOTED.kind == _KIND, _VOTED.asked.is_not(None))
_VOTES_ON = Prepared(
    select(
        func.count(VOTE_ROWS.c.choice).label("votes"),
        func.min(VOTE_ROWS.c.choice).label("least"),
        func.max(VOTE_ROWS.c.choice).label("most"),
        _ASKED.scalar_subquery().label("asked"),
        select(TASKS.c.id).where(*_OWN, TASKS.c.problem_id == _PROBLEM).limit(1).scalar_subquery().label("own"),
        select(func.count()).where(*_OWN, TASKS.c.gold).scalar_subquery().label("others"),
    ).where(VOTE_ROWS.c.problem_id == _PROBLEM, VOTE_ROWS.c.kind == _KIND, VOTE_ROWS.c.counted, ~VOTE_ROWS.c.gold)
)
"""How the votes of a kind fell on a problem, how many were asked for, and what gold of the study's own there is."""
_MISSED = (
    select(func.count())
    .select_from(LEASES)
    .join(TASKS, TASKS.c.id == LEASES.c.task_id)
    .where(LEASES.c.worker_id == _ME, or_(*(LEASES.c.state == state for state in MISSED)), TASKS.c.gold)
)
_SCORE = Prepared(
    select(func.count(), func.count().filter(VOTE_ROWS.c.is_right.is_(True)), _MISSED.scalar_subquery()).where(
        VOTE_ROWS.c.worker_id == _ME, VOTE_ROWS.c.gold, VOTE_ROWS.c.is_right.is_not(None)
    )
)


def has_given_gold(study: Study) -> bool:
    """Whether a study has gold questions from a file: of the requester's, or those that are like written twins."""
    kinds = set(study.config.tasks.kinds)
    own = study.config.gold
    return bool(study.config.quality.gold_share and kinds & set(schema.VOTES) and (own or schema.WRITE in kinds))


def add_given(study: Study, session: Session) -> None:
    """Add the gold questions of the study's file; twins stay together, so that nobody gets both."""
    gold = read_gold(place_of(study, study.config.gold, "gold.jsonl"), study.config.language)
    groups = {name: schema.Group(name=name, origin=schema.GOLD) for name in gold.groups}
    session.add_all(groups.values())
    session.flush()
    for problem in gold:
        group_id = groups[problem.group].id if problem.group is not None else None
        row = schema.to_row(problem, schema.GOLD, study.now(), group_id=group_id, settings_id=study.settings_id)
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


def is_right(study: Study, leased: Row[Any], choice: int | None) -> bool:
    """Whether a vote on a gold question is the known one."""
    known = (leased.topic or {}).get("answer")  # not written down by earlier versions, which had no gold of the study's
    return choice == (
        gold_answer(schema.to_problem(leased, study.config.language), leased.kind) if known is None else known
    )


def settle(session: Session, study: Study, row: ProblemRow, *kinds: str) -> None:
    """Write down what is decided about a problem by the votes of some kinds, or of all.

    What follows is written down too: whether it is gold now, and what is owed for fooling the model.
    """
    if not kinds or schema.VALIDATE in kinds:
        settle_problem(session, rule_of(session, study, row.settings_id), row)
        ledger.settle_fooling(session, study, row)
    for kind in kinds or study.config.tasks.kinds:
        if kind in schema.VOTES and study.config.quality.gold_share:
            _settle_gold(session, study, row, kind)


def _settle_gold(session: Session, study: Study, row: ProblemRow, kind: str) -> None:
    known = _VOTES_ON.all(session, problem=row.id, kind=kind)[0]
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


def _gold_task(row: ProblemRow, kind: str, rank: int, answer: int) -> Task:
    """A judgement for everybody; a problem of the study's own has a rank below zero."""
    return schema.task_about(row, kind, rank, asked=None, gold=True, topic={"answer": answer})


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
    task.gold = answer is not None
    task.topic = {"answer": answer}


def gold_score(session: Session, worker_id: int) -> tuple[int, int]:
    """How many gold questions a worker was asked, and how many they got right."""
    seen, right, skipped = _SCORE.all(session, me=worker_id)[0]
    return seen + skipped, right


def looks_last(study: Study, leased: Row[Any]) -> bool:
    """Whether a vote on gold is treated like the last on a problem: as often as others are, drawn with the secret."""
    digits = study.signer.digest("last vote", f"{leased.worker_id} {leased.problem_id} {leased.kind}")[:13]
    return int(digits, 16) / 16**13 < 1 / study.config.tasks.votes
