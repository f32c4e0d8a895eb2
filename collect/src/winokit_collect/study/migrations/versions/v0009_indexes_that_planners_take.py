"""Gold questions in order of their ids, and live leases by when they expire for nothing else.

PostgreSQL looked for a gold question among all tasks, and for a worker's own lease among all live ones, depending on
what its statistics said that day.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

GOLD: dict[str, Any] = {"sqlite_where": sa.text("gold = 1"), "postgresql_where": sa.text("gold")}


LIVE = sa.text("state = 'live'")


def upgrade() -> None:
    """Replace both indexes."""
    _replace(["kind", "id"], sa.text("state = 'live' AND expires_at IS NOT NULL"))


def downgrade() -> None:
    """Put the earlier ones back."""
    _replace(["kind"], LIVE)


def _replace(gold: list[str], live: sa.TextClause) -> None:
    op.drop_index("ix_tasks_gold", "tasks")
    op.create_index("ix_tasks_gold", "tasks", gold, **GOLD)
    op.drop_index("ix_leases_live", "leases")
    op.create_index("ix_leases_live", "leases", ["expires_at"], sqlite_where=LIVE, postgresql_where=live)
