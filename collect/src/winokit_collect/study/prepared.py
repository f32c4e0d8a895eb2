"""SQL statements that are compiled once per database and run on its driver directly.

SQLAlchemy takes several times as long to hand a statement to SQLite, and its rows back, as SQLite does to answer
it. With two hundred people at work that was four tenths of what a server computed. So we keep what SQLAlchemy works
out: its SQL for either database, and its types on the way in and out.

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
    """A statement as compiled for one database."""

    sql: str
    names: Sequence[str] | None
    """Names of the parameters in order, or None if the driver takes them by name."""
    known: Mapping[str, Any]
    incoming: Sequence[tuple[str, Change]]
    row: Any
    returns_rows: bool
    outgoing: Sequence[tuple[int, Change]]
    """Index of each column whose values are converted, with the converter."""
    how: Mapping[str, Any]


class Prepared:
    """A statement that is compiled once for each kind of database.

    `columns` are the columns that an insert fills. A session of a store runs it, with the values of its parameters by
    name.
    """

    def __init__(self, statement: Select[*tuple[Any, ...]] | Insert | Update | Delete, *columns: str) -> None:
        self.statement = statement
        self.columns = columns or None
        self._ready: dict[str, _Ready] = {}

    def all(self, session: Session, /, **values: Any) -> list[Any]:
        """Run the statement and return all rows, as named tuples.

        Empty for a statement that returns no rows.
        """
        line = cast(Connection, session.bind)
        ready = self._ready.get(line.dialect.name) or self._compile_statement(line.dialect)
        session.flush()  # what was added or changed as an object comes first
        parameters = {**ready.known, **values}
        for name, change in ready.incoming:
            parameters[name] = change(parameters[name])
        if ready.names is None:
            sent: Any = parameters
        else:
            sent = [parameters[name] for name in ready.names]
        cursor = cast(Any, line.connection.driver_connection).cursor()
        for listener in line.dispatch.before_cursor_execute:
            listener(line, cursor, ready.sql, sent, None, False)
        cursor.execute(ready.sql, sent, **ready.how)
        fetched = cursor.fetchall() if ready.returns_rows else []
        cursor.close()
        rows = []
        for fetched_row in fetched:
            cells = list(fetched_row)
            for index, change in ready.outgoing:
                cells[index] = change(cells[index])
            rows.append(ready.row(cells))
        return rows

    def one(self, session: Session, /, **values: Any) -> Row[Any] | None:
        """Run the statement and return the first row, or None."""
        rows = self.all(session, **values)
        return rows[0] if rows else None

    def scalar(self, session: Session, /, **values: Any) -> Any:
        """Run the statement and return the first row's first value.

        None if there is no row.
        """
        rows = self.all(session, **values)
        return rows[0][0] if rows else None

    def _compile_statement(self, dialect: Dialect) -> _Ready:
        """Compile the statement for a dialect and keep the result."""
        compiled: Any = self.statement.compile(dialect=dialect, column_keys=self.columns)
        # What SQLAlchemy would fill in only when it runs a statement itself.
        assert not compiled.insert_prefetch, compiled.string
        assert "POSTCOMPILE" not in compiled.string, compiled.string
        sql = compiled.string
        is_by_name = compiled.positiontup is None
        fixed_values = {name: bind.value for name, bind in compiled.binds.items() if not bind.required}
        incoming = []
        for name, bind in compiled.binds.items():
            type_ = bind.type.dialect_impl(dialect)
            change = type_.bind_processor(dialect)
            if change is not None:
                incoming.append((name, change))
            if is_by_name and name in fixed_values:
                # Written out, since PostgreSQL plans it once for all that it may be given (`store.PLANNING`).
                literal = type_.literal_processor(dialect)(fixed_values[name])
                sql = sql.replace(f"%({name})s", literal)
        columns = self.statement.exported_columns.values()
        column_names = [str(column.key) for column in columns]
        row_class: Any = namedtuple("Row", column_names, rename=True)  # type: ignore[misc]
        ready = _Ready(
            sql=sql,
            names=compiled.positiontup,
            known=fixed_values,
            incoming=incoming,
            row=row_class._make,
            returns_rows=bool(columns),
            outgoing=_find_result_changes(columns, dialect),
            how={"prepare": True} if is_by_name else {},
        )
        self._ready[dialect.name] = ready
        return ready


def _find_result_changes(columns: Sequence[Any], dialect: Dialect) -> list[tuple[int, Change]]:
    """Index of each column whose values must be converted, with its converter."""
    changes = []
    for index, column in enumerate(columns):
        change = column.type.dialect_impl(dialect).result_processor(dialect, None)
        if change is not None:
            changes.append((index, change))
    return changes
