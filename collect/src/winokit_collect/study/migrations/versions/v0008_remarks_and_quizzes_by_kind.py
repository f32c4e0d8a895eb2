"""Add workers' remarks on items, and quizzes for single kinds of task."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Create the table of remarks, and add the kinds that workers are qualified for.

    `qualified_for` is null for workers who qualified earlier, which means every kind.
    """
    op.create_table(
        "remarks",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("lease_id", sa.Integer(), sa.ForeignKey("leases.id"), nullable=False, unique=True),
        sa.Column("worker_id", sa.Integer(), sa.ForeignKey("workers.id"), nullable=False, index=True),
        sa.Column("problem_id", sa.Integer(), sa.ForeignKey("problems.id"), nullable=False, index=True),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("reason", sa.String(16), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
    )
    op.add_column("workers", sa.Column("qualified_for", sa.JSON()))
    op.add_column("quiz_attempts", sa.Column("kind", sa.String(16)))


def downgrade() -> None:
    """Drop the columns and the table."""
    op.drop_column("quiz_attempts", "kind")
    op.drop_column("workers", "qualified_for")
    op.drop_table("remarks")
