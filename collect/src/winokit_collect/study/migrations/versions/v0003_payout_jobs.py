"""Add payout jobs, so that no payout is sent twice.

Lines of the ledger that were paid before have no job.
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
PAID_WITH = "fk_payments_job_id_payout_jobs"
UNDER_WAY = sa.text("state IN ('planned', 'sent', 'uncertain')")


def upgrade() -> None:
    """Create `payout_jobs`, and add to each line of the ledger the job that pays it."""
    moment = sa.DateTime(timezone=True)
    op.create_table(
        "payout_jobs",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("worker_id", sa.Integer(), sa.ForeignKey("workers.id"), nullable=False, index=True),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("cents", sa.Integer(), nullable=False),
        sa.Column("key", sa.Text()),
        sa.Column("shown_before", sa.Integer()),
        sa.Column("planned_at", moment, nullable=False),
        sa.Column("planned_by", sa.String(80), nullable=False),
        sa.Column("due_at", moment, nullable=False),
        sa.Column("sent_at", moment),
        sa.Column("settled_at", moment),
        sa.Column("settled_by", sa.String(80)),
        sa.Column("why", sa.Text(), nullable=False),
    )
    op.create_index(
        "uq_payout_jobs_one_under_way",
        "payout_jobs",
        ["worker_id"],
        unique=True,
        sqlite_where=UNDER_WAY,
        postgresql_where=UNDER_WAY,
    )
    op.create_index("ix_payout_jobs_state_due_at", "payout_jobs", ["state", "due_at"])
    with op.batch_alter_table("payments") as payments:
        payments.add_column(sa.Column("job_id", sa.Integer(), sa.ForeignKey("payout_jobs.id", name=PAID_WITH)))
    op.create_index("ix_payments_job_id", "payments", ["job_id"])


def downgrade() -> None:
    """Drop `payments.job_id` and the table of jobs."""
    op.drop_index("ix_payments_job_id", "payments")
    with op.batch_alter_table("payments") as payments:
        payments.drop_constraint(PAID_WITH, type_="foreignkey")
        payments.drop_column("job_id")
    op.drop_table("payout_jobs")
