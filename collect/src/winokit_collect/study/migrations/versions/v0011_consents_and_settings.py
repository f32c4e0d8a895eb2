"""Add the texts that workers agreed to, versions of the settings, and doubted votes.

A vote is doubted if somebody else was asked instead. It does not decide a verdict.
"""

from datetime import datetime

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
SETTINGS_KEY = "CONSTRAINT fk_problems_settings_id_settings_versions REFERENCES settings_versions (id)"


def upgrade() -> None:
    """Create the tables, empty.

    Which text a worker agreed to earlier is unknown, and so are the earlier settings.
    """
    op.create_table(
        "consent_texts",
        sa.Column("sha256", sa.String(64), primary_key=True),
        sa.Column("text", sa.Text(), nullable=False),
        _moment_column(),
    )
    worker = sa.ForeignKey("workers.id")
    text = sa.ForeignKey("consent_texts.sha256")
    number = sa.Column("id", sa.Integer(), primary_key=True)
    worker_column = sa.Column("worker_id", sa.Integer(), worker, nullable=False, index=True)
    text_column = sa.Column("sha256", sa.String(64), text, nullable=False)
    op.create_table("consents", number, worker_column, text_column, _moment_column())
    number = sa.Column("id", sa.Integer(), primary_key=True)
    actor = sa.Column("actor", sa.String(80), nullable=False)
    settings = sa.Column("settings", sa.JSON(), nullable=False)
    changes = sa.Column("changes", sa.JSON(), nullable=False)
    op.create_table("settings_versions", number, _moment_column(), actor, settings, changes)
    consented = sa.Column("consent_sha256", sa.String(64))
    op.add_column("workers", consented)
    doubted: sa.Column[bool] = sa.Column("doubted", sa.Boolean(), nullable=False, server_default=sa.false())
    op.add_column("votes", doubted)
    op.execute(f"ALTER TABLE problems ADD COLUMN settings_id INTEGER {SETTINGS_KEY}")


def _moment_column() -> "sa.Column[datetime]":
    """The column `at`: a moment with its time zone, never null."""
    return sa.Column("at", sa.DateTime(timezone=True), nullable=False)


def downgrade() -> None:
    """Drop the tables and columns."""
    with op.batch_alter_table("problems") as changed:
        changed.drop_constraint("fk_problems_settings_id_settings_versions", type_="foreignkey")
        changed.drop_column("settings_id")
    op.drop_column("votes", "doubted")
    op.drop_column("workers", "consent_sha256")
    for table in ("settings_versions", "consents", "consent_texts"):
        op.drop_table(table)
