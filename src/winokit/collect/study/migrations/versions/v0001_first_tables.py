"""The first tables."""

from functools import partial
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

# Constraints and indexes without a name get that of the naming convention in `schema.Base`.
_required = partial(sa.Column, nullable=False)
_at = sa.DateTime(timezone=True)
TABLES = (
    *("audit_log", "login_failures", "problem_groups", "requesters", "state", "workers", "identities", "invites"),
    *("problems", "quiz_attempts", "adjudications", "tasks", "leases", "drafts", "events", "submissions"),
    *("payments", "votes"),
)


def _numbered_table(name: str, *columns: Any) -> None:
    op.create_table(name, _required("id", sa.Integer, primary_key=True), *columns)


def _where(condition: str) -> dict[str, Any]:
    return {"sqlite_where": sa.text(condition), "postgresql_where": sa.text(condition)}


def upgrade() -> None:
    """Make every table."""
    _numbered_table(
        "audit_log",
        _required("at", _at, index=True),
        _required("actor", sa.String(80)),
        _required("action", sa.String(40), index=True),
        _required("target", sa.Text),
        _required("detail", sa.JSON),
    )
    _numbered_table(
        "login_failures",
        _required("key", sa.String(64)),
        _required("at", _at),
        sa.Index("ix_login_failures_key_at", "key", "at"),
    )
    _numbered_table(
        "problem_groups",
        sa.Column("name", sa.Text),
        _required("origin", sa.String(16)),
    )
    _numbered_table(
        "requesters",
        _required("name", sa.String(64), unique=True),
        _required("password_hash", sa.Text),
        _required("session_version", sa.Integer),
        _required("created_at", _at),
    )
    op.create_table(
        "state",
        _required("key", sa.String(40), primary_key=True),
        _required("value", sa.JSON),
    )
    _numbered_table(
        "workers",
        _required("code", sa.String(24), unique=True),
        _required("platform", sa.String(16)),
        _required("state", sa.String(16)),
        sa.Column("state_why", sa.Text),
        _required("joined_at", _at),
        sa.Column("consented_at", _at),
        sa.Column("screened_at", _at),
        sa.Column("native_speaker", sa.Boolean),
        sa.Column("has_seen_wsc", sa.Boolean),
        sa.Column("qualified_at", _at),
    )
    op.create_table(
        "identities",
        _required("worker_id", sa.Integer, sa.ForeignKey("workers.id"), primary_key=True),
        _required("platform", sa.String(16)),
        _required("external_id", sa.Text),
        sa.Column("study_id", sa.Text),
        sa.Column("session_id", sa.Text),
        sa.Column("approved_session", sa.Text),
        sa.UniqueConstraint("platform", "external_id"),
    )
    op.create_table(
        "invites",
        _required("id", sa.String(32), primary_key=True),
        _required("purpose", sa.String(16)),
        _required("label", sa.Text),
        _required("uses", sa.Integer),
        _required("most_uses", sa.Integer),
        sa.Column("worker_id", sa.Integer, sa.ForeignKey("workers.id")),
        _required("created_at", _at),
        _required("expires_at", _at),
        sa.Column("revoked_at", _at),
    )
    _numbered_table(
        "problems",
        _required("public_id", sa.String(40), index=True),
        _required("family", sa.String(40), index=True),
        sa.Column("group_id", sa.Integer, sa.ForeignKey("problem_groups.id"), index=True),
        _required("origin", sa.String(16), index=True),
        _required("variant", sa.String(24)),
        _required("before", sa.Text),
        _required("after", sa.Text),
        _required("candidates", sa.JSON),
        sa.Column("answer", sa.Integer),
        sa.Column("pronoun", sa.Text),
        sa.Column("query", sa.Text),
        sa.Column("domain", sa.String(32)),
        _required("labels", sa.JSON),
        _required("occurrence", sa.Integer),
        sa.Column("author_id", sa.Integer, sa.ForeignKey("workers.id"), index=True),
        sa.Column("submission_id", sa.Integer, index=True),
        _required("created_at", _at),
        sa.Column("valid", sa.Boolean),
        sa.Column("agreement", sa.String(16)),
        _required("withdrawn", sa.Boolean, server_default=sa.false()),
    )
    _numbered_table(
        "quiz_attempts",
        _required("worker_id", sa.Integer, sa.ForeignKey("workers.id"), index=True),
        _required("answers", sa.JSON),
        _required("share", sa.Double()),
        _required("passed", sa.Boolean),
        _required("at", _at),
    )
    _numbered_table(
        "adjudications",
        _required("problem_id", sa.Integer, sa.ForeignKey("problems.id"), index=True),
        _required("requester", sa.String(64)),
        sa.Column("valid", sa.Boolean),
        _required("note", sa.Text),
        _required("at", _at),
    )
    _numbered_table(
        "tasks",
        _required("kind", sa.String(16)),
        sa.Column("asked", sa.Integer),
        _required("accepted", sa.Integer),
        _required("held", sa.Integer),
        sa.Column("free", sa.Integer, sa.Computed("asked - accepted - held", persisted=True)),
        _required("rank", sa.Integer),
        _required("gold", sa.Boolean, server_default=sa.false()),
        sa.Column("problem_id", sa.Integer, sa.ForeignKey("problems.id"), index=True),
        sa.Column("group_id", sa.Integer, sa.ForeignKey("problem_groups.id"), index=True),
        sa.Column("family", sa.String(40), index=True),
        sa.Column("author_id", sa.Integer, sa.ForeignKey("workers.id")),
        sa.Column("domain", sa.String(32)),
        sa.Column("topic", sa.JSON),
        sa.CheckConstraint("accepted >= 0 AND held >= 0 AND accepted + held <= asked", name="never_over_assigned"),
        sa.Index("ix_tasks_free", "kind", "rank", **_where("free > 0")),
    )
    _numbered_table(
        "leases",
        _required("token", sa.String(32), unique=True),
        _required("task_id", sa.Integer, sa.ForeignKey("tasks.id")),
        _required("worker_id", sa.Integer, sa.ForeignKey("workers.id")),
        _required("kind", sa.String(16)),
        _required("state", sa.String(16)),
        _required("leased_at", _at),
        _required("expires_at", _at),
        sa.UniqueConstraint("task_id", "worker_id"),
        sa.Index("ix_leases_live", "expires_at", **_where("state = 'live'")),
        sa.Index("ix_leases_worker_id_kind_id", "worker_id", "kind", "id"),
        sa.Index("uq_leases_one_live", "worker_id", "kind", unique=True, **_where("state = 'live'")),
    )
    op.create_table(
        "drafts",
        _required("lease_id", sa.Integer, sa.ForeignKey("leases.id"), primary_key=True),
        _required("fields", sa.JSON),
        _required("saved_at", _at),
    )
    _numbered_table(
        "events",
        _required("worker_id", sa.Integer, sa.ForeignKey("workers.id"), index=True),
        sa.Column("lease_id", sa.Integer, sa.ForeignKey("leases.id"), index=True),
        _required("kind", sa.String(16)),
        _required("amount", sa.Integer),
        _required("at", _at),
    )
    _numbered_table(
        "submissions",
        _required("lease_id", sa.Integer, sa.ForeignKey("leases.id"), unique=True),
        _required("task_id", sa.Integer, sa.ForeignKey("tasks.id"), index=True),
        _required("worker_id", sa.Integer, sa.ForeignKey("workers.id"), index=True),
        _required("kind", sa.String(16)),
        _required("fields", sa.JSON),
        _required("counted", sa.Boolean),
        sa.Column("why_not", sa.Text),
        _required("late", sa.Boolean),
        _required("seconds", sa.Double()),
        _required("pasted", sa.Integer),
        sa.Column("adversary", sa.JSON),
        _required("submitted_at", _at, index=True),
    )
    _numbered_table(
        "payments",
        _required("worker_id", sa.Integer, sa.ForeignKey("workers.id"), index=True),
        sa.Column("submission_id", sa.Integer, sa.ForeignKey("submissions.id")),
        _required("reason", sa.String(16)),
        _required("cents", sa.Integer),
        _required("note", sa.Text),
        _required("at", _at),
        sa.Column("settled_at", _at),
        sa.Column("settlement", sa.Text),
        sa.UniqueConstraint("submission_id", "reason"),
    )
    _numbered_table(
        "votes",
        _required("submission_id", sa.Integer, sa.ForeignKey("submissions.id"), unique=True),
        _required("task_id", sa.Integer, sa.ForeignKey("tasks.id")),
        _required("problem_id", sa.Integer, sa.ForeignKey("problems.id")),
        _required("worker_id", sa.Integer, sa.ForeignKey("workers.id"), index=True),
        _required("kind", sa.String(16)),
        sa.Column("choice", sa.Integer),
        sa.Column("equally_plausible", sa.Boolean),
        sa.Column("local_decides", sa.Boolean),
        _required("counted", sa.Boolean),
        _required("gold", sa.Boolean),
        sa.Column("is_right", sa.Boolean),
        _required("at", _at),
        sa.UniqueConstraint("task_id", "worker_id"),
        sa.Index("ix_votes_problem_id_kind", "problem_id", "kind"),
    )


def downgrade() -> None:
    """Drop every table, those that others hang on last."""
    for name in reversed(TABLES):
        op.drop_table(name)
