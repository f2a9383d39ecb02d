"""The tables of a service in a PostgreSQL database, which server processes on several hosts share."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from discreet.errors import LedgerError
from discreet.ledger.postgres.address import PostgresSchema
from discreet.ledger.postgres.dialling import begin_reading, begin_writing, dial, hang_up, see_durable
from discreet.ledger.postgres.migrations import migrate
from discreet.server.records.audit import start

if TYPE_CHECKING:
    import psycopg

WAIT = 10.0
"""Seconds to wait for other writers."""
_FIRST = (
    "CREATE TABLE people (name TEXT PRIMARY KEY, role TEXT NOT NULL CHECK (role IN ('steward', 'analyst')), "
    "made BIGINT NOT NULL)",
    "CREATE TABLE grants (name TEXT NOT NULL REFERENCES people, dataset TEXT NOT NULL, epsilon TEXT NOT NULL, "
    "most TEXT, expires BIGINT, PRIMARY KEY (name, dataset))",
    "CREATE TABLE tokens (id TEXT PRIMARY KEY, name TEXT NOT NULL REFERENCES people, digest TEXT NOT NULL, "
    "scopes TEXT NOT NULL, made BIGINT NOT NULL, expires BIGINT NOT NULL, revoked BIGINT)",
    "CREATE TABLE signins (digest TEXT PRIMARY KEY, token TEXT NOT NULL REFERENCES tokens, expires BIGINT NOT NULL)",
    "CREATE TABLE asks (name TEXT NOT NULL, dataset TEXT NOT NULL, key TEXT NOT NULL, body TEXT NOT NULL, "
    "made BIGINT NOT NULL, came BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (name, dataset, key))",
    "CREATE TABLE versions (dataset TEXT NOT NULL, version TEXT NOT NULL, made BIGINT NOT NULL, "
    "PRIMARY KEY (dataset, version))",
    "CREATE TABLE audit (number BIGINT PRIMARY KEY, made BIGINT NOT NULL, who TEXT NOT NULL, action TEXT NOT NULL, "
    "about TEXT NOT NULL, previous TEXT NOT NULL, hash TEXT NOT NULL)",
    "CREATE FUNCTION audit_refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
    "RAISE EXCEPTION 'the audit log is append-only' USING ERRCODE = 'integrity_constraint_violation'; END $$",
    "CREATE TRIGGER audit_change BEFORE UPDATE OR DELETE OR TRUNCATE ON audit "
    "FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse()",
    "CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), identity TEXT NOT NULL, number BIGINT NOT NULL, "
    "hash TEXT NOT NULL)",
    "INSERT INTO head VALUES (1, replace(gen_random_uuid()::text, '-', ''), 0, '')",
)
_SECOND = (
    "CREATE TABLE identities (issuer TEXT NOT NULL, value TEXT NOT NULL, name TEXT NOT NULL REFERENCES people, "
    "made BIGINT NOT NULL, PRIMARY KEY (issuer, value))",
)
# A number that is another one after each change of people, tokens and budgets, whoever makes it: a process of an older
# version, or an administrator in SQL. See `changes`.
_THIRD = (
    "ALTER TABLE head ADD COLUMN change BIGINT NOT NULL DEFAULT 0",
    "CREATE FUNCTION people_changed() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$ BEGIN "
    "UPDATE head SET change = (random() * 9007199254740992)::bigint; RETURN NULL; END $$",
    *(
        f"CREATE TRIGGER {table}_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON {table} "
        "FOR EACH STATEMENT EXECUTE FUNCTION people_changed()"
        for table in ("people", "grants", "tokens")
    ),
    "UPDATE head SET change = (random() * 9007199254740992)::bigint",
)
# A steward's page asks of each charge of a month whether its answer is there.
_FOURTH = ("CREATE INDEX asks_by_key ON asks (dataset, key)",)
MIGRATIONS = (_FIRST, _SECOND, _THIRD, _FOURTH)
"""The statements that make each version of the tables from the one before."""


class PostgresTables:
    """One connection; its user lets one thread at a time in. One that was dropped is opened again.

    Raises:
        LedgerError: the server cannot be reached, or the tables are of a later version or cannot be made.
    """

    def __init__(self, address: PostgresSchema) -> None:
        self._address = address
        self._process = 0
        self._connection: psycopg.Connection[Any] | None = None
        with self._told():
            connection = self._ready()
            see_durable(connection, address)
            migrate(connection, address, MIGRATIONS, WAIT)
        with self.transaction():
            (row,) = self.read("SELECT * FROM head", ())
            if not row["hash"]:
                self.write("UPDATE head SET hash = ?", (start(row["identity"]).hash,))

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """All of it or nothing, alone among all writers."""
        with self._told():
            begin = f"{begin_writing(self._address, WAIT)}; SELECT 1 FROM head FOR UPDATE"
            self._again(begin)
        try:
            yield
        except BaseException:
            self._undo()
            raise
        with self._told():
            self._ready().execute("COMMIT")

    def read(self, sql: str, given: Sequence[Any]) -> list[Any]:
        """The rows of a query."""
        with self._told():
            connection = self._ready()
            if connection.info.transaction_status != connection.info.transaction_status.IDLE:
                return list(self._run(sql, given).fetchall())
            self._again(begin_reading(self._address))
            found = list(self._run(sql, given).fetchall())
            self._ready().execute("COMMIT")
            return found

    def write(self, sql: str, given: Sequence[Any]) -> int:
        """Run a statement within a transaction, and return how many rows it changed."""
        with self._told():
            return int(self._run(sql, given).rowcount)

    def changed(self) -> object:
        """The number of the last change that is committed."""
        with self._told():
            row = self._again(f"SELECT change FROM {self._address.quoted}.head").fetchone()
            return row and row[0]

    def afresh(self) -> None:
        """The server alone knows its disk; nothing is kept here."""

    def close(self) -> None:
        """Close the connection."""
        connection, self._connection = self._connection, None
        hang_up(connection, self._process)

    def _undo(self) -> None:
        try:
            if self._connection is not None:
                self._connection.execute("ROLLBACK")
        except Exception:
            self.close()  # the server undoes it

    def _run(self, sql: str, given: Sequence[Any]) -> Any:
        from psycopg.rows import dict_row

        cursor = self._ready().cursor(row_factory=dict_row)
        return cursor.execute(sql.replace("?", "%s"), given)

    def _again(self, first: str) -> psycopg.Cursor[Any]:
        """Run a first statement, on a new connection where the old one was dropped, which often shows only now."""
        import psycopg

        try:
            return self._ready().execute(first)
        except psycopg.OperationalError:
            self.close()
            return self._ready().execute(first)

    def _ready(self) -> psycopg.Connection[Any]:
        if self._connection is None or self._connection.closed or self._process != os.getpid():
            self._process = os.getpid()
            self._connection = dial(self._address)
        return self._connection

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        import psycopg

        fault = False
        try:
            yield
        except psycopg.errors.IntegrityError:
            raise
        except psycopg.Error:
            self.close()
            fault = True
        if fault:
            raise LedgerError(
                f"The state of the service at {self._address.where} cannot be read or written.",
                "Check the server, and that this user may write the tables; the first start and each new version need "
                "their owner.",
            )
