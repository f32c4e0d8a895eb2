"""Pages of a worker: home, tasks to judge, the record of their work, and the way out."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any
from urllib.parse import urlencode, urlsplit

from fastapi import Path, Response

from winokit_collect.platforms.base import done_in_visit, leave, platform_of
from winokit_collect.study import own_work, submissions, tasks, workers
from winokit_collect.study.progress import usual_seconds
from winokit_collect.study.refusals import AlreadyHandedIn, Incomplete, NotAllowed, NotFound, NotNow
from winokit_collect.study.schema import ANSWERS as BALLOT
from winokit_collect.study.schema import WRITE
from winokit_collect.study.submissions import HandedIn, SubmissionReceipt
from winokit_collect.study.texts import say
from winokit_collect.study.voting import VoteTask, ballot_fields
from winokit_collect.web.forms import WORKER, Fields, PageNumber, Pages
from winokit_collect.web.rendering import money, sentence
from winokit_collect.web.visit import HOME, QUIZ, AtWork, AWorker, GoTo, Visit, WorkerVisit, policy

router = Pages(WORKER)
Token = Annotated[str, Path(max_length=64)]


@router.get("/begin")
def home(visit: AtWork) -> Response:
    """A worker's home page: available tasks, finished work and earnings."""
    study = visit.study
    me = visit.worker.id
    earned_cents, done = workers.own_work(study, me)
    context: dict[str, Any] = {"available": tasks.available(study, me), "earned_cents": earned_cents, "done": done}
    context |= {"paused": study.paused, "usual": usual_seconds(study), "progress": visit_progress(visit)}
    return visit.page("home", **context)


@router.form("/begin/{kind}")
def take_task(visit: AtWork, kind: str) -> Response:
    """Give the worker a task of a kind, and redirect to it.

    That is the task they have already, if any. If a quiz is needed first, redirects to the quiz.
    """
    if workers.must_qualify(visit.study, visit.worker, kind):
        query = urlencode({"kind": kind})
        raise GoTo(f"{QUIZ}?{query}")
    return go_to_next(visit, kind)


@router.form("/task/{token}/skip")
def skip(visit: AtWork, token: Token) -> Response:
    """Give a task back, and redirect to another one of its kind.

    A worker who has skipped too many is sent back to this one.
    """
    kind = tasks.look(visit.study, visit.worker.id, token).kind
    try:
        tasks.give_back(visit.study, visit.worker.id, token)
    except NotNow as error:
        message = visit.texts.say(error.args[0])
        return visit.go(f"/task/{token}/vote", sentence(message))
    return go_to_next(visit, kind)


@router.get("/task/{token}/vote")
def ballot(visit: AtWork, token: Token) -> Response:
    """Page with a problem to judge.

    If it was judged already, the answers can be corrected or only read.
    """
    task = own_task(visit, token)
    before = None
    if task.is_handed_in:
        before = submissions.look_again(visit.study, visit.worker.id, token)
    if before is None:
        return ballot_page(visit, task, {})
    if before.correct_until is None:
        return handed_in_page(visit, task, before.fields, before.at)
    answers = ballot_fields(task.kind, before.fields)
    return ballot_page(visit, task, answers, before)


@router.form("/task/{token}/vote", *BALLOT)
def vote(visit: AWorker, token: Token, fields: Fields) -> Response:
    """Store a vote and redirect on, or show what is missing.

    On is the next task of this kind, else the worker's home or present step.
    """
    try:
        receipt = submissions.submit_vote(visit.study, visit.worker.id, token, fields, go_on=True)
    except AlreadyHandedIn as error:
        task = own_task(visit, token)
        return handed_in_page(visit, task, error.stands, error.at, error.sent)
    except Incomplete as error:
        before = submissions.look_again(visit.study, visit.worker.id, token)
        task = own_task(visit, token)
        return ballot_page(visit, task, fields, before, status=422, problems=error.problems)
    notice = thanks(visit, receipt, "receipts.earned_voting")
    if receipt.next_token:
        return visit.go(f"/task/{receipt.next_token}/vote", notice)
    try:
        return go_to_next(visit, receipt.kind, notice)
    except (NotAllowed, NotFound):  # They failed too many gold questions, or the kind is not asked any more.
        visit.worker = workers.get(visit.study, visit.worker.code)
        return visit.go(visit.next_path, visit.texts.say(receipt.message))


@router.form("/task/{token}/remark", "reason", "comment", *BALLOT)
def remark(visit: AWorker, token: Token, fields: Fields) -> Response:
    """Store a worker's remark, and show the form as filled in."""
    task = own_task(visit, token)
    context: dict[str, Any] = {"remarked": True}
    try:
        own_work.remark(visit.study, visit.worker.id, token, fields)
    except Incomplete as error:
        context = {"status": 422, "problems": error.problems}
    before = submissions.look_again(visit.study, visit.worker.id, token)
    return ballot_page(visit, task, fields, before, **context)


@router.form("/task/{token}/signals", "events")
def signals(visit: AWorker, token: Token, fields: Fields) -> Response:
    """Store signals from a task's page: pasting, leaving the page, coming back."""
    events = read_signals(fields.get("events", ""))
    tasks.note_events(visit.study, visit.worker.id, token, events)
    return Response(status_code=204)


@router.get("/guidelines/{kind}")
def guidelines(visit: AWorker, kind: str) -> Response:
    """Page with the guidelines for a kind of task."""
    if kind not in visit.study.config.tasks.kinds:
        raise NotFound(say("refusals.no_kind"))
    return visit.page("guidelines", kind=kind)


@router.get("/your-work")
def record(visit: AWorker, page: PageNumber = 1) -> Response:
    """Page with the states of a worker's pairs, and their pay."""
    study = visit.study
    me = visit.worker.id
    lines, payouts = own_work.own_pay(study, me)
    _, done = workers.own_work(study, me)
    pairs = own_work.pairs(study, me, page)
    return visit.page("own_work", pairs=pairs, lines=lines, payouts=payouts, done=done)


@router.get("/finish")
def finish(visit: AWorker) -> Response:
    """Last page: code, earnings, and the way back to the platform."""
    departure = leave(visit.study, visit.worker.id)
    earned_cents, done = workers.own_work(visit.study, visit.worker.id)
    response = visit.page("finish", earned_cents=earned_cents, done=done, departure=departure)
    if departure is not None and departure.form_action:
        target = urlsplit(departure.form_action)
        response.headers["Content-Security-Policy"] = policy(form_action=f"{target.scheme}://{target.netloc}")
    return response


def go_to_next(visit: WorkerVisit, kind: str, notice: str = "") -> Response:
    """Redirect to a task of a kind, or home if there is none."""
    try:
        token = tasks.take(visit.study, visit.worker.id, kind)
    except NotNow as error:
        reason = sentence(visit.texts.say(error.args[0]))
        return visit.go(HOME, f"{notice} {reason}".strip())
    page = "write" if kind == WRITE else "vote"
    return visit.go(f"/task/{token}/{page}", notice)


def ballot_page(
    visit: Visit, task: VoteTask, answers: Mapping[str, str], before: HandedIn | None = None, **context: Any
) -> Response:
    """Render a judging task.

    `answers` fill in the form. `before` is the worker's earlier vote on it, if there is one.
    """
    progress = visit_progress(visit, task.kind) if isinstance(visit, WorkerVisit) else None
    context = {"reasons": own_work.REASONS, "remarked": False, **context}
    return visit.page("vote", task=task, answers=answers, before=before, progress=progress, **context)


def visit_progress(visit: WorkerVisit, kind: str = "") -> dict[str, int] | None:
    """Tasks done and asked for in this visit, and minutes left.

    The minutes are 0 if they are unknown. None on a platform where the requester pays by hand, which has no limit of
    tasks.
    """
    if platform_of(visit.study).by_hand:
        return None
    task_count = visit.study.config.platform.tasks_per_visit
    done = done_in_visit(visit.study, visit.worker.id)
    left_count = max(0, task_count - done)
    seconds = left_count * usual_seconds(visit.study).get(kind, 0)
    minutes = max(1, round(seconds / 60)) if seconds else 0
    return {"done": done, "asked": task_count, "minutes": minutes}


def handed_in_page(
    visit: WorkerVisit, task: Any, stands: Mapping[str, Any], at: datetime, sent: Mapping[str, Any] | None = None
) -> Response:
    """Page that shows earlier work that can no longer be corrected.

    `stands` has the fields that are stored. `sent` has those that were sent now and not taken, if any.
    """
    status = 409 if sent is not None else 200
    return visit.page("handed_in", status=status, task=task, at=at, versions=[("stands", stands), ("sent", sent)])


def thanks(visit: WorkerVisit, receipt: SubmissionReceipt, earned: str) -> str:
    """Message that work was received, with the amount earned.

    `earned` is the key of the text with the amount.
    """
    message = visit.texts.say(receipt.message)
    if not receipt.cents or receipt.corrected:
        return message
    amount = money(receipt.cents, visit.study.config.pay.currency, visit.texts)
    earned_message = visit.texts.say(say(earned, amount=amount))
    return f"{message} {earned_message}"


def own_task(visit: WorkerVisit, token: str, *, to_write: bool = False) -> Any:
    """The worker's own task with a token.

    Raises NotFound if it is another worker's, or not of the kind of this page.
    """
    task = tasks.look(visit.study, visit.worker.id, token)
    if to_write != (task.kind == WRITE):
        raise NotFound(say("refusals.no_task"))
    return task


def read_signals(text: str) -> list[dict[str, Any]]:
    """Read a JSON list of signals with the keys "kind" and "amount".

    Raises Incomplete for anything that is not a list of objects.

    >>> read_signals('[{"kind": "paste", "amount": 12}]')
    [{'kind': 'paste', 'amount': 12}]
    """
    try:
        events = json.loads(text)
    except (ValueError, RecursionError):
        events = None
    is_list = isinstance(events, list) and all(isinstance(event, dict) for event in events)
    if not is_list:
        raise Incomplete({"events": "a list of events expected"})
    return [event for event in events if isinstance(event.get("kind"), str)]
