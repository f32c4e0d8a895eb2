"""Gold questions are looked for in the order of their numbers, which PostgreSQL's index must have in it."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Put the number into the index."""
    _index("kind", "id")


def downgrade() -> None:
    """Take it out again."""
    _index("kind")


def _index(*columns: str) -> None:
    op.drop_index("ix_tasks_gold", "tasks")
    where: dict[str, Any] = {"sqlite_where": sa.text("gold = 1"), "postgresql_where": sa.text("gold")}
    op.create_index("ix_tasks_gold", "tasks", columns, **where)
