"""Writing twins: the form, feedback while it is filled in, drafts that save themselves, and handing in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Depends, Response

from winokit.collect.study import adversary, submissions, tasks
from winokit.collect.study.forms import TWIN_FIELDS
from winokit.collect.study.refusals import Incomplete, NotFound
from winokit.collect.study.views import WriteTask
from winokit.collect.web.apart import apart
from winokit.collect.web.guard import Fields, guard, takes
from winokit.collect.web.sessions import WORKER
from winokit.collect.web.visit import HOME, AtWork, AWorker, WorkerVisit
from winokit.collect.web.wording import money
from winokit.collect.web.worker.feedback import ShownFeedback, shown
from winokit.collect.web.worker.work import Token

router = APIRouter(dependencies=[Depends(guard(WORKER))], tags=["writing"])


@router.get("/task/{token}/write")
def form(visit: AtWork, token: Token) -> Response:
    """The form, with what was saved of it."""
    task = _task(visit, token)
    return _form_page(visit, task, task.draft, {})


@router.post("/task/{token}/write", openapi_extra=takes(*TWIN_FIELDS))
def hand_in(visit: AWorker, token: Token, fields: Fields) -> Response:
    """Take the twins, or show the form again as it was, with what stands against it."""
    try:
        receipt = submissions.submit(visit.study, visit.worker.id, token, fields)
    except Incomplete as error:
        task = _task(visit, token)
        tasks.save_draft(visit.study, visit.worker.id, token, fields)
        return _form_page(visit, task, fields, error.problems, status=422)
    earned = f" You have earned {money(receipt.cents, visit.study.config.pay.currency)}." if receipt.cents else ""
    return visit.go(HOME, receipt.message + earned)


@router.post("/task/{token}/feedback", openapi_extra=takes(*TWIN_FIELDS))
def feedback(visit: AWorker, token: Token, fields: Fields) -> Response:
    """What to tell the writer now."""
    task = _task(visit, token)
    return visit.piece("writing_feedback", task=task, shown=_shown(visit, task, fields), swapped=True)


@router.post("/task/{token}/draft", openapi_extra=takes(*TWIN_FIELDS))
def draft(visit: AWorker, token: Token, fields: Fields) -> Response:
    """Keep what was typed so far."""
    saved_at = tasks.save_draft(visit.study, visit.worker.id, token, fields)
    return visit.piece("draft_saved", saved_at=saved_at)


@router.post("/task/{token}/adversary", openapi_extra=takes(*TWIN_FIELDS))
async def ask_adversary(visit: AWorker, token: Token, fields: Fields) -> Response:
    """What the study's model makes of the twins; slow, so a script asks for it by itself, and not too often."""
    return await apart(_asked, visit, token, fields)


def _asked(visit: WorkerVisit, token: str, fields: Mapping[str, str]) -> Response:
    _task(visit, token)
    visit.request.app.state.adversary_limit.count(visit.worker.id)
    return visit.piece("adversary", verdict=adversary.ask(visit.study, fields))


def _task(visit: WorkerVisit, token: str) -> WriteTask:
    task = tasks.look(visit.study, visit.worker.id, token)
    if not isinstance(task, WriteTask):
        raise NotFound("no such task of yours")
    return task


def _form_page(
    visit: WorkerVisit, task: WriteTask, told: Mapping[str, Any], problems: Mapping[str, str], status: int = 200
) -> Response:
    typed = {name: str(told.get(name, "")) for name in TWIN_FIELDS}
    return visit.page(
        "write",
        status=status,
        task=task,
        typed=typed,
        problems=problems,
        shown=_shown(visit, task, typed),
    )


def _shown(visit: WorkerVisit, task: WriteTask, fields: Mapping[str, Any]) -> ShownFeedback:
    return shown(visit.study, task, fields)
