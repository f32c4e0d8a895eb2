"""Play a study through in a copy of its folder, against a stand-in for its platform.

The copy has its own clock.
"""

import heapq
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from math import sqrt
from pathlib import Path
from random import Random
from statistics import NormalDist, median
from tempfile import TemporaryDirectory
from typing import Any

from sqlalchemy import func, make_url, select
from sqlalchemy.orm import selectinload

from winokit import write
from winokit.extend import BadInput
from winokit_collect.platforms import payout, prolific, stand_in
from winokit_collect.platforms.reconcile import adopt, reconcile
from winokit_collect.platforms.stand_in import AFTER, BEFORE, ProlificStandIn, serve_stand_in
from winokit_collect.rehearsal.people import Crowd, Rehearsed, VisitTimes
from winokit_collect.rehearsal.plan import RehearsalPlan
from winokit_collect.study import schema
from winokit_collect.study.config import FILE, StudyConfig, parse_config, read_config, render_config
from winokit_collect.study.new_tasks import DATA, draw_groups, imported_dataset
from winokit_collect.study.pay_floor import ASSUMED_SECONDS, PayFloor, pay_floor
from winokit_collect.study.progress import usual_seconds
from winokit_collect.study.schema import Payment, PayoutJob, ProblemRow, Task, Vote, Worker
from winokit_collect.study.second_opinions import ask_second_opinions
from winokit_collect.study.settings import rule_of
from winokit_collect.study.study import DATABASE, FILL_IN, Study, database_url
from winokit_collect.study.validity import find_decisive, judgements
from winokit_collect.study.verdicts import complete_votes, deciding_votes

LEFT_BEHIND = ("backups", "export", "secret.key", "rehearsal.html", f"{DATABASE}*")
MONEY_CALLS = ("/pay", "/transition")
POINTS = 0.05
DISAGREE = 0.2
LEVEL = 0.05
"""Difference of accuracy to detect, share of problems on which two models disagree, and level of the test."""
MOST_ROUNDS = 200
LOOK_STEPS = 100
"""Number of people's steps between two searches for votes that need a second opinion."""
LOOK_AFTER = timedelta(minutes=10)


@dataclass(frozen=True)
class MoneyPlayed:
    """Money that was owed and paid in a rehearsal, in hundredths."""

    owed_cents: int
    """Everything that people earned, by the ledger."""
    paid_cents: int
    """Everything that the platform paid."""
    rewards_beyond_cents: int
    """Rewards that the platform paid for visits, beyond what was earned in them."""
    found_cents: int
    """Difference between ledger and platform, before it was corrected in the ledger."""
    disagreement_cents: int
    """Difference between ledger and platform at the end."""
    uncertain: int
    """Payouts that were uncertain at some time."""
    asked_of_you: int
    """Payouts that a requester had to look up."""
    currency: str


@dataclass(frozen=True)
class HourPlayed:
    """Hourly earnings of careful people in a rehearsal.

    `minutes_a_visit` is the median time of a careful person in the study, over all their visits. `by_kind` has the
    hourly pay in hundredths, by kind of task.
    """

    minutes_a_visit: float
    hourly_cents: int
    """Median over careful people, with the time for consent page and quiz."""
    by_kind: dict[str, int]
    floor: PayFloor
    visits: int


@dataclass(frozen=True)
class VerdictsPlayed:
    """Counts of verdicts on the rehearsal's problems, which were all good."""

    valid: int
    invalid: int
    open: int
    hang_on_blocked: int
    """Invalid problems that would be valid without the vote of a blocked worker."""
    hang_on_bots: int
    """Invalid problems that would be valid without the vote of a bot, blocked or not."""
    asked_once_more: int
    bots: int
    bots_blocked: int
    careful_blocked: int


@dataclass(frozen=True)
class PowerPlayed:
    """Power of the finished study to tell two models apart.

    Their accuracy differs by 5 points.
    """

    problems: int
    """Expected number of valid problems in the whole study."""
    power: float
    needed: int
    """Number of problems for a power of 80 %."""


@dataclass(frozen=True)
class Rehearsal:
    """All numbers of one rehearsal.

    `people` is how many arrived.
    """

    title: str
    plan: RehearsalPlan
    people: int
    money: MoneyPlayed
    hour: HourPlayed
    verdicts: VerdictsPlayed
    power: PowerPlayed
    seen: Rehearsed
    notes: tuple[str, ...]


class RehearsalClock:
    """A clock that the rehearsal sets.

    Calling it returns the simulated time.
    """

    def __init__(self, start: datetime) -> None:
        self.moment = start

    def __call__(self) -> datetime:
        """Return the simulated time."""
        return self.moment


def rehearse(folder: Path, plan: RehearsalPlan) -> Rehearsal:
    """Play a copy of a study through, with made-up people and payments.

    The study in the folder is not changed.
    """
    config = read_config(folder / FILE)
    with ExitStack() as stack:
        copy_folder = Path(stack.enter_context(TemporaryDirectory(prefix="winokit-rehearsal-"))) / "study"
        books = stack.enter_context(serve_stand_in(int(config.platform.base_reward * 100)))
        books.currency = config.pay.currency
        stack.enter_context(_set_fake_token())
        clock = RehearsalClock(datetime.now().astimezone())
        problem_count = _copy_study(folder, copy_folder, config, books, plan)
        study = stack.enter_context(closing(_open_copy(copy_folder, clock)))
        crowd = Crowd(study, books, plan)
        people = _run_people(study, crowd, clock, plan)
        doubts, looked_up = _pay_everybody(study, books, clock, plan)
        found_cents = reconcile(study, wait=_do_not_wait).disagreement_cents
        if found_cents:  # what the requester would press on the page that shows it
            adopt(study, "rehearsal", wait=_do_not_wait)
        left_cents = reconcile(study, wait=_do_not_wait).disagreement_cents
        money = _sum_money(study, books, (doubts, looked_up), (found_cents, left_cents))
        verdicts = _count_verdicts(study, crowd)
        share = verdicts.valid / max(1, verdicts.valid + verdicts.invalid)
        expected_problems = round(share * problem_count)
        return Rehearsal(
            title=config.title,
            plan=plan,
            people=people,
            money=money,
            hour=_sum_hours(study, crowd, pay_floor(config)),
            verdicts=verdicts,
            power=_find_power(expected_problems),
            seen=crowd.seen,
            notes=_list_notes(config, crowd, verdicts),
        )


def seconds_of(folder: Path, db: str | None = None) -> dict[str, float]:
    """Median seconds of a task, by kind.

    Kinds without enough submissions have an assumed time. `db` is the URL of the database, if it is not the study's
    usual one.
    """
    seconds = dict(ASSUMED_SECONDS)
    url = make_url(database_url(folder, db))
    if url.get_backend_name() != "sqlite" or Path(url.database or "").is_file():
        with closing(Study.open(folder, db, to_read=True)) as study:
            seconds |= usual_seconds(study)
    return seconds


def _copy_study(
    folder: Path, copy_folder: Path, config: StudyConfig, books: ProlificStandIn, plan: RehearsalPlan
) -> int:
    """Copy a study's settings and texts, for a smaller study in `copy_folder`.

    The copy uses the stand-in as its platform. The adversary and its bonus are left out. Returns the number of problems
    that the real study will have.
    """
    shutil.copytree(folder, copy_folder, ignore=shutil.ignore_patterns(*LEFT_BEHIND))
    sections = config.model_dump(mode="json", by_alias=True)
    reward = str(config.platform.base_reward)
    platform_keys = {"base_reward": reward, "tasks_per_visit": config.platform.tasks_per_visit}
    sections["platform"] = books.platform(**platform_keys)
    sections |= {"database": "", "adversary": {}}
    sections["rules"]["warn"] = False
    sections["pay"]["fooled"] = "0"
    problem_count = 2 * config.tasks.twins
    sections["tasks"]["twins"] = min(config.tasks.twins, plan.pairs)
    for section in ("judge", "evaluate"):
        if sections[section]["data"]:
            dataset = imported_dataset(folder, config)
            problem_count = len(dataset)
            write(draw_groups(dataset, 2 * plan.pairs, plan.seed), copy_folder / DATA)
            sections[section]["data"] = DATA
    smaller_config = parse_config(sections)
    (copy_folder / FILE).write_text(render_config(smaller_config), "utf-8")
    consent_path = copy_folder / config.consent
    consent = consent_path.read_text("utf-8").replace(FILL_IN, "filled in")
    consent_path.write_text(consent, "utf-8")
    return problem_count


def _open_copy(copy_folder: Path, clock: RehearsalClock) -> Study:
    return Study.open(copy_folder, f"sqlite:///{copy_folder / DATABASE}", clock=clock)


@contextmanager
def _set_fake_token() -> Iterator[None]:
    """Replace the environment's Prolific token while the block runs."""
    before = os.environ.get(prolific.TOKEN)
    os.environ[prolific.TOKEN] = "rehearsal"
    try:
        yield
    finally:
        if before is None:
            del os.environ[prolific.TOKEN]
        else:
            os.environ[prolific.TOKEN] = before


def _run_people(study: Study, crowd: Crowd, clock: RehearsalClock, plan: RehearsalPlan) -> int:
    """Let people arrive and work until no task is left.

    Or until the most people of the plan have come. Returns the number of people who arrived. `clock` is moved to the
    time of each step.
    """
    arrived = 0
    steps = 0
    next_arrival = clock.moment
    under_way: list[tuple[datetime, int, Iterator[float]]] = []
    while True:
        is_next = not under_way or under_way[0][0] >= next_arrival
        if is_next and arrived < plan.most_people and _is_open(study):
            arrived += 1
            heapq.heappush(under_way, (next_arrival, arrived, crowd.person(arrived)))
            next_arrival += timedelta(seconds=plan.arrival_seconds)
        if not under_way:
            return arrived
        moment, number, person = heapq.heappop(under_way)
        clock.moment = max(clock.moment, moment)
        seconds = next(person, None)
        if seconds is not None:
            heapq.heappush(under_way, (clock.moment + timedelta(seconds=seconds), number, person))
        steps += 1
        if steps % LOOK_STEPS == 0:
            ask_second_opinions(study)


def _is_open(study: Study) -> bool:
    """Whether any task still needs submissions."""
    is_missing = (Task.asked.is_not(None), Task.accepted < Task.asked)
    with study.store.read() as session:
        return session.scalar(select(Task.id).where(*is_missing).limit(1)) is not None


def _pay_everybody(study: Study, books: ProlificStandIn, clock: RehearsalClock, plan: RehearsalPlan) -> tuple[int, int]:
    """Pay everything that is owed, while API calls fail at random.

    Returns how many payouts were uncertain at some time, and how many of them a requester had to look up.
    """
    draw = Random(f"{plan.seed} money")
    _approve_some(books, draw, plan.approved_share)
    books.trouble = partial(_choose_trouble, draw, plan)
    doubted: set[int] = set()
    looked_up: set[int] = set()
    for round_number in range(MOST_ROUNDS):
        payout.plan(study, "rehearsal")
        while payout.step(study):
            doubted |= _find_jobs(study, schema.UNCERTAIN)
        clock.moment += LOOK_AFTER
        if not _find_jobs(study, *schema.UNDER_WAY) and not _is_money_owed(study):
            break
        if round_number % 3 == 2:
            looked_up |= _settle_doubts(study)
    books.trouble = lambda path: None
    return len(doubted), len(looked_up)


def _approve_some(books: ProlificStandIn, draw: Random, share: float) -> None:
    """Let the platform approve a share of the open visits by itself."""
    for session, submission in books.submissions.items():
        if submission["status"] == "ACTIVE" and draw.random() < share:
            books.ends(session, "APPROVED")


def _choose_trouble(draw: Random, plan: RehearsalPlan, path: str) -> tuple[str, int] | None:
    """Choose at random how one call to the platform's API fails.

    A pair: whether it fails before or after the call is done, and the HTTP status. None if the call succeeds, or if it
    pays nothing.
    """
    if not path.rstrip("/").endswith(MONEY_CALLS):
        return None
    troubles = [(AFTER, 500), (BEFORE, 500), (BEFORE, 429), None]
    shares = [plan.fails_after_paying, plan.fails_before_paying, plan.too_many_share]
    return draw.choices(troubles, weights=[*shares, 1 - sum(shares)])[0]


def _settle_doubts(study: Study) -> set[int]:
    """Mark all uncertain payouts as not paid.

    A requester who looked them up would do so. Returns the ids of these payouts.
    """
    doubtful = _find_jobs(study, schema.UNCERTAIN)
    for job_id in doubtful:
        payout.settle(study, job_id, paid=False, actor="rehearsal")
    return doubtful


def _find_jobs(study: Study, *states: str) -> set[int]:
    """Ids of the payouts in any of these states."""
    query = select(PayoutJob.id).where(PayoutJob.state.in_(states))
    with study.store.read() as session:
        return set(session.scalars(query))


def _is_money_owed(study: Study) -> bool:
    """Whether any worker is owed a positive amount."""
    owed = select(Payment.worker_id).where(Payment.settled_at.is_(None)).group_by(Payment.worker_id)
    owed = owed.having(func.sum(Payment.cents) > 0).limit(1)
    with study.store.read() as session:
        return session.scalar(owed) is not None


def _do_not_wait(seconds: float) -> None:
    """Ignore the seconds that a platform asks to wait."""


def _sum_money(
    study: Study, books: ProlificStandIn, doubts: tuple[int, int], differences: tuple[int, int]
) -> MoneyPlayed:
    """Add up all earnings and payments, in hundredths.

    `doubts` are the two counts of `_pay_everybody`. `differences` are the amounts on which ledger and platform
    disagreed before and after the correction.
    """
    earned = select(func.sum(Payment.cents)).where(Payment.reason != schema.VISIT)
    open_lines = select(func.sum(Payment.cents)).where(Payment.settled_at.is_(None))
    with study.store.read() as session:
        owed = int(session.scalar(earned) or 0)
        beyond = -int(session.scalar(open_lines) or 0)
    return MoneyPlayed(owed, books.paid, beyond, *differences, *doubts, study.config.pay.currency)


def _sum_hours(study: Study, crowd: Crowd, floor: PayFloor) -> HourPlayed:
    """Compute what careful people, who are no bots, earn in an hour."""
    careful = [times for number, times in crowd.seen.times.items() if number not in crowd.seen.bots]
    worked = [times for times in careful if times.by_kind and times.seconds]
    hourly_cents = [times.earned_cents * 3600 / times.seconds for times in worked]
    visits = len(crowd.books.submissions)
    minutes = median(times.seconds for times in worked) / 60 if worked else 0.0
    median_cents = round(median(hourly_cents)) if hourly_cents else 0
    return HourPlayed(minutes, median_cents, _compute_hourly_by_kind(study, worked), floor, visits)


def _compute_hourly_by_kind(study: Study, worked: Sequence[VisitTimes]) -> dict[str, int]:
    """Hourly pay in cents, by kind of task.

    Computed from the median time of a task.
    """
    by_kind: dict[str, list[float]] = {}
    for times in worked:
        for kind, seconds in times.by_kind.items():
            by_kind.setdefault(kind, []).extend(seconds)
    hourly_cents = {}
    for kind, seconds in by_kind.items():
        price = study.config.pay.cents(kind)
        hourly_cents[kind] = round(price * 3600 / median(seconds))
    return hourly_cents


def _count_verdicts(study: Study, crowd: Crowd) -> VerdictsPlayed:
    """Count verdicts, and those that depend on bots or blocked workers."""
    origins = (schema.WRITTEN, schema.IMPORTED)
    problems = select(ProblemRow).where(ProblemRow.origin.in_(origins))
    problems = problems.options(
        selectinload(ProblemRow.votes).selectinload(Vote.worker), selectinload(ProblemRow.tasks)
    )
    with study.store.read(steady=True) as session:
        rows = session.scalars(problems).all()
        settings_ids = {row.settings_id for row in rows}
        rules = {number: rule_of(session, study, number) for number in settings_ids}
        identities = session.execute(select(schema.Identity.external_id, schema.Identity.worker_id)).all()
        blocked = set(session.scalars(select(Worker.id).where(Worker.state == schema.BLOCKED)))
    bots = {row.worker_id for row in identities if int(row.external_id[2:]) in crowd.seen.bots}
    decisive = _list_deciders(rows, rules)
    valid = sum(row.valid is True for row in rows)
    invalid = sum(row.valid is False for row in rows)
    return VerdictsPlayed(
        valid=valid,
        invalid=invalid,
        open=len(rows) - valid - invalid,
        hang_on_blocked=sum(not deciders.isdisjoint(blocked) for deciders in decisive),
        hang_on_bots=sum(not deciders.isdisjoint(bots) for deciders in decisive),
        asked_once_more=_count_doubted(rows),
        bots=len(bots),
        bots_blocked=len(bots & blocked),
        careful_blocked=len(blocked - bots),
    )


def _list_deciders(rows: Sequence[ProblemRow], rules: Mapping[int | None, str]) -> list[set[int]]:
    """Ids of the workers who decided, for each problem that votes rejected.

    `rules` has the rule of validity by number of the settings version.
    """
    rejected = [row for row in rows if row.valid is False and row.answer is not None]
    return [_find_deciders(row, rules[row.settings_id]) for row in rejected]


def _find_deciders(row: ProblemRow, rule: str) -> set[int]:
    """Ids of workers whose single vote decides the verdict on a problem.

    Without that vote, the verdict by `rule` would be another.
    """
    votes = deciding_votes(complete_votes(row, schema.VALIDATE))
    if not votes or row.answer is None:
        return set()
    indexes = find_decisive(judgements(votes, row.answer), rule)
    return {votes[index].worker_id for index in indexes}


def _count_doubted(rows: Sequence[ProblemRow]) -> int:
    """Number of votes that were replaced by asking somebody else."""
    count = 0
    for row in rows:
        count += sum(vote.doubted for vote in row.votes)
    return count


def _find_power(problems: int) -> PowerPlayed:
    """Power of a paired test for two models 5 points apart.

    At level 5 %. The models disagree on a fifth of the problems. By the normal approximation, as if the twins of a pair
    were answered independently.
    """
    normal = NormalDist()
    spread = sqrt(DISAGREE - POINTS**2)
    beyond = normal.inv_cdf(1 - LEVEL / 2)
    power = normal.cdf(POINTS * sqrt(problems) / spread - beyond) if problems else 0.0
    needed_distance = beyond * sqrt(DISAGREE) + normal.inv_cdf(0.8) * spread
    needed = (needed_distance / POINTS) ** 2
    return PowerPlayed(problems, power, round(needed))


def _list_notes(config: StudyConfig, crowd: Crowd, verdicts: VerdictsPlayed) -> tuple[str, ...]:
    """List the limits of what the rehearsal's numbers show."""
    notes = []
    if config.platform.name != "prolific":
        notes.append(
            f"The study is not on Prolific ({config.platform.name}); it was played as if it were, since that platform "
            "has a stand-in."
        )
    if config.adversary.model:
        notes.append("The model to fool was left out, and so was its bonus.")
    if verdicts.open and schema.VALIDATE in config.tasks.kinds:
        notes.append(f"{verdicts.open:,} problems did not get all their votes: too few people could still judge them.")
    for reason, count in crowd.seen.refused_texts.items():
        notes.append(f"Made-up twins were not taken by the rules, {count:,} times: {reason}.")
    return tuple(notes)


def check_shares(bot_share: float) -> None:
    """Refuse a share of bots that leaves no careful people. Raises BadInput."""
    if not 0 <= bot_share < 1:
        raise BadInput(f"--bots: expected a share from 0 to below 1, found {bot_share}")


def stand_in_contract() -> str:
    """The stand-in's assumptions about its platform, in one line."""
    return " ".join(str(stand_in.__doc__).split())


def to_record(rehearsal: Rehearsal) -> dict[str, Any]:
    """The numbers of a rehearsal as plain data, for scripts."""
    parts = {"money": rehearsal.money, "verdicts": rehearsal.verdicts, "power": rehearsal.power}
    record: dict[str, Any] = {name: vars(part) for name, part in parts.items()}
    hour = rehearsal.hour
    record["hour"] = {**vars(hour), "floor": vars(hour.floor)}
    record |= {"people": rehearsal.people, "visits": hour.visits, "notes": list(rehearsal.notes)}
    return record | {"returned": rehearsal.seen.returned, "second_visits": rehearsal.seen.second_visits}
