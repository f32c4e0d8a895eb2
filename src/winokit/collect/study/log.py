"""The audit log: who did what to what, newest first."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from winokit.collect.study.schema import LogEntry

if TYPE_CHECKING:
    from winokit.collect.study.study import Study


@dataclass(frozen=True)
class LogLine:
    """One thing that was done."""

    id: int
    at: datetime
    actor: str
    action: str
    target: str
    detail: dict[str, Any]


def write(study: Study, actor: str, action: str, target: str = "", **detail: Any) -> None:
    """Add a line for something that changed nothing else in the database: a refused form, a flood of logins."""
    with study.store.write() as session:
        study.log(session, actor, action, target, **detail)


def entries(study: Study, limit: int = 100, *, before: int | None = None, action: str | None = None) -> list[LogLine]:
    """The newest lines, or the newest before one."""
    query = select(LogEntry).order_by(LogEntry.id.desc()).limit(limit)
    if before is not None:
        query = query.where(LogEntry.id < before)
    if action is not None:
        query = query.where(LogEntry.action == action)
    with study.store.read() as session:
        return [
            LogLine(row.id, row.at, row.actor, row.action, row.target, row.detail) for row in session.scalars(query)
        ]
