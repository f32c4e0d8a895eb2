"""How far a study has come and what it has cost: the numbers behind the dashboard and `winokit collect status`."""

import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from statistics import median
from typing import Any

from sqlalchemy import ColumnElement, Text, cast, column, exists, func, select, values
from sqlalchemy.orm import Session

from winokit.extend import Lines, table, wilson_interval
from winokit_collect.study.config import StudyConfig
from winokit_collect.study.pay_floor import PayFloor, PriceCheck, pay_floor
from winokit_collect.study.quality import FEW, QuestionAgreement, WorkerQuality, agreement_now
from winokit_collect.study.schema import (
    JUDGEMENTS,
    UNCERTAIN,
    VOTES,
    WRITE,
    WRITTEN,
    Moment,
    Payment,
    PayoutJob,
    ProblemRow,
    Remark,
    Submission,
    Task,
    Vote,
    Worker,
)
from winokit_collect.study.study import Study, is_paused
from winokit_collect.study.tasks import expire

KINDS = (WRITE, *VOTES)
LARGE = 1_000
"""Submissions from which on counting everything takes long enough to be noticed."""
MINUTE = timedelta(minutes=1)
FRESH = timedelta(seconds=5)
OLD = 2 * MINUTE
"""How long a snapshot of a large study is shown at least, and how long still while the next one is made."""
SPARING = 20
"""So many times as long as it took to make it is shown too: counting is a twentieth of what a server does."""


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
    hourly_cents: int | None
    """What the pay comes to per hour at the usual time, from five submissions on."""
    underpaid: bool
    """Whether that is less than the study's floor."""


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
        floor = pay_floor(study.config)
        self.currency, self.floor_cents, self.floor_reason = study.config.pay.currency, floor.cents, floor.reason
        self.days = _days(session)
        settled = func.sum(Payment.cents).filter(Payment.settled_at.is_not(None))
        by_kind = [func.sum(Payment.cents).filter(Payment.reason == kind) for kind in KINDS]
        cents = session.execute(select(func.sum(Payment.cents), settled, *by_kind)).one()
        self.spent_cents, self.settled_cents, *spent = (int(total or 0) for total in cents)
        self.kinds = _kinds(study, session, dict(zip(KINDS, spent, strict=True)), self.days)
        # By what became of them: written, valid, invalid, open, withdrawn, unanimous-yes, unanimous-no, split.
        self.problems = _problems(session)
        self.domains = _counted(session, Task.domain, Task.kind == WRITE, Task.accepted > 0)
        self.workers = _counted(session, Worker.state)
        gold = select(func.count(), func.count().filter(Vote.is_right.is_(True))).where(
            Vote.gold, Vote.is_right.is_not(None)
        )
        self.gold_seen, self.gold_right = session.execute(gold).one()
        # Pairs that the adversary answered, and did not solve; pairs with all votes, and those that validly fool it.
        self.asked_adversary, self.fooled, self.judged_adversary, self.validly_fooled = _fooled(session)
        self.evaluation = study.adversary.evaluation
        self.remarks = session.scalar(select(func.count()).select_from(Remark)) or 0
        doubtful = select(func.sum(PayoutJob.cents)).where(PayoutJob.state == UNCERTAIN)
        self.uncertain_cents = int(session.scalar(doubtful) or 0)
        # What it will have cost when everything asked for is in.
        self.expected_cents = self.spent_cents + _still_to_come(study, self.kinds)
        self.agreement = agreement_now(study, session)
        self.at = study.now()

    @property
    def done(self) -> float:
        """Share of what is asked for that is in."""
        asked = sum(kind.asked for kind in self.kinds)
        return sum(kind.accepted for kind in self.kinds) / asked if asked else 1.0

    def error_rate(self, *, validated: bool = False) -> tuple[float, float, float]:
        """The adversary's mistakes as a share of pairs, with its interval; validated: in pairs that people judged."""
        all_pairs = (self.fooled, self.asked_adversary)
        judged = (self.validly_fooled, self.judged_adversary)
        fooled, of = judged if validated else all_pairs
        interval = wilson_interval(fooled, of)
        return fooled / of, interval.low, interval.high

    def to_json(self) -> dict[str, Any]:
        """Everything, for scripts and charts."""
        rows: dict[str, Any] = {
            name: [asdict(row) for row in getattr(self, name)] for name in ("kinds", "days", "agreement")
        }
        rows["evaluation"] = asdict(self.evaluation) if self.evaluation else None
        return {name: value for name, value in vars(self).items() if name != "at"} | rows | {"done": self.done}


def snapshot(study: Study) -> StudySnapshot:
    """Where the study stands now."""
    expire(study)
    with study.store.read(steady=True) as session:
        return StudySnapshot(study, session)


class KeptSnapshot:
    """Snapshots for everybody who looks at a server's dashboard.

    A small study is counted again for each view. A large one, where that takes a while, is counted every few seconds:
    who looks after that is shown the last snapshot once more, unless it is old, while the next one is made.
    """

    def __init__(self, study: Study) -> None:
        self._study, self._turn = study, threading.Lock()
        self._kept: StudySnapshot | None = None
        self._lasts = FRESH

    def get(self) -> StudySnapshot:
        """Where the study stands, now or at the moment that it says."""
        if not self.keeps:
            self._kept = made = snapshot(self._study)  # so that nobody waits when the study has just become large
            return made
        if self._age() >= OLD:
            with self._turn:  # those who come together share one
                if self._age() >= OLD:
                    self._make()
        kept = self._kept  # before its successor is begun, which may be done at once
        assert kept is not None
        if self._age() >= self._lasts and self._turn.acquire(blocking=False):
            try:
                threading.Thread(target=self._renew, name="snapshot", daemon=True).start()
            except RuntimeError:  # no thread to be had: whoever looks next tries again, or counts what is old
                self._turn.release()
        return kept

    @property
    def keeps(self) -> bool:
        """Whether the study is so large that its snapshots are kept."""
        with self._study.store.read() as session:
            return (session.scalar(select(func.max(Submission.id))) or 0) >= LARGE

    def _age(self) -> timedelta:
        return OLD if self._kept is None else self._study.now() - self._kept.at

    def _make(self) -> None:
        start = time.monotonic()
        self._kept = snapshot(self._study)
        self._lasts = min(max(FRESH, SPARING * timedelta(seconds=time.monotonic() - start)), MINUTE)

    def _renew(self) -> None:
        try:
            self._make()
        finally:
            self._turn.release()


def _kinds(study: Study, session: Session, spent: Mapping[str, int], days: Sequence[StudyDay]) -> list[KindProgress]:
    kinds = study.config.tasks.kinds
    # Filters, and no groups: SQLite would sort all rows first.
    counters = (Task.asked, Task.accepted, Task.held)
    places = [func.sum(counter).filter(Task.kind == kind) for kind in kinds for counter in counters]
    sums = [int(total or 0) for total in session.execute(select(*places).where(Task.asked.is_not(None))).one()]
    by_kind = [func.count().filter(Submission.kind == kind) for kind in kinds]
    not_counted = session.execute(select(*by_kind).where(~Submission.counted)).one()
    rows = []
    for place, kind in enumerate(kinds):
        seconds = _recent_seconds(session, kind)
        hourly = _hourly_cents(study.config.pay.cents(kind), seconds)
        at_it = exists().where(Submission.worker_id == Worker.id, Submission.kind == kind)
        people = session.scalar(select(func.count()).select_from(Worker).where(at_it))
        numbers: list[Any] = [*sums[3 * place : 3 * place + 3], sum(day.submissions.get(kind, 0) for day in days)]
        numbers += [not_counted[place], people, median(seconds) if seconds else None, spent[kind], hourly]
        numbers += [hourly is not None and hourly < pay_floor(study.config).cents]
        rows.append(KindProgress(kind, *numbers))
    return rows


def _recent_seconds(session: Session, kind: str) -> Sequence[float]:
    recent = select(Submission.seconds).where(Submission.kind == kind).order_by(Submission.submitted_at.desc())
    return session.scalars(recent.limit(1000)).all()


def _hourly_cents(cents: int, seconds: Sequence[float]) -> int | None:
    """What so much per task comes to in an hour.

    >>> _hourly_cents(3, [20.0, 30.0, 40.0, 30.0, 10.0])
    360
    """
    usual = median(seconds) if len(seconds) >= FEW else 0
    return round(cents * 3600 / usual) if usual else None


def usual_seconds(study: Study) -> dict[str, float]:
    """How long a task of each kind usually takes, counted once a minute; kinds with few submissions are left out."""
    counted_at, known = study.usual_seconds
    if counted_at is None or study.now() - counted_at >= MINUTE:
        with study.store.read() as session:
            by_kind = {str(kind): _recent_seconds(session, kind) for kind in study.config.tasks.kinds}
        known = {kind: median(seconds) for kind, seconds in by_kind.items() if len(seconds) >= FEW}
        study.usual_seconds = study.now(), known
    return known


def _counted(session: Session, column: Any, *where: ColumnElement[bool]) -> dict[str, int]:
    """How many rows have each value of a column, those without a value left out."""
    rows = session.execute(select(column, func.count()).where(*where).group_by(column).order_by(column))
    return {str(key): count for key, count in rows if key is not None}


def _problems(session: Session) -> dict[str, int]:
    counts = dict.fromkeys(("written", "valid", "invalid", "open", "withdrawn"), 0)
    agreements: Counter[str] = Counter()
    columns = (ProblemRow.withdrawn, ProblemRow.valid, ProblemRow.agreement)
    written = select(*columns, func.count()).where(ProblemRow.origin == WRITTEN).group_by(*columns)
    for withdrawn, valid, agreement, count in session.execute(written):
        counts["written"] += count
        counts["withdrawn" if withdrawn else "open" if valid is None else "valid" if valid else "invalid"] += count
        agreements[agreement or ""] += 0 if withdrawn else count
    return counts | {name: count for name, count in sorted(agreements.items()) if name and count}


def _fooled(session: Session) -> tuple[int, int, int, int]:
    asked = (Submission.kind == WRITE, Submission.counted, cast(Submission.adversary, Text) != "null")
    decided = func.count(ProblemRow.valid)
    valid = func.count().filter(ProblemRow.valid.is_(True))
    pairs = select(Submission.adversary, decided.label("decided"), valid.label("valid")).where(*asked)
    rows = session.execute(pairs.join(ProblemRow, ProblemRow.submission_id == Submission.id).group_by(Submission.id))
    answered = [row for row in rows if row.adversary["fooled"] or None not in row.adversary["right"]]
    fooled = [row for row in answered if row.adversary["fooled"]]
    return len(answered), len(fooled), sum(row.decided == 2 for row in answered), sum(row.valid == 2 for row in fooled)


def _still_to_come(study: Study, kinds: Sequence[KindProgress]) -> int:
    """The pay of the places that are free or held, and of the votes that twins still to be written will need."""
    pay = study.config.pay
    votes = study.config.tasks.votes
    open_ = {kind.kind: kind.asked - kind.accepted for kind in kinds}
    cents = sum(count * pay.cents(kind) for kind, count in open_.items())
    per_pair = sum(2 * votes * pay.cents(kind) for kind in JUDGEMENTS if kind in open_)
    return cents + open_.get(WRITE, 0) * per_pair


def _days(session: Session) -> list[StudyDay]:
    """Every day with work or pay, each a range of an index: a database that groups by day sorts all rows first."""
    ends = [bound(column) for column in (Submission.submitted_at, Payment.at) for bound in (func.min, func.max)]
    moments = [at for at in session.execute(select(*(select(end).scalar_subquery() for end in ends))).one() if at]
    if not moments:
        return []
    first, last = (bound(moments).replace(hour=0, minute=0, second=0, microsecond=0) for bound in (min, max))
    starts = [first + timedelta(days=number) for number in range((last - first).days + 1)]
    bounds = values(column("start", Moment), column("until", Moment), name="bounds")
    day = bounds.data([(start, start + timedelta(days=1)) for start in starts]).cte("day")

    def within(at: Any) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
        return at >= day.c.start, at < day.c.until

    counts = [select(func.count()).where(Submission.kind == kind, *within(Submission.submitted_at)) for kind in KINDS]
    cents = select(func.coalesce(func.sum(Payment.cents), 0)).where(*within(Payment.at))
    query = select(day.c.start, *(each.correlate(day).scalar_subquery() for each in (*counts, cents)))
    rows = []
    for start, *numbers, paid in session.execute(query.order_by(day.c.start)):
        submissions = {kind: number for kind, number in zip(KINDS, numbers, strict=True) if number}
        rows += [StudyDay(str(start.date()), submissions, int(paid))] if submissions or paid else []
    return rows


def status_lines(now: StudySnapshot, people: Sequence[WorkerQuality] = ()) -> Lines:
    """For `winokit collect status`: a headline, what is in, what of it is valid, agreement, and the workers if any."""
    yield f"{now.title}{' (paused)' if now.paused else ''}  {100 * now.done:.0f} % done"
    heads = ("task", "needed", "submitted", "in progress", "not counted", "workers", "median time", "per hour")
    yield table(heads, map(_kind_cells, now.kinds))
    floor = _money(now.floor_cents, now)
    for row in now.kinds:
        if row.underpaid:
            pays = f"{row.kind} pays {_money(row.hourly_cents or 0, now)} per hour at the median time"
            yield f"warning: {pays}, below {now.floor_reason} ({floor})"
    if now.problems["written"]:
        by_name = (now.problems | now.domains).items()
        yield f"problems: {', '.join(f'{name} {count:,}' for name, count in by_name if count)}"
    if now.remarks:
        yield f"remarks: {now.remarks:,} from workers about items"
    if now.asked_adversary:
        yield f"adversary: {now.fooled:,} of {now.asked_adversary:,} pairs fool it {_rate(now.error_rate())}"
        if now.judged_adversary:
            valid = _rate(now.error_rate(validated=True))
            yield f"validated: {now.validly_fooled:,} of {now.judged_adversary:,} that people judged do {valid}"
    if any(row.problems for row in now.agreement):
        yield table(("question", "problems", "unanimous", "Fleiss' kappa"), map(_agreement_cells, now.agreement))
    states = ", ".join(f"{count:,} {state}" for state, count in now.workers.items()) or "none yet"
    gold = f"; gold questions {now.gold_right:,} of {now.gold_seen:,} right" if now.gold_seen else ""
    yield f"workers: {states}{gold}"
    spent, paid, expected = (_money(cents, now) for cents in (now.spent_cents, now.settled_cents, now.expected_cents))
    doubt = f", {_money(now.uncertain_cents, now)} uncertain" if now.uncertain_cents else ""
    yield f"cost: {spent} so far, {paid} of it paid{doubt}; {expected} when everything is submitted"
    if people:
        known = ("worker", "state", "flags", "submitted", "agrees", "gold", "median time", "earned")
        yield table(known, (_worker_cells(worker, now) for worker in people), left=3)


def price_lines(prices: Sequence[PriceCheck], floor: PayFloor, config: StudyConfig) -> Lines:
    """For `winokit collect check`: what each price comes to per hour, and what it would have to be."""
    currency = config.pay.currency
    heads = ("task", "price", "takes", "per hour", "needed")
    yield table(heads, [_price_cells(price, floor) for price in prices])
    assumed = [price.kind for price in prices if not price.is_measured]
    if assumed:
        yield f"assumed, since fewer than {FEW} were timed: how long {', '.join(assumed)} takes"
    if not floor.cents:
        yield f"warning: no minimum per hour is known in {currency}; set pay.least_per_hour"
    for price in prices:
        if price.is_low:
            hourly = f"{price.hourly_cents / 100:,.2f} {currency}"
            least = f"{floor.cents / 100:,.2f} {currency}"
            needed = f"{price.needed_cents / 100:,.2f}"
            yield f"warning: {price.kind} pays {hourly} per hour, below {floor.reason} ({least}); pay {needed}"
    if config.quality.quiz_pass_mark and not config.pay.quiz:
        yield "note: the quiz is unpaid; [pay] quiz says what it pays"


def _price_cells(price: PriceCheck, floor: PayFloor) -> tuple[str, ...]:
    needed = f"{price.needed_cents / 100:,.2f}" if floor.cents else ""
    seconds = f"{price.seconds:.0f} s" + ("" if price.is_measured else " (assumed)")
    return price.kind, f"{price.cents / 100:,.2f}", seconds, f"{price.hourly_cents / 100:,.2f}", needed


def _rate(shares: Sequence[float]) -> str:
    return "({:.0f} %, 95 % interval {:.0f} % to {:.0f} %)".format(*(100 * share for share in shares))


def _kind_cells(row: KindProgress) -> tuple[str, ...]:
    counts = (row.asked, row.accepted, row.held, row.not_counted, row.workers)
    hourly = "" if row.hourly_cents is None else f"{row.hourly_cents / 100:,.2f}"
    return row.kind, *(f"{count:,}" for count in counts), _time(row), hourly


def _agreement_cells(row: QuestionAgreement) -> tuple[str, ...]:
    share = f"{100 * row.unanimous / row.problems:.0f} %" if row.problems else ""
    kappa = kappa_in_words(row) or row.why_not or ""
    return f"{row.kind}: {row.question}", f"{row.problems:,}", share, kappa


def kappa_in_words(row: QuestionAgreement) -> str:
    """Kappa with its interval, and AC1; nothing where there is no kappa."""
    if row.kappa is None:
        return ""
    return f"{row.kappa:.2f} ({row.kappa_low:.2f} to {row.kappa_high:.2f}); AC1 {row.ac1:.2f}"


def _worker_cells(worker: WorkerQuality, now: StudySnapshot) -> tuple[str, ...]:
    agrees = "" if worker.agreement is None else f"{100 * worker.agreement:.0f} %"
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
