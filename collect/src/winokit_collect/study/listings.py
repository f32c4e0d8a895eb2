"""Lists of problems, submissions and the audit log, filtered and in pages, newest first."""

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
    """One page of a list, with the totals of rows and pages.

    `total` counts all rows, `pages` all pages. `number` is this page's, from 1.
    """

    rows: Sequence[T]
    total: int
    number: int
    pages: int
    at: datetime | None = None
    """Time at which the rows were counted, None for now."""


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
    """One page of the problems that pass a filter, newest first.

    Authors and votes are loaded with them. A filter that is empty lets everything through. `status` is one of STATUSES,
    `author` the code of a worker, `text` a part of the problem's text. Status `flagged` means that a worker has made a
    remark on it. Pages are counted from 1.
    """
    conditions = _filter_problems(study, status=status, domain=domain, origin=origin, author=author, text=text)
    return page_of(study, ProblemRow, conditions, [ProblemRow.id.desc()], page, per_page, _WITH_VOTES)


def next_to_decide(study: Study, *, before: int | None = None, **wanted: str) -> tuple[ProblemRow | None, int]:
    """Newest problem that passes a filter and has no requester's decision.

    Returns the problem, or None, and the number of such problems. `before` is the number of the problem shown last:
    problems with higher numbers come again only after all others. `wanted` has the filters of `problems`. Withdrawn
    problems are left out.
    """
    last = select(Adjudication.valid).where(Adjudication.problem_id == ProblemRow.id).order_by(Adjudication.id.desc())
    is_undecided = last.limit(1).scalar_subquery().is_(None)
    conditions = [*_filter_problems(study, **wanted), is_undecided, ~ProblemRow.withdrawn]
    with study.store.read() as session:
        counting = select(func.count()).select_from(ProblemRow).where(*conditions)
        count = session.scalar(counting) or 0
        numbers = select(ProblemRow.id).where(*conditions).order_by(ProblemRow.id.desc()).limit(1)
        number = None
        if before is not None:
            number = session.scalar(numbers.where(ProblemRow.id < before))
        if number is None:
            number = session.scalar(numbers)
        row = None if number is None else session.get(ProblemRow, number, options=IN_DETAIL)
        return row, count


def _filter_problems(
    study: Study, *, status: str = "", domain: str = "", origin: str = WRITTEN, author: str = "", text: str = ""
) -> list[ColumnElement[bool]]:
    """SQL conditions for the filters of `problems`."""
    by_author = select(Worker.id).where(Worker.code == author).scalar_subquery()
    whole_text: ColumnElement[str] = ProblemRow.before.concat("_").concat(ProblemRow.after)
    if text.isascii() and not study.store.is_sqlite:
        whole_text = whole_text.collate("C")  # a to z in either case, in half the time that all letters take
    rules: list[ColumnElement[bool]] = []
    if origin:
        rules.append(ProblemRow.origin == origin)
    if domain:
        rules.append(ProblemRow.domain == domain)
    if author:
        rules.append(ProblemRow.author_id == by_author)
    if text:
        rules.append(whole_text.icontains(text[:200], autoescape=True))
    return rules + _filter_status(status)


def _filter_status(status: str) -> list[ColumnElement[bool]]:
    """SQL conditions for one of STATUSES. Empty for an empty status."""
    rules: list[ColumnElement[bool]] = []
    if status:
        rules.append(ProblemRow.withdrawn.is_(status == "withdrawn"))
    if status in ("valid", "invalid"):
        rules.append(ProblemRow.valid.is_(status == "valid"))
    elif status == "open":
        rules.append(ProblemRow.valid.is_(None))
    elif status == "flagged":
        rules.append(ProblemRow.remarks.any())
    elif status in (UNANIMOUS_YES, UNANIMOUS_NO, SPLIT):
        rules.append(ProblemRow.agreement == status)
    return rules


def problem(study: Study, problem_id: int) -> tuple[ProblemRow, Sequence[ProblemRow]]:
    """Read one problem with its votes, submission and decisions, and its twins.

    Twins are the other problems of its group in the same variant. Raises NotFound if there is none with this number.
    """
    with study.store.read() as session:
        stored_row = session.get(ProblemRow, problem_id, options=IN_DETAIL)
        row = found(stored_row, f"no problem {problem_id}")
        if row.group_id is None:
            return row, ()
        is_twin = (ProblemRow.group_id == row.group_id, ProblemRow.id != row.id, ProblemRow.variant == row.variant)
        twins = select(ProblemRow).where(*is_twin).order_by(ProblemRow.id)
        return row, session.scalars(twins).all()


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
    """One page of the submissions that pass a filter.

    Workers and problems are loaded with them. `worker` is a worker's code. `number` selects a single submission.
    Filters that are empty or None let everything through.
    """
    whose = select(Worker.id).where(Worker.code == worker).scalar_subquery()
    conditions: list[ColumnElement[bool]] = []
    if worker:
        conditions.append(Submission.worker_id == whose)
    if kind:
        conditions.append(Submission.kind == kind)
    if number:
        conditions.append(Submission.id == number)
    if counted is not None:
        conditions.append(Submission.counted.is_(True) if counted else ~Submission.counted)
    newest = [Submission.submitted_at.desc(), Submission.id.desc()]
    return page_of(study, Submission, conditions, newest, page, per_page, _ABOUT)


def log_entries(
    study: Study, limit: int = 100, *, before: int | None = None, action: str | None = None
) -> Sequence[LogEntry]:
    """The newest `limit` lines of the audit log.

    With `before`, only lines with a lower number. With `action`, only lines of this action.
    """
    conditions: list[ColumnElement[bool]] = []
    if before is not None:
        conditions.append(LogEntry.id < before)
    if action is not None:
        conditions.append(LogEntry.action == action)
    query = select(LogEntry).where(*conditions).order_by(LogEntry.id.desc()).limit(limit)
    with study.store.read() as session:
        return session.scalars(query).all()


def page_of(
    study: Study,
    table: type[T],
    conditions: Sequence[ColumnElement[bool]],
    order: Sequence[Any],
    page: int,
    per_page: int = PER_PAGE,
    shown: Sequence[ORMOption] = (),
) -> ListingPage[T]:
    """Read one page of a table.

    `conditions` select its rows, `order` has the columns to sort by, `shown` the related rows to load. The keys are
    selected first, from indexes alone. Only their rows are then read.
    """
    key: Any = inspect(table).primary_key[0]
    keys_query = select(key).where(*conditions).order_by(*order).limit(per_page)
    with study.store.read() as session:
        number = max(page, 1)
        start = (max(page, 1) - 1) * per_page
        keys = session.scalars(keys_query.offset(start)).all()
        total = start + len(keys)
        if len(keys) == per_page or (start and not keys):  # there may be more, or less, than what was found here
            counting = select(func.count()).select_from(table).where(*conditions)
            total = session.scalar(counting) or 0
        listing = page_from(range(total), page, per_page)
        if listing.number != number:
            start = (listing.number - 1) * per_page
            keys = session.scalars(keys_query.offset(start)).all()
        query = select(table).where(key.in_(keys)).order_by(*order).options(*shown)
        rows = session.scalars(query).all()
        return ListingPage(rows, total, listing.number, listing.pages)


def page_from(rows: Sequence[T], page: int, per_page: int = PER_PAGE) -> ListingPage[T]:
    """Cut one page out of a sequence of rows.

    A page number that is too high or too low gives the last or the first page.
    """
    pages = max(1, -(-len(rows) // per_page))
    number = min(max(page, 1), pages)
    end = number * per_page
    return ListingPage(rows[end - per_page : end], len(rows), number, pages)
