"""Sessions of workers that can be ended, as those of requesters can; gold questions found without reading all tasks."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Give every worker a version of their sessions, and gold questions an index."""
    op.add_column("workers", sa.Column("session_version", sa.Integer(), nullable=False, server_default="1"))
    op.create_index(
        "ix_tasks_gold", "tasks", ["kind"], sqlite_where=sa.text("gold = 1"), postgresql_where=sa.text("gold")
    )


def downgrade() -> None:
    """Take both away again."""
    op.drop_index("ix_tasks_gold", "tasks")
    op.drop_column("workers", "session_version")
