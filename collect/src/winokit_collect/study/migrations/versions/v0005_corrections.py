"""Add the earlier versions of a submission, which workers can correct for a while."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add `submissions.history`, an empty list for every submission."""
    op.add_column("submissions", sa.Column("history", sa.JSON(), nullable=False, server_default="[]"))


def downgrade() -> None:
    """Drop `submissions.history`."""
    op.drop_column("submissions", "history")
