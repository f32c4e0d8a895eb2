"""Problems with their votes, submissions and the audit log, filtered and page by page, newest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sqlalchemy import ColumnElement, Select, func, select
from sqlalchemy.orm import selectinload

from winokit.collect.study.refusals import found
from winokit.collect.study.schema import WRITTEN, LogEntry, ProblemRow, Submission, Vote, Worker
from winokit.collect.study.study import Study
from winokit.collect.study.validity import SPLIT, UNANIMOUS_NO, UNANIMOUS_YES

T = TypeVar("T")
PER_PAGE = 50
STATUSES = ("valid", "invalid", "open", "withdrawn", UNANIMOUS_YES, UNANIMOUS_NO, SPLIT)
_VOTES = selectinload(ProblemRow.votes)
_WITH_VOTES = (
    selectinload(ProblemRow.author),
    _VOTES.selectinload(Vote.worker),
    _VOTES.selectinload(Vote.submission),
)
IN_DETAIL = (*_WITH_VOTES, selectinload(ProblemRow.submission), selectinload(ProblemRow.decisions))


@dataclass(frozen=True)
class ListingPage(Generic[T]):
    """Some of what was found."""

    rows: Sequence[T]
    total: int
    number: int
    pages: int


def problems(
    study: Study,
    *,
    status: str = "",
    domain: str = "",
    origin: str = WRITTEN,
    author: str = "",
    text: str = "",
    page: int = 1,
    per_page: int = PER_PAGE,
) -> ListingPage[ProblemRow]:
    """The problems that are asked for, each with its author and its votes.

    What is empty does not count; a status is one of STATUSES, an author the code of a worker.
    """
    by_author = select(Worker.id).where(Worker.code == author).scalar_subquery()
    whole = ProblemRow.before.concat("_").concat(ProblemRow.after)
    rules: list[tuple[str | bool, ColumnElement[bool]]] = [
        (origin, ProblemRow.origin == origin),
        (domain, ProblemRow.domain == domain),
        (author, ProblemRow.author_id == by_author),
        (text, whole.icontains(text[:200], autoescape=True)),
        (status, ProblemRow.withdrawn.is_(status == "withdrawn")),
        (status in ("valid", "invalid"), ProblemRow.valid.is_(status == "valid")),
        (status == "open", ProblemRow.valid.is_(None)),
        (status in (UNANIMOUS_YES, UNANIMOUS_NO, SPLIT), ProblemRow.agreement == status),
    ]
    query = select(ProblemRow).where(*(rule for is_asked, rule in rules if is_asked)).order_by(ProblemRow.id.desc())
    return _page(study, query.options(*_WITH_VOTES), page, per_page)


def problem(study: Study, problem_id: int) -> tuple[ProblemRow, Sequence[ProblemRow]]:
    """One problem, with its votes, its submission and what was decided about it; and its twins."""
    with study.store.read() as session:
        row = found(session.get(ProblemRow, problem_id, options=IN_DETAIL), f"no problem {problem_id}")
        if row.group_id is None:
            return row, ()
        group = (ProblemRow.group_id == row.group_id, ProblemRow.id != row.id, ProblemRow.variant == row.variant)
        return row, session.scalars(select(ProblemRow).where(*group).order_by(ProblemRow.id)).all()


def submissions(
    study: Study,
    *,
    worker: str = "",
    kind: str = "",
    counted: bool | None = None,
    page: int = 1,
    per_page: int = PER_PAGE,
) -> ListingPage[Submission]:
    """Submissions, each with its worker."""
    wanted: list[ColumnElement[bool]] = [Submission.worker.has(code=worker)] if worker else []
    wanted += [Submission.kind == kind] if kind else []
    wanted += [Submission.counted == counted] if counted is not None else []
    query = select(Submission).where(*wanted).order_by(Submission.id.desc())
    return _page(study, query.options(selectinload(Submission.worker)), page, per_page)


def log_entries(
    study: Study, limit: int = 100, *, before: int | None = None, action: str | None = None
) -> Sequence[LogEntry]:
    """The newest lines of the audit log, or the newest before one."""
    wanted = [LogEntry.id < before] if before is not None else []
    wanted += [LogEntry.action == action] if action is not None else []
    with study.store.read() as session:
        return session.scalars(select(LogEntry).where(*wanted).order_by(LogEntry.id.desc()).limit(limit)).all()


def _page(study: Study, query: Select[Any], page: int, per_page: int) -> ListingPage[Any]:
    with study.store.read() as session:
        total = session.scalar(select(func.count()).select_from(query.order_by(None).subquery())) or 0
        pages = max(1, -(-total // per_page))
        number = min(max(page, 1), pages)
        rows = session.scalars(query.limit(per_page).offset((number - 1) * per_page)).all()
        return ListingPage(rows, total, number, pages)
