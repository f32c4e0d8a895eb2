"""Add roles of requesters, workers of a pilot, and versions of personal links.

A personal link is the one by which a worker comes back.
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Make every requester an owner, and no worker part of a pilot."""
    op.add_column("requesters", sa.Column("role", sa.String(8), nullable=False, server_default="owner"))
    op.add_column("workers", sa.Column("pilot", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column("workers", sa.Column("link_version", sa.Integer(), nullable=False, server_default="1"))


def downgrade() -> None:
    """Drop the three columns."""
    for table, column in (("workers", "link_version"), ("workers", "pilot"), ("requesters", "role")):
        op.drop_column(table, column)
