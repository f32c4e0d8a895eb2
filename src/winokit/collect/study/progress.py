"""How far a study has come and what it has cost: the numbers behind the dashboard and `winokit collect status`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from sqlalchemy import ColumnElement, case, func, select
from sqlalchemy.orm import Session

from winokit.collect.study.quality import QuestionAgreement, WorkerQuality, agreement_by_question
from winokit.collect.study.schema import (
    JUDGEMENTS,
    UNCERTAIN,
    WRITE,
    WRITTEN,
    Payment,
    PayoutJob,
    ProblemRow,
    Submission,
    Task,
    Vote,
    Worker,
)
from winokit.collect.study.study import Study, is_paused
from winokit.collect.study.tasks import expire
from winokit.drawing.tables import Lines, table


@dataclass(frozen=True)
class KindProgress:
    """One kind of task."""

    kind: str
    asked: int
    accepted: int
    held: int
    submissions: int
    not_counted: int
    workers: int
    median_seconds: float | None
    cents: int


@dataclass(frozen=True)
class StudyDay:
    """What came in on one day (UTC), by kind."""

    date: str
    submissions: dict[str, int]
    cents: int


class StudySnapshot:
    """The study at one moment, as a steady session sees it."""

    def __init__(self, study: Study, session: Session) -> None:
        self.title, self.paused = study.config.title, is_paused(session)
        self.currency = study.config.pay.currency
        self.kinds = _kinds(study, session)
        # By what became of them: written, valid, invalid, open, withdrawn, unanimous-yes, unanimous-no, split.
        self.problems = _problems(session)
        self.domains = _counted(session, Task.domain, Task.kind == WRITE, Task.accepted > 0)
        self.workers = _counted(session, Worker.state)
        gold = select(func.count(), func.count().filter(Vote.is_right.is_(True))).where(Vote.gold)
        self.gold_seen, self.gold_right = session.execute(gold).one()
        # Pairs of twins that the adversary was asked about, and that it did not solve.
        self.asked_adversary, self.fooled = _fooled(session)
        settled = func.sum(Payment.cents).filter(Payment.settled_at.is_not(None))
        cents = session.execute(select(func.sum(Payment.cents), settled)).one()
        self.spent_cents, self.settled_cents = (int(total or 0) for total in cents)
        doubtful = select(func.sum(PayoutJob.cents)).where(PayoutJob.state == UNCERTAIN)
        self.uncertain_cents = int(session.scalar(doubtful) or 0)
        # What it will have cost when everything asked for is in.
        self.expected_cents = self.spent_cents + _still_to_come(study, self.kinds)
        self.days = _days(session)
        self.agreement = agreement_by_question(study)

    @property
    def done(self) -> float:
        """Share of what is asked for that is in."""
        asked = sum(kind.asked for kind in self.kinds)
        return sum(kind.accepted for kind in self.kinds) / asked if asked else 1.0

    def to_json(self) -> dict[str, Any]:
        """Everything, for scripts and charts."""
        rows = {name: [asdict(row) for row in getattr(self, name)] for name in ("kinds", "days", "agreement")}
        return {**vars(self), **rows, "done": self.done}


def snapshot(study: Study) -> StudySnapshot:
    """Where the study stands now."""
    expire(study)
    with study.store.read(steady=True) as session:
        return StudySnapshot(study, session)


def _kinds(study: Study, session: Session) -> list[KindProgress]:
    sums = (func.sum(Task.asked), func.sum(Task.accepted), func.sum(Task.held))
    tasks = _grouped(session, Task.kind, *sums, where=[Task.asked.is_not(None)])
    workers = func.count(Submission.worker_id.distinct())
    counts = (func.count(), func.count().filter(~Submission.counted), workers)
    submissions = _grouped(session, Submission.kind, *counts)
    paid = _grouped(session, Payment.reason, func.sum(Payment.cents))
    rows = []
    for kind in study.config.tasks.kinds:
        recent = select(Submission.seconds).where(Submission.kind == kind).order_by(Submission.id.desc()).limit(1000)
        seconds = session.scalars(recent).all()
        numbers: list[Any] = [*tasks.get(kind, (0, 0, 0)), *submissions.get(kind, (0, 0, 0))]
        numbers += [median(seconds) if seconds else None, *paid.get(kind, (0,))]
        rows.append(KindProgress(kind, *numbers))
    return rows


def _grouped(session: Session, by: Any, *sums: Any, where: Sequence[ColumnElement[bool]] = ()) -> dict[str, Any]:
    """Tuples of sums over the rows of each value of a column, those without a value left out."""
    rows = session.execute(select(by, *sums).where(*where).group_by(by).order_by(by))
    return {str(key): tuple(values) for key, *values in rows if key is not None}


def _counted(session: Session, column: Any, *where: ColumnElement[bool]) -> dict[str, int]:
    return {name: count for name, (count,) in _grouped(session, column, func.count(), where=where).items()}


def _problems(session: Session) -> dict[str, int]:
    valid = ProblemRow.valid
    states = ((ProblemRow.withdrawn, "withdrawn"), (valid.is_(None), "open"), (valid.is_(True), "valid"))
    state, written = case(*states, else_="invalid").label("state"), ProblemRow.origin == WRITTEN
    counts = dict.fromkeys(("valid", "invalid", "open", "withdrawn"), 0) | _counted(session, state, written)
    agreement = _counted(session, ProblemRow.agreement, written, ~ProblemRow.withdrawn)
    return {"written": sum(counts.values()), **counts, **agreement}


def _fooled(session: Session) -> tuple[int, int]:
    asked = (Submission.kind == WRITE, Submission.counted, Submission.adversary.is_not(None))
    verdicts = session.scalars(select(Submission.adversary).where(*asked))
    answered = [verdict for verdict in verdicts if verdict and None not in verdict["right"]]
    return len(answered), sum(bool(verdict["fooled"]) for verdict in answered)


def _still_to_come(study: Study, kinds: Sequence[KindProgress]) -> int:
    """The pay of the places that are free or held, and of the votes that twins still to be written will need."""
    pay, votes = study.config.pay, study.config.tasks.votes
    open_ = {kind.kind: kind.asked - kind.accepted for kind in kinds}
    cents = sum(count * pay.cents(kind) for kind, count in open_.items())
    per_pair = sum(2 * votes * pay.cents(kind) for kind in JUDGEMENTS if kind in open_)
    return cents + open_.get(WRITE, 0) * per_pair


def _days(session: Session) -> list[StudyDay]:
    postgresql = session.get_bind().dialect.name == "postgresql"

    def day(column: Any) -> Any:
        return func.date(func.timezone("UTC", column) if postgresql else column)

    counts: dict[str, dict[str, int]] = defaultdict(dict)
    at = day(Submission.submitted_at)
    for date, kind, count in session.execute(select(at, Submission.kind, func.count()).group_by(at, Submission.kind)):
        counts[str(date)][kind] = int(count)
    paid = _grouped(session, day(Payment.at), func.sum(Payment.cents))
    return [StudyDay(date, counts.get(date, {}), *paid.get(date, (0,))) for date in sorted({*counts, *paid})]


def status_lines(now: StudySnapshot, people: Sequence[WorkerQuality] = ()) -> Lines:
    """For `winokit collect status`: a headline, what is in, what of it is valid, agreement, and the workers if any."""
    yield f"{now.title}{' (paused)' if now.paused else ''}  {now.done:.0%} done"
    heads = ("task", "asked", "in", "under way", "not counted", "workers", "usual time")
    counts = [(row, (row.asked, row.accepted, row.held, row.not_counted, row.workers)) for row in now.kinds]
    yield table(heads, ((row.kind, *(f"{count:,}" for count in of_row), _time(row)) for row, of_row in counts))
    if now.problems["written"]:
        by_name = (now.problems | now.domains).items()
        yield f"problems: {', '.join(f'{name} {count:,}' for name, count in by_name if count)}"
    if now.asked_adversary:
        yield f"adversary: {now.fooled:,} of {now.asked_adversary:,} pairs fool it"
    if any(row.problems for row in now.agreement):
        yield table(("question", "problems", "unanimous", "Fleiss' kappa"), map(_agreement_cells, now.agreement))
    states = ", ".join(f"{count:,} {state}" for state, count in now.workers.items()) or "none yet"
    gold = f"; gold questions {now.gold_right:,} of {now.gold_seen:,} right" if now.gold_seen else ""
    yield f"workers: {states}{gold}"
    spent, paid, expected = (_money(cents, now) for cents in (now.spent_cents, now.settled_cents, now.expected_cents))
    doubt = f", {_money(now.uncertain_cents, now)} uncertain" if now.uncertain_cents else ""
    yield f"cost: {spent} so far, {paid} of it paid{doubt}; {expected} when all is in"
    if people:
        known = ("worker", "state", "look at", "in", "agrees", "gold", "usual time", "earned")
        yield table(known, (_worker_cells(worker, now) for worker in people), left=3)


def _agreement_cells(row: QuestionAgreement) -> tuple[str, ...]:
    share = f"{row.unanimous / row.problems:.0%}" if row.problems else ""
    kappa = f"{row.kappa:.2f}" if row.kappa is not None else row.why_not or ""
    return f"{row.kind}: {row.question}", f"{row.problems:,}", share, kappa


def _worker_cells(worker: WorkerQuality, now: StudySnapshot) -> tuple[str, ...]:
    agrees = "" if worker.agreement is None else f"{worker.agreement:.0%}"
    gold = f"{worker.gold_right}/{worker.gold_seen}" if worker.gold_seen else ""
    named = (worker.code, worker.state, ", ".join(worker.flags))
    return *named, f"{worker.submissions:,}", agrees, gold, _time(worker), _money(worker.earned_cents, now)


def _time(of: KindProgress | WorkerQuality) -> str:
    seconds = of.median_seconds
    if seconds is None:
        return ""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _money(cents: int, now: StudySnapshot) -> str:
    return f"{cents / 100:,.2f} {now.currency}"
