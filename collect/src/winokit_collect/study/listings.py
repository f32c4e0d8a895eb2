"""Problems with their votes, submissions and the audit log, filtered and page by page, newest first."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from sqlalchemy import ColumnElement, func, inspect, select
from sqlalchemy.orm import selectinload
from sqlalchemy.orm.interfaces import ORMOption

from winokit_collect.study.refusals import found
from winokit_collect.study.schema import WRITTEN, Adjudication, LogEntry, ProblemRow, Remark, Submission, Vote, Worker
from winokit_collect.study.study import Study
from winokit_collect.study.validity import SPLIT, UNANIMOUS_NO, UNANIMOUS_YES

T = TypeVar("T")
PER_PAGE = 50
STATUSES = ("valid", "invalid", "open", "withdrawn", "flagged", UNANIMOUS_YES, UNANIMOUS_NO, SPLIT)
_VOTES = selectinload(ProblemRow.votes)
_WITH_VOTES = (
    selectinload(ProblemRow.author),
    _VOTES.selectinload(Vote.worker),
    _VOTES.selectinload(Vote.submission),
    selectinload(ProblemRow.remarks).selectinload(Remark.worker),
)
_ABOUT = [selectinload(table) for table in (Submission.worker, Submission.written, Submission.vote)]
IN_DETAIL = (*_WITH_VOTES, selectinload(ProblemRow.submission), selectinload(ProblemRow.decisions))


@dataclass(frozen=True)
class ListingPage(Generic[T]):
    """Some of what was found."""

    rows: Sequence[T]
    total: int
    number: int
    pages: int
    at: datetime | None = None
    """When it was counted, if that is not now."""


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
    which = _problem_rules(study, status=status, domain=domain, origin=origin, author=author, text=text)
    return page_of(study, ProblemRow, which, [ProblemRow.id.desc()], page, per_page, _WITH_VOTES)


def next_to_decide(study: Study, *, before: int | None = None, **wanted: str) -> tuple[ProblemRow | None, int]:
    """The newest problem of a filter that no requester has decided about, and how many there are.

    `before` is the number of the one that was looked at last: problems that were passed over come after the others.
    """
    last = select(Adjudication.valid).where(Adjudication.problem_id == ProblemRow.id).order_by(Adjudication.id.desc())
    is_undecided = last.limit(1).scalar_subquery().is_(None)
    which = [*_problem_rules(study, **wanted), is_undecided, ~ProblemRow.withdrawn]
    with study.store.read() as session:
        count = session.scalar(select(func.count()).select_from(ProblemRow).where(*which)) or 0
        numbers = select(ProblemRow.id).where(*which).order_by(ProblemRow.id.desc()).limit(1)
        number = None
        if before is not None:
            number = session.scalar(numbers.where(ProblemRow.id < before))
        if number is None:
            number = session.scalar(numbers)
        row = None if number is None else session.get(ProblemRow, number, options=IN_DETAIL)
        return row, count


def _problem_rules(
    study: Study, *, status: str = "", domain: str = "", origin: str = WRITTEN, author: str = "", text: str = ""
) -> list[ColumnElement[bool]]:
    """The conditions of a filter of problems."""
    by_author = select(Worker.id).where(Worker.code == author).scalar_subquery()
    whole: ColumnElement[str] = ProblemRow.before.concat("_").concat(ProblemRow.after)
    if text.isascii() and not study.store.is_sqlite:
        whole = whole.collate("C")  # a to z in either case, in half the time that all letters take
    rules: list[tuple[str | bool, ColumnElement[bool]]] = [
        (origin, ProblemRow.origin == origin),
        (domain, ProblemRow.domain == domain),
        (author, ProblemRow.author_id == by_author),
        (text, whole.icontains(text[:200], autoescape=True)),
        (status, ProblemRow.withdrawn.is_(status == "withdrawn")),
        (status in ("valid", "invalid"), ProblemRow.valid.is_(status == "valid")),
        (status == "open", ProblemRow.valid.is_(None)),
        (status == "flagged", ProblemRow.remarks.any()),
        (status in (UNANIMOUS_YES, UNANIMOUS_NO, SPLIT), ProblemRow.agreement == status),
    ]
    return [rule for is_asked, rule in rules if is_asked]


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
    number: int | None = None,
    page: int = 1,
    per_page: int = PER_PAGE,
) -> ListingPage[Submission]:
    """Submissions, or the one with a number, each with its worker and the problems that it is about."""
    whose = select(Worker.id).where(Worker.code == worker).scalar_subquery()
    wanted: list[ColumnElement[bool]] = [Submission.worker_id == whose] if worker else []
    wanted += [Submission.kind == kind] if kind else []
    wanted += [Submission.id == number] if number else []
    wanted += [] if counted is None else [Submission.counted.is_(True) if counted else ~Submission.counted]
    newest = [Submission.submitted_at.desc(), Submission.id.desc()]
    return page_of(study, Submission, wanted, newest, page, per_page, _ABOUT)


def log_entries(
    study: Study, limit: int = 100, *, before: int | None = None, action: str | None = None
) -> Sequence[LogEntry]:
    """The newest lines of the audit log, or the newest before one."""
    wanted = [LogEntry.id < before] if before is not None else []
    wanted += [LogEntry.action == action] if action is not None else []
    with study.store.read() as session:
        return session.scalars(select(LogEntry).where(*wanted).order_by(LogEntry.id.desc()).limit(limit)).all()


def page_of(
    study: Study,
    table: type[T],
    which: Sequence[ColumnElement[bool]],
    order: Sequence[Any],
    page: int,
    per_page: int = PER_PAGE,
    shown: Sequence[ORMOption] = (),
) -> ListingPage[T]:
    """A page of a table. Which rows it has is asked first, of indexes alone; only these are then read."""
    key: Any = inspect(table).primary_key[0]
    asked = select(key).where(*which).order_by(*order).limit(per_page)
    with study.store.read() as session:
        number = max(page, 1)
        start = (max(page, 1) - 1) * per_page
        keys = session.scalars(asked.offset(start)).all()
        total = start + len(keys)
        if len(keys) == per_page or (start and not keys):  # there may be more, or less, than what was found here
            total = session.scalar(select(func.count()).select_from(table).where(*which)) or 0
        listing = page_from(range(total), page, per_page)
        if listing.number != number:
            keys = session.scalars(asked.offset((listing.number - 1) * per_page)).all()
        rows = select(table).where(key.in_(keys)).order_by(*order).options(*shown)
        return ListingPage(session.scalars(rows).all(), total, listing.number, listing.pages)


def page_from(rows: Sequence[T], page: int, per_page: int = PER_PAGE) -> ListingPage[T]:
    """A page of rows that are there."""
    pages = max(1, -(-len(rows) // per_page))
    number = min(max(page, 1), pages)
    return ListingPage(rows[(number - 1) * per_page : number * per_page], len(rows), number, pages)
