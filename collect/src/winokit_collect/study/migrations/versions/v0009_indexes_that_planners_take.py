"""Replace the indexes of gold questions and of live leases.

Gold questions are now in the order of their ids, and live leases are indexed by their time of expiry alone. With
the earlier indexes PostgreSQL sometimes searched all tasks for a gold question, and all live leases for the lease
of one worker, depending on its statistics.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

GOLD: dict[str, Any] = {"sqlite_where": sa.text("gold = 1"), "postgresql_where": sa.text("gold")}


LIVE = sa.text("state = 'live'")


def upgrade() -> None:
    """Replace both indexes by the new ones."""
    _replace(["kind", "id"], sa.text("state = 'live' AND expires_at IS NOT NULL"))


def downgrade() -> None:
    """Replace both indexes by the earlier ones."""
    _replace(["kind"], LIVE)


def _replace(gold: list[str], live: sa.TextClause) -> None:
    """Replace the index of gold tasks and the index of live leases.

    `gold` has the columns of the first one, `live` the PostgreSQL condition of the second.
    """
    op.drop_index("ix_tasks_gold", "tasks")
    op.create_index("ix_tasks_gold", "tasks", gold, **GOLD)
    op.drop_index("ix_leases_live", "leases")
    op.create_index("ix_leases_live", "leases", ["expires_at"], sqlite_where=LIVE, postgresql_where=live)
