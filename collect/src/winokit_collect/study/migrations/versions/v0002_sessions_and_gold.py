"""Add versions of workers' sessions and an index of gold questions.

A worker's sessions can then be ended, as those of requesters can. Gold questions are found without reading all
tasks.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add `workers.session_version`, 1 for everybody, and an index of gold tasks."""
    op.add_column("workers", sa.Column("session_version", sa.Integer(), nullable=False, server_default="1"))
    op.create_index(
        "ix_tasks_gold", "tasks", ["kind"], sqlite_where=sa.text("gold = 1"), postgresql_where=sa.text("gold")
    )


def downgrade() -> None:
    """Drop the index and the column."""
    op.drop_index("ix_tasks_gold", "tasks")
    op.drop_column("workers", "session_version")
