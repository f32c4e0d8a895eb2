"""Add a table of visits, each of which is approved and paid separately."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
REFERRING = ("payments", "payout_jobs")
SAME_SESSION = "i.approved_session = i.session_id"


def upgrade() -> None:
    """Create a visit for each session that `identities` names.

    An earlier session of a worker is known only if it was approved. Payouts from before the last visit began belong to
    visits that were never stored, and refer to none.
    """
    moment = sa.DateTime(timezone=True)
    op.create_table(
        "visits",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("worker_id", sa.Integer(), sa.ForeignKey("workers.id"), nullable=False, index=True),
        sa.Column("platform", sa.String(16), nullable=False),
        sa.Column("study_id", sa.Text()),
        sa.Column("session_id", sa.Text()),
        sa.Column("invite_id", sa.String(32), sa.ForeignKey("invites.id")),
        sa.Column("browser", sa.String(64), index=True),
        sa.Column("arrived_at", moment, nullable=False),
        sa.Column("state", sa.String(16), nullable=False, server_default="open"),
        sa.Column("reward_cents", sa.Integer()),
        sa.Column("currency", sa.String(3)),
        sa.Column("closed_at", moment),
        sa.UniqueConstraint("platform", "session_id", name="uq_visits_platform_session_id"),
    )
    for table in REFERRING:
        named = f"CONSTRAINT fk_{table}_visit_id_visits REFERENCES visits (id)"
        op.execute(f"ALTER TABLE {table} ADD COLUMN visit_id INTEGER {named}")
    _remember_sessions()
    op.drop_column("identities", "approved_session")


def _remember_sessions() -> None:
    """Insert a visit for each of the two sessions that an identity names.

    Two workers may name the same assignment of Mechanical Turk, which does not verify workers. The first one keeps it.
    Then payouts and ledger lines get the visit they belong to.
    """
    columns = "worker_id, platform, study_id, session_id, browser, arrived_at, state, closed_at"
    op.execute(
        f"INSERT INTO visits ({columns}) SELECT i.worker_id, i.platform, i.study_id, i.approved_session, NULL,"
        " w.joined_at, 'approved', COALESCE(i.arrived_at, w.joined_at) FROM identities i"
        " JOIN workers w ON w.id = i.worker_id WHERE i.approved_session IS NOT NULL"
        f" AND (i.session_id IS NULL OR NOT {SAME_SESSION}) ORDER BY i.worker_id ON CONFLICT DO NOTHING"
    )
    op.execute(
        f"INSERT INTO visits ({columns}) SELECT i.worker_id, i.platform, i.study_id, i.session_id, i.browser,"
        f" COALESCE(i.arrived_at, w.joined_at), CASE WHEN {SAME_SESSION} THEN 'approved' ELSE 'open' END,"
        f" CASE WHEN {SAME_SESSION} THEN COALESCE(i.arrived_at, w.joined_at) END FROM identities i"
        " JOIN workers w ON w.id = i.worker_id WHERE i.session_id IS NOT NULL"
        " ORDER BY i.worker_id ON CONFLICT DO NOTHING"
    )
    current = (
        "SELECT v.id FROM visits v JOIN identities i ON i.worker_id = v.worker_id AND i.session_id = v.session_id"
        " WHERE v.worker_id = {table}.worker_id"
    )
    began = "v.arrived_at <= COALESCE({table}.sent_at, {table}.planned_at)"
    jobs, began = current.format(table="payout_jobs"), began.format(table="payout_jobs")
    op.execute(f"UPDATE payout_jobs SET visit_id = ({jobs} AND {began})")
    op.execute("UPDATE payout_jobs SET visit_id = NULL WHERE state = 'confirmed' AND sent_at IS NULL")
    lines = current.format(table="payments")
    op.execute(
        f"UPDATE payments SET visit_id = ({lines} AND v.state = 'approved' AND v.arrived_at <= payments.at)"
        " WHERE reason = 'visit'"
    )
    last = "SELECT MAX(q.id) FROM payments q WHERE q.worker_id = payments.worker_id AND q.reason = 'visit'"
    op.execute(
        "UPDATE payments SET visit_id = (SELECT MIN(v.id) FROM visits v WHERE v.worker_id = payments.worker_id"
        " AND v.state = 'approved' AND v.arrived_at <= payments.at)"
        f" WHERE reason = 'visit' AND visit_id IS NULL AND id = ({last} AND q.visit_id IS NULL)"
    )
    op.execute(
        "UPDATE visits SET reward_cents = -(SELECT SUM(p.cents) FROM payments p WHERE p.visit_id = visits.id)"
        " WHERE state = 'approved'"
    )


def downgrade() -> None:
    """Drop the visits, except the last approved session of each worker."""
    op.add_column("identities", sa.Column("approved_session", sa.Text()))
    op.execute(
        "UPDATE identities SET approved_session = (SELECT v.session_id FROM visits v WHERE v.state <> 'open'"
        " AND v.worker_id = identities.worker_id ORDER BY v.arrived_at DESC, v.id DESC LIMIT 1)"
    )
    for table in REFERRING:
        with op.batch_alter_table(table) as changed:
            changed.drop_constraint(f"fk_{table}_visit_id_visits", type_="foreignkey")
            changed.drop_column("visit_id")
    op.drop_table("visits")
