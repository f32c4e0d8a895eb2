"""What a worker would see, for requesters to walk through: nothing is stored, and nobody is paid.

The pages are the workers' own, at other addresses, and say that they are a preview. A task's token names its kind and
the number of the problem, or of the topic, that it shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from types import SimpleNamespace
from typing import Annotated, Any

from fastapi import Depends, Request, Response
from sqlalchemy import select

from winokit.collect.study import adversary, schema, workers
from winokit.collect.study.content import place_of, read_gold
from winokit.collect.study.refusals import Incomplete, NotFound
from winokit.collect.study.schema import ANSWERS, PROBLEM_COLUMNS, WRITE, ProblemRow, Task, Worker
from winokit.collect.study.study import Study
from winokit.collect.study.voting import SHOWN_AS, read_ballot, vote_task
from winokit.collect.study.writing import TWIN_FIELDS, refuse_broken
from winokit.collect.web.entry import quiz_page
from winokit.collect.web.forms import REQUESTER, Fields, Pages, is_number
from winokit.collect.web.home import ballot_page
from winokit.collect.web.visit import DASHBOARD, GoTo, RequesterVisit, run_slow
from winokit.collect.web.writing import ShownFeedback

router = Pages(REQUESTER)
PREVIEW = "/requester/preview"
STEPS = (workers.CONSENT, workers.SCREENING, workers.QUIZ)


class PreviewVisit(RequesterVisit):
    """A requester who looks at pages as a worker who has just come, in the words that the study has for workers."""

    root = PREVIEW

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self.worker, self.texts = Worker(code="w-preview", state=schema.ACTIVE), self.study.texts


def _visit(request: Request) -> PreviewVisit:
    return PreviewVisit(request)


APreview = Annotated[PreviewVisit, Depends(_visit)]


@router.get(f"{PREVIEW}/{{step}}")
def step(visit: APreview, step: str) -> Response:
    """A page that comes before the tasks; whatever else a worker could go to from there ends the preview."""
    kinds = visit.study.config.tasks.kinds
    if step not in STEPS:
        raise GoTo(DASHBOARD)
    if step == workers.QUIZ:
        return quiz_page(visit, kinds, workers.quiz_for(visit.study, visit.worker, kinds))
    return visit.page(step, answers={})


@router.form(f"{PREVIEW}/{{step}}")
def go_on(visit: APreview, step: str) -> Response:
    """On to the next page, whatever was filled in."""
    later = STEPS[STEPS.index(step) + 1 :] if step in STEPS else ()
    return visit.go(f"{PREVIEW}/{later[0]}" if later else _path(visit.study.config.tasks.kinds[0], 0))


@router.get(f"{PREVIEW}/task/{{token}}/{{what}}")
def task(visit: APreview, token: str, what: str) -> Response:
    """A task of a kind, to be filled in."""
    return _task_page(visit, _held(visit.study, token), {})


@router.form(f"{PREVIEW}/task/{{token}}/{{what}}", *TWIN_FIELDS, *ANSWERS)
async def send(visit: APreview, token: str, what: str, fields: Fields) -> Response:
    """What a worker would be told; the study's model may be asked, which takes a while."""
    return await run_slow(_send, visit, token, what, fields)


def _send(visit: PreviewVisit, token: str, what: str, fields: Mapping[str, str]) -> Response:
    study, held = visit.study, _held(visit.study, token)
    try:
        match what:
            case "draft" | "signals":
                return Response(status_code=204)
            case "feedback":
                return visit.piece("writing_feedback", task=held, shown=ShownFeedback(study, held, fields))
            case "adversary":
                verdict = adversary.ask(study, fields)
                message = visit.texts.say(verdict.message) if verdict else ""
                return visit.piece("adversary", verdict=verdict, message=message)
            case "remark":
                return _task_page(visit, held, fields, remarked=True)
            case "vote":
                read_ballot(study.config, held, fields)
            case "write":
                refuse_broken(study, fields, held.task_domain, ())
    except Incomplete as error:
        return _task_page(visit, held, fields, status=422, problems=error.problems)
    thanks = "" if what == "skip" else "A worker would be thanked now."
    return visit.go(_path(held.kind, held.number + 1), thanks)


def _path(kind: str, number: int) -> str:
    return f"{PREVIEW}/task/{kind}-{number}/{'write' if kind == WRITE else 'vote'}"


def _task_page(visit: PreviewVisit, held: Any, fields: Mapping[str, str], **context: Any) -> Response:
    if held.kind != WRITE:
        return ballot_page(visit, vote_task(visit.study.config, held), fields, **context)
    typed = {name: fields.get(name, "") for name in TWIN_FIELDS}
    shown = ShownFeedback(visit.study, held, typed)
    return visit.page("write", task=held, typed=typed, shown=shown, before=None, **context)


def _held(study: Study, token: str) -> Any:
    """A task as if somebody had it: the next from a number on, from the start after the last; else an example."""
    kind, _, number = token.partition("-")
    if kind not in study.config.tasks.kinds or not is_number(number, 9):
        raise NotFound("there is no such task to look at")
    next_first = (Task.rank < int(number), Task.rank)
    tasks = select(Task).where(Task.kind == kind, ~Task.gold).order_by(*next_first).limit(1)
    with study.store.read() as session:
        found = session.scalars(tasks).first()
        row: Any = session.get(ProblemRow, found.problem_id) if found and found.problem_id else None
    if kind != WRITE and row is None:
        gold = read_gold(place_of(study, study.config.gold, "gold.jsonl"), study.config.language)
        row = next(problem for problem in gold if kind not in SHOWN_AS or SHOWN_AS[kind](problem) is not None)
    about = {name: getattr(row, name) for name in PROBLEM_COLUMNS} if row else {}
    place = found.rank if found else 0
    about |= {"topic": found and found.topic, "task_domain": found and found.domain, "number": place}
    until = study.now() + timedelta(minutes=study.config.minutes(kind))
    kept = {"state": schema.LIVE, "expires_at": until, "done": 0, "draft": None}
    return SimpleNamespace(kind=kind, token=f"{kind}-{place}", **about, **kept)
