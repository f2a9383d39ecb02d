"""Statements of one client and their results: settings, transactions, the catalogue, and questions to the service."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sqlglot import exp
from sqlglot.errors import SqlglotError

from discreet import __version__, far
from discreet.dbapi.statements import (
    PREFIX,
    Ask,
    ConnectionSettings,
    Setting,
    Statement,
    Transaction,
    read,
    split,
)
from discreet.engines.sandbox import Sandbox
from discreet.errors import DiscreetError, InvalidParameter, PostProcessingError, QueryRefused
from discreet.pgwire import catalogue, catalogue_sql
from discreet.pgwire.catalogue_sql import CatalogueContext, CatalogueRefused, Elsewhere
from discreet.pgwire.types import TEXT, PostgresType, kind_of, named
from discreet.rational import show
from discreet.records import dataclass, field
from discreet.server.records.asks import budget_beside
from discreet.server.service import TOO_LARGE, is_small
from discreet.sql.syntax.pivot_statement import statements
from discreet.sql.syntax.priced import priced

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.release.answer import Release
    from discreet.server.people import Caller
    from discreet.server.service import Service

CATALOGUE_SECONDS = 5.0
MOCK_ROWS = 100
NOISE = "every number has noise: SET discreet.intervals = on shows the interval of each, as n_low and n_high beside n"
"""Said once on a connection, whose rows would look exact."""
FREE = ("DESCRIBE", "DESC", "SHOW", "SUMMARIZE", "EXPLAIN")
"""The first words of questions that are answered from the policy alone."""
REPORTED = {
    "server_version": catalogue.VERSION, "server_encoding": "UTF8", "client_encoding": "UTF8", "DateStyle": "ISO, MDY",
    "IntervalStyle": "postgres", "TimeZone": "UTC", "integer_datetimes": "on", "standard_conforming_strings": "on",
    "is_superuser": "off", "default_transaction_read_only": "on", "in_hot_standby": "off",
}  # fmt: skip
"""The settings that a server tells at the start."""
SHOWN = {
    **{name.lower(): value for name, value in REPORTED.items()},
    "transaction_isolation": "serializable", "transaction isolation level": "serializable",
    "default_transaction_isolation": "serializable", "search_path": catalogue.SCHEMA, "max_identifier_length": "63",
    "timezone": "UTC", "time zone": "UTC", "datestyle": "ISO, MDY", "discreet.version": __version__, "lc_collate": "C",
    "transaction_read_only": "on", "statement_timeout": "0", "extra_float_digits": "1", "bytea_output": "hex",
}  # fmt: skip
"""The settings of a database that SHOW knows; SET is taken and changes nothing."""


@dataclass(frozen=True)
class ResultColumn:
    """A column of a result.

    Attributes:
        name: its heading.
        kind: its type.
    """

    name: str
    kind: PostgresType


@dataclass
class Result:
    """The result of a statement.

    Attributes:
        tag: the words that end it, such as `SELECT 3`.
        columns: none where it has no rows.
        rows: their values.
        notices: words beside it.
    """

    tag: str
    columns: Sequence[ResultColumn] = ()
    rows: Sequence[Sequence[Any]] = ()
    notices: list[str] = field(default_factory=list)


def of_table(table: pa.Table, tag: str = "SELECT") -> Result:
    """A table of Arrow as a result."""
    columns = [ResultColumn(column.name, kind_of(column.type)) for column in table.schema]
    rows = list(zip(*(far.values(column) for column in table.columns), strict=True))
    return Result(f"{tag} {len(rows)}" if tag == "SELECT" else tag, columns, rows)


class Failed(Exception):
    """A statement within a transaction that has failed."""


class ConnectionAnswers:
    """The statements of one client, one after the other.

    Args:
        service: that is asked.
        caller: who asks.
        dataset: about which data set.

    Attributes:
        settings: of the questions that follow.
        state: I for idle, T within a transaction, E within one that failed.
    """

    def __init__(self, service: Service, caller: Caller, dataset: str) -> None:
        self._service, self._caller, self._dataset = service, caller, dataset
        self.caller = caller.name
        self._tables: dict[str, pa.Table] | None = None
        self._numbers: dict[str, int] = {}
        self._kinds: dict[str, PostgresType] = {}
        self._first = self.settings = ConnectionSettings()
        self._told_of_noise = False
        self.state = "I"

    def fail(self) -> None:
        """Note that a statement failed: within a transaction nothing is done until its end."""
        self.state = "I" if self.state == "I" else "E"

    async def result(self, text: str) -> Result:
        """The result of a statement; a question is charged.

        Raises:
            DiscreetError: as callers may know it.
            Failed: the transaction has failed, and this is not its end.
        """
        statement = _read(text)
        if isinstance(statement, Transaction):
            return self._transaction(statement)
        if self.state == "E":
            raise Failed
        if isinstance(statement, Setting):
            return self._setting(statement)
        if statement.cleans_up:
            return Result(statement.text.split(maxsplit=1)[0].upper())
        table = await self._catalogue(statement.text)
        if table is not None:
            return of_table(table)
        asked = {"query": statement.text, **self.settings.options(statement.text)}
        release, left = await self._service.ask(
            self._caller,
            self._dataset,
            asked,
            lambda release, session: (release, budget_beside(session).left),
        )
        result = of_table(release.to_arrow(self.settings.intervals))
        result.notices = _notices(release, left)
        if result.notices and not self.settings.intervals and not self._told_of_noise:
            result.notices.append(NOISE)
            self._told_of_noise = True
        return result

    async def columns(self, text: str) -> Sequence[ResultColumn]:
        """The columns that a statement will give, without asking it; nothing is charged and no data is read."""
        if not split(text):
            return ()
        statement = _read(text)
        if isinstance(statement, Setting) and statement.word == "show":
            names = ("name", "setting") if statement.name == PREFIX else (statement.name,)
            return [ResultColumn(name, TEXT) for name in names]
        if not isinstance(statement, Ask) or statement.cleans_up:
            return ()
        table = await self._catalogue(statement.text)
        if table is not None:
            return of_table(table).columns
        options = self.settings.options(statement.text)
        if self.settings.intervals:
            asked = {"epsilon": 1, **options, "query": statement.text}
            mock = await self._service.mock(
                self._caller, self._dataset, asked, MOCK_ROWS, lambda made, _: made
            )
            return of_table(mock.to_arrow()).columns
        if statement.text.split(maxsplit=1)[0].upper() in FREE:
            asked = {"query": statement.text}
            free = await self._service.ask(self._caller, self._dataset, asked, lambda made, _: made)
            return of_table(free.to_arrow(intervals=False)).columns

        def described() -> Release:
            session = self._service.session(self._caller, self._dataset)
            return session.sql(f"DESCRIBE {statement.text}", **options)

        release = await self._service.look(self._caller, described)
        return [ResultColumn(row["column_name"], named(row["column_type"])) for row in release]

    async def parameters(self, text: str, count: int) -> list[PostgresType]:
        """The types of the parameters of a question: of the columns that they are compared with, else text."""
        await self._known()
        found = dict.fromkeys(range(1, count + 1), TEXT)
        for column, number in _compared(text):
            found[number] = self._kinds.get(column, TEXT)
        return list(found.values())

    def set(self, name: str, value: str) -> None:
        """A setting of the start of a connection; those of a database are taken and change nothing."""
        found = Setting("set", name.lower(), value)
        if found.own:
            self._first = self.settings = self.settings.set(found.own, value)

    def _transaction(self, statement: Transaction) -> Result:
        if statement.word == "begin":
            self.state = "T" if self.state == "I" else self.state
            return Result("BEGIN")
        if statement.word == "savepoint":
            self.state = "T" if self.state == "E" else self.state
            return Result("SAVEPOINT")
        failed, self.state = self.state == "E", "I"
        return Result("ROLLBACK" if failed or statement.word == "rollback" else "COMMIT")

    def _setting(self, statement: Setting) -> Result:
        import pyarrow as pa

        if statement.word == "show" and statement.name == PREFIX:
            return of_table(self.settings.table(), "SHOW")
        if statement.word == "show":
            return of_table(pa.table({statement.name: [self._shown(statement)]}), "SHOW")
        if statement.own:
            self.settings = self.settings.set(statement.own, statement.value, self._first)
        elif statement.all_back:
            self.settings = self._first
        return Result("DISCARD ALL" if statement.word == "discard" else statement.word.upper())

    def _shown(self, statement: Setting) -> str:
        if statement.own and statement.name not in SHOWN:
            return self.settings.shown(statement.own)
        if statement.name not in SHOWN:
            raise InvalidParameter("This setting is not known here.", "SHOW discreet.epsilon shows a price.")
        return SHOWN[statement.name]

    async def _catalogue(self, text: str) -> pa.Table | None:
        """The answer to a question about the catalogue; None where it is about something else.

        Raises:
            QueryRefused: it cannot be answered here.
        """
        tables = await self._known()
        try:
            context = CatalogueContext(self._numbers, self._dataset, self._caller.name)
            sql, about = catalogue_sql.rewritten(text, context)
        except Elsewhere:
            return None
        except CatalogueRefused:
            raise _not_here() from None

        def work() -> pa.Table | None:
            try:
                with Sandbox(tables) as sandbox:
                    found = sandbox.run(sql, CATALOGUE_SECONDS)
            except PostProcessingError:
                return None
            if not is_small(found):  # a table function makes as many rows as anybody asks for
                raise QueryRefused(*TOO_LARGE)
            return found

        table = await self._service.look(self._caller, work)
        if table is None and about:
            raise _not_here()
        return table

    async def _known(self) -> dict[str, pa.Table]:
        """The tables of the catalogue, which are made once."""
        found = self._service.dataset(self._caller, self._dataset)  # the budget may have been withdrawn
        if self._tables is None:
            schema = await self._service.look(self._caller, found.schema)
            self._numbers = {table["table_name"]: oid for oid, table in enumerate(schema, catalogue.FIRST)}
            columns = [column for table in schema for column in table["columns"]]
            self._kinds = {row["column_name"].lower(): named(row["data_type"]) for row in columns}
            self._tables = catalogue.tables(schema, self._dataset, self._caller.name)
        return self._tables


def _read(text: str) -> Statement:
    """Read a statement; SHOW of a setting of a database is one about a setting, too."""
    statement = read(text)
    if isinstance(statement, Ask) and statement.text[:5].upper() == "SHOW ":
        name = " ".join(statement.text[5:].lower().split())
        if name in SHOWN:
            return Setting("show", name)
    return statement


def _not_here() -> QueryRefused:
    return QueryRefused(
        "This question about the catalogue cannot be answered here.",
        "SHOW TABLES, DESCRIBE and information_schema say which tables and columns there are.",
    )


def _notices(release: Release, left: Fraction) -> list[str]:
    """The price of an answer, the budget left, and the ways in which it may mislead."""
    if not release.epsilon:
        return []
    price = (
        "an earlier answer, for nothing" if release.replayed else f"epsilon {show(release.epsilon)} charged"
    )
    return [f"{price}; epsilon {show(left)} left", *release.warnings]


def _compared(text: str) -> Iterator[tuple[str, int]]:
    """The columns that a question compares with placeholders, in lower case, and the numbers of these."""
    found = priced(text)
    try:
        (tree,) = statements(found.text if found is not None else text)
    except (SqlglotError, RecursionError, ValueError):
        return
    for node in tree.find_all(exp.Predicate):
        columns = [inner.name.lower() for inner in node.iter_expressions() if isinstance(inner, exp.Column)]
        for inner in node.iter_expressions():
            if columns and isinstance(inner, exp.Parameter | exp.Placeholder) and inner.name.isdigit():
                yield columns[0], int(inner.name)


def without_conditions(text: str) -> str:
    """A question with placeholders without the conditions that they stand in: the columns of its answer are the same.

    With NULL in their place no group of a policy could have rows, and the question would be refused.

    Example:
        >>> without_conditions("SELECT a, COUNT(*) FROM t WHERE b > $1 AND c = 2 GROUP BY a")
        'SELECT a, COUNT(*) FROM t GROUP BY a'
    """
    found = priced(text)
    try:
        (tree,) = statements(found.text if found is not None else text)
    except (SqlglotError, RecursionError, ValueError):
        return text
    for clause in list(tree.find_all(exp.Where, exp.Having, exp.Qualify)):
        if clause.find(exp.Parameter, exp.Placeholder) is not None:
            clause.pop()
    return tree.sql("duckdb")


def position(error: DiscreetError, text: str, before: int = 0) -> str:
    """The place of a fault in a question, counted in characters from 1; empty where it is not known.

    Args:
        error: the fault.
        text: the question.
        before: how many characters stand before it, such as other questions.
    """
    if not isinstance(error, QueryRefused) or not error.line:
        return ""
    lines = text.split("\n")
    if error.line > len(lines):
        return ""
    return str(before + sum(len(line) + 1 for line in lines[: error.line - 1]) + error.column)
