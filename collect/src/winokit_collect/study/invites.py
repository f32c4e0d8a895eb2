"""Invite links and personal links: signed, expiring, and limited in their uses.

A link is used by pressing a button, not by opening it, since programs that preview links must not use it up.

A used link lets nobody in again: it may be found in mails and chats, by other people than the worker who used it.
That worker comes back, in any browser, by a personal link that only their own pages show. If a requester makes a
link that lets a worker in again, the worker's earlier personal link ends, since somebody else may have it.
Platforms send their workers again themselves, and say who they are, so these workers have no personal link.
"""

import secrets
from datetime import timedelta
from typing import Any, NamedTuple

from sqlalchemy import Row, select, update
from sqlalchemy.orm import Session

from winokit_collect.study import workers
from winokit_collect.study.refusals import LinkExpired, NotAllowed, NotNow, Refused, found
from winokit_collect.study.schema import Invite, Worker
from winokit_collect.study.study import Study
from winokit_collect.study.texts import say

PURPOSE = "invite"
PERSONAL = "personal"
BY_LINK = "links"
MOST_USES = 100_000
TOO_OLD = say("refusals.link_used")


class InviteLink(NamedTuple):
    """An invite with its link.

    `path` is the part of the address after the server's name.
    """

    invite: Invite
    path: str


def create(
    study: Study,
    label: str = "",
    *,
    uses: int = 1,
    days: float | None = None,
    worker: str | None = None,
    actor: str = "system",
) -> InviteLink:
    """Create an invite link for new workers, valid for `days`.

    Without `days`, as long as the study's settings say. With the code of a `worker`, the link lets that worker in again
    once, for example on another device. Raises NotNow if the study is closed. `uses` is how many workers the link lets
    in, at least 1. With a `worker`, `label` and `uses` are ignored.
    """
    if study.why_closed:
        raise NotNow(study.why_closed)
    now = study.now()
    until = now + timedelta(days=study.config.platform.invite_days if days is None else days)
    with study.store.write() as session:
        if worker is not None:
            label = f"return of {worker}"
            uses = 1
        invite_id = secrets.token_urlsafe(12)
        most_uses = min(max(uses, 1), MOST_USES)
        worker_id = None if worker is None else workers.by_code(session, worker).id
        invite = Invite(
            id=invite_id,
            purpose="worker",
            label=label[:200],
            most_uses=most_uses,
            uses=0,
            worker_id=worker_id,
            created_at=now,
            expires_at=until,
        )
        session.add(invite)
        study.log(session, actor, "invite", invite.id, label=invite.label, uses=invite.most_uses)
        return _make_link(study, invite)


def claim(study: Study, token: str, *, browser: str | None = None) -> Worker:
    """Use an invite link, and return the worker whom it lets in.

    That is a new worker, or the one for whom the link was made, whose earlier personal link then ends. Raises
    LinkExpired if the link is used up, revoked or too old, NotAllowed if it is forged, and NotNow if the study is
    closed. `browser` identifies the browser, None if that is unknown.
    """
    with study.store.write() as session:
        invite = _find_invite(study, session, token)
        is_open = (Invite.uses < Invite.most_uses, Invite.revoked_at.is_(None), Invite.expires_at > study.now())
        # One step of the database, so that a link for one lets in one, however many press the button at once.
        use = update(Invite).where(Invite.id == invite.id, *is_open).values(uses=Invite.uses + 1)
        used_id = session.execute(use.returning(Invite.id)).scalar()
        if used_id is None:
            raise LinkExpired(TOO_OLD)
        if invite.worker_id is None:
            worker = workers.add(study, session, BY_LINK)
        else:
            worker = session.get_one(Worker, invite.worker_id, with_for_update=True)
            worker.link_version += 1
            study.log(session, f"worker:{worker.code}", "return")
        session.flush()
        hashed_browser = browser_hash(study, browser)
        workers.note_browser(study, session, worker.id, hashed_browser, invite.id)
        return worker


def browser_hash(study: Study, browser: str | None) -> str | None:
    """Keyed hash of a browser's identifier.

    None if there is no identifier.
    """
    return browser and study.signer.digest("browser", browser)


def look(study: Study, token: str) -> Invite:
    """Find the invite of a link without using it.

    Raises LinkExpired if the link cannot be used any more, NotAllowed if it is forged, and NotNow if the study is
    closed.
    """
    with study.store.read() as session:
        invite = _find_invite(study, session, token)
        is_used_up = invite.uses >= invite.most_uses
        if invite.revoked_at or is_used_up or invite.expires_at <= study.now():
            raise LinkExpired(TOO_OLD)
        return invite


def personal_path(study: Study, worker: Worker | Row[Any]) -> str:
    """Path of a worker's personal link, by which they come back.

    Empty for workers whom a platform sends.
    """
    token = study.signer.sign(PERSONAL, [worker.code, worker.link_version])
    return f"/return/{token}" if worker.platform == BY_LINK else ""


def returning(study: Study, token: str) -> Row[Any]:
    """The worker to whom a personal link belongs.

    Raises LinkExpired if the link was replaced by a newer one, or belongs to a pilot that has ended.
    """
    code, version = study.signer.read(PERSONAL, token)
    try:
        worker = workers.get(study, code)
    except Refused:
        raise LinkExpired(TOO_OLD) from None
    is_replaced = worker.link_version != version
    is_of_ended_pilot = worker.pilot and not study.pilot
    if is_replaced or is_of_ended_pilot:
        raise LinkExpired(TOO_OLD)
    return worker


def come_back(study: Study, worker: Worker | Row[Any], browser: str | None) -> None:
    """Store that a worker has used their personal link.

    A hash of the browser is stored with it.
    """
    with study.store.write() as session:
        workers.note_browser(study, session, worker.id, browser_hash(study, browser))
        study.log(session, f"worker:{worker.code}", "return")


def listing(study: Study) -> list[InviteLink]:
    """All invite links, newest first."""
    with study.store.read() as session:
        invites = session.scalars(select(Invite).order_by(Invite.created_at.desc(), Invite.id))
        return [_make_link(study, invite) for invite in invites]


def revoke(study: Study, invite_id: str, actor: str) -> None:
    """Revoke an invite link, so that nobody else can use it.

    Workers who came by it stay.
    """
    with study.store.write() as session:
        invite = found(session.get(Invite, invite_id), "no such link")
        invite.revoked_at = invite.revoked_at or study.now()
        study.log(session, actor, "revoke", invite_id)


def _find_invite(study: Study, session: Session, token: str) -> Invite:
    """Find the invite that a link's token names.

    Raises NotAllowed if the token is forged, and NotNow if the study is closed.
    """
    if study.why_closed:
        raise NotNow(say("refusals.not_open"))
    invite_id = str(study.signer.read(PURPOSE, token))
    invite = session.get(Invite, invite_id)
    if invite is None:
        raise NotAllowed(say("refusals.link_forged"))
    return invite


def _make_link(study: Study, invite: Invite) -> InviteLink:
    """The link of a stored invite, with its signed token."""
    token = study.signer.sign(PURPOSE, invite.id)
    return InviteLink(invite, f"/join/{token}")
