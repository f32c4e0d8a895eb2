"""Statements that pages ask all the time, compiled once for each database and run on its driver.

SQLAlchemy takes several times as long to hand a statement to SQLite, and its rows back, as SQLite does to answer it.
With two hundred people at work that was four tenths of what a server computed. What it knows is kept: its SQL for
either database, and its types on the way in and out. So it is with psycopg's cursors, whose part libpq does here; a
connection that is still to begin a transaction leaves it to them.

>>> from sqlalchemy import Integer, bindparam, create_engine, literal, select
>>> with create_engine("sqlite://").connect() as line, Session(line) as session:
...     Prepared(select((bindparam("one", type_=Integer) + literal(1)).label("two"))).one(session, one=1)
Row(two=2)
"""

import re
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
    names: Sequence[str]
    """Of its values in their order."""
    numbered: bytes
    """The same with its values by number, as libpq takes them; empty for SQLite."""
    known: Mapping[str, Any]
    incoming: Sequence[tuple[str, Change]]
    row: Any
    outgoing: Sequence[Change | None]


class Prepared:
    """A statement over tables, and the `columns` of an insert; a session of a store runs it, given its values."""

    def __init__(self, statement: Select[*tuple[Any, ...]] | Insert | Update | Delete, *columns: str) -> None:
        self.statement, self.columns = statement, columns or None
        self._ready: dict[str, _Ready] = {}

    def all(self, session: Session, /, **values: Any) -> list[Any]:
        """Every row, with its columns by name and in order as a `Row` has them; none where none is returned."""
        line = cast(Connection, session.bind)
        ready = self._ready.get(line.dialect.name) or self._compile(line.dialect)
        session.flush()  # what was added or changed as an object comes first
        given = {**ready.known, **values}
        for name, change in ready.incoming:
            given[name] = change(given[name])
        sent = [given[name] for name in ready.names]
        driver: Any = line.connection.driver_connection
        for listener in line.dispatch.before_cursor_execute:
            listener(line, None, ready.sql, sent, None, False)
        if ready.numbered and (driver.autocommit or driver.pgconn.transaction_status):
            rows = _ask_libpq(driver, line.connection.info, ready.numbered, sent)
        else:
            cursor = driver.cursor()
            cursor.execute(ready.sql, given if ready.numbered else sent)
            rows = cursor.fetchall() if ready.outgoing else []
            cursor.close()
        pairs = (zip(row, ready.outgoing, strict=True) for row in rows if ready.outgoing)
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
        sql, binds, columns = compiled.string, compiled.binds, self.statement.exported_columns.values()
        known = {name: bind.value for name, bind in binds.items() if not bind.required}
        types = {name: bind.type.dialect_impl(dialect) for name, bind in binds.items()}
        if compiled.positiontup is None:
            # Written out, since PostgreSQL plans it once for all that it may be given (`store.PLANNED_ONCE`).
            for name, value in known.items():
                sql = sql.replace(f"%({name})s", types[name].literal_processor(dialect)(value))
        incoming = {name: type_.bind_processor(dialect) for name, type_ in types.items()}
        names: Any = namedtuple("Row", [str(column.key) for column in columns], rename=True)  # type: ignore[misc]
        given = compiled.positiontup or list(dict.fromkeys(re.findall(r"%\((\w+)\)s", sql)))
        places = {name: f"${place}" for place, name in enumerate(given, 1)}
        numbered = re.sub(r"%\((\w+)\)s", lambda found: places[found[1]], sql).replace("%%", "%")
        ready = self._ready[dialect.name] = _Ready(
            sql,
            given,
            b"" if compiled.positiontup is not None else numbered.encode(),
            known,
            [(name, change) for name, change in incoming.items() if change is not None],
            names._make,
            [column.type.dialect_impl(dialect).result_processor(dialect, None) for column in columns],
        )
        return ready


def _ask_libpq(driver: Any, info: dict[Any, Any], sql: bytes, sent: Sequence[Any]) -> list[Any]:
    """The rows of a statement that PostgreSQL parses once for each connection and types of values."""
    from psycopg.adapt import PyFormat, Transformer
    from psycopg.errors import error_from_result

    types, statements = info.get(_ask_libpq) or info.setdefault(_ask_libpq, (Transformer(driver), {}))
    values = types.dump_sequence(sent, [PyFormat.AUTO] * len(sent))
    name = statements.get((sql, types.types))
    if name is None:
        name = b"winokit_%d" % len(statements)
        result = driver.pgconn.prepare(name, sql, types.types)
        if result.error_message:
            raise error_from_result(result)
        statements[sql, types.types] = name
    result = driver.pgconn.exec_prepared(name, values, types.formats)
    if result.error_message:
        raise error_from_result(result)
    types.set_pgresult(result)
    rows: list[Any] = types.load_rows(0, result.ntuples, tuple)
    return rows
