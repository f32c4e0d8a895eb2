"""A worker's home, taking and giving back tasks, the guidelines, and the way out."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

from fastapi import APIRouter, Depends, Path, Response

from winokit.collect import platforms
from winokit.collect.study import tasks, workers
from winokit.collect.study.refusals import NotFound, NotNow
from winokit.collect.study.schema import WRITE
from winokit.collect.web.guard import Fields, guard, takes
from winokit.collect.web.sessions import WORKER
from winokit.collect.web.shell import policy
from winokit.collect.web.visit import HOME, AtWork, AWorker, WorkerVisit
from winokit.collect.web.wording import sentence
from winokit.collect.web.worker.signals import read_signals

router = APIRouter(dependencies=[Depends(guard(WORKER))], tags=["work"])
Token = Annotated[str, Path(max_length=64)]


@router.get("/begin")
def home(visit: AtWork) -> Response:
    """What there is to do, and what was done and earned."""
    available = tasks.available(visit.study, visit.worker.id)
    own = workers.own_work(visit.study, visit.worker.id)
    return visit.page("home", available=available, own=own, paused=visit.study.paused)


@router.post("/begin/{kind}", openapi_extra=takes())
def take_task(visit: AtWork, kind: str) -> Response:
    """Take a task of a kind, or go on with the one under way."""
    return go_to_next(visit, kind)


@router.post("/task/{token}/skip", openapi_extra=takes())
def skip(visit: AtWork, token: Token) -> Response:
    """Give a task back and take another of its kind."""
    kind = tasks.look(visit.study, visit.worker.id, token).kind
    tasks.give_back(visit.study, visit.worker.id, token)
    return go_to_next(visit, kind)


@router.post("/task/{token}/signals", openapi_extra=takes("events"))
def signals(visit: AWorker, token: Token, fields: Fields) -> Response:
    """Keep signals of how a task is worked on: pasting, leaving the page, coming back."""
    tasks.note_events(visit.study, visit.worker.id, token, read_signals(fields.get("events", "")))
    return Response(status_code=204)


@router.get("/guidelines/{kind}")
def guidelines(visit: AWorker, kind: str) -> Response:
    """The guidelines for a kind of task."""
    if kind not in visit.study.config.tasks.kinds:
        raise NotFound("this study has no such tasks")
    return visit.page("guidelines", kind=kind)


@router.get("/finish")
def finish(visit: AWorker) -> Response:
    """Goodbye: the worker's code, what was earned, and the way back to the platform."""
    departure = platforms.leave(visit.study, visit.worker.id)
    own = workers.own_work(visit.study, visit.worker.id)
    response = visit.page("finish", own=own, departure=departure)
    if departure.form_action:
        where = urlsplit(departure.form_action)
        response.headers["Content-Security-Policy"] = policy(form_action=f"{where.scheme}://{where.netloc}")
    return response


def go_to_next(visit: WorkerVisit, kind: str, notice: str = "") -> Response:
    """Send a worker to a task of a kind, or home where there is none."""
    try:
        task = tasks.take(visit.study, visit.worker.id, kind)
    except NotNow as error:
        return visit.go(HOME, f"{notice} {sentence(str(error))}".strip())
    return visit.go(task_path(task.kind, task.token), notice)


def task_path(kind: str, token: str) -> str:
    """Where a task is worked on."""
    return f"/task/{token}/{'write' if kind == WRITE else 'vote'}"
