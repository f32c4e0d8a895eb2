"""What was handed in can be corrected for a while, and keeps what stood there before."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Give every submission a history, which is empty."""
    op.add_column("submissions", sa.Column("history", sa.JSON(), nullable=False, server_default="[]"))


def downgrade() -> None:
    """Take it away again."""
    op.drop_column("submissions", "history")
