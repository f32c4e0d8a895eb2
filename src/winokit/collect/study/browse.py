"""Looking through problems, votes and submissions, filtered and page by page."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from sqlalchemy import ColumnElement, Select, func, select
from sqlalchemy.orm import Session

from winokit.collect.study.problems import to_problem
from winokit.collect.study.refusals import NotFound
from winokit.collect.study.schema import (
    ASSOCIATIVE,
    SWITCHABLE,
    WRITTEN,
    Adjudication,
    ProblemRow,
    Submission,
    Vote,
    Worker,
)
from winokit.collect.study.validity import SPLIT, UNANIMOUS_NO, UNANIMOUS_YES

if TYPE_CHECKING:
    from winokit.collect.study.study import Study

T = TypeVar("T")
PER_PAGE = 50
STATUSES = ("valid", "invalid", "open", "withdrawn", UNANIMOUS_YES, UNANIMOUS_NO, SPLIT)


@dataclass(frozen=True)
class BrowseFilter:
    """What to look for; empty fields do not count."""

    status: str = ""
    """One of STATUSES."""
    domain: str = ""
    origin: str = WRITTEN
    author: str = ""
    text: str = ""


@dataclass(frozen=True)
class BrowsePage(Generic[T]):
    """Some of what was found."""

    rows: tuple[T, ...]
    total: int
    number: int
    pages: int


@dataclass(frozen=True)
class VoteInfo:
    """A vote as a requester sees it; `said` is the candidate chosen, yes, no, or that they could not tell."""

    submission_id: int
    worker: str
    kind: str
    said: str
    equally_plausible: bool | None
    local_decides: bool | None
    counted: bool
    why_not: str | None
    seconds: float
    at: datetime


@dataclass(frozen=True)
class ProblemInfo:
    """A problem as a requester sees it in a list."""

    id: int
    public_id: str
    before: str
    after: str
    candidates: tuple[str, ...]
    answer: int | None
    pronoun: str | None
    domain: str | None
    topic: str
    anchor: str
    variant: str
    author: str | None
    valid: bool | None
    agreement: str | None
    withdrawn: bool
    created_at: datetime
    votes: tuple[VoteInfo, ...]


@dataclass(frozen=True)
class ProblemDetail:
    """Everything about one problem."""

    problem: ProblemInfo
    twins: tuple[ProblemInfo, ...]
    submission: SubmissionInfo | None
    adjudications: tuple[QualityDecision, ...]


@dataclass(frozen=True)
class QualityDecision:
    """What a requester decided over the votes."""

    requester: str
    valid: bool | None
    note: str
    at: datetime


@dataclass(frozen=True)
class SubmissionInfo:
    """A submission as it came in."""

    id: int
    worker: str
    kind: str
    fields: dict[str, Any]
    counted: bool
    why_not: str | None
    late: bool
    seconds: float
    pasted: int
    adversary: dict[str, Any] | None
    submitted_at: datetime


def problems(
    study: Study, wanted: BrowseFilter | None = None, page: int = 1, per_page: int = PER_PAGE
) -> BrowsePage[ProblemInfo]:
    """The problems a filter lets through, newest first."""
    query = select(ProblemRow).where(*_where(wanted or BrowseFilter())).order_by(ProblemRow.id.desc())
    with study.store.read() as session:
        rows, total, number, pages = _page(session, query, page, per_page)
        return BrowsePage(tuple(_infos(session, rows)), total, number, pages)


def problem(study: Study, problem_id: int) -> ProblemDetail:
    """One problem with its twins, its submission and what was decided about it."""
    with study.store.read() as session:
        row = session.get(ProblemRow, problem_id)
        if row is None:
            raise NotFound(f"no problem {problem_id}")
        twins = session.scalars(
            select(ProblemRow)
            .where(ProblemRow.group_id == row.group_id, ProblemRow.id != row.id, ProblemRow.variant == row.variant)
            .order_by(ProblemRow.id)
        ).all()
        decided = session.scalars(
            select(Adjudication).where(Adjudication.problem_id == row.id).order_by(Adjudication.id.desc())
        )
        decisions = tuple(QualityDecision(one.requester, one.valid, one.note, one.at) for one in decided)
        own, *others = _infos(session, [row, *twins])
        submission = session.get(Submission, row.submission_id) if row.submission_id else None
        told = _submission(submission, _code(session, submission.worker_id)) if submission else None
        return ProblemDetail(own, tuple(others), told, decisions)


def submissions(
    study: Study,
    *,
    worker: str = "",
    kind: str = "",
    counted: bool | None = None,
    page: int = 1,
    per_page: int = PER_PAGE,
) -> BrowsePage[SubmissionInfo]:
    """Submissions, newest first."""
    query = select(Submission).join(Worker, Worker.id == Submission.worker_id).order_by(Submission.id.desc())
    if worker:
        query = query.where(Worker.code == worker)
    if kind:
        query = query.where(Submission.kind == kind)
    if counted is not None:
        query = query.where(Submission.counted == counted)
    with study.store.read() as session:
        rows, total, number, pages = _page(session, query, page, per_page)
        return BrowsePage(tuple(_submission(row, _code(session, row.worker_id)) for row in rows), total, number, pages)


def _where(wanted: BrowseFilter) -> list[ColumnElement[bool]]:
    rules: list[ColumnElement[bool]] = []
    if wanted.origin:
        rules.append(ProblemRow.origin == wanted.origin)
    if wanted.domain:
        rules.append(ProblemRow.domain == wanted.domain)
    if wanted.author:
        rules.append(ProblemRow.author_id == select(Worker.id).where(Worker.code == wanted.author).scalar_subquery())
    if wanted.text:
        whole = ProblemRow.before.concat("_").concat(ProblemRow.after)
        rules.append(whole.icontains(wanted.text[:200], autoescape=True))
    if wanted.status == "withdrawn":
        return [*rules, ProblemRow.withdrawn.is_(True)]
    if wanted.status in ("valid", "invalid"):
        rules.append(ProblemRow.valid.is_(wanted.status == "valid"))
    elif wanted.status == "open":
        rules.append(ProblemRow.valid.is_(None))
    elif wanted.status in STATUSES:
        rules.append(ProblemRow.agreement == wanted.status)
    return [*rules, ~ProblemRow.withdrawn] if wanted.status else rules


def _page(session: Session, query: Select[Any], page: int, per_page: int) -> tuple[Sequence[Any], int, int, int]:
    total = session.scalar(select(func.count()).select_from(query.order_by(None).subquery())) or 0
    pages = max(1, -(-total // per_page))
    number = min(max(page, 1), pages)
    return session.scalars(query.limit(per_page).offset((number - 1) * per_page)).all(), total, number, pages


def _infos(session: Session, rows: Sequence[ProblemRow]) -> list[ProblemInfo]:
    votes: dict[int, list[VoteInfo]] = defaultdict(list)
    by_id = {row.id: row for row in rows}
    query = (
        select(Vote, Submission, Worker.code)
        .join(Submission, Submission.id == Vote.submission_id)
        .join(Worker, Worker.id == Vote.worker_id)
        .where(Vote.problem_id.in_(by_id))
        .order_by(Vote.id)
    )
    for vote, submission, code in session.execute(query):
        votes[vote.problem_id].append(_vote(vote, submission, code, by_id[vote.problem_id].candidates))
    ids = {row.author_id for row in rows if row.author_id is not None}
    people = select(Worker.id, Worker.code).where(Worker.id.in_(ids))
    authors = {person.id: person.code for person in session.execute(people)}
    return [_info(row, authors.get(row.author_id or 0), tuple(votes[row.id])) for row in rows]


def _info(row: ProblemRow, author: str | None, votes: tuple[VoteInfo, ...]) -> ProblemInfo:
    problem = to_problem(row)
    return ProblemInfo(
        row.id,
        row.public_id,
        problem.before,
        problem.after,
        problem.candidates,
        problem.answer,
        problem.pronoun,
        problem.domain,
        str(problem.labels.get("topic", "")),
        str(problem.labels.get("anchor", "")),
        row.variant,
        author,
        row.valid,
        row.agreement,
        row.withdrawn,
        row.created_at,
        votes,
    )


def _vote(vote: Vote, submission: Submission, code: str, candidates: Sequence[str]) -> VoteInfo:
    return VoteInfo(
        vote.submission_id,
        code,
        vote.kind,
        said(vote.kind, vote.choice, candidates),
        vote.equally_plausible,
        vote.local_decides,
        vote.counted,
        submission.why_not,
        submission.seconds,
        vote.at,
    )


def said(kind: str, choice: int | None, candidates: Sequence[str]) -> str:
    """A vote in words."""
    if choice is None:
        return "cannot tell"
    return ("no", "yes")[choice] if kind in (SWITCHABLE, ASSOCIATIVE) else candidates[choice]


def _submission(row: Submission, code: str) -> SubmissionInfo:
    return SubmissionInfo(
        row.id,
        code,
        row.kind,
        row.fields,
        row.counted,
        row.why_not,
        row.late,
        row.seconds,
        row.pasted,
        row.adversary,
        row.submitted_at,
    )


def _code(session: Session, worker_id: int) -> str:
    return session.get_one(Worker, worker_id).code
