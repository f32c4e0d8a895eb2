"""What is owed and paid: balances, payouts as they go out, those in doubt, and the ledger."""

from typing import Annotated

from fastapi import Response

from winokit_collect.platforms import payout, reconcile
from winokit_collect.platforms.base import platform_of
from winokit_collect.study import ledger
from winokit_collect.study.listings import page_from
from winokit_collect.study.refusals import Incomplete, NotNow
from winokit_collect.web.forms import REQUESTER, PageNumber, Pages, Text, Tick, expected, whole
from winokit_collect.web.problems import Number
from winokit_collect.web.visit import AnOwner, ARequester, RequesterVisit, run_slow

router = Pages(REQUESTER)
PAY = "/requester/pay"
LINES = 50
ENDED = 20
MOST_LINES = 999_999_999


@router.get(PAY)
def pay(visit: ARequester, page: PageNumber = 1) -> Response:
    """Balances, payouts, and the newest lines of the ledger."""
    lines = ledger.newest_entries(visit.study, LINES)  # first: what comes later is not paid by who has not seen it
    balances = ledger.balances(visit.study)
    payouts = ledger.payouts(visit.study, ENDED)
    open_cents = sum(max(0, balance.open_cents) for balance in balances if not balance.under_way_cents)
    listing = page_from(balances, page)
    total = sum(balance.lines for balance in balances)
    return visit.page("requester_pay", listing=listing, open=open_cents, payouts=payouts, lines=lines, total=total)


@router.get(f"{PAY}/live")
def live(visit: ARequester) -> Response:
    """How far payouts have come, asked for while some are left; after the last, the whole page is asked for again."""
    payouts = ledger.payouts(visit.study, ENDED)
    response = visit.piece("requester_payouts", payouts=payouts)
    if not payouts.planned:
        response.headers["HX-Refresh"] = "true"
    return response


@router.get(f"{PAY}/reconcile")
async def compare_books(visit: ARequester) -> Response:
    """The ledger beside the platform's books; to ask the platform for all of them takes a while."""
    return await run_slow(_compare_books, visit)


def _compare_books(visit: RequesterVisit) -> Response:
    found = None if platform_of(visit.study).by_hand else reconcile.reconcile(visit.study, wait=_do_not_wait)
    return visit.page("requester_reconcile", found=found)


@router.form(f"{PAY}/reconcile")
async def adopt_books(visit: AnOwner) -> Response:
    """Enter into the ledger what the platform has paid for visits by itself."""
    return await run_slow(_run_adoption, visit)


def _run_adoption(visit: RequesterVisit) -> Response:
    count = reconcile.adopt(visit.study, visit.actor, wait=_do_not_wait)
    visits = f"{count:,} {'visit' if count == 1 else 'visits'}"
    return visit.go(f"{PAY}/reconcile", f"Entered into the ledger: {visits}.")


def _do_not_wait(seconds: float) -> None:
    raise NotNow(f"the platform asks to wait {seconds:.0f} seconds; reload this page then")


@router.form(f"{PAY}/{{number}}/take-back")
def take_back(visit: AnOwner, number: Number) -> Response:
    """Undo "marked as paid", for all that were marked at once."""
    count = payout.take_back(visit.study, number, visit.actor)
    return _go(visit, f"{count:,} {'payout is' if count == 1 else 'payouts are'} outstanding again.")


@router.form(f"{PAY}/settle")
def settle(
    visit: AnOwner,
    worker: Text = "",
    newest: Annotated[int | None, whole(0, MOST_LINES)] = None,
    by_hand: Tick = False,
    sure: Tick = False,
) -> Response:
    """Pay what is open, of one worker or of all, or note that it was paid by hand: of all only if one is sure."""
    by_hand = by_hand or platform_of(visit.study).by_hand
    if by_hand and not worker and not sure:
        raise Incomplete({"sure": "please tick the box that you have paid everybody yourself"})
    codes = [worker] if worker else None
    count = payout.plan(visit.study, visit.actor, codes, newest=newest, by_hand=by_hand)
    payouts = f"{count:,} {'payout' if count == 1 else 'payouts'}"
    return _go(
        visit, f"{payouts} {'marked as paid' if by_hand else 'in transit'}." if count else "Nothing outstanding."
    )


@router.form(f"{PAY}/{{number}}/ask")
def ask(visit: ARequester, number: Number) -> Response:
    """Have the platform asked again about a payout that is uncertain."""
    payout.ask_again(visit.study, number)
    return _go(visit, "Asking the platform again.")


@router.form(f"{PAY}/{{number}}/settle")
def settle_by_hand(
    visit: AnOwner, number: Number, paid: Annotated[bool, expected("please choose whether it was paid")]
) -> Response:
    """Say what became of a payout that is uncertain."""
    payout.settle(visit.study, number, paid=paid, actor=visit.actor)
    return _go(visit, "Recorded as paid." if paid else "Recorded as not paid; sent again unless the platform shows it.")


def _go(visit: RequesterVisit, notice: str) -> Response:
    visit.request.app.state.payouts.wake()
    return visit.go(PAY, notice)
