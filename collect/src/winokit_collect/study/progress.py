"""Progress and cost of a study, for the dashboard and `winokit collect status`."""

import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
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
"""Number of submissions from which on counting everything takes noticeably long."""
MINUTE = timedelta(minutes=1)
FRESH = timedelta(seconds=5)
OLD = 2 * MINUTE
"""A snapshot of a large study is shown for at least `FRESH`, and for at most `OLD` while the next one is made."""
SPARING = 20
"""A snapshot is shown at least this many times as long as it took to make, so that counting stays cheap."""


@dataclass(frozen=True)
class KindProgress:
    """Progress, pay and time of one kind of task.

    `asked`, `accepted` and `held` are places in tasks, gold questions left out. `cents` is what was earned so far.
    """

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
    """Hourly pay at the median time. None with fewer than five submissions."""
    underpaid: bool
    """Whether the hourly pay is below the study's minimum."""


@dataclass(frozen=True)
class StudyDay:
    """Number of submissions by kind and pay of one day (UTC).

    `cents` is what was added to the ledger.
    """

    date: str
    submissions: dict[str, int]
    cents: int


class StudySnapshot:
    """Counts and costs of a study at one moment.

    The session must be steady, so that all of them are of the same state of the database.
    """

    def __init__(self, study: Study, session: Session) -> None:
        self.title = study.config.title
        self.paused = is_paused(session)
        floor = pay_floor(study.config)
        self.currency = study.config.pay.currency
        self.floor_cents = floor.cents
        self.floor_reason = floor.reason
        self.days = _count_days(session)
        cents = func.sum(Payment.cents)
        settled = cents.filter(Payment.settled_at.is_not(None))
        by_kind = [cents.filter(Payment.reason == kind) for kind in KINDS]
        totals = session.execute(select(cents, settled, *by_kind)).one()
        self.spent_cents, self.settled_cents, *kind_cents = (int(total or 0) for total in totals)
        spent = dict(zip(KINDS, kind_cents, strict=True))
        self.kinds = _count_kinds(study, session, spent, self.days)
        # By state: written, valid, invalid, open, withdrawn, unanimous-yes, unanimous-no, split.
        self.problems = _count_problems(session)
        self.domains = _count_values(session, Task.domain, Task.kind == WRITE, Task.accepted > 0)
        self.workers = _count_values(session, Worker.state)
        right = func.count().filter(Vote.is_right.is_(True))
        gold = select(func.count(), right).where(Vote.gold, Vote.is_right.is_not(None))
        self.gold_seen, self.gold_right = session.execute(gold).one()
        # Pairs that the adversary answered, and did not solve; pairs with all votes, and those that validly fool it.
        self.asked_adversary, self.fooled, self.judged_adversary, self.validly_fooled = _count_fooled(session)
        self.evaluation = study.adversary.evaluation
        self.remarks = session.scalar(select(func.count()).select_from(Remark)) or 0
        doubtful = select(func.sum(PayoutJob.cents)).where(PayoutJob.state == UNCERTAIN)
        self.uncertain_cents = int(session.scalar(doubtful) or 0)
        # What it will have cost when everything asked for is in.
        self.expected_cents = self.spent_cents + _estimate_outstanding_cents(study, self.kinds)
        self.agreement = agreement_now(study, session)
        self.at = study.now()

    @property
    def done(self) -> float:
        """Share of the submissions asked for that have been accepted.

        1 if none are asked for.
        """
        asked_count = sum(kind.asked for kind in self.kinds)
        return sum(kind.accepted for kind in self.kinds) / asked_count if asked_count else 1.0

    def error_rate(self, *, validated: bool = False) -> tuple[float, float, float]:
        """Share of pairs on which the adversary errs, with its interval.

        Returns the share and the 95 % interval: (share, low, high). Of all pairs that it answered. If `validated`, the
        share of pairs that people judged which fool it and are valid. There must be at least one such pair. The
        adversary is the model that writers try to fool.
        """
        all_pairs = (self.fooled, self.asked_adversary)
        judged = (self.validly_fooled, self.judged_adversary)
        fooled, of = judged if validated else all_pairs
        interval = wilson_interval(fooled, of)
        return fooled / of, interval.low, interval.high

    def to_json(self) -> dict[str, Any]:
        """All numbers as plain data, for scripts and charts.

        The moment (`at`) is left out.
        """
        values = dict(vars(self))
        del values["at"]
        for name in ("kinds", "days", "agreement"):
            values[name] = [asdict(row) for row in values[name]]
        values["evaluation"] = asdict(self.evaluation) if self.evaluation else None
        values["done"] = self.done
        return values


def snapshot(study: Study) -> StudySnapshot:
    """Count a study's state now, after ending expired leases."""
    expire(study)
    with study.store.read(steady=True) as session:
        return StudySnapshot(study, session)


class KeptSnapshot:
    """Snapshots for a server's dashboard, shared by everybody who looks at it.

    A small study is counted for each view. A large one is counted in the background at most every few seconds, and a
    view shows the last snapshot unless it is too old.
    """

    def __init__(self, study: Study) -> None:
        self._study = study
        self._turn = threading.Lock()
        self._kept: StudySnapshot | None = None
        self._lasts = FRESH

    def get(self) -> StudySnapshot:
        """A recent snapshot of the study, whose `at` says when it was counted."""
        if not self.keeps:
            newest = snapshot(self._study)
            self._kept = newest  # so that nobody waits when the study has just become large
            return newest
        if self._get_age() >= OLD:
            with self._turn:  # those who come together share one
                if self._get_age() >= OLD:
                    self._make_snapshot()
        shown_snapshot = self._kept  # before its successor is begun, which may be done at once
        assert shown_snapshot is not None
        if self._get_age() >= self._lasts and self._turn.acquire(blocking=False):
            try:
                threading.Thread(target=self._replace_snapshot, name="snapshot", daemon=True).start()
            except RuntimeError:  # no thread to be had: whoever looks next tries again, or counts what is old
                self._turn.release()
        return shown_snapshot

    @property
    def keeps(self) -> bool:
        """Whether the study is so large that snapshots are shared."""
        with self._study.store.read() as session:
            last_number = session.scalar(select(func.max(Submission.id))) or 0
            return last_number >= LARGE

    def _get_age(self) -> timedelta:
        """Time since the last snapshot, or OLD if there is none."""
        return OLD if self._kept is None else self._study.now() - self._kept.at

    def _make_snapshot(self) -> None:
        """Count the study, and decide for how long the snapshot is shown."""
        start = time.monotonic()
        self._kept = snapshot(self._study)
        duration = timedelta(seconds=time.monotonic() - start)
        self._lasts = min(max(FRESH, SPARING * duration), MINUTE)

    def _replace_snapshot(self) -> None:
        """Make a snapshot in a thread, then release its lock."""
        try:
            self._make_snapshot()
        finally:
            self._turn.release()


def _count_kinds(
    study: Study, session: Session, spent: Mapping[str, int], days: Sequence[StudyDay]
) -> list[KindProgress]:
    """Measure the progress of each kind of task.

    `spent` has the pay so far in cents, by kind.
    """
    kinds = study.config.tasks.kinds
    places = _sum_places(session, kinds)
    by_kind = [func.count().filter(Submission.kind == kind) for kind in kinds]
    not_counted = session.execute(select(*by_kind).where(~Submission.counted)).one()
    floor_cents = pay_floor(study.config).cents
    rows = []
    for index, kind in enumerate(kinds):
        asked, accepted, held = places[index]
        seconds = _select_recent_seconds(session, kind)
        hourly_cents = _compute_hourly_cents(study.config.pay.cents(kind), seconds)
        has_handed_in = exists().where(Submission.worker_id == Worker.id, Submission.kind == kind)
        worker_count = session.scalar(select(func.count()).select_from(Worker).where(has_handed_in)) or 0
        row = KindProgress(
            kind=kind,
            asked=asked,
            accepted=accepted,
            held=held,
            submissions=sum(day.submissions.get(kind, 0) for day in days),
            not_counted=not_counted[index],
            workers=worker_count,
            median_seconds=median(seconds) if seconds else None,
            cents=spent[kind],
            hourly_cents=hourly_cents,
            underpaid=hourly_cents is not None and hourly_cents < floor_cents,
        )
        rows.append(row)
    return rows


def _sum_places(session: Session, kinds: Sequence[str]) -> list[tuple[int, int, int]]:
    """Sum up the places asked for, accepted and held, by kind."""
    # Filters, and no groups: SQLite would sort all rows first.
    sums: list[Any] = []
    for kind in kinds:
        sums.append(func.sum(Task.asked).filter(Task.kind == kind))
        sums.append(func.sum(Task.accepted).filter(Task.kind == kind))
        sums.append(func.sum(Task.held).filter(Task.kind == kind))
    row = session.execute(select(*sums).where(Task.asked.is_not(None))).one()
    totals = [int(total or 0) for total in row]
    return list(zip(totals[::3], totals[1::3], totals[2::3], strict=True))


def _select_recent_seconds(session: Session, kind: str) -> Sequence[float]:
    """Seconds of the last thousand submissions of a kind."""
    of_kind = select(Submission.seconds).where(Submission.kind == kind)
    recent = of_kind.order_by(Submission.submitted_at.desc()).limit(1000)
    return session.scalars(recent).all()


def _compute_hourly_cents(cents: int, seconds: Sequence[float]) -> int | None:
    """Hourly pay in cents at a price per task.

    From the median of `seconds`. None if there are fewer than FEW times.

    >>> _compute_hourly_cents(3, [20.0, 30.0, 40.0, 30.0, 10.0])
    360
    """
    usual = median(seconds) if len(seconds) >= FEW else 0
    return round(cents * 3600 / usual) if usual else None


def usual_seconds(study: Study) -> dict[str, float]:
    """Median seconds of a task, by kind, measured again once a minute.

    Kinds with fewer than FEW submissions are left out.
    """
    counted_at, medians = study.usual_seconds
    if counted_at is None or study.now() - counted_at >= MINUTE:
        with study.store.read() as session:
            by_kind = {str(kind): _select_recent_seconds(session, kind) for kind in study.config.tasks.kinds}
        medians = {kind: median(seconds) for kind, seconds in by_kind.items() if len(seconds) >= FEW}
        study.usual_seconds = study.now(), medians
    return medians


def _count_values(session: Session, column: Any, *where: ColumnElement[bool]) -> dict[str, int]:
    """Count the rows with each value of a column.

    Rows with null are left out.
    """
    rows = session.execute(select(column, func.count()).where(*where).group_by(column).order_by(column))
    return {str(key): count for key, count in rows if key is not None}


def _count_problems(session: Session) -> dict[str, int]:
    """Count the written problems by state and by agreement of their votes.

    `written` counts all of them. Withdrawn ones have no other state, and no agreement.
    """
    counts = dict.fromkeys(("written", "valid", "invalid", "open", "withdrawn"), 0)
    agreements: Counter[str] = Counter()
    columns = (ProblemRow.withdrawn, ProblemRow.valid, ProblemRow.agreement)
    written_rows = select(*columns, func.count()).where(ProblemRow.origin == WRITTEN).group_by(*columns)
    for withdrawn, valid, agreement, count in session.execute(written_rows):
        counts["written"] += count
        counts[_get_state(withdrawn, valid)] += count
        if agreement and not withdrawn:
            agreements[agreement] += count
    return counts | dict(sorted(agreements.items()))


def _get_state(withdrawn: bool, valid: bool | None) -> str:
    """Name of a problem's state: withdrawn, open, valid or invalid."""
    if withdrawn:
        return "withdrawn"
    if valid is None:
        return "open"
    return "valid" if valid else "invalid"


def _count_fooled(session: Session) -> tuple[int, int, int, int]:
    """Count pairs by how the adversary and people judged them.

    Returns the pairs that the adversary answered, those that fool it, those it answered that people judged, and those
    that fool it and are valid.
    """
    was_asked = (Submission.kind == WRITE, Submission.counted, cast(Submission.adversary, Text) != "null")
    decided = func.count(ProblemRow.valid)
    valid = func.count().filter(ProblemRow.valid.is_(True))
    pairs = select(Submission.adversary, decided.label("decided"), valid.label("valid")).where(*was_asked)
    pairs = pairs.join(ProblemRow, ProblemRow.submission_id == Submission.id).group_by(Submission.id)
    rows = session.execute(pairs)
    answered = [row for row in rows if row.adversary["fooled"] or None not in row.adversary["right"]]
    fooled = [row for row in answered if row.adversary["fooled"]]
    judged_count = sum(row.decided == 2 for row in answered)
    validly_fooled_count = sum(row.valid == 2 for row in fooled)
    return len(answered), len(fooled), judged_count, validly_fooled_count


def _estimate_outstanding_cents(study: Study, kinds: Sequence[KindProgress]) -> int:
    """Estimate the pay for all submissions that are still asked for.

    Includes the votes on twins that are still to be written.
    """
    pay = study.config.pay
    votes = study.config.tasks.votes
    open_ = {kind.kind: kind.asked - kind.accepted for kind in kinds}
    cents = sum(count * pay.cents(kind) for kind, count in open_.items())
    per_pair = sum(2 * votes * pay.cents(kind) for kind in JUDGEMENTS if kind in open_)
    pairs_to_write = open_.get(WRITE, 0)
    return cents + pairs_to_write * per_pair


def _count_days(session: Session) -> list[StudyDay]:
    """Count the submissions and the pay of each day that has any."""
    starts = _list_day_starts(session)
    if not starts:
        return []
    bounds = values(column("start", Moment), column("until", Moment), name="bounds")
    # Each day is a range of an index: a database that groups by day sorts all rows first.
    day = bounds.data([(start, start + timedelta(days=1)) for start in starts]).cte("day")

    def within(at: Any) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
        return at >= day.c.start, at < day.c.until

    is_on_day = within(Submission.submitted_at)
    counts = [select(func.count()).where(Submission.kind == kind, *is_on_day) for kind in KINDS]
    cents = select(func.coalesce(func.sum(Payment.cents), 0)).where(*within(Payment.at))
    numbers = [number.correlate(day).scalar_subquery() for number in (*counts, cents)]
    query = select(day.c.start, *numbers).order_by(day.c.start)
    rows = []
    for start, *kind_counts, paid in session.execute(query):
        submissions = {kind: count for kind, count in zip(KINDS, kind_counts, strict=True) if count}
        if submissions or paid:
            rows.append(StudyDay(str(start.date()), submissions, int(paid)))
    return rows


def _list_day_starts(session: Session) -> list[datetime]:
    """Midnights (UTC) from the first to the last day with submissions or pay."""
    ends: list[Any] = []
    for moment in (Submission.submitted_at, Payment.at):
        ends.append(select(func.min(moment)).scalar_subquery())
        ends.append(select(func.max(moment)).scalar_subquery())
    moments = [at for at in session.execute(select(*ends)).one() if at]
    if not moments:
        return []
    first = min(moments).replace(hour=0, minute=0, second=0, microsecond=0)
    last = max(moments).replace(hour=0, minute=0, second=0, microsecond=0)
    day_count = (last - first).days + 1
    return [first + timedelta(days=number) for number in range(day_count)]


def status_lines(now: StudySnapshot, people: Sequence[WorkerQuality] = ()) -> Lines:
    """Write the lines of `winokit collect status`.

    A headline, then counts, validity, agreement and cost. With `people`, also a table of workers.
    """
    paused = " (paused)" if now.paused else ""
    yield f"{now.title}{paused}  {100 * now.done:.0f} % done"
    heads = ("task", "needed", "submitted", "in progress", "not counted", "workers", "median time", "per hour")
    yield table(heads, map(_make_kind_cells, now.kinds))
    floor = _format_money(now.floor_cents, now)
    for row in now.kinds:
        if row.underpaid:
            pays = f"{row.kind} pays {_format_money(row.hourly_cents or 0, now)} per hour at the median time"
            yield f"warning: {pays}, below {now.floor_reason} ({floor})"
    yield from _describe_problems(now)
    yield from _describe_people(now)
    if people:
        heads = ("worker", "state", "flags", "submitted", "agrees", "gold", "median time", "earned")
        yield table(heads, [_make_worker_cells(worker, now) for worker in people], left=3)


def _describe_problems(now: StudySnapshot) -> Lines:
    """Write the lines on problems, remarks, the adversary and agreement."""
    if now.problems["written"]:
        counts = now.problems | now.domains
        named_counts = ", ".join(f"{name} {count:,}" for name, count in counts.items() if count)
        yield f"problems: {named_counts}"
    if now.remarks:
        yield f"remarks: {now.remarks:,} from workers about items"
    if now.asked_adversary:
        yield f"adversary: {now.fooled:,} of {now.asked_adversary:,} pairs fool it {_format_rate(now.error_rate())}"
        if now.judged_adversary:
            valid = _format_rate(now.error_rate(validated=True))
            yield f"validated: {now.validly_fooled:,} of {now.judged_adversary:,} that people judged do {valid}"
    if any(row.problems for row in now.agreement):
        heads = ("question", "problems", "unanimous", "Fleiss' kappa")
        yield table(heads, map(_make_agreement_cells, now.agreement))


def _describe_people(now: StudySnapshot) -> Lines:
    """Write the lines on workers and on the cost."""
    states = ", ".join(f"{count:,} {state}" for state, count in now.workers.items()) or "none yet"
    gold = f"; gold questions {now.gold_right:,} of {now.gold_seen:,} right" if now.gold_seen else ""
    yield f"workers: {states}{gold}"
    spent = _format_money(now.spent_cents, now)
    paid = _format_money(now.settled_cents, now)
    expected = _format_money(now.expected_cents, now)
    doubt = f", {_format_money(now.uncertain_cents, now)} uncertain" if now.uncertain_cents else ""
    yield f"cost: {spent} so far, {paid} of it paid{doubt}; {expected} when everything is submitted"


def price_lines(prices: Sequence[PriceCheck], floor: PayFloor, config: StudyConfig) -> Lines:
    """Write the lines of `winokit collect check` on hourly pay.

    They include the price at which each kind would reach the minimum.
    """
    currency = config.pay.currency
    heads = ("task", "price", "takes", "per hour", "needed")
    yield table(heads, [_make_price_cells(price, floor) for price in prices])
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


def _make_price_cells(price: PriceCheck, floor: PayFloor) -> tuple[str, ...]:
    paid = f"{price.cents / 100:,.2f}"
    assumed = "" if price.is_measured else " (assumed)"
    seconds = f"{price.seconds:.0f} s{assumed}"
    hourly = f"{price.hourly_cents / 100:,.2f}"
    needed = f"{price.needed_cents / 100:,.2f}" if floor.cents else ""
    return price.kind, paid, seconds, hourly, needed


def _format_rate(shares: Sequence[float]) -> str:
    """Write a share and its interval (low, high) in percent."""
    rate, low, high = (100 * share for share in shares)
    return f"({rate:.0f} %, 95 % interval {low:.0f} % to {high:.0f} %)"


def _make_kind_cells(row: KindProgress) -> tuple[str, ...]:
    counts = (row.asked, row.accepted, row.held, row.not_counted, row.workers)
    hourly = "" if row.hourly_cents is None else f"{row.hourly_cents / 100:,.2f}"
    return row.kind, *(f"{count:,}" for count in counts), _format_time(row), hourly


def _make_agreement_cells(row: QuestionAgreement) -> tuple[str, ...]:
    share = f"{100 * row.unanimous / row.problems:.0f} %" if row.problems else ""
    kappa = kappa_in_words(row) or row.why_not or ""
    return f"{row.kind}: {row.question}", f"{row.problems:,}", share, kappa


def kappa_in_words(row: QuestionAgreement) -> str:
    """Write Fleiss' kappa with its interval, and AC1.

    Empty if there is no kappa.
    """
    if row.kappa is None:
        return ""
    return f"{row.kappa:.2f} ({row.kappa_low:.2f} to {row.kappa_high:.2f}); AC1 {row.ac1:.2f}"


def _make_worker_cells(worker: WorkerQuality, now: StudySnapshot) -> tuple[str, ...]:
    agrees = "" if worker.agreement is None else f"{100 * worker.agreement:.0f} %"
    gold = f"{worker.gold_right}/{worker.gold_seen}" if worker.gold_seen else ""
    flags = ", ".join(worker.flags)
    submissions = f"{worker.submissions:,}"
    earned = _format_money(worker.earned_cents, now)
    return worker.code, worker.state, flags, submissions, agrees, gold, _format_time(worker), earned


def _format_time(of: KindProgress | WorkerQuality) -> str:
    """Write the median time per task in seconds or minutes."""
    seconds = of.median_seconds
    if seconds is None:
        return ""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _format_money(cents: int, now: StudySnapshot) -> str:
    """Write an amount in hundredths, with the study's currency."""
    return f"{cents / 100:,.2f} {now.currency}"
