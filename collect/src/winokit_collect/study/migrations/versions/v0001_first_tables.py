"""The first tables: those of a study from before 0002. A new one is not made by migrations, but of the models."""

from alembic import op

revision = "0001"
down_revision = None

TABLES = (
    *("audit_log", "login_failures", "problem_groups", "requesters", "state", "workers", "identities", "invites"),
    *("problems", "quiz_attempts", "adjudications", "tasks", "leases", "drafts", "events", "submissions"),
    *("payments", "votes"),
)


def upgrade() -> None:
    """Nothing: what is at this revision is there already."""


def downgrade() -> None:
    """Drop every table, those that others hang on last."""
    for name in reversed(TABLES):
        op.drop_table(name)
