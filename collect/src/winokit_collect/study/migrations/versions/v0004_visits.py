"""Add the start and the browser of a worker's visit from a platform.

Another browser can then not take the visit over.
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add both columns to `identities`, null for earlier visits."""
    op.add_column("identities", sa.Column("arrived_at", sa.DateTime(timezone=True)))
    op.add_column("identities", sa.Column("browser", sa.String(64)))


def downgrade() -> None:
    """Drop both columns."""
    op.drop_column("identities", "browser")
    op.drop_column("identities", "arrived_at")
