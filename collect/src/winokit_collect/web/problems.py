"""Looking through problems, their votes and all that was handed in, and deciding over it."""

from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from fastapi import Path, Query, Response

from winokit_collect.study import listings, moderation
from winokit_collect.study.content import DOMAINS
from winokit_collect.study.listings import STATUSES
from winokit_collect.study.schema import IMPORTED, WRITE, WRITTEN
from winokit_collect.study.voting import YES_NO
from winokit_collect.web.forms import REQUESTER, PageNumber, Pages, Text, Why, expected, plain
from winokit_collect.web.visit import ARequester

router = Pages(REQUESTER)
Number = Annotated[int, Path(ge=1, le=2**31 - 1)]
Wanted = Annotated[str, Query(max_length=200)]
DECISIONS = {"valid": True, "invalid": False, "votes": None}
Decision = Annotated[Literal["valid", "invalid", "votes"], expected("valid, invalid or votes expected")]
Back = Annotated[int | None, expected("the number of a problem expected", ge=1, le=2**31 - 1)]


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
    asked = {"status": status, "domain": domain, "origin": origin, "author": author, "text": text}
    wanted: dict[str, Any] = {name: plain(value) for name, value in asked.items()}
    listing = listings.problems(visit.study, **wanted, page=page)
    address = f"/requester/problems?{urlencode({name: value for name, value in wanted.items() if value})}"
    return visit.page(
        "requester_problems", listing=listing, wanted=wanted, address=address, statuses=STATUSES, domains=DOMAINS
    )


@router.get("/requester/problems/{number}")
def problem(visit: ARequester, number: Number) -> Response:
    """One problem: its votes, its twin, where it comes from, and what was decided."""
    shown, twins = listings.problem(visit.study, number)
    return visit.page("requester_problem", problem=shown, twins=twins)


@router.form("/requester/problems/{number}/decide")
def decide(visit: ARequester, number: Number, valid: Decision, note: Text = "") -> Response:
    """Decide over the votes, or leave it to them again."""
    moderation.adjudicate(visit.study, number, DECISIONS[valid], note, visit.requester.name)
    return visit.go(f"/requester/problems/{number}", "Your decision has been saved.")


@router.get("/requester/submissions")
def submissions(
    visit: ARequester,
    worker: Wanted = "",
    kind: Wanted = "",
    counted: Wanted = "",
    number: PageNumber | None = None,
    page: PageNumber = 1,
) -> Response:
    """Submissions, newest first, or the one with a number."""
    asked: dict[str, Any] = {"worker": plain(worker), "kind": plain(kind), "counted": counted, "number": number}
    listing = listings.submissions(visit.study, **asked | {"counted": YES_NO.get(counted)}, page=page)
    return visit.page("requester_submissions", listing=listing, asked=asked)


@router.form("/requester/submissions/{number}/discard")
def discard(visit: ARequester, number: Number, why: Why, back: Back = None) -> Response:
    """Take a submission out; its place is asked for again."""
    moderation.discard(visit.study, number, why, visit.actor)
    path = f"/requester/problems/{back}" if back else "/requester/submissions"
    return visit.go(path, "The submission no longer counts, and its place is free again.")
