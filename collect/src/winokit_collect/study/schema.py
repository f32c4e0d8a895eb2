"""Tables of a study's database.

A *task* asks for a number of submissions of one kind; a *lease* gives one of its places to one worker for a while;
a *submission* is what came back, and a *vote* is the judgement of a problem in it. Each task has two counters,
`accepted` and `held`, with one constraint over them. So the database itself refuses a place too many, whatever
happens at once.

People are pseudonymous: everything refers to a worker's code. Only the table `identities` knows who that is on a
platform, and it can be emptied without touching the rest.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, cast

import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from winokit import Problem

WRITE = "write"
VALIDATE = "validate"
SWITCHABLE = "switchable"
ASSOCIATIVE = "associative"
EVALUATE = "evaluate"
JUDGEMENTS = (VALIDATE, SWITCHABLE, ASSOCIATIVE)
VOTES = (*JUDGEMENTS, EVALUATE)
LIVE = "live"
SUBMITTED = "submitted"
EXPIRED = "expired"
RELEASED = "released"
ACTIVE = "active"
BLOCKED = "blocked"
SCREENED_OUT = "screened-out"
WITHDRAWN = "withdrawn"
WRITTEN = "written"
IMPORTED = "imported"
GOLD = "gold"
PLANNED = "planned"
SENT = "sent"
CONFIRMED = "confirmed"
UNCERTAIN = "uncertain"
REFUSED = "refused"
UNDER_WAY = (PLANNED, SENT, UNCERTAIN)
OPEN = "open"
APPROVED = "approved"
RETURNED = "returned"
"""States of a visit on its platform, with `SCREENED_OUT`. A visit that timed out or was rejected is `returned`."""
PAUSED = "paused"
SERVED = "served"
OWNER = "owner"
EDITOR = "editor"
VIEWER = "viewer"
LATE = "late"
FROM_BLOCKED = "from a blocked worker"
VISIT = "visit"
"""Reason of a ledger line that deducts the platform's reward for a visit."""
DISCARDED = "discarded: "
WITH_WORKER = "worker blocked: "
SHOWN: dict[str, Any] = {"viewonly": True, "lazy": "raise"}
"""Options of relations: related rows are loaded with their row or not at all, never one by one."""


class Moment(sa.TypeDecorator[datetime]):
    """Column type for a moment in UTC, with its time zone.

    SQLite stores no time zones, so it is added when a moment is read.
    """

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        """Convert a moment to UTC before it is stored."""
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        """Add the time zone UTC to a moment that was read."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


CONSTRAINT_NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}
COLUMN_TYPES: dict[Any, Any] = {
    dict[str, Any]: sa.JSON,
    list[dict[str, Any]]: sa.JSON,
    list[str]: sa.JSON,
    list[int]: sa.JSON,
    datetime: Moment,
    str: sa.Text,
}


class Base(DeclarativeBase):
    """Base class of all tables.

    It names all constraints, so that migrations can refer to them, and maps type hints to column types.
    """

    metadata = sa.MetaData(naming_convention=CONSTRAINT_NAMES)
    type_annotation_map = COLUMN_TYPES


class Numbered(Base):
    """Base class of the tables whose rows are numbered by `id`."""

    __abstract__ = True
    id: Mapped[int] = mapped_column(primary_key=True)


def _make_condition(condition: str) -> dict[str, Any]:
    """Options of an index that covers only rows with a condition.

    They are for both databases.
    """
    return {"sqlite_where": sa.text(condition), "postgresql_where": sa.text(condition)}


# Pages stay fast in a large study because these indexes hold everything that is counted, so that nothing else is read.
GOLD_ONLY: dict[str, Any] = {"sqlite_where": sa.text("gold = 1"), "postgresql_where": sa.text("gold")}
NOT_COUNTED_ONLY: dict[str, Any] = {"sqlite_where": sa.text("counted = 0"), "postgresql_where": sa.text("NOT counted")}
# Every lease expires. Saying so keeps PostgreSQL from looking for a worker's own lease among them: it would read all
# live leases, and thousands that are no longer, until they are vacuumed away.
TO_EXPIRE: dict[str, Any] = {
    "sqlite_where": sa.text("state = 'live'"),
    "postgresql_where": sa.text("state = 'live' AND expires_at IS NOT NULL"),
}
ANSWERS = ("choice", "equally_plausible", "local_decides")


class Worker(Numbered):
    """A person who writes or judges problems, known by a pseudonymous code."""

    __tablename__ = "workers"
    code: Mapped[str] = mapped_column(sa.String(24), unique=True)
    platform: Mapped[str] = mapped_column(sa.String(16))
    state: Mapped[str] = mapped_column(sa.String(16), default=ACTIVE)
    state_why: Mapped[str | None]
    joined_at: Mapped[datetime]
    consented_at: Mapped[datetime | None]
    consent_sha256: Mapped[str | None] = mapped_column(sa.String(64))
    """Hash of the consent text they agreed to last. Null if they agreed before texts were stored."""
    screened_at: Mapped[datetime | None]
    native_speaker: Mapped[bool | None]
    has_seen_wsc: Mapped[bool | None]
    qualified_at: Mapped[datetime | None]
    qualified_for: Mapped[dict[str, Any] | None]
    """Kinds of task whose quiz they have passed (true) or finally failed (false). Null: decided before quizzes had
    kinds."""
    session_version: Mapped[int] = mapped_column(default=1, server_default="1")
    """Raised to end every session of the worker at once."""
    link_version: Mapped[int] = mapped_column(default=1, server_default="1")
    """Raised to invalidate the worker's personal link."""
    pilot: Mapped[bool] = mapped_column(default=False, server_default=sa.false())
    """Whether they joined in a pilot, so that their data can be removed."""
    submissions: Mapped[list[Submission]] = relationship(**SHOWN)
    votes: Mapped[list[Vote]] = relationship(**SHOWN)
    payments: Mapped[list[Payment]] = relationship(**SHOWN)


class Identity(Base):
    """A worker's id on their platform, the only personal data.

    It is never exported, and deleted on request.
    """

    __tablename__ = "identities"
    __table_args__ = (sa.UniqueConstraint("platform", "external_id"),)
    worker_id: Mapped[int] = mapped_column(sa.ForeignKey("workers.id"), primary_key=True)
    platform: Mapped[str] = mapped_column(sa.String(16))
    external_id: Mapped[str]
    study_id: Mapped[str | None]
    session_id: Mapped[str | None]
    """Present or last visit: Prolific's submission, Mechanical Turk's assignment."""
    arrived_at: Mapped[datetime | None]
    """Time at which this visit began."""
    browser: Mapped[str | None] = mapped_column(sa.String(64))
    """Keyed hash of the browser in which the visit began. It can be continued in no other."""


class PlatformVisit(Numbered):
    """One visit of a worker, by an invite link or from a platform.

    A platform approves and pays each visit separately. The columns that tie it to a person (`study_id`, `session_id`,
    `browser`) are emptied when the identity is deleted. The money stays.
    """

    __tablename__ = "visits"
    __table_args__ = (sa.UniqueConstraint("platform", "session_id"),)
    worker_id: Mapped[int] = mapped_column(sa.ForeignKey("workers.id"), index=True)
    platform: Mapped[str] = mapped_column(sa.String(16))
    study_id: Mapped[str | None]
    session_id: Mapped[str | None]
    """Id of what the platform approves and pays: Prolific's submission, Mechanical Turk's assignment. Null for invite
    links."""
    invite_id: Mapped[str | None] = mapped_column(sa.ForeignKey("invites.id"))
    """The invite link they came by."""
    browser: Mapped[str | None] = mapped_column(sa.String(64), index=True)
    """Keyed hash of the browser, to find workers who share one."""
    arrived_at: Mapped[datetime]
    state: Mapped[str] = mapped_column(sa.String(16), default=OPEN, server_default=OPEN)
    """State on the platform, as far as we know: `OPEN`, `APPROVED`, `SCREENED_OUT` or `RETURNED`."""
    reward_cents: Mapped[int | None]
    """The platform's reward for the visit. Null while it is open."""
    currency: Mapped[str | None] = mapped_column(sa.String(3))
    closed_at: Mapped[datetime | None]
    """Time at which we learned that it is no longer open."""
    worker: Mapped[Worker] = relationship(**SHOWN)
    invite: Mapped[Invite | None] = relationship(**SHOWN)


class ConsentText(Base):
    """A consent text, exactly as workers read it."""

    __tablename__ = "consent_texts"
    sha256: Mapped[str] = mapped_column(sa.String(64), primary_key=True)
    text: Mapped[str]
    at: Mapped[datetime]
    """Time at which the first worker agreed to it."""


class Consent(Numbered):
    """A worker's agreement to one consent text."""

    __tablename__ = "consents"
    worker_id: Mapped[int] = mapped_column(sa.ForeignKey("workers.id"), index=True)
    sha256: Mapped[str] = mapped_column(sa.ForeignKey("consent_texts.sha256"))
    at: Mapped[datetime]
    worker: Mapped[Worker] = relationship(**SHOWN)


class SettingsVersion(Numbered):
    """The study's settings, in force until the next row.

    Rows are added, never changed.
    """

    __tablename__ = "settings_versions"
    at: Mapped[datetime]
    actor: Mapped[str] = mapped_column(sa.String(80))
    """User who opened the study with these settings first."""
    settings: Mapped[dict[str, Any]]
    changes: Mapped[dict[str, Any]] = mapped_column(default=dict)
    """The values before and now, by key: `{"pay.write": ["0.40", "0.50"]}`."""


class QuizAttempt(Numbered):
    """One attempt of a worker at the quiz.

    `answers` are indexes of options from 0, `share` is that of the right ones.
    """

    __tablename__ = "quiz_attempts"
    worker_id: Mapped[int] = mapped_column(sa.ForeignKey("workers.id"), index=True)
    kind: Mapped[str | None] = mapped_column(sa.String(16))
    """The kind of task that the quiz was for. Null for an early quiz about all kinds."""
    answers: Mapped[list[int]]
    share: Mapped[float]
    passed: Mapped[bool]
    at: Mapped[datetime]


class Requester(Numbered):
    """A person who runs the study, with a login."""

    __tablename__ = "requesters"
    name: Mapped[str] = mapped_column(sa.String(64), unique=True)
    password_hash: Mapped[str]
    session_version: Mapped[int] = mapped_column(default=1)
    """Raised to end every session of the requester at once."""
    role: Mapped[str] = mapped_column(sa.String(8), default=OWNER, server_default=OWNER)
    created_at: Mapped[datetime]


class LoginFailure(Numbered):
    """A failed login, under a keyed hash of name or address.

    Neither can be read from the hash.
    """

    __tablename__ = "login_failures"
    __table_args__ = (sa.Index("ix_login_failures_key_at", "key", "at"),)
    key: Mapped[str] = mapped_column(sa.String(64))
    at: Mapped[datetime]


class Invite(Base):
    """An invite link, with its number of uses and its expiry.

    `worker_id` is the worker whom it lets in again, null for a link for new workers.
    """

    __tablename__ = "invites"
    id: Mapped[str] = mapped_column(sa.String(32), primary_key=True)
    purpose: Mapped[str] = mapped_column(sa.String(16))
    label: Mapped[str] = mapped_column(default="")
    uses: Mapped[int] = mapped_column(default=0)
    most_uses: Mapped[int] = mapped_column(default=1)
    worker_id: Mapped[int | None] = mapped_column(sa.ForeignKey("workers.id"))
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    revoked_at: Mapped[datetime | None]


class Group(Numbered):
    """A group of problems: twins, or a group of an imported dataset."""

    __tablename__ = "problem_groups"
    name: Mapped[str | None]
    """The group's name in the dataset it was imported from."""
    origin: Mapped[str] = mapped_column(sa.String(16))


class ProblemRow(Numbered):
    """A problem as it is stored.

    `to_problem` makes a Problem of it. `origin` is `written`, `imported` or `gold`. `variant` is `original`, or the
    name of the change that was made to its text.
    """

    __tablename__ = "problems"
    __table_args__ = (sa.Index("ix_problems_counts", "origin", "withdrawn", "valid", "agreement", "domain"),)
    public_id: Mapped[str] = mapped_column(sa.String(40), index=True)
    family: Mapped[str] = mapped_column(sa.String(40), index=True)
    """Public id of the original problem: its own, except for a variant."""
    group_id: Mapped[int | None] = mapped_column(sa.ForeignKey("problem_groups.id"), index=True)
    origin: Mapped[str] = mapped_column(sa.String(16), index=True)
    variant: Mapped[str] = mapped_column(sa.String(24), default="original")
    before: Mapped[str]
    after: Mapped[str]
    candidates: Mapped[list[str]]
    answer: Mapped[int | None]
    pronoun: Mapped[str | None]
    query: Mapped[str | None]
    domain: Mapped[str | None] = mapped_column(sa.String(32))
    labels: Mapped[dict[str, Any]] = mapped_column(default=dict)
    occurrence: Mapped[int] = mapped_column(default=1)
    author_id: Mapped[int | None] = mapped_column(sa.ForeignKey("workers.id"), index=True)
    submission_id: Mapped[int | None] = mapped_column(index=True)
    """The submission in which it was written. No foreign key, since submissions refer to tasks and tasks to
    problems."""
    created_at: Mapped[datetime]
    valid: Mapped[bool | None]
    """Verdict of the votes, or of a requester who overruled them. Null while votes are missing."""
    agreement: Mapped[str | None] = mapped_column(sa.String(16))
    """Agreement of the votes on validity: `unanimous-yes`, `unanimous-no` or `split`."""
    withdrawn: Mapped[bool] = mapped_column(default=False, server_default=sa.false())
    """Whether its submission was discarded, so that nobody is asked about it any more."""
    settings_id: Mapped[int | None] = mapped_column(sa.ForeignKey("settings_versions.id"))
    """The settings under which it was made, whose rule decides about it. Null if it is older than stored settings."""
    author: Mapped[Worker | None] = relationship(**SHOWN)
    submission: Mapped[Submission | None] = relationship(
        primaryjoin="foreign(ProblemRow.submission_id) == Submission.id", **SHOWN
    )
    tasks: Mapped[list[Task]] = relationship(**SHOWN)
    votes: Mapped[list[Vote]] = relationship(order_by="Vote.id", **SHOWN)
    decisions: Mapped[list[Adjudication]] = relationship(order_by="Adjudication.id.desc()", **SHOWN)
    """A requester's decisions, the last one first."""
    remarks: Mapped[list[Remark]] = relationship(order_by="Remark.id", **SHOWN)


PROBLEM_COLUMNS = ("before", "after", "candidates", "answer", "pronoun", "query", "domain", "labels", "occurrence")


def to_row(problem: Problem, origin: str, at: datetime, variant: str = "original", **columns: Any) -> ProblemRow:
    """Make a database row of a problem.

    `at` is the time at which it was made. `columns` has further columns by name. A variant gets its original's id as
    `family`.
    """
    stored = {name: getattr(problem, name) for name in PROBLEM_COLUMNS}
    stored["candidates"] = list(problem.candidates)
    stored["labels"] = dict(problem.labels)
    family = problem.id
    if variant != "original":
        family = str(problem.provenance.get("of", problem.id))
    row = ProblemRow(public_id=problem.id, family=family, origin=origin, variant=variant, **stored, **columns)
    row.created_at = at
    return row


def to_problem(row: ProblemRow | sa.Row[Any], language: str) -> Problem:
    """Make a Problem of a database row, or of its columns.

    `language` is the study's language.
    """
    fields = {name: getattr(row, name) for name in PROBLEM_COLUMNS}
    fields["candidates"] = tuple(row.candidates)
    fields["labels"] = dict(row.labels)
    return Problem(**fields, language=language)


class Task(Numbered):
    """A request for a number of submissions of one kind.

    It is usually about one problem. `asked` is that number. `accepted` counts the submissions that count, `held` the
    places reserved by leases that are neither submitted nor given back. If `asked` is null the task is a gold question,
    which every worker may get.
    """

    __tablename__ = "tasks"
    __table_args__ = (
        sa.CheckConstraint("accepted >= 0 AND held >= 0 AND accepted + held <= asked", name="never_over_assigned"),
        sa.Index("ix_tasks_free", "kind", "rank", **_make_condition("free > 0")),
        sa.Index("ix_tasks_gold", "kind", "id", **GOLD_ONLY),
    )
    kind: Mapped[str] = mapped_column(sa.String(16))
    asked: Mapped[int | None]
    accepted: Mapped[int] = mapped_column(default=0)
    held: Mapped[int] = mapped_column(default=0)
    free: Mapped[int | None] = mapped_column(sa.Computed("asked - accepted - held", persisted=True))
    rank: Mapped[int]
    """Place in the order in which tasks are given out."""
    gold: Mapped[bool] = mapped_column(default=False, server_default=sa.false())
    problem_id: Mapped[int | None] = mapped_column(sa.ForeignKey("problems.id"), index=True)
    group_id: Mapped[int | None] = mapped_column(sa.ForeignKey("problem_groups.id"), index=True)
    family: Mapped[str | None] = mapped_column(sa.String(40), index=True)
    author_id: Mapped[int | None] = mapped_column(sa.ForeignKey("workers.id"))
    domain: Mapped[str | None] = mapped_column(sa.String(32))
    topic: Mapped[dict[str, Any] | None]
    """For writing: `{"topic": …, "words": […]}`. For gold: `{"answer": …}`."""
    votes: Mapped[list[Vote]] = relationship(order_by="Vote.id", **SHOWN)


def task_about(row: ProblemRow, kind: str, rank: int, **columns: Any) -> Task:
    """Make a task that asks to judge or solve a problem.

    `rank` is its place in the order of tasks. `columns` has further columns by name.
    """
    shared_columns = {name: getattr(row, name) for name in ("group_id", "family", "author_id", "domain")}
    return Task(kind=kind, rank=rank, problem_id=row.id, **shared_columns, **columns)


class Lease(Numbered):
    """A place of a task that is reserved for a worker, for a while.

    There is one row per worker and task, even if the worker gets the task again.
    """

    __tablename__ = "leases"
    __table_args__ = (
        sa.UniqueConstraint("task_id", "worker_id"),
        sa.Index("uq_leases_one_live", "worker_id", "kind", unique=True, **_make_condition("state = 'live'")),
        sa.Index("ix_leases_worker_id_kind_id", "worker_id", "kind", "id"),
        sa.Index("ix_leases_live", "expires_at", **TO_EXPIRE),
    )
    token: Mapped[str] = mapped_column(sa.String(32), unique=True)
    task_id: Mapped[int] = mapped_column(sa.ForeignKey("tasks.id"))
    worker_id: Mapped[int] = mapped_column(sa.ForeignKey("workers.id"))
    kind: Mapped[str] = mapped_column(sa.String(16))
    state: Mapped[str] = mapped_column(sa.String(16), default=LIVE)
    leased_at: Mapped[datetime]
    expires_at: Mapped[datetime]


class Draft(Base):
    """The unfinished form of a lease.

    It is kept when the browser tab is closed or the lease expires.
    """

    __tablename__ = "drafts"
    lease_id: Mapped[int] = mapped_column(sa.ForeignKey("leases.id"), primary_key=True)
    fields: Mapped[dict[str, Any]]
    saved_at: Mapped[datetime]


class Submission(Numbered):
    """Work that a worker has handed in, whether it counts or not.

    There is one per lease, so sending a form twice adds none.
    """

    __tablename__ = "submissions"
    __table_args__ = (
        sa.Index("ix_submissions_by_worker", "worker_id", "kind", "seconds", "pasted"),
        sa.Index("ix_submissions_kind_submitted_at", "kind", "submitted_at"),
        sa.Index("ix_submissions_not_counted", "submitted_at", **NOT_COUNTED_ONLY),
    )
    lease_id: Mapped[int] = mapped_column(sa.ForeignKey("leases.id"), unique=True)
    task_id: Mapped[int] = mapped_column(sa.ForeignKey("tasks.id"), index=True)
    worker_id: Mapped[int] = mapped_column(sa.ForeignKey("workers.id"))
    kind: Mapped[str] = mapped_column(sa.String(16))
    fields: Mapped[dict[str, Any]]
    counted: Mapped[bool]
    why_not: Mapped[str | None]
    """Reason why it does not count: late, from a blocked worker, or discarded."""
    late: Mapped[bool] = mapped_column(default=False)
    seconds: Mapped[float]
    """Seconds from the lease to the submission."""
    pasted: Mapped[int] = mapped_column(default=0)
    """Number of characters that were pasted."""
    adversary: Mapped[dict[str, Any] | None]
    submitted_at: Mapped[datetime] = mapped_column(index=True)
    history: Mapped[list[dict[str, Any]]] = mapped_column(default=list, server_default="[]")
    """Earlier versions before each correction, oldest first: `{"fields", "adversary", "until"}`."""
    worker: Mapped[Worker] = relationship(**SHOWN)
    vote: Mapped[Vote | None] = relationship(**SHOWN)
    written: Mapped[list[ProblemRow]] = relationship(
        primaryjoin="foreign(ProblemRow.submission_id) == Submission.id", order_by="ProblemRow.id", **SHOWN
    )


class Vote(Numbered):
    """One worker's judgement of one problem.

    `choice` is a candidate's index, or 1 for yes and 0 for no. It is null if the worker cannot tell.
    """

    __tablename__ = "votes"
    __table_args__ = (
        sa.UniqueConstraint("task_id", "worker_id"),
        sa.Index("ix_votes_problem_id_kind", "problem_id", "kind"),
        sa.Index("ix_votes_by_worker", "worker_id", "gold", "counted", "task_id", "choice"),
        sa.Index("ix_votes_by_task", "task_id", "kind", "counted", "gold", *ANSWERS),
        sa.Index("ix_votes_choice", "choice"),
        sa.Index("ix_votes_gold", "worker_id", "is_right", **GOLD_ONLY),
    )
    submission_id: Mapped[int] = mapped_column(sa.ForeignKey("submissions.id"), unique=True)
    task_id: Mapped[int] = mapped_column(sa.ForeignKey("tasks.id"))
    problem_id: Mapped[int] = mapped_column(sa.ForeignKey("problems.id"))
    worker_id: Mapped[int] = mapped_column(sa.ForeignKey("workers.id"))
    kind: Mapped[str] = mapped_column(sa.String(16))
    choice: Mapped[int | None]
    """Null if the worker cannot tell, where the study allows that answer."""
    equally_plausible: Mapped[bool | None]
    local_decides: Mapped[bool | None]
    counted: Mapped[bool]
    gold: Mapped[bool] = mapped_column(default=False)
    doubted: Mapped[bool] = mapped_column(default=False, server_default=sa.false())
    """Whether somebody else was asked instead, since a verdict depended on this vote of an unreliable judge. It does
    not decide."""
    is_right: Mapped[bool | None]
    """Whether the vote on a gold question is right. Null for other problems."""
    at: Mapped[datetime]
    worker: Mapped[Worker] = relationship(**SHOWN)
    submission: Mapped[Submission] = relationship(**SHOWN)


class Event(Numbered):
    """A signal from a task's page, such as a paste.

    For a paste, `amount` is the number of characters.
    """

    __tablename__ = "events"
    worker_id: Mapped[int] = mapped_column(sa.ForeignKey("workers.id"), index=True)
    lease_id: Mapped[int | None] = mapped_column(sa.ForeignKey("leases.id"), index=True)
    kind: Mapped[str] = mapped_column(sa.String(16))
    amount: Mapped[int] = mapped_column(default=0)
    at: Mapped[datetime]


class Remark(Numbered):
    """A worker's remark on a problem, instead of a judgement or with it.

    Only the last one under a lease is kept.
    """

    __tablename__ = "remarks"
    lease_id: Mapped[int] = mapped_column(sa.ForeignKey("leases.id"), unique=True)
    worker_id: Mapped[int] = mapped_column(sa.ForeignKey("workers.id"), index=True)
    problem_id: Mapped[int] = mapped_column(sa.ForeignKey("problems.id"), index=True)
    kind: Mapped[str] = mapped_column(sa.String(16))
    reason: Mapped[str] = mapped_column(sa.String(16))
    """One of `own_work.REASONS`."""
    text: Mapped[str]
    at: Mapped[datetime]
    worker: Mapped[Worker] = relationship(**SHOWN)


class Payment(Numbered):
    """A line of the ledger: an amount owed to a worker.

    In hundredths of the study's currency. Negative lines are corrections or deductions.
    """

    __tablename__ = "payments"
    __table_args__ = (
        sa.UniqueConstraint("submission_id", "reason"),
        sa.Index("ix_payments_by_worker", "worker_id", "settled_at", "job_id", "reason", "cents"),
        sa.Index("ix_payments_at", "at", "cents"),
    )
    worker_id: Mapped[int] = mapped_column(sa.ForeignKey("workers.id"))
    submission_id: Mapped[int | None] = mapped_column(sa.ForeignKey("submissions.id"))
    reason: Mapped[str] = mapped_column(sa.String(16))
    """A task's kind, or `quiz`, `bonus` or `correction`."""
    cents: Mapped[int]
    note: Mapped[str] = mapped_column(default="")
    at: Mapped[datetime]
    settled_at: Mapped[datetime | None]
    settlement: Mapped[str | None]
    """The platform's receipt."""
    job_id: Mapped[int | None] = mapped_column(sa.ForeignKey("payout_jobs.id"), index=True)
    """The payout that pays it. Paid lines without one are older than payouts."""
    visit_id: Mapped[int | None] = mapped_column(sa.ForeignKey("visits.id"))
    """For a line that deducts a platform's reward: the visit it was paid for."""
    worker: Mapped[Worker] = relationship(**SHOWN)
    job: Mapped[PayoutJob | None] = relationship(**SHOWN)


class PayoutJob(Numbered):
    """A payout to one worker: planned, sent, then confirmed, refused or uncertain.

    Only the server that moved it from `planned` to `sent` sends it. An index allows one unfinished payout per worker.
    """

    __tablename__ = "payout_jobs"
    __table_args__ = (
        sa.Index("uq_payout_jobs_one_under_way", "worker_id", unique=True, **_make_condition(f"state IN {UNDER_WAY}")),
        sa.Index("ix_payout_jobs_state_due_at", "state", "due_at"),
    )
    worker_id: Mapped[int] = mapped_column(sa.ForeignKey("workers.id"), index=True)
    visit_id: Mapped[int | None] = mapped_column(sa.ForeignKey("visits.id"))
    """The visit for which the bonus is sent, where the platform shows it."""
    state: Mapped[str] = mapped_column(sa.String(16))
    cents: Mapped[int]
    key: Mapped[str | None]
    """Key of the bonus, the same if it must be sent again."""
    shown_before: Mapped[int | None]
    """Number of equal bonuses that the platform showed before it was sent. One more means that it was paid."""
    planned_at: Mapped[datetime]
    planned_by: Mapped[str] = mapped_column(sa.String(80))
    due_at: Mapped[datetime]
    """Earliest time for the next step. Later than now while a server processes it, or while the platform must not be
    asked."""
    sent_at: Mapped[datetime | None]
    settled_at: Mapped[datetime | None]
    settled_by: Mapped[str | None] = mapped_column(sa.String(80))
    """A requester or the platform, whoever decided last about its state."""
    why: Mapped[str] = mapped_column(default="")
    """The platform's answer, if it did not confirm."""
    worker: Mapped[Worker] = relationship(**SHOWN)


class Adjudication(Numbered):
    """A requester's decision on a problem, which overrules its votes.

    Only the last one on a problem is in force.
    """

    __tablename__ = "adjudications"
    problem_id: Mapped[int] = mapped_column(sa.ForeignKey("problems.id"), index=True)
    requester: Mapped[str] = mapped_column(sa.String(64))
    valid: Mapped[bool | None]
    """Null withdraws an earlier decision."""
    note: Mapped[str] = mapped_column(default="")
    at: Mapped[datetime]


class LogEntry(Numbered):
    """A line of the audit log: who did what to which object.

    Rows are added, never changed.
    """

    __tablename__ = "audit_log"
    at: Mapped[datetime] = mapped_column(index=True)
    actor: Mapped[str] = mapped_column(sa.String(80))
    """`requester:NAME`, `worker:CODE`, `system` or `stranger`."""
    action: Mapped[str] = mapped_column(sa.String(40), index=True)
    target: Mapped[str] = mapped_column(default="")
    detail: Mapped[dict[str, Any]] = mapped_column(default=dict)


class State(Base):
    """A fact about the study, such as whether it is paused."""

    __tablename__ = "state"
    key: Mapped[str] = mapped_column(sa.String(40), primary_key=True)
    value: Mapped[dict[str, Any]]


# Queries of every page use tables: reading and changing rows as objects takes several times as long.
WORKERS = cast(sa.Table, Worker.__table__)
TASKS = cast(sa.Table, Task.__table__)
LEASES = cast(sa.Table, Lease.__table__)
PROBLEMS = cast(sa.Table, ProblemRow.__table__)
DRAFTS = cast(sa.Table, Draft.__table__)
SUBMISSIONS = cast(sa.Table, Submission.__table__)
VOTE_ROWS = cast(sa.Table, Vote.__table__)
PAYMENTS = cast(sa.Table, Payment.__table__)
STATE = cast(sa.Table, State.__table__)
# Written out, not bound: a database uses an index with a condition only where a query says the same to the letter.
IS_FREE = TASKS.c.free > sa.literal_column("0")
IS_LIVE = LEASES.c.state == sa.literal_column("'live'")
