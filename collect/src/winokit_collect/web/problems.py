"""Looking through problems, their votes and all that was handed in, and deciding over it."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal
from urllib.parse import parse_qsl, urlencode

from fastapi import Path, Query, Response

from winokit_collect.study import listings, moderation
from winokit_collect.study.content import DOMAINS
from winokit_collect.study.listings import STATUSES
from winokit_collect.study.schema import IMPORTED, WRITE, WRITTEN, ProblemRow
from winokit_collect.study.voting import YES_NO
from winokit_collect.web.forms import REQUESTER, PageNumber, Pages, Text, Why, expected, plain
from winokit_collect.web.visit import ARequester

router = Pages(REQUESTER)
Number = Annotated[int, Path(ge=1, le=2**31 - 1)]
Wanted = Annotated[str, Query(max_length=200)]
DECISIONS = {"valid": True, "invalid": False, "votes": None}
Decision = Annotated[Literal["valid", "invalid", "votes"], expected("valid, invalid or votes expected")]
Back = Annotated[int | None, expected("the number of a problem expected", ge=1, le=2**31 - 1)]


FILTER = ("status", "domain", "origin", "author", "text")


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
    wanted = _read_filter(visit, status=status, domain=domain, origin=origin, author=author, text=text)
    listing = listings.problems(visit.study, **wanted, page=page)
    kept = _keep_filter(wanted)
    shown = {"address": f"/requester/problems?{kept}", "kept": kept, "statuses": STATUSES, "domains": DOMAINS}
    return visit.page("requester_problems", listing=listing, wanted=wanted, **shown)


@router.get("/requester/queue")
def queue(
    visit: ARequester,
    status: Wanted = "",
    domain: Wanted = "",
    author: Wanted = "",
    text: Wanted = "",
    origin: Wanted = "",
    after: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None,
) -> Response:
    """One problem after the other that nobody has decided about, beside its twin."""
    wanted = _read_filter(visit, status=status, domain=domain, origin=origin, author=author, text=text)
    problem, left = listings.next_to_decide(visit.study, before=after, **wanted)
    twins = () if problem is None else listings.problem(visit.study, problem.id)[1]
    pair = [] if problem is None else [problem, *twins]
    shown = {"problem": problem, "left": left, "kept": _keep_filter(wanted), "wanted": wanted}
    return visit.page("requester_queue", pair=[(row, mark_special(row, pair)) for row in pair], **shown)


@router.form("/requester/queue/{number}/decide")
def decide_in_queue(visit: ARequester, number: Number, valid: Decision, note: Text = "", kept: Text = "") -> Response:
    """Decide about a problem of the queue, and go on to the next."""
    moderation.adjudicate(visit.study, number, DECISIONS[valid], note, visit.requester.name)
    query = urlencode({**_known_filter(kept), "after": number})
    return visit.go(f"/requester/queue?{query}", f"Problem {number}: {valid}.")


@router.get("/requester/problems/{number}")
def problem(visit: ARequester, number: Number) -> Response:
    """One problem: its votes, its twin, where it comes from, and what was decided."""
    shown, twins = listings.problem(visit.study, number)
    kept = _keep_filter(_known_filter(visit.request.url.query))
    return visit.page("requester_problem", problem=shown, twins=twins, kept=kept)


@router.form("/requester/problems/{number}/decide")
def decide(visit: ARequester, number: Number, valid: Decision, note: Text = "", kept: Text = "") -> Response:
    """Decide over the votes, or leave it to them again."""
    moderation.adjudicate(visit.study, number, DECISIONS[valid], note, visit.requester.name)
    query = _keep_filter(_known_filter(kept))
    return visit.go(f"/requester/problems/{number}{query and '?'}{query}", "Your decision has been saved.")


def mark_special(row: ProblemRow, pair: Sequence[ProblemRow]) -> tuple[str, str, str]:
    """A problem's text before, within and after the words in which it differs from its twin.

    The blank is an underscore. Without a twin nothing differs.
    """
    text = _text_of(row)
    others = [_text_of(other) for other in pair if other is not row]
    if not others:
        return text, "", ""
    own, other = text.split(" "), others[0].split(" ")
    start = _count_same(own, other)
    end = _count_same(own[start:][::-1], other[start:][::-1])
    middle = len(own) - end
    return " ".join(own[:start]), " ".join(own[start:middle]), " ".join(own[middle:])


def _count_same(own: Sequence[str], other: Sequence[str]) -> int:
    """How many words two texts begin with alike."""
    count = 0
    for one, two in zip(own, other, strict=False):
        if one != two:
            break
        count += 1
    return count


def _text_of(row: ProblemRow) -> str:
    return f"{row.before}_{row.after}"


def _read_filter(visit: ARequester, **wanted: str) -> dict[str, Any]:
    """A filter as a page was asked for it; problems of the study's own origin, if it names none."""
    kinds = visit.study.config.tasks.kinds
    wanted["origin"] = wanted["origin"] or (WRITTEN if WRITE in kinds else IMPORTED)
    return {name: plain(value) for name, value in wanted.items()}


def _keep_filter(wanted: Mapping[str, str]) -> str:
    """A filter as part of an address."""
    return urlencode({name: value for name, value in wanted.items() if value})


def _known_filter(kept: str) -> dict[str, str]:
    """What an address says of a filter; anything else that is in it is left out."""
    pairs = parse_qsl(kept[:2000], max_num_fields=20) if kept.count("&") < 20 else []
    return {name: plain(value)[:200] for name, value in pairs if name in FILTER}


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
