"""The first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

TABLES = (
    "audit_log",
    "login_failures",
    "problem_groups",
    "requesters",
    "state",
    "workers",
    "identities",
    "invites",
    "problems",
    "quiz_attempts",
    "adjudications",
    "tasks",
    "leases",
    "drafts",
    "events",
    "submissions",
    "payments",
    "votes",
)


def upgrade() -> None:
    """Make every table."""
    op.create_table(
        "audit_log",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("actor", sa.String(length=80), nullable=False),
        sa.Column("action", sa.String(length=40), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("detail", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_audit_log"),
    )
    op.create_index("ix_audit_log_action", "audit_log", ["action"], unique=False)
    op.create_index("ix_audit_log_at", "audit_log", ["at"], unique=False)
    op.create_table(
        "login_failures",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_login_failures"),
    )
    op.create_index("ix_login_failures_key_at", "login_failures", ["key", "at"], unique=False)
    op.create_table(
        "problem_groups",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=True),
        sa.Column("origin", sa.String(length=16), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_problem_groups"),
    )
    op.create_table(
        "requesters",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("password_hash", sa.Text(), nullable=False),
        sa.Column("session_version", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_requesters"),
        sa.UniqueConstraint("name", name="uq_requesters_name"),
    )
    op.create_table(
        "state",
        sa.Column("key", sa.String(length=40), nullable=False),
        sa.Column("value", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_state"),
    )
    op.create_table(
        "workers",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("code", sa.String(length=24), nullable=False),
        sa.Column("platform", sa.String(length=16), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("state_why", sa.Text(), nullable=True),
        sa.Column("joined_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("consented_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("screened_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("native_speaker", sa.Boolean(), nullable=True),
        sa.Column("has_seen_wsc", sa.Boolean(), nullable=True),
        sa.Column("qualified_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_workers"),
        sa.UniqueConstraint("code", name="uq_workers_code"),
    )
    op.create_table(
        "identities",
        sa.Column("worker_id", sa.Integer(), nullable=False),
        sa.Column("platform", sa.String(length=16), nullable=False),
        sa.Column("external_id", sa.Text(), nullable=False),
        sa.Column("study_id", sa.Text(), nullable=True),
        sa.Column("session_id", sa.Text(), nullable=True),
        sa.Column("approved_session", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["worker_id"], ["workers.id"], name="fk_identities_worker_id_workers"),
        sa.PrimaryKeyConstraint("worker_id", name="pk_identities"),
        sa.UniqueConstraint("platform", "external_id", name="uq_identities_platform_external_id"),
    )
    op.create_table(
        "invites",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("purpose", sa.String(length=16), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("uses", sa.Integer(), nullable=False),
        sa.Column("most_uses", sa.Integer(), nullable=False),
        sa.Column("worker_id", sa.Integer(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["worker_id"], ["workers.id"], name="fk_invites_worker_id_workers"),
        sa.PrimaryKeyConstraint("id", name="pk_invites"),
    )
    op.create_table(
        "problems",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("public_id", sa.String(length=40), nullable=False),
        sa.Column("family", sa.String(length=40), nullable=False),
        sa.Column("group_id", sa.Integer(), nullable=True),
        sa.Column("origin", sa.String(length=16), nullable=False),
        sa.Column("variant", sa.String(length=24), nullable=False),
        sa.Column("before", sa.Text(), nullable=False),
        sa.Column("after", sa.Text(), nullable=False),
        sa.Column("candidates", sa.JSON(), nullable=False),
        sa.Column("answer", sa.Integer(), nullable=True),
        sa.Column("pronoun", sa.Text(), nullable=True),
        sa.Column("query", sa.Text(), nullable=True),
        sa.Column("domain", sa.String(length=32), nullable=True),
        sa.Column("labels", sa.JSON(), nullable=False),
        sa.Column("occurrence", sa.Integer(), nullable=False),
        sa.Column("author_id", sa.Integer(), nullable=True),
        sa.Column("submission_id", sa.Integer(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("valid", sa.Boolean(), nullable=True),
        sa.Column("agreement", sa.String(length=16), nullable=True),
        sa.Column("withdrawn", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.ForeignKeyConstraint(["author_id"], ["workers.id"], name="fk_problems_author_id_workers"),
        sa.ForeignKeyConstraint(["group_id"], ["problem_groups.id"], name="fk_problems_group_id_problem_groups"),
        sa.PrimaryKeyConstraint("id", name="pk_problems"),
    )
    op.create_index("ix_problems_author_id", "problems", ["author_id"], unique=False)
    op.create_index("ix_problems_family", "problems", ["family"], unique=False)
    op.create_index("ix_problems_group_id", "problems", ["group_id"], unique=False)
    op.create_index("ix_problems_origin", "problems", ["origin"], unique=False)
    op.create_index("ix_problems_public_id", "problems", ["public_id"], unique=False)
    op.create_index("ix_problems_submission_id", "problems", ["submission_id"], unique=False)
    op.create_table(
        "quiz_attempts",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("worker_id", sa.Integer(), nullable=False),
        sa.Column("answers", sa.JSON(), nullable=False),
        sa.Column("share", sa.Double(), nullable=False),
        sa.Column("passed", sa.Boolean(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["worker_id"], ["workers.id"], name="fk_quiz_attempts_worker_id_workers"),
        sa.PrimaryKeyConstraint("id", name="pk_quiz_attempts"),
    )
    op.create_index("ix_quiz_attempts_worker_id", "quiz_attempts", ["worker_id"], unique=False)
    op.create_table(
        "adjudications",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("problem_id", sa.Integer(), nullable=False),
        sa.Column("requester", sa.String(length=64), nullable=False),
        sa.Column("valid", sa.Boolean(), nullable=True),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["problem_id"], ["problems.id"], name="fk_adjudications_problem_id_problems"),
        sa.PrimaryKeyConstraint("id", name="pk_adjudications"),
    )
    op.create_index("ix_adjudications_problem_id", "adjudications", ["problem_id"], unique=False)
    op.create_table(
        "tasks",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("asked", sa.Integer(), nullable=True),
        sa.Column("accepted", sa.Integer(), nullable=False),
        sa.Column("held", sa.Integer(), nullable=False),
        sa.Column("free", sa.Integer(), sa.Computed("asked - accepted - held", persisted=True), nullable=True),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("gold", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("problem_id", sa.Integer(), nullable=True),
        sa.Column("group_id", sa.Integer(), nullable=True),
        sa.Column("family", sa.String(length=40), nullable=True),
        sa.Column("author_id", sa.Integer(), nullable=True),
        sa.Column("domain", sa.String(length=32), nullable=True),
        sa.Column("topic", sa.JSON(), nullable=True),
        sa.CheckConstraint(
            "accepted >= 0 AND held >= 0 AND accepted + held <= asked", name=op.f("ck_tasks_never_over_assigned")
        ),
        sa.ForeignKeyConstraint(["author_id"], ["workers.id"], name="fk_tasks_author_id_workers"),
        sa.ForeignKeyConstraint(["group_id"], ["problem_groups.id"], name="fk_tasks_group_id_problem_groups"),
        sa.ForeignKeyConstraint(["problem_id"], ["problems.id"], name="fk_tasks_problem_id_problems"),
        sa.PrimaryKeyConstraint("id", name="pk_tasks"),
    )
    op.create_index("ix_tasks_family", "tasks", ["family"], unique=False)
    op.create_index(
        "ix_tasks_free",
        "tasks",
        ["kind", "rank"],
        unique=False,
        sqlite_where=sa.text("free > 0"),
        postgresql_where=sa.text("free > 0"),
    )
    op.create_index("ix_tasks_group_id", "tasks", ["group_id"], unique=False)
    op.create_index("ix_tasks_problem_id", "tasks", ["problem_id"], unique=False)
    op.create_table(
        "leases",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("token", sa.String(length=32), nullable=False),
        sa.Column("task_id", sa.Integer(), nullable=False),
        sa.Column("worker_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("leased_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.id"], name="fk_leases_task_id_tasks"),
        sa.ForeignKeyConstraint(["worker_id"], ["workers.id"], name="fk_leases_worker_id_workers"),
        sa.PrimaryKeyConstraint("id", name="pk_leases"),
        sa.UniqueConstraint("task_id", "worker_id", name="uq_leases_task_id_worker_id"),
        sa.UniqueConstraint("token", name="uq_leases_token"),
    )
    op.create_index(
        "ix_leases_live",
        "leases",
        ["expires_at"],
        unique=False,
        sqlite_where=sa.text("state = 'live'"),
        postgresql_where=sa.text("state = 'live'"),
    )
    op.create_index("ix_leases_worker_id_kind_id", "leases", ["worker_id", "kind", "id"], unique=False)
    op.create_index(
        "uq_leases_one_live",
        "leases",
        ["worker_id", "kind"],
        unique=True,
        sqlite_where=sa.text("state = 'live'"),
        postgresql_where=sa.text("state = 'live'"),
    )
    op.create_table(
        "drafts",
        sa.Column("lease_id", sa.Integer(), nullable=False),
        sa.Column("fields", sa.JSON(), nullable=False),
        sa.Column("saved_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["lease_id"], ["leases.id"], name="fk_drafts_lease_id_leases"),
        sa.PrimaryKeyConstraint("lease_id", name="pk_drafts"),
    )
    op.create_table(
        "events",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("worker_id", sa.Integer(), nullable=False),
        sa.Column("lease_id", sa.Integer(), nullable=True),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("amount", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["lease_id"], ["leases.id"], name="fk_events_lease_id_leases"),
        sa.ForeignKeyConstraint(["worker_id"], ["workers.id"], name="fk_events_worker_id_workers"),
        sa.PrimaryKeyConstraint("id", name="pk_events"),
    )
    op.create_index("ix_events_lease_id", "events", ["lease_id"], unique=False)
    op.create_index("ix_events_worker_id", "events", ["worker_id"], unique=False)
    op.create_table(
        "submissions",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("lease_id", sa.Integer(), nullable=False),
        sa.Column("task_id", sa.Integer(), nullable=False),
        sa.Column("worker_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("fields", sa.JSON(), nullable=False),
        sa.Column("counted", sa.Boolean(), nullable=False),
        sa.Column("why_not", sa.Text(), nullable=True),
        sa.Column("late", sa.Boolean(), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.Column("pasted", sa.Integer(), nullable=False),
        sa.Column("adversary", sa.JSON(), nullable=True),
        sa.Column("submitted_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["lease_id"], ["leases.id"], name="fk_submissions_lease_id_leases"),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.id"], name="fk_submissions_task_id_tasks"),
        sa.ForeignKeyConstraint(["worker_id"], ["workers.id"], name="fk_submissions_worker_id_workers"),
        sa.PrimaryKeyConstraint("id", name="pk_submissions"),
        sa.UniqueConstraint("lease_id", name="uq_submissions_lease_id"),
    )
    op.create_index("ix_submissions_submitted_at", "submissions", ["submitted_at"], unique=False)
    op.create_index("ix_submissions_task_id", "submissions", ["task_id"], unique=False)
    op.create_index("ix_submissions_worker_id", "submissions", ["worker_id"], unique=False)
    op.create_table(
        "payments",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("worker_id", sa.Integer(), nullable=False),
        sa.Column("submission_id", sa.Integer(), nullable=True),
        sa.Column("reason", sa.String(length=16), nullable=False),
        sa.Column("cents", sa.Integer(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("settled_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("settlement", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["submission_id"], ["submissions.id"], name="fk_payments_submission_id_submissions"),
        sa.ForeignKeyConstraint(["worker_id"], ["workers.id"], name="fk_payments_worker_id_workers"),
        sa.PrimaryKeyConstraint("id", name="pk_payments"),
        sa.UniqueConstraint("submission_id", "reason", name="uq_payments_submission_id_reason"),
    )
    op.create_index("ix_payments_worker_id", "payments", ["worker_id"], unique=False)
    op.create_table(
        "votes",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("submission_id", sa.Integer(), nullable=False),
        sa.Column("task_id", sa.Integer(), nullable=False),
        sa.Column("problem_id", sa.Integer(), nullable=False),
        sa.Column("worker_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("choice", sa.Integer(), nullable=True),
        sa.Column("equally_plausible", sa.Boolean(), nullable=True),
        sa.Column("local_decides", sa.Boolean(), nullable=True),
        sa.Column("counted", sa.Boolean(), nullable=False),
        sa.Column("gold", sa.Boolean(), nullable=False),
        sa.Column("is_right", sa.Boolean(), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["problem_id"], ["problems.id"], name="fk_votes_problem_id_problems"),
        sa.ForeignKeyConstraint(["submission_id"], ["submissions.id"], name="fk_votes_submission_id_submissions"),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.id"], name="fk_votes_task_id_tasks"),
        sa.ForeignKeyConstraint(["worker_id"], ["workers.id"], name="fk_votes_worker_id_workers"),
        sa.PrimaryKeyConstraint("id", name="pk_votes"),
        sa.UniqueConstraint("submission_id", name="uq_votes_submission_id"),
        sa.UniqueConstraint("task_id", "worker_id", name="uq_votes_task_id_worker_id"),
    )
    op.create_index("ix_votes_problem_id_kind", "votes", ["problem_id", "kind"], unique=False)
    op.create_index("ix_votes_worker_id", "votes", ["worker_id"], unique=False)


def downgrade() -> None:
    """Drop every table, those that others hang on last."""
    for name in reversed(TABLES):
        op.drop_table(name)
