"""Workers: links that let them in, the quality of their work, blocks, bonuses, and taking them out."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal

from fastapi import Depends, Path, Response

from winokit.collect.study import invites, ledger, listings, moderation, quality, workers
from winokit.collect.study.schema import Worker
from winokit.collect.web.forms import REQUESTER, Line, Pages, SentForm, expected, whole
from winokit.collect.web.problems import PageNumber
from winokit.collect.web.visit import AnEditor, ARequester, RequesterVisit

router = Pages(REQUESTER)
Code = Annotated[str, Path(max_length=40)]
INVITES = "/requester/invites"


class BlockForm(SentForm):
    """Why a worker is blocked, and what becomes of their work."""

    why: Line = expected("please say why, in a few words")
    discard_work: bool = False


class BonusForm(SentForm):
    """An amount of money, and what it is for."""

    amount: Decimal = expected("an amount such as 1.50 expected", ge=-1_000_000, le=1_000_000, decimal_places=2)
    note: str = ""


class WithdrawForm(SentForm):
    """A box to tick."""

    sure: Literal["yes"] = expected("please tick the box: what is taken out cannot be put back")


class InviteForm(SentForm):
    """How many links, and what they are like."""

    label: Line = ""
    count: int = whole(1, 200)
    uses: int = whole(1, invites.MOST_USES)
    days: int = whole(1, 3650)


@router.get("/requester/workers")
def everybody(visit: ARequester, page: PageNumber = 1) -> Response:
    """What is known about everybody's work."""
    return visit.page("requester_workers", listing=quality.workers_page(visit.study, page))


@router.get("/requester/workers/{code}")
def worker(visit: ARequester, code: Code) -> Response:
    """One worker."""
    return _page(visit, code)


@router.form("/requester/workers/{code}/block")
def block(visit: ARequester, code: Code, form: Annotated[BlockForm, Depends(BlockForm.read)]) -> Response:
    """Give a worker no more tasks."""
    moderation.block(visit.study, code, form.why, visit.actor, discard_work=form.discard_work)
    work = "and their work no longer counts" if form.discard_work else "and what they have handed in still counts"
    return _go(visit, code, f"{code} gets no more tasks, {work}.")


@router.form("/requester/workers/{code}/unblock")
def unblock(visit: ARequester, code: Code) -> Response:
    """Let a worker work again."""
    moderation.unblock(visit.study, code, visit.actor)
    return _go(visit, code, f"{code} can work again.")


@router.form("/requester/workers/{code}/return")
def let_in_again(visit: ARequester, code: Code) -> Response:
    """A link that lets a worker in again, in another browser."""
    invite = invites.create(visit.study, worker=code, actor=visit.actor)
    return _page(visit, code, link=visit.address + invite.path)


@router.form("/requester/workers/{code}/bonus")
def bonus(visit: ARequester, code: Code, form: Annotated[BonusForm, Depends(BonusForm.read)]) -> Response:
    """Owe a worker something more, or less."""
    ledger.bonus(visit.study, code, int(form.amount * 100), form.note, visit.actor)
    return _go(visit, code, "The ledger has a new line.")


@router.form("/requester/workers/{code}/forget")
def forget(visit: ARequester, code: Code) -> Response:
    """Delete who a worker is on their platform."""
    workers.forget(visit.study, code, visit.actor)
    return _go(visit, code, f"Nothing ties {code} to a person any more.")


@router.form("/requester/workers/{code}/withdraw")
def withdraw(visit: ARequester, code: Code, form: Annotated[WithdrawForm, Depends(WithdrawForm.read)]) -> Response:
    """Take a worker's sentences and judgements out, for good, since they have asked for it."""
    done = moderation.withdraw(visit.study, code, visit.actor)
    return _go(visit, code, f"Taken out: {done.judgements} judgements and {done.texts} sentences.")


@router.get(INVITES)
def links(visit: AnEditor) -> Response:
    """Every link there is; who only looks on gets none to come in by."""
    return visit.page("requester_invites", links=invites.listing(visit.study), address=visit.address)


@router.form(INVITES)
def invite(visit: ARequester, form: Annotated[InviteForm, Depends(InviteForm.read)]) -> Response:
    """Make links."""
    for _ in range(form.count):
        invites.create(visit.study, form.label, uses=form.uses, days=form.days, actor=visit.actor)
    return visit.go(INVITES, f"{form.count} new {'link' if form.count == 1 else 'links'}.")


@router.form(f"{INVITES}/{{invite}}/revoke")
def revoke(visit: ARequester, invite: Code) -> Response:
    """Make a link useless; whoever came in by it stays."""
    invites.revoke(visit.study, invite, visit.actor)
    return visit.go(INVITES, "The link opens nothing any more.")


def _go(visit: RequesterVisit, code: str, notice: str) -> Response:
    return visit.go(f"/requester/workers/{code}", notice)


def _page(visit: RequesterVisit, code: str, link: str = "") -> Response:
    info = workers.get(visit.study, code)  # refuses a code that nobody has
    (worker,) = quality.workers(visit.study, Worker.code == code)
    listing = listings.submissions(visit.study, worker=code, per_page=50)
    return visit.page("requester_worker", info=info, worker=worker, listing=listing, link=link)
