"""Context of a request: who makes it, and ways to respond."""

import secrets
from collections.abc import Callable
from functools import cache, cached_property, partial
from typing import Annotated, Any, TypeVar, TypeVarTuple

from anyio import CapacityLimiter
from anyio.lowlevel import RunVar
from anyio.to_thread import run_sync
from fastapi import Depends, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from sqlalchemy import Row

from winokit_collect.platforms.base import platform_of
from winokit_collect.study import invites, requesters, workers
from winokit_collect.study.refusals import NotAllowed, Refused
from winokit_collect.study.requesters import ROLES
from winokit_collect.study.schema import EDITOR, OWNER, VIEWER, Requester, Worker
from winokit_collect.study.study import Study
from winokit_collect.study.texts import BUILT_IN, StudyTexts, say
from winokit_collect.web.forms import NOTICE, READING, REQUESTER, VISITOR, WORKER, Cookies
from winokit_collect.web.rendering import render

V = TypeVar("V")
A = TypeVarTuple("A")
STEPS = {step: f"/{step}" for step in (workers.CONSENT, workers.SCREENING, workers.QUIZ)} | {workers.WORK: "/begin"}
STRANGER = say("refusals.stranger")
FINISH = "/finish"
LOGIN = "/login"
HOME = STEPS[workers.WORK]
QUIZ = STEPS[workers.QUIZ]
DASHBOARD = "/requester"
REQUESTER_PAGES = (DASHBOARD, LOGIN, "/logout", "/setup")
NO_FRAMES = "'none'"
AT_ONCE = 4
"""Number of threads for slow work, in addition to those for pages."""
_slow: RunVar[CapacityLimiter] = RunVar("winokit_slow")


@cache
def policy(*, form_action: str = "", frames: str = NO_FRAMES) -> str:
    """A Content-Security-Policy that allows only our own files, and nothing inline.

    `form_action` is one other site to which forms may be sent. `frames` lists the sites that may show the page in a
    frame.
    """
    sources = "; ".join(f"{kind}-src 'self'" for kind in ("script", "style", "img", "connect"))
    forms = f"'self' {form_action}".strip()
    return f"default-src 'none'; {sources}; base-uri 'none'; form-action {forms}; frame-ancestors {frames}"


class GoTo(Exception):
    """Ends a request with a redirect to another page of the app.

    Its text is the path.
    """


class Visit:
    """A request by anybody, with the study and ways to respond."""

    role = VISITOR
    root = ""
    """Prefix of the addresses of workers' pages in a preview."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.study: Study = request.app.state.study
        self.cookies: Cookies = request.app.state.cookies

    @cached_property
    def texts(self) -> StudyTexts:
        """The texts of the page's language: the study's, or built-in ones for requesters."""
        is_for_requesters = self.request.scope["path"].startswith(REQUESTER_PAGES)
        return BUILT_IN if is_for_requesters else self.study.texts

    @property
    def address(self) -> str:
        """The public address with which links begin.

        It is set by `--url`, else the one that the browser used.
        """
        return self.request.app.state.url or str(self.request.base_url).rstrip("/")

    @property
    def caller(self) -> str:
        """The network address from which the request came."""
        return self.request.client.host if self.request.client else "unknown"

    @property
    def is_htmx(self) -> bool:
        """Whether a script requested only a piece of a page."""
        return self.request.headers.get("hx-request") == "true"

    def page(self, template: str, *, status: int = 200, **context: Any) -> Response:
        """Render a whole page, with the notice left for it.

        An earlier redirect may have left one, which is shown once. `problems` in the context has messages for the
        fields of a form. A visitor without a cookie gets one.
        """
        raw = self.cookies.raw(self.request, self.role)
        new_cookie = None
        if raw is None and self.role == VISITOR:
            new_cookie = self.cookies.sign(VISITOR, secrets.token_urlsafe(16))
        notice = self.cookies.read(self.request, NOTICE)
        problems = {field: self.texts.say(message) for field, message in context.pop("problems", {}).items()}
        full_context = {"notice": notice, "problems": problems, **context}
        html = self._render_template(template, raw or new_cookie, full_context)
        response = HTMLResponse(html, status)
        if new_cookie is not None:
            self.cookies.set(response, VISITOR, new_cookie)
        if notice is not None:
            self.cookies.take(response, NOTICE)
        return response

    def piece(self, template: str, *, status: int = 200, **context: Any) -> Response:
        """Render a piece of a page, which htmx inserts."""
        raw = self.cookies.raw(self.request, self.role)
        html = self._render_template(template, raw, context)
        return HTMLResponse(html, status)

    def go(self, path: str, notice: str = "") -> Response:
        """Redirect the browser to another page of the app, which shows `notice`."""
        response = RedirectResponse(path, 303)
        if notice:
            self.cookies.give(response, NOTICE, notice)
        return response

    def _render_template(self, template: str, raw: str | None, context: dict[str, Any]) -> str:
        """Render a template with what all pages need.

        `raw` is the signed cookie that the page's forms belong to, or None.
        """
        token = self.cookies.form_token(self.role, raw) if raw else ""
        shared = {"study": self.study, "platform": platform_of(self.study), "visit": self, "csrf": token}
        shared |= {"root": self.root, "now": self.study.now()}
        return render(f"{template}.html.j2", self.texts, {**shared, **context})


class WorkerVisit(Visit):
    """A request by a worker.

    Raises NotAllowed without a worker's cookie. With `only_to_work`, a worker who may not work yet is redirected to the
    step that is missing.
    """

    role = WORKER

    def __init__(self, request: Request, *, only_to_work: bool = False) -> None:
        super().__init__(request)
        self.only_to_work = only_to_work
        if self.cookies.read(request, WORKER) is None:  # whatever the page asks
            raise NotAllowed(STRANGER)

    @cached_property
    def worker(self) -> Worker | Row[Any]:
        """The worker's row, read from the database at first use.

        Raises NotAllowed if the session has ended.
        """
        worker = known_worker(self.request)
        if worker is None:
            raise NotAllowed(STRANGER)
        step = workers.step_of(self.study, worker)
        if self.only_to_work and step != workers.WORK:
            raise GoTo(STEPS.get(step, FINISH))
        return worker

    @property
    def personal_link(self) -> str:
        """The worker's personal link, or an empty text if they have none."""
        path = invites.personal_path(self.study, self.worker)
        return path and self.address + path

    @property
    def step(self) -> str:
        """The worker's present step, as `workers.step_of` names it."""
        return workers.step_of(self.study, self.worker)

    @property
    def next_path(self) -> str:
        """Path of the page for the worker's present step."""
        return STEPS.get(self.step, FINISH)


class RequesterVisit(Visit):
    """A request by a requester.

    Anybody else is redirected to the login. Raises NotAllowed if their role is below `least`, by default viewer to read
    and editor to change something.
    """

    role = REQUESTER

    def __init__(self, request: Request, least: str = "") -> None:
        super().__init__(request)
        requester = known_requester(request)
        if requester is None:
            raise GoTo(LOGIN)
        self.requester = requester
        if not least:
            least = VIEWER if request.method in READING else EDITOR
        if not self.may(least):
            raise NotAllowed(f"this requires the role {least} or higher, and yours is {requester.role}; ask an owner")

    def may(self, least: str) -> bool:
        """Whether the requester has at least the role `least`."""
        return ROLES.index(self.requester.role) <= ROLES.index(least)

    @property
    def actor(self) -> str:
        """The requester's name in the audit log."""
        return f"requester:{self.requester.name}"


def known_worker(request: Request) -> Row[Any] | None:
    """The worker who is signed in in this browser, or None.

    Also None if their sessions were ended, or began in a pilot that is over.
    """
    match request.app.state.cookies.read(request, WORKER):
        case [str(code), int(version)]:
            try:
                worker = workers.get(request.app.state.study, code)
            except Refused:
                return None
            # A session that began in a pilot ends with it.
            is_open = request.app.state.study.pilot or not worker.pilot
            is_current = worker.session_version == version
            return worker if is_current and is_open else None
    return None


def known_requester(request: Request) -> Requester | None:
    """The requester who is logged in in this browser, or None."""
    session = request.app.state.cookies.read(request, REQUESTER)
    if not session:
        return None
    try:
        return requesters.get(request.app.state.study, int(session[0]), int(session[1]))
    except Refused:
        return None


async def run_slow(work: Callable[[*A], Response], *args: *A) -> Response:
    """Run slow work in a thread of its own.

    For example asking a model. Pages do not wait for it. At most a few run at once.
    """
    try:
        limiter = _slow.get()
    except LookupError:
        limiter = CapacityLimiter(AT_ONCE)
        _slow.set(limiter)
    return await run_sync(work, *args, limiter=limiter)


def _make_visit(kind: Callable[[Request], V]) -> Any:
    """Make a dependency of FastAPI that builds a visit in the event loop.

    For visits that do not read the database when they are made, so that no thread is needed.
    """

    async def visit(request: Request) -> V:
        return kind(request)

    return Depends(visit)


def _make_requester_visit(least: str = "") -> Any:
    """Make a FastAPI dependency that builds a requester's visit.

    `least` is the least role that they must have.
    """

    def visit(request: Request) -> RequesterVisit:
        return RequesterVisit(request, least)  # in a thread, since it asks the database at once

    return Depends(visit)


Anybody = Annotated[Visit, _make_visit(Visit)]
AWorker = Annotated[WorkerVisit, _make_visit(WorkerVisit)]
AtWork = Annotated[WorkerVisit, _make_visit(partial(WorkerVisit, only_to_work=True))]
ARequester = Annotated[RequesterVisit, _make_requester_visit()]
AViewer = Annotated[RequesterVisit, _make_requester_visit(VIEWER)]
AnEditor = Annotated[RequesterVisit, _make_requester_visit(EDITOR)]
AnOwner = Annotated[RequesterVisit, _make_requester_visit(OWNER)]
