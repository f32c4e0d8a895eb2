"""Preview of tasks for requesters, as a worker sees them. Nothing is stored or paid.

The pages are those of workers, at other addresses, and say that they are a preview. A task's token has its kind and
the number of the problem, or of the topic, that it shows.
"""

from collections.abc import Mapping
from datetime import timedelta
from types import SimpleNamespace
from typing import Annotated, Any

from fastapi import Depends, Request, Response
from sqlalchemy import select

from winokit import Problem
from winokit_collect.study import adversary
from winokit_collect.study.content import read_gold, text_path
from winokit_collect.study.refusals import Incomplete, NotFound
from winokit_collect.study.schema import ACTIVE, ANSWERS, LIVE, PROBLEM_COLUMNS, VIEWER, WRITE, ProblemRow, Task, Worker
from winokit_collect.study.study import Study
from winokit_collect.study.voting import SHOWN_AS, read_ballot, vote_task
from winokit_collect.study.writing import FORM_FIELDS, refuse_broken
from winokit_collect.web.forms import REQUESTER, Fields, Pages
from winokit_collect.web.home import ballot_page
from winokit_collect.web.visit import RequesterVisit, run_slow
from winokit_collect.web.writing import ShownFeedback, form_page, limit_asking

router = Pages(REQUESTER)
PREVIEW = "/requester/preview"


class PreviewVisit(RequesterVisit):
    """A requester's request for a page as a worker sees it.

    It shows the study's texts.
    """

    root = PREVIEW

    def __init__(self, request: Request) -> None:
        super().__init__(request, VIEWER)  # who only looks on may also send: nothing is stored
        self.worker = Worker(code="w-preview", state=ACTIVE)
        self.texts = self.study.texts


APreview = Annotated[PreviewVisit, Depends()]


@router.get(f"{PREVIEW}/task/{{token}}/{{what}}")
def task(visit: APreview, token: str, what: str) -> Response:
    """Page of a task to try out.

    `token` is its kind and a number. `what` is `write` or `vote`.
    """
    leased = _make_task(visit.study, token)
    return _show_task(visit, leased, {})


@router.form(f"{PREVIEW}/task/{{token}}/{{what}}", *FORM_FIELDS, *ANSWERS)
async def send(visit: APreview, token: str, what: str, fields: Fields) -> Response:
    """Answer a worker's form in the preview, without storing it.

    In a thread, since the study's model may be asked.
    """
    return await run_slow(_answer_form, visit, token, what, fields)


def _answer_form(visit: PreviewVisit, token: str, what: str, fields: Mapping[str, str]) -> Response:
    """Check a form of the preview.

    `what` says which one. A vote or twins that would be taken lead to the next task.
    """
    study = visit.study
    leased = _make_task(study, token)
    try:
        match what:
            case "draft" | "signals":
                return Response(status_code=204)
            case "feedback":
                feedback = ShownFeedback(study, leased, fields)
                return visit.piece("writing_feedback", task=leased, shown=feedback, typed=fields)
            case "adversary":
                limit_asking(visit, visit.actor)
                verdict = adversary.ask(study, fields)
                message = visit.texts.say(verdict.message) if verdict else ""
                return visit.piece("adversary", verdict=verdict, message=message, tries_left=None, token=token)
            case "remark":
                return _show_task(visit, leased, fields, remarked=True)
            case "vote":
                read_ballot(study.config, leased, fields)
            case "write":
                refuse_broken(study, fields, leased.task_domain, topic=leased.topic)
    except Incomplete as error:
        return _show_task(visit, leased, fields, status=422, problems=error.problems)
    form = "write" if leased.kind == WRITE else "vote"
    return visit.go(f"{PREVIEW}/task/{leased.kind}-{leased.number + 1}/{form}")


def _show_task(visit: PreviewVisit, leased: Any, fields: Mapping[str, str], **context: Any) -> Response:
    if leased.kind == WRITE:
        return form_page(visit, leased, fields, **context)
    return ballot_page(visit, vote_task(visit.study.config, leased), fields, **context)


def _make_task(study: Study, token: str) -> Any:
    """Make a task for the preview, as if it were leased to somebody.

    `token` has its kind and a number, such as validate-3. That is the first task of this kind with this rank or a
    higher one, else the first of all. Without tasks, an example is made of a gold question.
    """
    kind, _, number = token.partition("-")
    is_number = number.isdecimal() and len(number) < 10
    if kind not in study.config.tasks.kinds or not is_number:
        raise NotFound("there is no such task to preview")
    tasks = select(Task).where(Task.kind == kind, ~Task.gold).order_by(Task.rank < int(number), Task.rank)
    with study.store.read() as session:
        task = session.scalars(tasks.limit(1)).first() or Task(rank=0)
        problem: Any = session.get(ProblemRow, task.problem_id) if task.problem_id else None
    if kind == WRITE and not task.topic:
        raise NotFound("there is no topic to write about")
    if kind != WRITE and problem is None:
        problem = _find_example(study, kind)
    columns = {name: getattr(problem, name) for name in PROBLEM_COLUMNS} if problem else {}
    columns |= {"topic": task.topic, "task_domain": task.domain, "number": task.rank, "kind": kind, "state": LIVE}
    until = study.now() + timedelta(minutes=study.config.minutes(kind))
    token = f"{kind}-{task.rank}"
    return SimpleNamespace(token=token, expires_at=until, done=0, draft=None, last_token=None, **columns)


def _find_example(study: Study, kind: str) -> Problem:
    """First gold question that can be shown as this kind of task."""
    path = text_path(study, study.config.gold, "gold.jsonl")
    gold = read_gold(path, study.config.language)
    return next(problem for problem in gold if kind not in SHOWN_AS or SHOWN_AS[kind](problem) is not None)
