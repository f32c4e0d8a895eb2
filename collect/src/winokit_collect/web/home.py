"""A worker's home, taking, judging and giving back tasks, what became of their work, and the way out."""

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
    """What there is to do, and what was done and earned."""
    study = visit.study
    me = visit.worker.id
    earned_cents, done = workers.own_work(study, me)
    shown: dict[str, Any] = {"available": tasks.available(study, me), "earned_cents": earned_cents, "done": done}
    shown |= {"paused": study.paused, "usual": usual_seconds(study), "progress": visit_progress(visit)}
    return visit.page("home", **shown)


@router.form("/begin/{kind}")
def take_task(visit: AtWork, kind: str) -> Response:
    """Take a task of a kind, or go on with the one under way; what must be known for it is asked first."""
    if workers.must_qualify(visit.study, visit.worker, kind):
        raise GoTo(f"{QUIZ}?{urlencode({'kind': kind})}")
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
    return ballot_page(visit, task, ballot_fields(task.kind, before.fields) if before else {}, before)


@router.form("/task/{token}/vote", *BALLOT)
def vote(visit: AWorker, token: Token, fields: Fields) -> Response:
    """Take the vote and go on to the next, or say what is missing."""
    try:
        receipt = submissions.submit_vote(visit.study, visit.worker.id, token, fields, go_on=True)
    except AlreadyHandedIn as error:
        return handed_in_page(visit, own_task(visit, token), error.stands, error.at, error.sent)
    except Incomplete as error:
        before = submissions.look_again(visit.study, visit.worker.id, token)
        return ballot_page(visit, own_task(visit, token), fields, before, status=422, problems=error.problems)
    notice = thanks(visit, receipt, "receipts.earned_voting")
    if receipt.next_token:
        return visit.go(f"/task/{receipt.next_token}/vote", notice)
    try:
        return go_to_next(visit, receipt.kind, notice)
    except (NotAllowed, NotFound):  # a gold question may have been one too many; or the kind is not asked any more
        visit.worker = workers.get(visit.study, visit.worker.code)
        return visit.go(visit.next_path, visit.texts.say(receipt.message))


@router.form("/task/{token}/remark", "reason", "comment", *BALLOT)
def remark(visit: AWorker, token: Token, fields: Fields) -> Response:
    """Keep what a worker says about an item, and show the ballot as they have left it."""
    task = own_task(visit, token)
    shown = dict[str, Any](remarked=True)
    try:
        own_work.remark(visit.study, visit.worker.id, token, fields)
    except Incomplete as error:
        shown = {"status": 422, "problems": error.problems}
    return ballot_page(visit, task, fields, submissions.look_again(visit.study, visit.worker.id, token), **shown)


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


@router.get("/your-work")
def record(visit: AWorker, page: PageNumber = 1) -> Response:
    """What became of a worker's pairs, and what they are paid."""
    study = visit.study
    me = visit.worker.id
    (lines, payouts), (_, done) = own_work.own_pay(study, me), workers.own_work(study, me)
    pairs = own_work.pairs(study, me, page)
    return visit.page("own_work", pairs=pairs, lines=lines, payouts=payouts, done=done)


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


def ballot_page(
    visit: Visit, task: VoteTask, answers: Mapping[str, str], before: HandedIn | None = None, **context: Any
) -> Response:
    """A ballot, with what was chosen of it and how far the visit has come."""
    progress = visit_progress(visit, task.kind) if isinstance(visit, WorkerVisit) else None
    shown = {"task": task, "answers": answers, "before": before, "remarked": False, "progress": progress}
    return visit.page("vote", reasons=own_work.REASONS, **{**shown, **context})


def visit_progress(visit: WorkerVisit, kind: str = "") -> dict[str, int] | None:
    """How many tasks of this visit are done, of how many, and the minutes that the rest of them takes, where known.

    Who came by a plain link may stay as long as they like.
    """
    if platform_of(visit.study).by_hand:
        return None
    asked = visit.study.config.platform.tasks_per_visit
    done = done_in_visit(visit.study, visit.worker.id)
    seconds = max(0, asked - done) * usual_seconds(visit.study).get(kind, 0)
    return {"done": done, "asked": asked, "minutes": max(1, round(seconds / 60)) if seconds else 0}


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
