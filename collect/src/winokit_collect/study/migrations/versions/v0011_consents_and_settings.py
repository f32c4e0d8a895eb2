"""What workers agreed to, the settings of each time, and votes that a verdict no longer hangs on."""

from datetime import datetime

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
SETTINGS_KEY = "CONSTRAINT fk_problems_settings_id_settings_versions REFERENCES settings_versions (id)"


def upgrade() -> None:
    """Add the tables, empty: nobody knows which text somebody agreed to before, nor which settings were in force."""
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
    return sa.Column("at", sa.DateTime(timezone=True), nullable=False)


def downgrade() -> None:
    """Take all of it away again."""
    with op.batch_alter_table("problems") as changed:
        changed.drop_constraint("fk_problems_settings_id_settings_versions", type_="foreignkey")
        changed.drop_column("settings_id")
    op.drop_column("votes", "doubted")
    op.drop_column("workers", "consent_sha256")
    for table in ("settings_versions", "consents", "consent_texts"):
        op.drop_table(table)
