"""Links that let somebody in: signed, expiring, used as often as they say and no more often.

A link is claimed by pressing a button, not by being opened: programs that preview links must not use them up.

A link that was used lets nobody in again. It has been in mails and chats, and whoever finds it there would be taken for
the worker who came by it. That worker comes back, in any browser, by a personal link which only their own pages show.
A link from the requester that lets a worker in again makes the earlier personal one useless: it may be in other hands.
Platforms send their workers again themselves, and say who they are; those have no personal link.
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
    """A link as a requester sees it: its row, and the path that follows the server's own address."""

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
    """A new link for new workers; or, with a worker's code, one that lets them in again, on another device say."""
    if study.why_closed:
        raise NotNow(study.why_closed)
    now = study.now()
    until = now + timedelta(days=study.config.platform.invite_days if days is None else days)
    with study.store.write() as session:
        if worker is not None:
            label = f"return of {worker}"
            uses = 1
        invite = Invite(
            id=secrets.token_urlsafe(12),
            purpose="worker",
            label=label[:200],
            most_uses=min(max(uses, 1), MOST_USES),
            uses=0,
            worker_id=None if worker is None else workers.by_code(session, worker).id,
            created_at=now,
            expires_at=until,
        )
        session.add(invite)
        study.log(session, actor, "invite", invite.id, label=invite.label, uses=invite.most_uses)
        return _link(study, invite)


def claim(study: Study, token: str, *, browser: str | None = None) -> Worker:
    """Use a link: a new worker, or the one it lets in again."""
    with study.store.write() as session:
        invite = _invite(study, session, token)
        open_ = (Invite.uses < Invite.most_uses, Invite.revoked_at.is_(None), Invite.expires_at > study.now())
        # One step of the database, so that a link for one lets in one, however many press the button at once.
        use = update(Invite).where(Invite.id == invite.id, *open_).values(uses=Invite.uses + 1)
        if session.execute(use.returning(Invite.id)).scalar() is None:
            raise LinkExpired(TOO_OLD)
        if invite.worker_id is None:
            worker = workers.add(study, session, BY_LINK)
        else:
            worker = session.get_one(Worker, invite.worker_id, with_for_update=True)
            worker.link_version += 1
            study.log(session, f"worker:{worker.code}", "return")
        session.flush()
        workers.note_browser(study, session, worker.id, browser_hash(study, browser), invite.id)
        return worker


def browser_hash(study: Study, browser: str | None) -> str | None:
    """A keyed hash of what a browser is known by."""
    return browser and study.signer.digest("browser", browser)


def look(study: Study, token: str) -> Invite:
    """A link before it is used; one that cannot be used any more is refused as `claim` would."""
    with study.store.read() as session:
        invite = _invite(study, session, token)
        if invite.revoked_at or invite.uses >= invite.most_uses or invite.expires_at <= study.now():
            raise LinkExpired(TOO_OLD)
        return invite


def personal_path(study: Study, worker: Worker | Row[Any]) -> str:
    """The path of the link by which a worker comes back; none for those whom a platform sends."""
    token = study.signer.sign(PERSONAL, [worker.code, worker.link_version])
    return f"/return/{token}" if worker.platform == BY_LINK else ""


def returning(study: Study, token: str) -> Row[Any]:
    """The worker whose personal link this is."""
    code, version = study.signer.read(PERSONAL, token)
    try:
        worker = workers.get(study, code)
    except Refused:
        raise LinkExpired(TOO_OLD) from None
    if worker.link_version != version or (worker.pilot and not study.pilot):
        raise LinkExpired(TOO_OLD)
    return worker


def come_back(study: Study, worker: Worker | Row[Any], browser: str | None) -> None:
    """Note that a worker has used their personal link, and in which browser."""
    with study.store.write() as session:
        workers.note_browser(study, session, worker.id, browser_hash(study, browser))
        study.log(session, f"worker:{worker.code}", "return")


def listing(study: Study) -> list[InviteLink]:
    """Every link that was handed out, newest first."""
    with study.store.read() as session:
        invites = session.scalars(select(Invite).order_by(Invite.created_at.desc(), Invite.id))
        return [_link(study, invite) for invite in invites]


def revoke(study: Study, invite_id: str, actor: str) -> None:
    """Make a link useless; whoever came in by it stays."""
    with study.store.write() as session:
        invite = found(session.get(Invite, invite_id), "no such link")
        invite.revoked_at = invite.revoked_at or study.now()
        study.log(session, actor, "revoke", invite_id)


def _invite(study: Study, session: Session, token: str) -> Invite:
    if study.why_closed:
        raise NotNow(say("refusals.not_open"))
    invite = session.get(Invite, str(study.signer.read(PURPOSE, token)))
    if invite is None:
        raise NotAllowed(say("refusals.link_forged"))
    return invite


def _link(study: Study, invite: Invite) -> InviteLink:
    return InviteLink(invite, f"/join/{study.signer.sign(PURPOSE, invite.id)}")
