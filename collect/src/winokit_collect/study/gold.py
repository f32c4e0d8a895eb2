"""Gold questions: tasks with a known answer, mixed with other tasks to check workers.

They are problems of the study itself on which people agree: all votes are in and are the same, and match the answer
of the author or the dataset. As long as there are few of them, gold questions from a file are used as well, if
workers write twins or the requester has named a file. Those that come with winokit are written like twins of
workers.

Workers cannot tell them from other tasks: page, pay, lease, receipt and number of SQL statements are the same, and
the number of tasks that are left goes down by one with each. The study's secret decides when one comes. A gold
question that is skipped, or not answered in time, counts as not right.
"""

from typing import Any

from sqlalchemy import BindParameter, Row, bindparam, func, or_, select, update
from sqlalchemy.orm import Session

from winokit import Problem
from winokit_collect.study import ledger, schema
from winokit_collect.study.content import read_gold, text_path
from winokit_collect.study.prepared import Prepared
from winokit_collect.study.schema import LEASES, TASKS, VOTE_ROWS, Lease, ProblemRow, Task, Vote
from winokit_collect.study.settings import rule_of
from winokit_collect.study.study import Study
from winokit_collect.study.tasks import end_leases
from winokit_collect.study.validity import UNANIMOUS_YES, settle_problem
from winokit_collect.study.voting import SHOWN_AS

MOST_OWN = 500
"""Most problems of a study that become gold questions, for each kind of judgement. No worker sees so many."""
FEWEST = 2
"""Fewest votes that make a problem a gold question."""
MISSED = (schema.RELEASED, schema.EXPIRED)
"""Final states of a lease whose worker has not answered."""
# Asked after every vote, and made once: making a query takes longer than running it.
_PROBLEM: BindParameter[int] = bindparam("problem")
_KIND: BindParameter[str] = bindparam("kind")
_ME: BindParameter[int] = bindparam("me")
_VOTED = TASKS.alias().c
_OWN = (TASKS.c.kind == _KIND, TASKS.c.rank < 0, TASKS.c.asked.is_(None))
_ASKED = select(_VOTED.asked).where(_VOTED.problem_id == _PROBLEM, _VOTED.kind == _KIND, _VOTED.asked.is_not(None))
_OWN_ID = select(TASKS.c.id).where(*_OWN, TASKS.c.problem_id == _PROBLEM).limit(1)
_OWN_COUNT = select(func.count()).where(*_OWN, TASKS.c.gold)
_IS_ON_PROBLEM = (VOTE_ROWS.c.problem_id == _PROBLEM, VOTE_ROWS.c.kind == _KIND)
_VOTE_COLUMNS = (
    func.count(VOTE_ROWS.c.choice).label("votes"),
    func.min(VOTE_ROWS.c.choice).label("least"),
    func.max(VOTE_ROWS.c.choice).label("most"),
    _ASKED.scalar_subquery().label("asked"),
    _OWN_ID.scalar_subquery().label("own"),
    _OWN_COUNT.scalar_subquery().label("others"),
)
_VOTES_ON = Prepared(select(*_VOTE_COLUMNS).where(*_IS_ON_PROBLEM, VOTE_ROWS.c.counted, ~VOTE_ROWS.c.gold))
"""Query of the votes of a kind on a problem (number, lowest and highest choice), the number asked for, the gold task
made of the problem, and the number of such tasks."""
_IS_MISSED = or_(*(LEASES.c.state == state for state in MISSED))
_LEASED_TASKS = select(func.count()).select_from(LEASES).join(TASKS, TASKS.c.id == LEASES.c.task_id)
_MISSED = _LEASED_TASKS.where(LEASES.c.worker_id == _ME, _IS_MISSED, TASKS.c.gold)
_RIGHT = func.count().filter(VOTE_ROWS.c.is_right.is_(True))
_IS_OWN_GOLD = (VOTE_ROWS.c.worker_id == _ME, VOTE_ROWS.c.gold, VOTE_ROWS.c.is_right.is_not(None))
_SCORE = Prepared(select(func.count(), _RIGHT, _MISSED.scalar_subquery()).where(*_IS_OWN_GOLD))


def uses_gold_file(study: Study) -> bool:
    """Whether a study uses gold questions from a file.

    The file is the requester's, or the bundled one if the study's workers write twins.
    """
    kinds = set(study.config.tasks.kinds)
    own_file = study.config.gold
    has_judgements = bool(kinds & set(schema.VOTES))
    has_questions = bool(own_file) or schema.WRITE in kinds
    return bool(study.config.quality.gold_share) and has_judgements and has_questions


def add_gold_from_file(study: Study, session: Session) -> None:
    """Store the gold questions of the study's file.

    There is a task for each kind that fits a question. Twins are stored as one group, so that no worker gets both.
    """
    gold = read_gold(text_path(study, study.config.gold, "gold.jsonl"), study.config.language)
    groups = {name: schema.Group(name=name, origin=schema.GOLD) for name in gold.groups}
    session.add_all(groups.values())
    session.flush()
    for problem in gold:
        group_id = groups[problem.group].id if problem.group is not None else None
        row = schema.to_row(problem, schema.GOLD, study.now(), group_id=group_id, settings_id=study.settings_id)
        session.add(row)
        session.flush()
        for kind in study.config.tasks.kinds:
            answer = gold_answer(problem, kind)
            if answer is not None:
                session.add(_make_gold_task(row, kind, row.id, answer))


def gold_answer(problem: Problem, kind: str) -> int | None:
    """The right choice for a gold question of a kind of task.

    None if the answer is not known, or if the problem cannot be shown as this kind of task.
    """
    if kind in (schema.VALIDATE, schema.EVALUATE):
        return problem.answer
    label = problem.labels.get(kind)
    if not isinstance(label, bool) or kind not in SHOWN_AS:
        return None
    can_be_shown = SHOWN_AS[kind](problem) is not None
    return int(label) if can_be_shown else None


def is_right(study: Study, leased: Row[Any], choice: int | None) -> bool:
    """Whether a vote on a gold question has the right choice.

    `leased` is the row of the vote's task. A choice of None, "cannot tell", is wrong.
    """
    # Earlier versions, which had no gold of the study's own, did not store it.
    answer = (leased.topic or {}).get("answer")
    if answer is None:
        problem = schema.to_problem(leased, study.config.language)
        answer = gold_answer(problem, leased.kind)
    return bool(choice == answer)


def settle(session: Session, study: Study, row: ProblemRow, *kinds: str) -> None:
    """Store the decision on a problem, from its votes of some kinds.

    Without `kinds`, from the votes of all kinds. Also updates whether the problem is a gold question, and the bonus for
    fooling the model.
    """
    if not kinds or schema.VALIDATE in kinds:
        settle_problem(session, rule_of(session, study, row.settings_id), row)
        ledger.settle_fooling(session, study, row)
    for kind in kinds or study.config.tasks.kinds:
        if kind in schema.VOTES and study.config.quality.gold_share:
            _settle_gold(session, study, row, kind)


def _settle_gold(session: Session, study: Study, row: ProblemRow, kind: str) -> None:
    """Turn a problem into a gold question if its votes agree.

    If they no longer agree, it is no longer asked. `kind` is the kind of task whose votes are meant.
    """
    votes_on = _VOTES_ON.all(session, problem=row.id, kind=kind)[0]
    problem = schema.to_problem(row, study.config.language)
    reference = gold_answer(problem, kind)
    is_unanimous = votes_on.votes >= max(votes_on.asked or 0, FEWEST) and votes_on.least == votes_on.most
    is_usable = not row.withdrawn and row.variant == "original"
    is_settled = is_unanimous and is_usable and reference in (None, votes_on.most)
    if kind == schema.VALIDATE:
        is_settled &= bool(row.valid) and row.agreement == UNANIMOUS_YES
    elif row.valid is False:
        is_settled = False
    if votes_on.own is not None:
        _update_gold(session, votes_on.own, votes_on.most if is_settled else None)
    elif is_settled and votes_on.others < MOST_OWN:
        session.add(_make_gold_task(row, kind, -row.id, votes_on.most))


def _make_gold_task(row: ProblemRow, kind: str, rank: int, answer: int) -> Task:
    """Make a gold task: a judgement that every worker may get.

    `rank` is below zero for a problem of the study itself.
    """
    return schema.task_about(row, kind, rank, asked=None, gold=True, topic={"answer": answer})


def _update_gold(session: Session, task_id: int, answer: int | None) -> None:
    """Change the right answer of a gold question.

    The question was made from a problem of the study. With None as the answer it is no longer asked. Earlier votes on
    it then count neither for nor against their workers.
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
    """Numbers of gold questions that a worker had, and answered right.

    Skipped questions count as had and not right.
    """
    seen_count, right_count, skipped_count = _SCORE.all(session, me=worker_id)[0]
    return seen_count + skipped_count, right_count


def is_treated_as_last(study: Study, leased: Row[Any]) -> bool:
    """Whether a gold vote is processed like the last vote on a problem.

    This is so as often as for other problems, so that the time it takes reveals nothing. It is drawn with the study's
    secret.
    """
    vote_name = f"{leased.worker_id} {leased.problem_id} {leased.kind}"
    digits = study.signer.digest("last vote", vote_name)[:13]
    chance = int(digits, 16) / 16**13
    return chance < 1 / study.config.tasks.votes
