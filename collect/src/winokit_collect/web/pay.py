"""Pages about money: balances, payouts in progress or uncertain, and the ledger."""

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
    """Page with balances, payouts, and the newest lines of the ledger."""
    # Read first: a requester must not pay for later lines, which this page does not show.
    lines = ledger.newest_entries(visit.study, LINES)
    balances = ledger.balances(visit.study)
    payouts = ledger.payouts(visit.study, ENDED)
    open_cents = sum(max(0, balance.open_cents) for balance in balances if not balance.under_way_cents)
    listing = page_from(balances, page)
    total = sum(balance.lines for balance in balances)
    return visit.page("requester_pay", listing=listing, open=open_cents, payouts=payouts, lines=lines, total=total)


@router.get(f"{PAY}/live")
def live(visit: ARequester) -> Response:
    """The progress of payouts, which the page's script reloads.

    When none is left, the browser is told to reload the whole page.
    """
    payouts = ledger.payouts(visit.study, ENDED)
    response = visit.piece("requester_payouts", payouts=payouts)
    if not payouts.planned:
        response.headers["HX-Refresh"] = "true"
    return response


@router.get(f"{PAY}/reconcile")
async def compare_books(visit: ARequester) -> Response:
    """Page that compares the ledger with the platform's records.

    In a thread, since the platform is asked about every visit.
    """
    return await run_slow(_reconcile_books, visit)


def _reconcile_books(visit: RequesterVisit) -> Response:
    """Compare the ledger with the platform's records, unless pay is by hand."""
    reconciliation = None
    if not platform_of(visit.study).by_hand:
        reconciliation = reconcile.reconcile(visit.study, wait=_do_not_wait)
    return visit.page("requester_reconcile", found=reconciliation)


@router.form(f"{PAY}/reconcile")
async def adopt_books(visit: AnOwner) -> Response:
    """Correct the ledger to what the platform has paid for visits by itself."""
    return await run_slow(_run_adoption, visit)


def _run_adoption(visit: RequesterVisit) -> Response:
    """Correct the ledger, and say how many visits changed."""
    count = reconcile.adopt(visit.study, visit.actor, wait=_do_not_wait)
    noun = "visit" if count == 1 else "visits"
    return visit.go(f"{PAY}/reconcile", f"Entered into the ledger: {count:,} {noun}.")


def _do_not_wait(seconds: float) -> None:
    """Raise NotNow with the seconds that the platform asks to wait."""
    raise NotNow(f"the platform asks to wait {seconds:.0f} seconds; reload this page then")


@router.form(f"{PAY}/{{number}}/take-back")
def take_back(visit: AnOwner, number: Number) -> Response:
    """Undo "marked as paid" for all payouts that were marked together."""
    count = payout.take_back(visit.study, number, visit.actor)
    payouts = "payout is" if count == 1 else "payouts are"
    return _redirect_to_pay(visit, f"{count:,} {payouts} outstanding again.")


@router.form(f"{PAY}/settle")
def settle(
    visit: AnOwner,
    worker: Text = "",
    newest: Annotated[int | None, whole(0, MOST_LINES)] = None,
    by_hand: Tick = False,
    sure: Tick = False,
) -> Response:
    """Pay open amounts, or mark them as paid by hand.

    Those of one worker, or of all if `worker` is empty. Marking all as paid by hand needs the box `sure`. `newest` is
    the last line of the ledger that the page showed.
    """
    by_hand = by_hand or platform_of(visit.study).by_hand
    if by_hand and not worker and not sure:
        raise Incomplete({"sure": "please tick the box that you have paid everybody yourself"})
    codes = [worker] if worker else None
    count = payout.plan(visit.study, visit.actor, codes, newest=newest, by_hand=by_hand)
    if not count:
        return _redirect_to_pay(visit, "Nothing outstanding.")
    noun = "payout" if count == 1 else "payouts"
    state = "marked as paid" if by_hand else "in transit"
    return _redirect_to_pay(visit, f"{count:,} {noun} {state}.")


@router.form(f"{PAY}/{{number}}/ask")
def ask(visit: ARequester, number: Number) -> Response:
    """Ask the platform again about an uncertain payout."""
    payout.ask_again(visit.study, number)
    return _redirect_to_pay(visit, "Asking the platform again.")


@router.form(f"{PAY}/{{number}}/settle")
def settle_by_hand(
    visit: AnOwner, number: Number, paid: Annotated[bool, expected("please choose whether it was paid")]
) -> Response:
    """Store whether an uncertain payout was paid, as the requester has found out."""
    payout.settle(visit.study, number, paid=paid, actor=visit.actor)
    not_paid = "Recorded as not paid; sent again unless the platform shows it."
    return _redirect_to_pay(visit, "Recorded as paid." if paid else not_paid)


def _redirect_to_pay(visit: RequesterVisit, notice: str) -> Response:
    """Start due payouts, and redirect to the page about money."""
    visit.request.app.state.payouts.wake()
    return visit.go(PAY, notice)
