"""Add indexes with every column that pages count by.

The pages then stay fast when a study has become large.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

REPLACED = (("submissions", "worker_id"), ("votes", "worker_id"), ("payments", "worker_id"))
NEW = (
    ("ix_problems_counts", "problems", ["origin", "withdrawn", "valid", "agreement", "domain"]),
    ("ix_submissions_by_worker", "submissions", ["worker_id", "kind", "seconds", "pasted"]),
    ("ix_submissions_kind_submitted_at", "submissions", ["kind", "submitted_at"]),
    ("ix_votes_by_worker", "votes", ["worker_id", "gold", "counted", "task_id", "choice"]),
    (
        "ix_votes_by_task",
        "votes",
        ["task_id", "kind", "counted", "gold", "choice", "equally_plausible", "local_decides"],
    ),
    ("ix_votes_choice", "votes", ["choice"]),
    ("ix_payments_by_worker", "payments", ["worker_id", "settled_at", "job_id", "reason", "cents"]),
    ("ix_payments_at", "payments", ["at", "cents"]),
)
PARTIAL = (
    ("ix_submissions_not_counted", "submissions", ["submitted_at"], "counted = 0", "NOT counted"),
    ("ix_votes_gold", "votes", ["worker_id", "is_right"], "gold = 1", "gold"),
)


def upgrade() -> None:
    """Create the wider indexes and drop the narrow ones."""
    for name, table, columns in NEW:
        op.create_index(name, table, columns)
    for name, table, columns, sqlite, postgresql in PARTIAL:
        where: dict[str, Any] = {"sqlite_where": sa.text(sqlite), "postgresql_where": sa.text(postgresql)}
        op.create_index(name, table, columns, **where)
    for table, column in REPLACED:
        op.drop_index(f"ix_{table}_{column}", table)


def downgrade() -> None:
    """Create the narrow indexes again and drop the wider ones."""
    for table, column in REPLACED:
        op.create_index(f"ix_{table}_{column}", table, [column])
    for name, table, *_ in (*NEW, *PARTIAL):
        op.drop_index(name, table)
