"""One visit of somebody to one page: who they are, what they sent, and the ways to answer."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any

from fastapi import Depends, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from winokit.collect.study import requesters, workers
from winokit.collect.study.refusals import NotAllowed, Refused
from winokit.collect.study.requesters import RequesterInfo
from winokit.collect.study.study import Study
from winokit.collect.study.workers import WorkerInfo
from winokit.collect.web.rendering import render
from winokit.collect.web.sessions import NOTICE, REQUESTER, VISITOR, WORKER, Cookies

STEPS = {
    workers.CONSENT: "/consent",
    workers.SCREENING: "/screening",
    workers.QUIZ: "/quiz",
    workers.WORK: "/begin",
}
STRANGER = "please open the link you were given; it lets you in again if you are taking part already"
FINISH, LOGIN, HOME, DASHBOARD = "/finish", "/login", STEPS[workers.WORK], "/requester"


class GoTo(Exception):
    """Somebody must go elsewhere first. The path is always one of our own."""

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(path)


class Visit:
    """A visit of a stranger; those of workers and requesters know more."""

    role = VISITOR

    def __init__(self, request: Request) -> None:
        self.request = request
        self.study: Study = request.app.state.study
        self.cookies: Cookies = request.app.state.cookies

    @property
    def is_htmx(self) -> bool:
        """Whether a script on a page asks, for a piece of it."""
        return self.request.headers.get("hx-request") == "true"

    def page(self, template: str, *, status: int = 200, **context: Any) -> Response:
        """A whole page, with the notice that was left for it."""
        raw = self.cookies.raw(self.request, self.role)
        is_new = raw is None and self.role == VISITOR
        raw = self.cookies.new_visitor() if is_new else raw
        notice = self.cookies.read(self.request, NOTICE)
        response = HTMLResponse(self._render(template, raw, {"notice": notice, "problems": {}, **context}), status)
        if is_new and raw:
            self.cookies.set(response, VISITOR, raw)
        if notice is not None:
            self.cookies.take(response, NOTICE)
        return response

    def piece(self, template: str, **context: Any) -> Response:
        """A piece of a page, for htmx to put in its place."""
        return HTMLResponse(self._render(template, self.cookies.raw(self.request, self.role), context))

    def go(self, path: str, notice: str = "") -> Response:
        """Send the browser to another page of ours, with a line to show there."""
        response = RedirectResponse(path, 303)
        if notice:
            self.cookies.give(response, NOTICE, notice)
        return response

    def _render(self, template: str, raw: str | None, context: dict[str, Any]) -> str:
        token = self.cookies.form_token(self.role, raw) if raw else ""
        shared = {"study": self.study, "visit": self, "csrf": token, "now": self.study.now()}
        return render(f"{template}.html.j2", {**shared, **context})


class WorkerVisit(Visit):
    """A visit of a worker, wherever they stand; a stranger is refused."""

    role = WORKER

    @cached_property
    def worker(self) -> WorkerInfo:
        """Who it is, looked up when a page first asks: in the page's own thread, since a change of threads is dear."""
        worker = known_worker(self.request)
        if worker is None:
            raise NotAllowed(STRANGER)
        return worker

    @property
    def next_path(self) -> str:
        """Where the worker must go now."""
        return STEPS.get(self.worker.step, FINISH)


class WorkingVisit(WorkerVisit):
    """A visit of a worker who may work; one who may not yet is sent to what comes first."""

    @cached_property
    def worker(self) -> WorkerInfo:
        """Who it is."""
        worker = WorkerVisit(self.request).worker
        if worker.step != workers.WORK:
            raise GoTo(STEPS.get(worker.step, FINISH))
        return worker


class RequesterVisit(Visit):
    """A visit of a requester."""

    role = REQUESTER

    def __init__(self, request: Request, requester: RequesterInfo) -> None:
        super().__init__(request)
        self.requester = requester

    @property
    def actor(self) -> str:
        """How the audit log names them."""
        return f"requester:{self.requester.name}"


def known_worker(request: Request) -> WorkerInfo | None:
    """The worker whose browser this is, if any."""
    match request.app.state.cookies.read(request, WORKER):
        case [str(code), int(version)]:
            try:
                found = workers.get(request.app.state.study, code)
            except Refused:
                return None
            return found if found.session_version == version else None
    return None


def known_requester(request: Request) -> RequesterInfo | None:
    """The requester who is logged in, if any."""
    told = request.app.state.cookies.read(request, REQUESTER)
    try:
        return requesters.get(request.app.state.study, int(told[0]), int(told[1])) if told else None
    except Refused:
        return None


async def visit_of_anybody(request: Request) -> Visit:
    """Whoever it is."""
    return Visit(request)


async def visit_of_worker(request: Request) -> WorkerVisit:
    """A worker; somebody without a cookie of ours is refused here, whatever the page asks."""
    _refuse_strangers(request)
    return WorkerVisit(request)


async def visit_to_work(request: Request) -> WorkingVisit:
    """A worker who may work."""
    _refuse_strangers(request)
    return WorkingVisit(request)


def _refuse_strangers(request: Request) -> None:
    if request.app.state.cookies.read(request, WORKER) is None:
        raise NotAllowed(STRANGER)


def visit_of_requester(request: Request) -> RequesterVisit:
    """A requester; anybody else is asked to log in."""
    requester = known_requester(request)
    if requester is None:
        raise GoTo(LOGIN)
    return RequesterVisit(request, requester)


Anybody = Annotated[Visit, Depends(visit_of_anybody)]
AWorker = Annotated[WorkerVisit, Depends(visit_of_worker)]
AtWork = Annotated[WorkingVisit, Depends(visit_to_work)]
ARequester = Annotated[RequesterVisit, Depends(visit_of_requester)]
