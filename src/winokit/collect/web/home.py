"""A worker's home, taking, judging and giving back tasks, the guidelines, and the way out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any
from urllib.parse import urlsplit

from fastapi import Path, Response

from winokit.collect.platforms.base import leave
from winokit.collect.study import submissions, tasks, workers
from winokit.collect.study.refusals import AlreadyHandedIn, Incomplete, NotAllowed, NotFound, NotNow
from winokit.collect.study.schema import WRITE
from winokit.collect.study.submissions import SubmissionReceipt
from winokit.collect.study.texts import say
from winokit.collect.study.voting import ballot_fields
from winokit.collect.web.forms import WORKER, Fields, Pages
from winokit.collect.web.rendering import money, sentence
from winokit.collect.web.visit import HOME, AtWork, AWorker, WorkerVisit, policy

router = Pages(WORKER)
Token = Annotated[str, Path(max_length=64)]


@router.get("/begin")
def home(visit: AtWork) -> Response:
    """What there is to do, and what was done and earned."""
    available = tasks.available(visit.study, visit.worker.id)
    earned_cents, done = workers.own_work(visit.study, visit.worker.id)
    return visit.page("home", available=available, earned_cents=earned_cents, done=done, paused=visit.study.paused)


@router.form("/begin/{kind}")
def take_task(visit: AtWork, kind: str) -> Response:
    """Take a task of a kind, or go on with the one under way."""
    return go_to_next(visit, kind)


@router.form("/task/{token}/skip")
def skip(visit: AtWork, token: Token) -> Response:
    """Give a task back and take another of its kind."""
    kind = tasks.look(visit.study, visit.worker.id, token).kind
    try:
        tasks.give_back(visit.study, visit.worker.id, token)
    except NotNow as error:
        return visit.go(f"/task/{token}/vote", sentence(visit.texts.say(error.args[0])))
    return go_to_next(visit, kind)


@router.get("/task/{token}/vote")
def ballot(visit: AtWork, token: Token) -> Response:
    """What is to be judged; or was, with what was said of it, to be corrected or only read."""
    task = own_task(visit, token)
    before = submissions.look_again(visit.study, visit.worker.id, token) if task.is_handed_in else None
    if before and before.correct_until is None:
        return handed_in_page(visit, task, before.fields, before.at)
    return visit.page(
        "vote", task=task, answers=ballot_fields(task.kind, before.fields) if before else {}, before=before
    )


@router.form("/task/{token}/vote", "choice", "equally_plausible", "local_decides")
def vote(visit: AWorker, token: Token, fields: Fields) -> Response:
    """Take the vote and go on to the next, or say what is missing."""
    try:
        receipt = submissions.submit(visit.study, visit.worker.id, token, fields)
    except AlreadyHandedIn as error:
        return handed_in_page(visit, own_task(visit, token), error.stands, error.at, error.sent)
    except Incomplete as error:
        task = own_task(visit, token)
        before = submissions.look_again(visit.study, visit.worker.id, token) if task.is_handed_in else None
        return visit.page("vote", status=422, task=task, answers=fields, problems=error.problems, before=before)
    try:
        return go_to_next(visit, receipt.kind, thanks(visit, receipt, "receipts.earned_voting"))
    except NotAllowed:  # a gold question may have been one too many
        visit.worker = workers.get(visit.study, visit.worker.code)
        return visit.go(visit.next_path, visit.texts.say(receipt.message))


@router.form("/task/{token}/signals", "events")
def signals(visit: AWorker, token: Token, fields: Fields) -> Response:
    """Keep signals of how a task is worked on: pasting, leaving the page, coming back."""
    tasks.note_events(visit.study, visit.worker.id, token, read_signals(fields.get("events", "")))
    return Response(status_code=204)


@router.get("/guidelines/{kind}")
def guidelines(visit: AWorker, kind: str) -> Response:
    """The guidelines for a kind of task."""
    if kind not in visit.study.config.tasks.kinds:
        raise NotFound(say("refusals.no_kind"))
    return visit.page("guidelines", kind=kind)


@router.get("/finish")
def finish(visit: AWorker) -> Response:
    """Goodbye: the worker's code, what was earned, and the way back to the platform."""
    departure = leave(visit.study, visit.worker.id)
    earned_cents, done = workers.own_work(visit.study, visit.worker.id)
    response = visit.page("finish", earned_cents=earned_cents, done=done, departure=departure)
    if departure is not None and departure.form_action:
        where = urlsplit(departure.form_action)
        response.headers["Content-Security-Policy"] = policy(form_action=f"{where.scheme}://{where.netloc}")
    return response


def go_to_next(visit: WorkerVisit, kind: str, notice: str = "") -> Response:
    """Send a worker to a task of a kind, or home where there is none."""
    try:
        token = tasks.take(visit.study, visit.worker.id, kind)
    except NotNow as error:
        return visit.go(HOME, f"{notice} {sentence(visit.texts.say(error.args[0]))}".strip())
    return visit.go(f"/task/{token}/{'write' if kind == WRITE else 'vote'}", notice)


def handed_in_page(
    visit: WorkerVisit, task: Any, stands: Mapping[str, Any], at: datetime, sent: Mapping[str, Any] | None = None
) -> Response:
    """What a worker handed in, to be read; and what they sent now in its place, if that was not taken."""
    status = 409 if sent is not None else 200
    return visit.page("handed_in", status=status, task=task, at=at, versions=[("stands", stands), ("sent", sent)])


def thanks(visit: WorkerVisit, receipt: SubmissionReceipt, earned: str) -> str:
    """What a worker is told when something has come in, and what it has earned them."""
    said = visit.texts.say(receipt.message)
    amount = money(receipt.cents, visit.study.config.pay.currency, visit.texts)
    is_new = receipt.cents and not receipt.corrected
    return f"{said} {visit.texts.say(say(earned, amount=amount))}" if is_new else said


def own_task(visit: WorkerVisit, token: str, *, to_write: bool = False) -> Any:
    """The task of a page's address, if it is the worker's own and one that the page is for."""
    task = tasks.look(visit.study, visit.worker.id, token)
    if to_write != (task.kind == WRITE):
        raise NotFound(say("refusals.no_task"))
    return task


def read_signals(text: str) -> list[dict[str, Any]]:
    """A list of {"kind", "amount"}; anything that no script of ours sends is refused.

    >>> read_signals('[{"kind": "paste", "amount": 12}]')
    [{'kind': 'paste', 'amount': 12}]
    """
    try:
        events = json.loads(text)
    except (ValueError, RecursionError):
        events = None
    if not isinstance(events, list) or not all(isinstance(event, dict) for event in events):
        raise Incomplete({"events": "a list of events expected"})
    return [event for event in events if isinstance(event.get("kind"), str)]
