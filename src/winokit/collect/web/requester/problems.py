"""Looking through problems and their votes, and deciding over them."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Path, Query, Response

from winokit.collect.study import browse, quality
from winokit.collect.study.browse import STATUSES, BrowseFilter
from winokit.collect.study.content import DOMAINS
from winokit.collect.study.refusals import Incomplete
from winokit.collect.study.schema import IMPORTED, WRITE, WRITTEN
from winokit.collect.web.guard import Fields, guard, plain, takes
from winokit.collect.web.requester.told import reason
from winokit.collect.web.sessions import REQUESTER
from winokit.collect.web.visit import ARequester

router = APIRouter(dependencies=[Depends(guard(REQUESTER))], tags=["requester: problems"])
Number = Annotated[int, Path(ge=1, le=2**31 - 1)]
PageNumber = Annotated[int, Query(ge=1, le=1_000_000)]
Wanted = Annotated[str, Query(max_length=200)]
DECISIONS = {"valid": True, "invalid": False, "votes": None}


@router.get("/requester/problems")
def problems(
    visit: ARequester,
    status: Wanted = "",
    domain: Wanted = "",
    author: Wanted = "",
    text: Wanted = "",
    origin: Wanted = "",
    page: PageNumber = 1,
) -> Response:
    """Problems that a filter lets through; unless asked otherwise, those that the study is about."""
    origin = origin or (WRITTEN if WRITE in visit.study.config.tasks.kinds else IMPORTED)
    wanted = BrowseFilter(*(plain(told) for told in (status, domain, origin, author, text)))
    found = browse.problems(visit.study, wanted, page)
    asked = {"status": status, "domain": domain, "author": author, "text": text, "origin": origin}
    address = f"/requester/problems?{urlencode({name: told for name, told in asked.items() if told})}"
    return visit.page(
        "requester_problems", found=found, wanted=wanted, address=address, statuses=STATUSES, domains=DOMAINS
    )


@router.get("/requester/problems/{number}")
def problem(visit: ARequester, number: Number) -> Response:
    """One problem: its votes, its twin, where it comes from, and what was decided."""
    return visit.page("requester_problem", detail=browse.problem(visit.study, number))


@router.post("/requester/problems/{number}/decide", openapi_extra=takes("valid", "note"))
def decide(visit: ARequester, number: Number, fields: Fields) -> Response:
    """Decide over the votes, or leave it to them again."""
    if fields.get("valid") not in DECISIONS:
        raise Incomplete({"valid": "valid, invalid or votes expected"})
    valid = DECISIONS[fields["valid"]]
    quality.adjudicate(visit.study, number, valid, fields.get("note", ""), visit.requester.name)
    return visit.go(f"/requester/problems/{number}", "Your decision is kept.")


@router.post("/requester/submissions/{number}/discard", openapi_extra=takes("why", "back"))
def discard(visit: ARequester, number: Number, fields: Fields) -> Response:
    """Take a submission out; its place is asked for again."""
    quality.discard(visit.study, number, reason(fields), visit.actor)
    back = fields.get("back", "")
    shown = f"/requester/problems/{back}" if back.isascii() and back.isdecimal() else "/requester/submissions"
    return visit.go(shown, "The submission no longer counts, and its place is free again.")
