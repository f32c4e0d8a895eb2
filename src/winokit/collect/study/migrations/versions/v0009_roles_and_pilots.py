"""Roles of requesters, workers of a pilot, and the version of the link by which a worker comes back."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0006"
branch_labels = None
depends_on = None
NEW = (
    ("requesters", sa.Column("role", sa.String(8), nullable=False, server_default="owner")),
    ("workers", sa.Column("pilot", sa.Boolean(), nullable=False, server_default=sa.false())),
    ("workers", sa.Column("link_version", sa.Integer(), nullable=False, server_default="1")),
)


def upgrade() -> None:
    """Make everybody the owner that they were, and nobody part of a pilot."""
    for table, column in NEW:
        op.add_column(table, column.copy())


def downgrade() -> None:
    """Take them away again."""
    for table, column in reversed(NEW):
        op.drop_column(table, column.name)
