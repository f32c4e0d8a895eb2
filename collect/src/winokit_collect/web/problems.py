"""Pages about problems, votes and submissions, and requesters' decisions on them."""

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
    """Page with the problems that pass a filter.

    Without `origin`, only the study's own: those written in it, or else imported into it.
    """
    rules = _read_filter(visit, status=status, domain=domain, origin=origin, author=author, text=text)
    listing = listings.problems(visit.study, **rules, page=page)
    query = _join_filter(rules)
    address = f"/requester/problems?{query}"
    return visit.page(
        "requester_problems",
        listing=listing,
        wanted=rules,
        address=address,
        kept=query,
        statuses=STATUSES,
        domains=DOMAINS,
    )


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
    """Page with the next undecided problem, beside its twin.

    `after` is the number of the problem that was shown last.
    """
    rules = _read_filter(visit, status=status, domain=domain, origin=origin, author=author, text=text)
    problem, count = listings.next_to_decide(visit.study, before=after, **rules)
    pair: list[ProblemRow] = []
    if problem is not None:
        _, twins = listings.problem(visit.study, problem.id)
        pair = [problem, *twins]
    marked_pair = [(row, mark_special(row, pair)) for row in pair]
    query = _join_filter(rules)
    return visit.page("requester_queue", problem=problem, pair=marked_pair, left=count, kept=query, wanted=rules)


@router.form("/requester/queue/{number}/decide")
def decide_in_queue(visit: ARequester, number: Number, valid: Decision, note: Text = "", kept: Text = "") -> Response:
    """Store a decision on a problem, and redirect to the next one.

    A decision for `votes` leaves it to the votes. `kept` is the filter of the queue.
    """
    moderation.adjudicate(visit.study, number, DECISIONS[valid], note, visit.requester.name)
    query = urlencode({**_parse_filter(kept), "after": number})
    return visit.go(f"/requester/queue?{query}", f"Problem {number}: {valid}.")


@router.get("/requester/problems/{number}")
def problem(visit: ARequester, number: Number) -> Response:
    """Page of one problem, with its votes, twin, origin and decisions."""
    row, twins = listings.problem(visit.study, number)
    query = _join_filter(_parse_filter(visit.request.url.query))
    return visit.page("requester_problem", problem=row, twins=twins, kept=query)


@router.form("/requester/problems/{number}/decide")
def decide(visit: ARequester, number: Number, valid: Decision, note: Text = "", kept: Text = "") -> Response:
    """Store a decision on a problem, or withdraw one.

    A decision for `votes` withdraws it. `kept` is the filter of the list, which the next page keeps.
    """
    moderation.adjudicate(visit.study, number, DECISIONS[valid], note, visit.requester.name)
    query = _join_filter(_parse_filter(kept))
    suffix = f"?{query}" if query else ""
    return visit.go(f"/requester/problems/{number}{suffix}", "Your decision has been saved.")


def mark_special(row: ProblemRow, pair: Sequence[ProblemRow]) -> tuple[str, str, str]:
    """Split a problem's text around the part that differs from its twin.

    Returns the text before, that part, and the text after. The blank is an underscore. The second part is empty without
    a twin in `pair`.
    """
    words = _split_text(row)
    twins = [_split_text(twin) for twin in pair if twin is not row]
    if not twins:
        return " ".join(words), "", ""
    start = _count_same(words, twins[0])
    words_from_end = words[start:][::-1]
    twin_from_end = twins[0][start:][::-1]
    end = len(words) - _count_same(words_from_end, twin_from_end)
    return " ".join(words[:start]), " ".join(words[start:end]), " ".join(words[end:])


def _count_same(words: Sequence[str], twin_words: Sequence[str]) -> int:
    """Number of words at the start that two texts have in common."""
    count = 0
    for word, twin_word in zip(words, twin_words, strict=False):
        if word != twin_word:
            break
        count += 1
    return count


def _split_text(row: ProblemRow) -> list[str]:
    """Words of a problem's text, with an underscore as the blank."""
    return f"{row.before}_{row.after}".split(" ")


def _read_filter(visit: ARequester, **wanted: str) -> dict[str, Any]:
    """Clean a filter's values, and fill in an empty origin."""
    kinds = visit.study.config.tasks.kinds
    wanted["origin"] = wanted["origin"] or (WRITTEN if WRITE in kinds else IMPORTED)
    return {name: plain(value) for name, value in wanted.items()}


def _join_filter(wanted: Mapping[str, str]) -> str:
    """Write a filter as the query of an address."""
    return urlencode({name: value for name, value in wanted.items() if value})


def _parse_filter(kept: str) -> dict[str, str]:
    """Read a filter from the query of an address.

    Unknown names are dropped.
    """
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
    """Page with the submissions that pass a filter, newest first.

    `number` selects a single one.
    """
    shown_filter: dict[str, Any] = {"worker": plain(worker), "kind": plain(kind), "counted": counted, "number": number}
    rules = shown_filter | {"counted": YES_NO.get(counted)}
    listing = listings.submissions(visit.study, **rules, page=page)
    return visit.page("requester_submissions", listing=listing, asked=shown_filter)


@router.form("/requester/submissions/{number}/discard")
def discard(visit: ARequester, number: Number, why: Why, back: Back = None) -> Response:
    """Discard a submission, so that somebody else is asked instead.

    `back` is the number of the problem to return to.
    """
    moderation.discard(visit.study, number, why, visit.actor)
    path = f"/requester/problems/{back}" if back else "/requester/submissions"
    return visit.go(path, "The submission no longer counts, and its place is free again.")
