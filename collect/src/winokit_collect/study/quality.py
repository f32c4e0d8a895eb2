"""Measure the quality of workers' votes and texts, and the agreement between workers.

Agreement is Fleiss' kappa and Gwet's AC1 for every question, with their intervals, and the answers by Dawid and
Skene's model of workers. Problems that still lack votes do not count.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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
"""Number of submissions from which on counting them takes noticeably long."""
KEPT = timedelta(seconds=30)
FEW = 5
"""Fewest votes that say something about a worker."""
OFTEN = 0.2
"""Share of hasty submissions, or of pasted texts, above which a worker is flagged."""
QUESTIONS = (
    (schema.VALIDATE, "answer", "choice"),
    (schema.VALIDATE, "equally plausible", "equally_plausible"),
    (schema.VALIDATE, "decided by the clause", "local_decides"),
    (schema.SWITCHABLE, "switchable", "choice"),
    (schema.ASSOCIATIVE, "associative", "choice"),
    (schema.EVALUATE, "answer", "choice"),
)


class WorkerQuality:
    """Numbers and warnings about one worker's work.

    `compared` is the number of their votes on problems where the others have a clear majority. `agreed` is the number
    of those that agree with it.
    """

    def __init__(
        self, worker: Worker, limits: QualityConfig, sums: Mapping[str, Any], agreed: int, compared: int
    ) -> None:
        self.code = worker.code
        self.state = worker.state
        self.pilot = worker.pilot
        self.submissions = int(sums["submissions"])
        written = int(sums["written"])
        self.votes = self.submissions - written
        self.agreement = agreed / compared if compared >= FEW else None
        self.gold_seen = int(sums["gold_seen"] + sums["gold_missed"])
        self.gold_right = int(sums["gold_right"])
        self.median_seconds: float | None = sums["median_seconds"]
        self.hasty = int(sums["hasty"])
        self.pasted = int(sums["pasted"])
        self.earned_cents = int(sums["earned_cents"])
        self.flags = tuple(self._list_flags(written, limits.gold_least_accuracy))

    def _list_flags(self, written: int, gold_least_accuracy: float) -> Iterator[str]:
        """Yield warnings about the worker for the requester, in words."""
        least_right = gold_least_accuracy * self.gold_seen
        if self.gold_seen >= FEW and self.gold_right < least_right:
            yield "fails gold questions"
        if self.agreement is not None and self.agreement < 0.6:
            yield "disagrees with others"
        if self.submissions >= FEW and self.hasty > OFTEN * self.submissions:
            yield "hasty"
        if self.pasted > OFTEN * written:
            yield "pastes texts"


def workers(study: Study, *conditions: ColumnElement[bool]) -> list[WorkerQuality]:
    """Quality of the workers that fulfil some conditions, in the order of joining.

    Without conditions, of all workers, including those who have withdrawn.
    """
    query = select(Worker).where(*conditions).order_by(Worker.id)
    return list(_collect_workers(study, query, only_some=bool(conditions)))


def workers_page(study: Study, page: int) -> ListingPage[WorkerQuality]:
    """One page of the quality of all workers, in the order of joining.

    If the page's workers have many submissions, the numbers are kept for half a minute. States of workers are always
    current.
    """
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
        row.state = worker.state
        row.pilot = worker.pilot
    at = at if codes in study.kept_workers else None
    return ListingPage(rows, listing.total, listing.number, listing.pages, at)


def _collect_workers(study: Study, query: Select[Worker], *, only_some: bool) -> Iterator[WorkerQuality]:
    """Yield the quality of each worker that a query selects.

    `only_some` says whether the sums are limited to these workers.
    """
    limits = study.config.quality
    no_times = {"median_seconds": None}
    with study.store.read(steady=True) as session:
        people = session.scalars(query).all()
        ids = [worker.id for worker in people] if only_some else None
        sums: dict[int, dict[str, Any]] = defaultdict(lambda: defaultdict(int, no_times))
        for sums_query in _select_sums(limits, ids):
            for row in session.execute(sums_query).mappings():
                sums[row["worker_id"]].update(row)
        agreement = _compare_with_others(session, ids)
    for worker in people:
        agreed, compared = agreement[worker.id]
        yield WorkerQuality(worker, limits, sums[worker.id], agreed, compared)


def _select_sums(limits: QualityConfig, ids: Sequence[int] | None) -> Iterator[Select[Any]]:
    """Yield queries of sums by worker, for the workers with these ids.

    None means all workers. The queries read only indexed columns.
    """
    is_written = Submission.kind == schema.WRITE
    fast = Submission.seconds < case((is_written, limits.fast_write_seconds), else_=limits.fast_vote_seconds)
    pasted = Submission.pasted >= 40  # characters: more than a name or a word
    counts = {
        "submissions": func.count(),
        "written": func.count().filter(is_written),
        "hasty": func.count().filter(fast),
        "pasted": func.count().filter(pasted),
    }
    yield _group_by_worker(Submission.worker_id, ids, tuple(counts), tuple(counts.values()))
    gold = [func.count(), func.count().filter(Vote.is_right.is_(True))]
    gold_votes = _group_by_worker(Vote.worker_id, ids, ("gold_seen", "gold_right"), gold)
    yield gold_votes.where(Vote.gold, Vote.is_right.is_not(None))
    missed = _group_by_worker(Lease.worker_id, ids, ("gold_missed",), [func.count()]).join(
        Task, Task.id == Lease.task_id
    )
    yield missed.where(Task.gold, Lease.state.in_(MISSED))
    yield _group_by_worker(Payment.worker_id, ids, ("earned_cents",), [func.sum(Payment.cents)])
    yield _select_medians(ids)


def _select_medians(ids: Sequence[int] | None) -> Select[Any]:
    """Query the median seconds of each worker's submissions."""
    worker = Submission.worker_id
    rank = func.row_number().over(partition_by=worker, order_by=Submission.seconds)
    count = func.count().over(partition_by=worker)
    columns = (worker, Submission.seconds, rank.label("rank"), count.label("count"))
    times = select(*columns).where(*_filter_workers(worker, ids)).subquery()
    middle_ranks = ((times.c.count + 1) // 2, (times.c.count + 2) // 2)
    medians = _group_by_worker(times.c.worker_id, None, ("median_seconds",), [func.avg(times.c.seconds)])
    return medians.where(times.c.rank.in_(middle_ranks))


def _group_by_worker(worker: Any, ids: Sequence[int] | None, names: Sequence[str], sums: Sequence[Any]) -> Select[Any]:
    """Query named sums by worker.

    `worker` is the column of the worker's id.
    """
    labelled = (value.label(name) for name, value in zip(names, sums, strict=True))
    query = select(worker.label("worker_id"), *labelled)
    return query.where(*_filter_workers(worker, ids)).group_by(worker)


def _filter_workers(worker: Any, ids: Sequence[int] | None) -> list[ColumnElement[bool]]:
    """SQL condition on a column of worker ids, none if `ids` is None."""
    return [] if ids is None else [worker.in_(ids)]


def _compare_with_others(session: Session, ids: Sequence[int] | None) -> dict[int, tuple[int, int]]:
    """Compare each worker's votes with the majority of the others.

    Only votes on the same problem are compared. Returns, by worker id, the number of votes that agree with it, and the
    number of votes compared. A vote is compared only if the others have a clear majority. The database counts the few
    distinct combinations of votes.
    """
    vote = aliased(Vote)
    other = aliased(Vote)
    choices = [None, *_list_choices(session)]
    is_on_same_task = (other.task_id == vote.task_id, other.worker_id != vote.worker_id, other.counted)
    columns = []
    for index, choice in enumerate(choices):
        with_choice = func.count().filter(other.choice.is_not_distinct_from(choice))
        columns.append(with_choice.label(f"others_{index}"))
    votes = select(vote.worker_id, vote.choice, *columns).join(other, and_(*is_on_same_task))
    votes = votes.where(vote.counted, ~vote.gold, *_filter_workers(vote.worker_id, ids))
    votes = votes.group_by(vote.worker_id, vote.task_id, vote.choice)
    cases = votes.subquery()
    counts: dict[int, tuple[int, int]] = defaultdict(lambda: (0, 0))
    case_counts = session.execute(select(*cases.c, func.count()).group_by(*cases.c))
    for worker_id, choice, *other_counts, times in case_counts:
        *_, second_most, most = sorted(other_counts)
        if most > second_most:
            agreed, compared = counts[worker_id]
            if choices[other_counts.index(most)] == choice:
                agreed += times
            counts[worker_id] = (agreed, compared + times)
    return counts


def _list_choices(session: Session) -> range:
    """All choices that votes may have: 0 up to the highest made."""
    highest = session.scalar(select(func.max(Vote.choice))) or 1
    return range(highest + 1)


@dataclass(frozen=True)
class QuestionAgreement:
    """Agreement of workers on one question of one kind of task."""

    kind: str
    question: str
    problems: int
    """Number of problems with all their votes."""
    unanimous: int
    """Number of problems on which all votes are the same."""
    kappa: float | None
    why_not: str | None = None
    """Reason why there is no kappa."""
    kappa_low: float | None = None
    kappa_high: float | None = None
    ac1: float | None = None
    ac1_low: float | None = None
    ac1_high: float | None = None


@dataclass(frozen=True)
class DawidSkene:
    """Answers and reliability of workers, as Dawid and Skene's model estimates them."""

    labels: dict[str, int]
    """The most likely choice, by the problem's public id."""
    differs: tuple[str, ...]
    """Public ids of problems where the label is not the majority's choice."""
    reliability: dict[str, float]
    """Probability that a worker is right, by code."""


def agreement_now(study: Study, session: Session) -> list[QuestionAgreement]:
    """Measure the agreement on every question, over tasks with all their votes.

    Votes on gold questions and doubted votes are left out.
    """
    values: dict[str, Sequence[Any]] = dict.fromkeys(("equally_plausible", "local_decides"), (True, False))
    values["choice"] = _list_choices(session)
    answer_names = []
    columns: list[Any] = []
    for name, name_values in values.items():
        for value in name_values:
            count = func.count().filter(getattr(Vote, name) == value)
            columns.append(count.label(f"answer_{len(columns)}"))
            answer_names.append(name)
    is_deciding = (Vote.counted, ~Vote.gold, ~Vote.doubted)
    by_task = select(Vote.kind, *columns).where(*is_deciding).group_by(Vote.task_id, Vote.kind)
    complete = by_task.having(func.count() == study.config.tasks.votes).subquery()
    ways = session.execute(select(*complete.c, func.count()).group_by(*complete.c)).all()
    rows = []
    for kind, question, name in QUESTIONS:
        if kind not in study.config.tasks.kinds:
            continue
        tables = Counter[tuple[int, ...]]()
        for way_kind, *answer_counts, times in ways:
            if way_kind == kind:
                table = [count for count, counted in zip(answer_counts, answer_names, strict=True) if counted == name]
                tables[tuple(table)] += times
        rows.append(_compute_agreement(kind, question, tables, study.config.tasks.votes))
    return rows


def _compute_agreement(kind: str, question: str, tables: Counter[tuple[int, ...]], votes: int) -> QuestionAgreement:
    """Compute the agreement on one question.

    `tables` counts the problems by their table of votes: the number of votes for each answer. Problems with fewer than
    `votes` votes are left out.
    """
    complete = {table: count for table, count in sorted(tables.items()) if sum(table) == votes}
    problem_count = sum(complete.values())
    unanimous_count = sum(count for table, count in complete.items() if max(table) == votes)
    base = QuestionAgreement(kind, question, problem_count, unanimous_count, None)
    if not complete:
        return replace(base, why_not="no problem has all its votes yet")
    votes_cast = np.repeat(list(complete), list(complete.values()), axis=0)
    try:
        kappa = fleiss_kappa(votes_cast)
        ac1 = gwet_ac1(votes_cast)
    except BadInput as error:
        return replace(base, why_not=str(error))
    return replace(
        base,
        kappa=kappa.value,
        kappa_low=kappa.low,
        kappa_high=kappa.high,
        ac1=ac1.value,
        ac1_low=ac1.low,
        ac1_high=ac1.high,
    )


def dawid_skene(study: Study, kind: str, *, iterations: int = 100) -> DawidSkene:
    """Estimate answers and reliability of workers from all votes of a kind.

    Raises BadInput if there are no votes yet. Votes that say "cannot tell" are left out, and so is gold.
    """
    query = select(ProblemRow.public_id, Worker.code, Vote.choice).join(ProblemRow, ProblemRow.id == Vote.problem_id)
    query = query.join(Worker, Worker.id == Vote.worker_id)
    query = query.where(Vote.counted, ~Vote.gold, Vote.kind == kind, Vote.choice.is_not(None))
    with study.store.read() as session:
        rows = session.execute(query.order_by(Vote.id)).all()
    if not rows:
        raise BadInput(f"no {kind!r} votes yet")
    names: dict[str, int] = {}
    codes: dict[str, int] = {}
    items = []
    judges = []
    choices = []
    votes: dict[str, Counter[int]] = defaultdict(Counter)
    for name, code, stored_choice in rows:
        choice = int(stored_choice or 0)
        items.append(names.setdefault(name, len(names)))
        judges.append(codes.setdefault(code, len(codes)))
        choices.append(choice)
        votes[name][choice] += 1
    fit = fit_dawid_skene(items, judges, choices, iterations=iterations)
    labels = {name: int(label) for name, label in zip(names, fit.labels, strict=True)}
    differs = [name for name, label in labels.items() if votes[name][label] < max(votes[name].values())]
    reliability = {code: float(share) for code, share in zip(codes, fit.reliability, strict=True)}
    return DawidSkene(labels, tuple(differs), reliability)
