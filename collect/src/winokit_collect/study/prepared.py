"""Statements that pages ask all the time, compiled once for each database and run on its driver.

SQLAlchemy takes several times as long to hand a statement to SQLite, and its rows back, as SQLite does to answer it.
With two hundred people at work that was four tenths of what a server computed. What it knows is kept: its SQL for
either database, and its types on the way in and out.

>>> from sqlalchemy import Integer, bindparam, create_engine, literal, select
>>> with create_engine("sqlite://").connect() as line, Session(line) as session:
...     Prepared(select((bindparam("one", type_=Integer) + literal(1)).label("two"))).one(session, one=1)
Row(two=2)
"""

from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from sqlalchemy import Connection, Delete, Dialect, Insert, Row, Select, Update
from sqlalchemy.orm import Session

Change = Callable[[Any], Any]


@dataclass(frozen=True)
class _Ready:
    """A statement in the words of one database."""

    sql: str
    names: Sequence[str] | None
    """Of its values in their order; None where the driver takes them by name."""
    known: Mapping[str, Any]
    incoming: Sequence[tuple[str, Change]]
    row: Any
    outgoing: Sequence[Change | None]
    how: Mapping[str, Any]


class Prepared:
    """A statement over tables, and the `columns` of an insert; a session of a store runs it, given its values."""

    def __init__(self, statement: Select[*tuple[Any, ...]] | Insert | Update | Delete, *columns: str) -> None:
        self.statement = statement
        self.columns = columns or None
        self._ready: dict[str, _Ready] = {}

    def all(self, session: Session, /, **values: Any) -> list[Any]:
        """Every row, with its columns by name and in order as a `Row` has them; none where none is returned."""
        line = cast(Connection, session.bind)
        ready = self._ready.get(line.dialect.name) or self._compile(line.dialect)
        session.flush()  # what was added or changed as an object comes first
        given = {**ready.known, **values}
        for name, change in ready.incoming:
            given[name] = change(given[name])
        sent = given if ready.names is None else [given[name] for name in ready.names]
        cursor = cast(Any, line.connection.driver_connection).cursor()
        for listener in line.dispatch.before_cursor_execute:
            listener(line, cursor, ready.sql, sent, None, False)
        cursor.execute(ready.sql, sent, **ready.how)
        rows = cursor.fetchall() if ready.outgoing else []
        cursor.close()
        pairs = (zip(row, ready.outgoing, strict=True) for row in rows)
        return [ready.row(value if change is None else change(value) for value, change in pair) for pair in pairs]

    def one(self, session: Session, /, **values: Any) -> Row[Any] | None:
        """The first row, or None."""
        rows = self.all(session, **values)
        return rows[0] if rows else None

    def scalar(self, session: Session, /, **values: Any) -> Any:
        """The first value of the first row, or None."""
        rows = self.all(session, **values)
        return rows[0][0] if rows else None

    def _compile(self, dialect: Dialect) -> _Ready:
        compiled: Any = self.statement.compile(dialect=dialect, column_keys=self.columns)
        # What SQLAlchemy would fill in only when it runs a statement itself.
        assert not compiled.insert_prefetch, compiled.string
        assert "POSTCOMPILE" not in compiled.string, compiled.string
        sql = compiled.string
        binds = compiled.binds
        columns = self.statement.exported_columns.values()
        known = {name: bind.value for name, bind in binds.items() if not bind.required}
        types = {name: bind.type.dialect_impl(dialect) for name, bind in binds.items()}
        if compiled.positiontup is None:
            # Written out, since PostgreSQL plans it once for all that it may be given (`store.PLANNING`).
            for name, value in known.items():
                sql = sql.replace(f"%({name})s", types[name].literal_processor(dialect)(value))
        incoming = {name: type_.bind_processor(dialect) for name, type_ in types.items()}
        names: Any = namedtuple("Row", [str(column.key) for column in columns], rename=True)  # type: ignore[misc]
        ready = self._ready[dialect.name] = _Ready(
            sql,
            compiled.positiontup,
            known,
            [(name, change) for name, change in incoming.items() if change is not None],
            names._make,
            [column.type.dialect_impl(dialect).result_processor(dialect, None) for column in columns],
            {"prepare": True} if compiled.positiontup is None else {},
        )
        return ready
