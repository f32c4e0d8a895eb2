"""How good the work is: each worker's gold questions, haste and pasting, and how far workers agree.

Agreement is Fleiss' kappa and Gwet's AC1 for every question, with their intervals, and the answers by Dawid and Skene's
model of workers. Problems whose votes are still out do not count.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np
from sqlalchemy import ColumnElement, Select, and_, case, func, select
from sqlalchemy.orm import Session, aliased

from winokit.extend import BadInput, fleiss_kappa, gwet_ac1
from winokit_collect.study import listings, schema
from winokit_collect.study.config import QualityConfig
from winokit_collect.study.dawid_skene import fit_dawid_skene
from winokit_collect.study.gold import MISSED
from winokit_collect.study.listings import ListingPage
from winokit_collect.study.schema import Lease, Payment, ProblemRow, Submission, Task, Vote, Worker
from winokit_collect.study.study import Study

LARGE = 5_000
"""Submissions from which on counting them takes long enough to be noticed."""
KEPT = timedelta(seconds=30)
FEW = 5
"""Fewer votes than this say nothing about a worker."""
OFTEN = 0.2
"""A share of hasty submissions, or of pasted texts, from which on a worker is marked."""
QUESTIONS = (
    (schema.VALIDATE, "answer", "choice"),
    (schema.VALIDATE, "equally plausible", "equally_plausible"),
    (schema.VALIDATE, "decided by the clause", "local_decides"),
    (schema.SWITCHABLE, "switchable", "choice"),
    (schema.ASSOCIATIVE, "associative", "choice"),
    (schema.EVALUATE, "answer", "choice"),
)


class WorkerQuality:
    """What is known about one worker's work.

    Of their votes, `compared` were on problems on which most others say the same, and `agreed` say so too.
    """

    def __init__(
        self, worker: Worker, asked: QualityConfig, sums: Mapping[str, Any], agreed: int, compared: int
    ) -> None:
        self.code, self.state, self.pilot = worker.code, worker.state, worker.pilot
        self.submissions, written = int(sums["submissions"]), int(sums["written"])
        self.votes = self.submissions - written
        self.agreement = agreed / compared if compared >= FEW else None
        self.gold_seen, self.gold_right = int(sums["gold_seen"] + sums["gold_missed"]), int(sums["gold_right"])
        self.median_seconds: float | None = sums["median_seconds"]
        self.hasty, self.pasted, self.earned_cents = (int(sums[name]) for name in ("hasty", "pasted", "earned_cents"))
        flags = {
            "fails gold questions": self.gold_seen >= FEW
            and self.gold_right < asked.gold_least_accuracy * self.gold_seen,
            "disagrees with others": self.agreement is not None and self.agreement < 0.6,
            "hasty": self.submissions >= FEW and self.hasty > OFTEN * self.submissions,
            "pastes texts": self.pasted > OFTEN * written,
        }
        self.flags = tuple(flag for flag, holds in flags.items() if holds)


def workers(study: Study, *which: ColumnElement[bool]) -> list[WorkerQuality]:
    """Everybody who has joined, in that order, those who have withdrawn included; or those whom conditions choose."""
    return list(_workers(study, select(Worker).where(*which).order_by(Worker.id), only_some=bool(which)))


def workers_page(study: Study, page: int) -> ListingPage[WorkerQuality]:
    """The same, page by page; where they have done much, counted once in half a minute, but for their state."""
    listing = listings.page_of(study, Worker, [], [Worker.id], page)
    # By their codes: SQLite gives the number of somebody who was removed to the next who comes.
    codes = tuple(worker.code for worker in listing.rows)
    now = study.now()
    at, rows = study.kept_workers.get(codes, (None, []))
    if at is None or now - at >= KEPT:
        at = now
        rows = workers(study, Worker.id.in_([worker.id for worker in listing.rows]))
        if sum(row.submissions for row in rows) >= LARGE:
            study.kept_workers[codes] = at, rows
    for row, worker in zip(rows, listing.rows, strict=True):
        row.state, row.pilot = worker.state, worker.pilot
    at = at if codes in study.kept_workers else None
    return ListingPage(rows, listing.total, listing.number, listing.pages, at)


def _workers(study: Study, query: Select[Worker], *, only_some: bool) -> Iterator[WorkerQuality]:
    asked = study.config.quality
    none = {"median_seconds": None}
    with study.store.read(steady=True) as session:
        people = session.scalars(query).all()
        ids = [worker.id for worker in people] if only_some else None
        sums: dict[int, dict[str, Any]] = defaultdict(lambda: defaultdict(int, none))
        for rows in (session.execute(about).mappings() for about in _sums_by_worker(asked, ids)):
            for row in rows:
                sums[row["worker_id"]].update(row)
        agreement = _agreement_with_others(session, ids)
    for worker in people:
        yield WorkerQuality(worker, asked, sums[worker.id], *agreement[worker.id])


def _sums_by_worker(asked: QualityConfig, ids: Sequence[int] | None) -> Iterator[Select[Any]]:
    """Queries of sums for each worker, over what an index holds; all workers, where no ids are given."""
    is_written = Submission.kind == schema.WRITE
    fast = Submission.seconds < case((is_written, asked.fast_write_seconds), else_=asked.fast_vote_seconds)
    pasted = Submission.pasted >= 40  # characters: more than a name or a word
    counted = (func.count().filter(rule) for rule in (is_written, fast, pasted))
    handed_in = [func.count(), *counted]
    yield _by_worker(Submission.worker_id, ids, ("submissions", "written", "hasty", "pasted"), handed_in)
    gold = [func.count(), func.count().filter(Vote.is_right.is_(True))]
    yield _by_worker(Vote.worker_id, ids, ("gold_seen", "gold_right"), gold).where(
        Vote.gold, Vote.is_right.is_not(None)
    )
    missed = _by_worker(Lease.worker_id, ids, ("gold_missed",), [func.count()]).join(Task, Task.id == Lease.task_id)
    yield missed.where(Task.gold, Lease.state.in_(MISSED))
    yield _by_worker(Payment.worker_id, ids, ("earned_cents",), [func.sum(Payment.cents)])
    whose = Submission.worker_id
    place = func.row_number().over(partition_by=whose, order_by=Submission.seconds)
    count = func.count().over(partition_by=whose)
    columns = (whose, Submission.seconds, place.label("place"), count.label("count"))
    times = select(*columns).where(*_of(whose, ids)).subquery()
    is_middle = times.c.place.in_(((times.c.count + 1) // 2, (times.c.count + 2) // 2))
    yield _by_worker(times.c.worker_id, None, ("median_seconds",), [func.avg(times.c.seconds)]).where(is_middle)


def _by_worker(worker: Any, ids: Sequence[int] | None, names: Sequence[str], sums: Sequence[Any]) -> Select[Any]:
    labelled = (value.label(name) for name, value in zip(names, sums, strict=True))
    return select(worker.label("worker_id"), *labelled).where(*_of(worker, ids)).group_by(worker)


def _of(worker: Any, ids: Sequence[int] | None) -> list[ColumnElement[bool]]:
    return [] if ids is None else [worker.in_(ids)]


def _agreement_with_others(session: Session, ids: Sequence[int] | None) -> dict[int, tuple[int, int]]:
    """For each worker: how many votes are those of most others on the same problem, of how many with such a most.

    The database tells how many votes of a worker met how many others for each choice, which are few cases.
    """
    own = aliased(Vote)
    other = aliased(Vote)
    choices = [None, *_choices(session)]
    same = (other.task_id == own.task_id, other.worker_id != own.worker_id, other.counted)
    others = [func.count().filter(other.choice.is_not_distinct_from(choice)) for choice in choices]
    columns = [counted.label(f"others_{place}") for place, counted in enumerate(others)]
    votes = select(own.worker_id, own.choice, *columns).join(other, and_(*same)).where(own.counted, ~own.gold)
    each = votes.where(*_of(own.worker_id, ids)).group_by(own.worker_id, own.task_id, own.choice).subquery()
    counts: dict[int, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for worker_id, choice, *met, times in session.execute(select(*each.c, func.count()).group_by(*each.c)):
        most = sorted(met)[-1]
        next_ = sorted(met)[-2]
        if most > next_:
            agreed, compared = counts[worker_id]
            is_theirs = choices[met.index(most)] == choice
            counts[worker_id] = (agreed + is_theirs * times, compared + times)
    return counts


def _choices(session: Session) -> range:
    """Every choice that somebody made."""
    return range(1 + (session.scalar(select(func.max(Vote.choice))) or 1))


@dataclass(frozen=True)
class QuestionAgreement:
    """Agreement on one question of one kind of task."""

    kind: str
    question: str
    problems: int
    """Problems with all their votes."""
    unanimous: int
    """Those on which all said the same."""
    kappa: float | None
    why_not: str | None = None
    """Why there is no kappa."""
    kappa_low: float | None = None
    kappa_high: float | None = None
    ac1: float | None = None
    ac1_low: float | None = None
    ac1_high: float | None = None


@dataclass(frozen=True)
class DawidSkene:
    """What Dawid and Skene's model makes of the votes of one kind."""

    labels: dict[str, int]
    """The most likely choice, by the problem's public id."""
    differs: tuple[str, ...]
    """Problems where that is not the choice of most."""
    reliability: dict[str, float]
    """How often each worker is right according to the model."""


def agreement_now(study: Study, session: Session) -> list[QuestionAgreement]:
    """Agreement on every question, over tasks with all their votes; the database counts the few ways they can fall."""
    values: dict[str, Sequence[Any]] = dict.fromkeys(("equally_plausible", "local_decides"), (True, False))
    values["choice"] = _choices(session)
    answers = [(name, value) for name in values for value in values[name]]
    counted = [func.count().filter(getattr(Vote, name) == value) for name, value in answers]
    labelled = [count.label(f"answer_{place}") for place, count in enumerate(counted)]
    deciding = (Vote.counted, ~Vote.gold, ~Vote.doubted)
    by_task = select(Vote.kind, *labelled).where(*deciding).group_by(Vote.task_id, Vote.kind)
    complete = by_task.having(func.count() == study.config.tasks.votes).subquery()
    ways = session.execute(select(*complete.c, func.count()).group_by(*complete.c)).all()
    rows = []
    for kind, question, name in QUESTIONS:
        places = [place for place, (asked, _) in enumerate(answers, 1) if asked == name]
        tables = Counter[tuple[int, ...]]()
        for way in ways:
            tables[tuple(way[place] for place in places)] += way[-1] if way[0] == kind else 0
        rows += [_agreement(kind, question, +tables, study.config.tasks.votes)] * (kind in study.config.tasks.kinds)
    return rows


def _agreement(kind: str, question: str, tables: Counter[tuple[int, ...]], votes: int) -> QuestionAgreement:
    """Agreement from how many problems have how many votes for each answer; those where one is missing are left out."""
    asked = {table: count for table, count in sorted(tables.items()) if sum(table) == votes}
    known = (kind, question, sum(asked.values()), sum(n for table, n in asked.items() if max(table) == votes))
    if not asked:
        return QuestionAgreement(*known, None, "no problem has all its votes yet")
    votes_cast = np.repeat(list(asked), list(asked.values()), axis=0)
    try:
        kappa = fleiss_kappa(votes_cast)
        ac1 = gwet_ac1(votes_cast)
    except BadInput as error:
        return QuestionAgreement(*known, None, str(error))
    return QuestionAgreement(*known, kappa.value, None, kappa.low, kappa.high, ac1.value, ac1.low, ac1.high)


def dawid_skene(study: Study, kind: str, *, iterations: int = 100) -> DawidSkene:
    """Answers and workers' reliability by Dawid and Skene's model."""
    query = (
        select(ProblemRow.public_id, Worker.code, Vote.choice)
        .join(ProblemRow, ProblemRow.id == Vote.problem_id)
        .join(Worker, Worker.id == Vote.worker_id)
        .where(Vote.counted, ~Vote.gold, Vote.kind == kind, Vote.choice.is_not(None))
        .order_by(Vote.id)
    )
    with study.store.read() as session:
        rows = [(name, worker, int(choice or 0)) for name, worker, choice in session.execute(query)]
    if not rows:
        raise BadInput(f"no {kind!r} votes yet")
    names = _number_values(row[0] for row in rows)
    codes = _number_values(row[1] for row in rows)
    items = [names[row[0]] for row in rows]
    judges = [codes[row[1]] for row in rows]
    fit = fit_dawid_skene(items, judges, [row[2] for row in rows], iterations=iterations)
    labels = {name: int(label) for name, label in zip(names, fit.labels, strict=True)}
    votes: dict[str, Counter[int]] = defaultdict(Counter)
    for name, _, choice in rows:
        votes[name][choice] += 1
    differs = tuple(name for name, label in labels.items() if votes[name][label] < max(votes[name].values()))
    reliability = {code: float(share) for code, share in zip(codes, fit.reliability, strict=True)}
    return DawidSkene(labels, differs, reliability)


def _number_values(values: Iterable[str]) -> dict[str, int]:
    """Each value with its number, in the order in which they come."""
    numbers: dict[str, int] = {}
    for value in values:
        numbers.setdefault(value, len(numbers))
    return numbers
