"""Workers and the quality of their work: what to look at, blocks, and links to come back by."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Response

from winokit.collect.study import browse, invites, ledger, quality, withdrawing, workers
from winokit.collect.study.quality import WorkerQuality
from winokit.collect.study.refusals import Incomplete, NotFound
from winokit.collect.web.guard import Fields, guard, takes
from winokit.collect.web.requester.told import cents, reason
from winokit.collect.web.sessions import REQUESTER
from winokit.collect.web.visit import ARequester, RequesterVisit

router = APIRouter(dependencies=[Depends(guard(REQUESTER))], tags=["requester: workers"])
Code = Annotated[str, Path(max_length=40)]
SHOWN = 50


@router.get("/requester/workers")
def everybody(visit: ARequester) -> Response:
    """What is known about everybody's work."""
    return visit.page("requester_workers", people=quality.workers(visit.study))


@router.get("/requester/workers/{code}")
def worker(visit: ARequester, code: Code) -> Response:
    """One worker."""
    return _page(visit, code)


@router.post("/requester/workers/{code}/block", openapi_extra=takes("why", "discard_work"))
def block(visit: ARequester, code: Code, fields: Fields) -> Response:
    """Give a worker no more tasks."""
    discard = fields.get("discard_work") == "yes"
    quality.block(visit.study, code, reason(fields), visit.actor, discard_work=discard)
    told = "and their work no longer counts" if discard else "and what they have handed in still counts"
    return visit.go(f"/requester/workers/{code}", f"{code} gets no more tasks, {told}.")


@router.post("/requester/workers/{code}/unblock", openapi_extra=takes())
def unblock(visit: ARequester, code: Code) -> Response:
    """Let a worker work again."""
    quality.unblock(visit.study, code, visit.actor)
    return visit.go(f"/requester/workers/{code}", f"{code} can work again.")


@router.post("/requester/workers/{code}/return", openapi_extra=takes())
def let_in_again(visit: ARequester, code: Code) -> Response:
    """A link that lets a worker in again, in another browser."""
    made = invites.return_link(visit.study, code, actor=visit.actor)
    return _page(visit, code, link=own_address(visit) + made.path)


@router.post("/requester/workers/{code}/bonus", openapi_extra=takes("amount", "note"))
def bonus(visit: ARequester, code: Code, fields: Fields) -> Response:
    """Owe a worker something more, or less."""
    ledger.bonus(visit.study, code, cents(fields, "amount"), fields.get("note", ""), visit.actor)
    return visit.go(f"/requester/workers/{code}", "The ledger has a new line.")


@router.post("/requester/workers/{code}/forget", openapi_extra=takes())
def forget(visit: ARequester, code: Code) -> Response:
    """Delete who a worker is on their platform."""
    workers.forget(visit.study, code, visit.actor)
    return visit.go(f"/requester/workers/{code}", f"Nothing ties {code} to a person any more.")


@router.post("/requester/workers/{code}/withdraw", openapi_extra=takes("sure"))
def withdraw(visit: ARequester, code: Code, fields: Fields) -> Response:
    """Take a worker's sentences and judgements out, for good, since they have asked for it."""
    if fields.get("sure") != "yes":
        raise Incomplete({"sure": "please tick the box: what is taken out cannot be put back"})
    done = withdrawing.withdraw(visit.study, code, visit.actor)
    return visit.go(
        f"/requester/workers/{code}", f"Taken out: {done.judgements} judgements and {done.texts} sentences."
    )


def own_address(visit: RequesterVisit) -> str:
    """The address at which people reach this server."""
    return str(visit.request.base_url).rstrip("/")


def _page(visit: RequesterVisit, code: str, link: str = "") -> Response:
    info = workers.get(visit.study, code)
    known = browse.submissions(visit.study, worker=code, per_page=SHOWN)
    return visit.page("requester_worker", info=info, one=_quality(visit, code), known=known, link=link)


def _quality(visit: RequesterVisit, code: str) -> WorkerQuality:
    found = next((one for one in quality.workers(visit.study) if one.code == code), None)
    if found is None:
        raise NotFound(f"no worker {code}")
    return found
