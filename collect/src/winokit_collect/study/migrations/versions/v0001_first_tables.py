"""Name the tables of a study from before revision 0002.

A new study is not built by migrations: its tables come from the models in `schema.py`.
"""

from alembic import op

revision = "0001"
down_revision = None

TABLES = (
    *("audit_log", "login_failures", "problem_groups", "requesters", "state", "workers", "identities", "invites"),
    *("problems", "quiz_attempts", "adjudications", "tasks", "leases", "drafts", "events", "submissions"),
    *("payments", "votes"),
)


def upgrade() -> None:
    """Do nothing: a database at this revision has these tables already."""


def downgrade() -> None:
    """Drop every table.

    A table is dropped before the tables that it refers to.
    """
    for name in reversed(TABLES):
        op.drop_table(name)
