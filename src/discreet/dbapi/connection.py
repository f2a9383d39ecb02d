"""Connections and cursors of PEP 249 over a session, at hand or on a server."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NoReturn, Self

from discreet import far
from discreet.dbapi.binding import bind
from discreet.dbapi.exceptions import InterfaceError, NotSupportedError, translated
from discreet.dbapi.statements import PREFIX, Ask, ConnectionSettings, Setting, Statement, read
from discreet.rational import Number, epsilon_of

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.client import RemoteSession
    from discreet.policy import Policy
    from discreet.release.answer import Release
    from discreet.session import Session

Column = tuple[str, "TypeObject", None, None, None, None, bool]


class TypeObject:
    """A kind of columns, equal to each of its types (PEP 249)."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


STRING, BINARY, NUMBER, DATETIME, ROWID = map(TypeObject, ("STRING", "BINARY", "NUMBER", "DATETIME", "ROWID"))
"""The kinds of columns; no answer has the second or the last."""


def kind_of(kind: pa.DataType) -> TypeObject:
    """The kind of a column of an answer."""
    import pyarrow as pa

    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return NUMBER
    return NUMBER if pa.types.is_boolean(kind) else DATETIME if pa.types.is_temporal(kind) else STRING


def connect(
    source: str | os.PathLike[str] | Policy | Session | RemoteSession,
    *,
    epsilon: Number | None = None,
    intervals: bool = False,
    token: str | None = None,
    dataset: str | None = None,
) -> Connection:
    """Connect to data under a policy, or to a server, as PEP 249 says.

    Args:
        source: a policy file or a policy, the address of a server, or an open session, which stays open at the end.
        epsilon: the price of each question that names none, by SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = …)
            or by SET discreet.epsilon = ….
        intervals: whether each column with an interval is followed by `<name>_low` and `<name>_high`.
        token: for a server; by default the environment's DISCREET_TOKEN.
        dataset: the name of the data set on a server, where there are several.

    Raises:
        ProgrammingError: epsilon or the policy is wrong.
        OperationalError: the data, the ledger or the server cannot be opened.

    Example:
        >>> import pyarrow as pa
        >>> import discreet as dp
        >>> session = dp.protect(pa.table({"age": [31, 47, 62]}), privacy_unit="row", budget=3)
        >>> cursor = connect(session, epsilon=0.5).cursor().execute("SELECT COUNT(*) AS n FROM data WHERE 1 < ?", [2])
        >>> cursor.description
        [('n', NUMBER, None, None, None, None, True)]
        >>> session.budget
        epsilon 2.5 left of 3 (0.5 spent)
    """
    from discreet.policy import Policy

    with translated():
        settings = ConnectionSettings(None if epsilon is None else epsilon_of(epsilon), intervals=intervals)
        if isinstance(source, str) and source.startswith(("http://", "https://")):
            from discreet.client import connect as to_server

            return Connection(to_server(source, token=token, dataset=dataset), settings, own=True)
        if token is not None or dataset is not None:
            raise InterfaceError("token and dataset are for a server, whose address begins with https://.")
        if isinstance(source, str | os.PathLike | Policy):
            from discreet.session import protect

            return Connection(protect(policy=source), settings, own=True)
    return Connection(source, settings, own=False)


class Connection:
    """A connection: a session, and the settings of its questions. Threads may share it.

    Attributes:
        first: the settings that it began with, to which RESET leads back.
        settings: those of the questions that follow.
    """

    def __init__(self, session: Session | RemoteSession, settings: ConnectionSettings, own: bool) -> None:
        self._session = session
        self._own = own
        self._closed = False
        self.first = self.settings = settings

    def reset(self) -> None:
        """Take every SET back, as before a pool hands the connection to somebody else."""
        self.settings = self.first

    @property
    def session(self) -> Session | RemoteSession:
        """The session behind it, for `preview`, `explain`, `mock` and `budget`.

        Raises:
            InterfaceError: the connection is closed.
        """
        if self._closed:
            raise InterfaceError("The connection is closed.")
        return self._session

    def cursor(self) -> Cursor:
        """A new cursor."""
        return Cursor(self)

    def execute(self, operation: str, parameters: Sequence[object] = ()) -> Cursor:
        """A new cursor that has answered a question."""
        return self.cursor().execute(operation, parameters)

    def commit(self) -> None:
        """Nothing: a charge is durable at once."""
        _ = self.session

    def rollback(self) -> None:
        """Nothing: a charge is never taken back."""
        _ = self.session

    def close(self) -> None:
        """Close it, and the session if it was opened here."""
        if not self._closed and self._own:
            self._session.close()
        self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Cursor:
    """Asks questions and hands out the rows of the last answer.

    Attributes:
        arraysize: how many rows `fetchmany` gives by default.
        answer: the last one, with its intervals, its notes and its card; None where nothing was asked.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._closed = False
        self.arraysize = 1
        self._forget()

    def _forget(self) -> None:
        self.answer: Release | None = None
        self._table: pa.Table | None = None
        self._rows: Iterator[tuple[Any, ...]] | None = None
        self.rowcount = -1

    @property
    def connection(self) -> Connection:
        """The connection of this cursor."""
        return self._connection

    @property
    def description(self) -> list[Column] | None:
        """A line for each column of the answer: name, kind, and whether NULL may be in it."""
        if self._table is None:
            return None
        return [
            (field.name, kind_of(field.type), None, None, None, None, True) for field in self._table.schema
        ]

    def execute(self, operation: str, parameters: Sequence[object] = ()) -> Self:
        """Answer a question, or change or show a setting.

        Args:
            operation: a question as for `Session.sql`, with `?` where a parameter stands; or SET discreet.epsilon = ….
            parameters: the values, which become literals of SQL.

        Raises:
            ProgrammingError: the question is refused, or a parameter is wrong. Nothing was charged.
            OperationalError: the budget, the ledger, the engine or the server fails; `charged` is the loss that stays.
            DataError: the post-processing of the noisy tables failed; the charge stays.
        """
        session = self._open().session
        self._forget()
        with translated():
            statement = read(bind(operation, list(parameters)) if parameters else operation)
            if isinstance(statement, Ask) and not statement.cleans_up:
                self._answer(session, statement.text)
            else:
                self._set(statement)
        return self

    def _answer(self, session: Session | RemoteSession, text: str) -> None:
        settings = self._connection.settings
        release = session.sql(text, **settings.options(text))
        self.answer = release
        self._give(release.to_arrow(intervals=settings.intervals))

    def _set(self, statement: Statement) -> None:
        if not isinstance(statement, Setting):
            return
        settings = self._connection.settings
        if statement.word == "show":
            import pyarrow as pa

            if statement.name == PREFIX:
                self._give(settings.table())
                return
            self._give(pa.table({statement.name: [settings.shown(statement.own)]}))
        elif statement.own:
            self._connection.settings = settings.set(statement.own, statement.value, self._connection.first)
        elif statement.all_back:
            self._connection.reset()

    def _give(self, table: pa.Table) -> None:
        table = far.shown(table)
        self._table, self.rowcount = table, table.num_rows
        self._rows = zip(*(column.to_pylist() for column in table.columns), strict=True)

    def executemany(self, operation: str, seq_of_parameters: Sequence[Sequence[object]]) -> NoReturn:
        """Refuse: each set of parameters is a question with a charge of its own.

        Raises:
            NotSupportedError: always.
        """
        raise NotSupportedError("Each would be charged by itself: call execute for each question.")

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row; None after the last."""
        return next(self._left(), None)

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        """The next rows, at most as many as `size`, or else `arraysize`."""
        return list(islice(self._left(), self.arraysize if size is None else size))

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows that are left."""
        return list(self._left())

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return self._left()

    def __next__(self) -> tuple[Any, ...]:
        return next(self._left())

    def close(self) -> None:
        """Let go of the answer."""
        self._forget()
        self._closed = True

    def setinputsizes(self, sizes: Sequence[object]) -> None:
        """Nothing: PEP 249 lets it."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Nothing: PEP 249 lets it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self) -> Connection:
        if self._closed:
            raise InterfaceError("The cursor is closed.")
        return self._connection

    def _left(self) -> Iterator[tuple[Any, ...]]:
        self._open()
        if self._rows is None:
            raise InterfaceError("There is no answer to fetch rows from: call execute with a question first.")
        return self._rows
