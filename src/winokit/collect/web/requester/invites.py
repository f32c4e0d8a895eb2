"""Links that let workers in."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Response

from winokit.collect.study import invites
from winokit.collect.web.guard import Fields, guard, takes
from winokit.collect.web.requester.told import whole
from winokit.collect.web.requester.workers import own_address
from winokit.collect.web.sessions import REQUESTER
from winokit.collect.web.visit import ARequester

router = APIRouter(dependencies=[Depends(guard(REQUESTER))], tags=["requester: invites"])
InviteId = Annotated[str, Path(max_length=40)]
MOST_AT_ONCE, MOST_DAYS = 200, 3650


@router.get("/requester/invites")
def listing(visit: ARequester) -> Response:
    """Every link there is."""
    return visit.page("requester_invites", links=invites.listing(visit.study), address=own_address(visit))


@router.post("/requester/invites", openapi_extra=takes("label", "count", "uses", "days"))
def create(visit: ARequester, fields: Fields) -> Response:
    """Make links."""
    count = whole(fields, "count", 1, MOST_AT_ONCE)
    uses = whole(fields, "uses", 1, invites.MOST_USES)
    days = whole(fields, "days", 1, MOST_DAYS)
    label = " ".join(fields.get("label", "").split())
    for _ in range(count):
        invites.create(visit.study, label, uses=uses, days=days, actor=visit.actor)
    return visit.go("/requester/invites", f"{count} new {'link' if count == 1 else 'links'}.")


@router.post("/requester/invites/{invite}/revoke", openapi_extra=takes())
def revoke(visit: ARequester, invite: InviteId) -> Response:
    """Make a link useless; whoever came in by it stays."""
    invites.revoke(visit.study, invite, visit.actor)
    return visit.go("/requester/invites", "The link opens nothing any more.")
