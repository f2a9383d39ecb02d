"""Versions of tables: each migration runs once, in order, in one transaction, whoever comes first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from discreet.errors import LedgerError
from discreet.ledger.postgres.address import PostgresSchema
from discreet.ledger.postgres.dialling import begin_writing, dial

if TYPE_CHECKING:
    import psycopg

VERSIONS = "discreet_version"
_MAKE = (
    f"CREATE TABLE {VERSIONS} (version INTEGER NOT NULL PRIMARY KEY, "
    "applied TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp())"
)
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"


def migrate(
    connection: psycopg.Connection[Any],
    address: PostgresSchema,
    migrations: Sequence[Sequence[str]],
    wait: float,
) -> None:
    """Bring the tables of a schema to the version of this program.

    Args:
        connection: outside a transaction.
        address: of the tables; the schema is made where it is not there.
        migrations: the statements that make each version from the one before, from the first.
        wait: seconds to wait for others.

    Raises:
        LedgerError: the tables are of a later version.
        psycopg.Error: this user may not make them.
    """
    if _known(version(connection, address), address, migrations) == len(migrations):
        return
    try:
        connection.execute(begin_writing(address, wait))
        connection.execute(_LOCK, (f"discreet migration {address.schema}",))
        if connection.execute("SELECT to_regnamespace(%s)", (address.quoted,)).fetchone() == (None,):
            connection.execute(f"CREATE SCHEMA {address.quoted}")
        # Another process may have been here meanwhile.
        have = _known(version(connection, address), address, migrations)
        # The tables are made where the path finds nothing else of their names.
        connection.execute(f"SET LOCAL search_path = {address.quoted}, pg_catalog")
        if not have and not _has(connection, address):
            connection.execute(_MAKE)
        for number, statements in enumerate(migrations[have:], have + 1):
            for statement in statements:
                connection.execute(statement)
            connection.execute(f"INSERT INTO {VERSIONS} (version) VALUES (%s)", (number,))
        connection.execute("COMMIT")
    except BaseException:
        if not connection.closed:
            connection.execute("ROLLBACK")
        raise


def _known(version: int, address: PostgresSchema, migrations: Sequence[Sequence[str]]) -> int:
    if version > len(migrations):
        raise LedgerError(
            f"The tables at {address.where} are of a version that this program does not know.",
            "Use the version of discreet that made them, or a later one.",
        )
    return version


def _has(connection: psycopg.Connection[Any], address: PostgresSchema) -> bool:
    found = connection.execute("SELECT to_regclass(%s)", (f"{address.quoted}.{VERSIONS}",)).fetchone()
    return found != (None,)


def is_made(address: PostgresSchema) -> bool:
    """Whether there are tables of any version.

    Raises:
        LedgerError: the server cannot be reached.
    """
    with dial(address) as connection:
        return _has(connection, address)


def version(connection: psycopg.Connection[Any], address: PostgresSchema) -> int:
    """The version of the tables of a schema; 0 where there are none."""
    if not _has(connection, address):
        return 0
    found = connection.execute(
        f"SELECT coalesce(max(version), 0) FROM {address.quoted}.{VERSIONS}"
    ).fetchone()
    return int(found[0]) if found else 0
