"""Links that let somebody in: signed, expiring, used as often as they say and no more often.

A link is claimed by pressing a button, not by being opened: programs that preview links must not use them up.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from sqlalchemy import select, update

from winokit.collect.study import workers
from winokit.collect.study.refusals import LinkExpired, NotAllowed, NotFound
from winokit.collect.study.schema import Invite, Requester, Worker

if TYPE_CHECKING:
    from winokit.collect.study.study import Study

PURPOSE, SETUP = "invite", "setup"
SETUP_SECONDS = 3600
MOST_USES = 100_000


@dataclass(frozen=True)
class InviteInfo:
    """A link as a requester sees it. `path` is what follows the server's own address."""

    id: str
    path: str
    label: str
    uses: int
    most_uses: int
    expires_at: datetime
    revoked: bool
    worker: str | None = None
    """For a return link: whom it lets in again."""


def create(
    study: Study, label: str = "", *, uses: int = 1, days: float | None = None, actor: str = "system"
) -> InviteInfo:
    """A new link for new workers."""
    return _create(study, label, min(max(uses, 1), MOST_USES), days, None, actor)


def return_link(study: Study, code: str, *, days: float | None = None, actor: str = "system") -> InviteInfo:
    """A link that lets a worker in again as themselves, on another device say."""
    return _create(study, f"return of {code}", 1, days, code, actor)


def claim(study: Study, token: str) -> workers.WorkerInfo:
    """Use a link: a new worker, or the one it lets in again."""
    with study.store.write() as session:
        invite = session.get(Invite, _id(study, token))
        if invite is None:
            raise NotAllowed("this link was not made by this study")
        good = (Invite.id == invite.id, Invite.uses < Invite.most_uses, Invite.revoked_at.is_(None))
        still = (*good, Invite.expires_at > study.now())
        # One step of the database, so that a link for one lets in one, however many press the button at once.
        used = session.execute(update(Invite).where(*still).values(uses=Invite.uses + 1).returning(Invite.id)).scalar()
        if used is None:
            raise LinkExpired("this link has been used or is too old; ask for a new one")
        if invite.worker_id is None:
            return workers.joined(study, session, "links")
        code = session.get_one(Worker, invite.worker_id).code
        study.log(session, f"worker:{code}", "return")
    return workers.get(study, code)


def look(study: Study, token: str) -> InviteInfo:
    """A link before it is used; one that cannot be used any more is refused as `claim` would."""
    with study.store.read() as session:
        invite = session.get(Invite, _id(study, token))
        if invite is None:
            raise NotAllowed("this link was not made by this study")
        if invite.revoked_at or invite.uses >= invite.most_uses or invite.expires_at <= study.now():
            raise LinkExpired("this link has been used or is too old; ask for a new one")
        worker = None if invite.worker_id is None else session.get_one(Worker, invite.worker_id).code
        return _info(study, invite, worker)


def listing(study: Study) -> list[InviteInfo]:
    """Every link that was handed out, newest first."""
    query = select(Invite, Worker.code).outerjoin(Worker, Worker.id == Invite.worker_id)
    with study.store.read() as session:
        found = session.execute(query.order_by(Invite.created_at.desc(), Invite.id)).all()
        return [_info(study, invite, code) for invite, code in found]


def revoke(study: Study, invite_id: str, actor: str) -> None:
    """Make a link useless; whoever came in by it stays."""
    with study.store.write() as session:
        invite = session.get(Invite, invite_id)
        if invite is None:
            raise NotFound("no such link")
        invite.revoked_at = invite.revoked_at or study.now()
        study.log(session, actor, "revoke", invite_id)


def setup_path(study: Study) -> str | None:
    """The address at which the first requester chooses a name and a password; None once there is one."""
    with study.store.read() as session:
        if session.scalar(select(Requester.id).limit(1)) is not None:
            return None
    return f"/setup/{study.signer.sign(SETUP, 'first requester')}"


def _create(study: Study, label: str, uses: int, days: float | None, code: str | None, actor: str) -> InviteInfo:
    now = study.now()
    until = now + timedelta(days=study.config.platform.invite_days if days is None else days)
    with study.store.write() as session:
        worker_id = None
        if code is not None:
            worker_id = session.scalar(select(Worker.id).where(Worker.code == code))
            if worker_id is None:
                raise NotFound(f"no worker {code}")
        invite = Invite(
            id=secrets.token_urlsafe(12),
            purpose="worker",
            label=label[:200],
            most_uses=uses,
            uses=0,
            worker_id=worker_id,
            created_at=now,
            expires_at=until,
        )
        session.add(invite)
        study.log(session, actor, "invite", invite.id, label=label[:200], uses=uses)
        return _info(study, invite, code)


def _id(study: Study, token: str) -> str:
    return str(study.signer.read(PURPOSE, token))


def _info(study: Study, invite: Invite, code: str | None) -> InviteInfo:
    return InviteInfo(
        invite.id,
        f"/join/{study.signer.sign(PURPOSE, invite.id)}",
        invite.label,
        invite.uses,
        invite.most_uses,
        invite.expires_at,
        invite.revoked_at is not None,
        code,
    )
