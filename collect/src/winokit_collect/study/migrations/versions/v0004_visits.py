"""Visits from a platform: when each began, and in which browser, so that another cannot take it over."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add both; of visits from before, nothing is known."""
    op.add_column("identities", sa.Column("arrived_at", sa.DateTime(timezone=True)))
    op.add_column("identities", sa.Column("browser", sa.String(64)))


def downgrade() -> None:
    """Take both away again."""
    op.drop_column("identities", "browser")
    op.drop_column("identities", "arrived_at")
