"""Judging: the form of every kind of vote, and handing it in. The next task of the kind follows by itself."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import APIRouter, Depends, Response

from winokit.collect.study import submissions, tasks, workers
from winokit.collect.study.refusals import Incomplete, NotAllowed, NotFound
from winokit.collect.study.views import VoteTask
from winokit.collect.web.guard import Fields, guard, takes
from winokit.collect.web.sessions import WORKER
from winokit.collect.web.visit import AtWork, AWorker, WorkerVisit
from winokit.collect.web.wording import money
from winokit.collect.web.worker.work import Token, go_to_next

router = APIRouter(dependencies=[Depends(guard(WORKER))], tags=["voting"])
QUESTIONS = ("choice", "equally_plausible", "local_decides")


@router.get("/task/{token}/vote")
def form(visit: AtWork, token: Token) -> Response:
    """What is to be judged."""
    return _form_page(visit, _task(visit, token), {}, {})


@router.post("/task/{token}/vote", openapi_extra=takes(*QUESTIONS))
def hand_in(visit: AWorker, token: Token, fields: Fields) -> Response:
    """Take the vote and go on to the next, or say what is missing."""
    try:
        receipt = submissions.submit(visit.study, visit.worker.id, token, fields)
    except Incomplete as error:
        return _form_page(visit, _task(visit, token), fields, error.problems, status=422)
    earned = f" {money(receipt.cents, visit.study.config.pay.currency)} earned." if receipt.cents else ""
    try:
        return go_to_next(visit, receipt.kind, receipt.message + earned)
    except NotAllowed:  # a gold question may have been one too many
        visit.worker = workers.get(visit.study, visit.worker.code)
        return visit.go(visit.next_path, receipt.message)


def _task(visit: WorkerVisit, token: str) -> VoteTask:
    task = tasks.look(visit.study, visit.worker.id, token)
    if not isinstance(task, VoteTask):
        raise NotFound("no such task of yours")
    return task


def _form_page(
    visit: WorkerVisit, task: VoteTask, told: Mapping[str, str], problems: Mapping[str, str], status: int = 200
) -> Response:
    return visit.page("vote", status=status, task=task, told=told, problems=problems)
