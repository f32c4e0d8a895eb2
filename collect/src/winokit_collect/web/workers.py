"""Pages about workers: invite links, quality of their work, blocks, bonuses, withdrawals."""

from decimal import Decimal
from typing import Annotated, Any, Literal

from fastapi import Path, Response

from winokit_collect.study import invites, ledger, listings, moderation, pilot, quality, workers
from winokit_collect.study.schema import Worker
from winokit_collect.web.forms import REQUESTER, Line, PageNumber, Pages, Text, Tick, Why, expected, whole
from winokit_collect.web.rendering import money
from winokit_collect.web.visit import AnEditor, AnOwner, ARequester, RequesterVisit

router = Pages(REQUESTER)
Code = Annotated[str, Path(max_length=40)]
INVITES = "/requester/invites"
Amount = Annotated[Decimal, expected("an amount such as 1.50 expected", ge=-10_000, le=10_000, decimal_places=2)]
Sure = Annotated[Literal["yes"], expected("please tick the box: this cannot be undone")]


@router.get("/requester/workers")
def everybody(visit: ARequester, page: PageNumber = 1) -> Response:
    """Page with all workers and the quality of their work."""
    listing = quality.workers_page(visit.study, page)
    shared = workers.sharing_browsers(visit.study)
    in_pilot = pilot.count_people(visit.study)
    blocked = moderation.blocked_votes(visit.study)
    return visit.page("requester_workers", listing=listing, in_pilot=in_pilot, shared=shared, blocked=blocked)


@router.form("/requester/pilot/remove")
def remove_pilot(visit: AnOwner, sure: Sure, write_off: Tick = False) -> Response:
    """Delete the workers of a pilot with their work."""
    done = pilot.remove_pilot_data(visit.study, visit.actor, write_off=write_off)
    amount = money(done.written_off_cents, visit.study.config.pay.currency, visit.texts)
    counts = ((done.workers, "worker"), (done.submissions, "submission"), (done.problems, "problem"))
    removed = ", ".join(_count_nouns(count, noun) for count, noun in counts)
    return visit.go("/requester/workers", f"Removed with the pilot: {removed}; {amount} written off.")


@router.get("/requester/workers/{code}")
def worker(visit: ARequester, code: Code) -> Response:
    """Page of one worker."""
    return _show_worker(visit, code)


@router.form("/requester/workers/{code}/block")
def block(visit: ARequester, code: Code, why: Why, discard_work: Tick = False) -> Response:
    """Block a worker, so that they get no more tasks."""
    moderation.block(visit.study, code, why, visit.actor, discard_work=discard_work)
    work = "and their work no longer counts" if discard_work else "and their submissions still count"
    return _redirect_to_worker(visit, code, f"{code} gets no more tasks, {work}.")


@router.form("/requester/workers/{code}/discard-votes")
def discard_votes(visit: ARequester, code: Code) -> Response:
    """Discard the votes of a blocked worker."""
    count = moderation.discard_votes(visit.study, code, visit.actor)
    votes = _count_nouns(count, "vote")
    return _redirect_to_worker(visit, code, f"Discarded: {votes}; other workers are asked instead.")


@router.form("/requester/workers/{code}/unblock")
def unblock(visit: ARequester, code: Code) -> Response:
    """Let a blocked worker work again."""
    moderation.unblock(visit.study, code, visit.actor)
    return _redirect_to_worker(visit, code, f"{code} can work again.")


@router.form("/requester/workers/{code}/return")
def let_in_again(visit: ARequester, code: Code) -> Response:
    """Show a link that lets a worker in again, in another browser."""
    invite = invites.create(visit.study, worker=code, actor=visit.actor)
    return _show_worker(visit, code, link=visit.address + invite.path)


@router.form("/requester/workers/{code}/bonus")
def bonus(visit: ARequester, code: Code, amount: Amount, note: Text = "") -> Response:
    """Add a bonus, or a negative correction, for a worker to the ledger."""
    ledger.bonus(visit.study, code, int(amount * 100), note, visit.actor)
    return _redirect_to_worker(visit, code, "Added to the ledger.")


@router.form("/requester/workers/{code}/forget")
def forget(visit: ARequester, code: Code) -> Response:
    """Delete a worker's identity on the platform."""
    workers.forget(visit.study, code, visit.actor)
    return _redirect_to_worker(visit, code, f"Nothing links {code} to a person any more.")


@router.form("/requester/workers/{code}/withdraw")
def withdraw(visit: ARequester, code: Code, sure: Sure) -> Response:
    """Delete a worker's texts and judgements, as the worker has asked."""
    done = moderation.withdraw(visit.study, code, visit.actor)
    return _redirect_to_worker(visit, code, f"Deleted: {done.judgements} judgements and {done.texts} sentences.")


@router.get(INVITES)
def links(visit: AnEditor) -> Response:
    """Page with all invite links.

    Not for viewers, since the links let people in.
    """
    links = invites.listing(visit.study)
    came = workers.codes_by_invite(visit.study)
    return visit.page("requester_invites", links=links, came=came, address=visit.address)


@router.form(INVITES)
def invite(
    visit: ARequester,
    count: Annotated[int, whole(1, 200)],
    uses: Annotated[int, whole(1, invites.MOST_USES)],
    days: Annotated[int, whole(1, 3650)],
    label: Line = "",
) -> Response:
    """Make invite links.

    `count` is the number of links, `uses` how many workers each lets in.
    """
    for _ in range(count):
        invites.create(visit.study, label, uses=uses, days=days, actor=visit.actor)
    noun = "link" if count == 1 else "links"
    return visit.go(INVITES, f"{count} new {noun}.")


@router.form(f"{INVITES}/{{invite}}/revoke")
def revoke(visit: ARequester, invite: Code) -> Response:
    """Revoke an invite link. Workers who came by it stay."""
    invites.revoke(visit.study, invite, visit.actor)
    return visit.go(INVITES, "The link no longer works.")


def _count_nouns(count: int, noun: str) -> str:
    """Write a number with its noun, in the singular or plural."""
    ending = "" if count == 1 else "s"
    return f"{count:,} {noun}{ending}"


def _redirect_to_worker(visit: RequesterVisit, code: str, notice: str) -> Response:
    return visit.go(f"/requester/workers/{code}", notice)


def _show_worker(visit: RequesterVisit, code: str, link: str = "") -> Response:
    """Render the page of one worker, with a new link if any."""
    info = workers.get(visit.study, code)  # raises NotFound for an unknown code
    (worker,) = quality.workers(visit.study, Worker.code == code)
    listing = listings.submissions(visit.study, worker=code, per_page=50)
    context: dict[str, Any] = {
        "visits": workers.visits_of(visit.study, code),
        "shared": workers.sharing_browsers(visit.study),
        "blocked_votes": moderation.blocked_votes(visit.study).get(code, 0),
    }
    return visit.page("requester_worker", info=info, worker=worker, listing=listing, link=link, **context)
