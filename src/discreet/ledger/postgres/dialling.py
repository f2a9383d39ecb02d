"""Connections to PostgreSQL that commit durably, and that notice soon when the other end is gone."""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING, Any

from discreet.errors import LedgerError
from discreet.ledger.postgres.address import PostgresSchema

if TYPE_CHECKING:
    import psycopg

_SOON = {
    "connect_timeout": "10", "keepalives": "1", "keepalives_idle": "10", "keepalives_interval": "5",
    "keepalives_count": "3", "tcp_user_timeout": "20000",
}  # fmt: skip
"""Unless the address says otherwise; with these a host that vanished is noticed within half a minute."""
_PAUSE = 0.1
IDLE = 20
"""Seconds after which the server ends a transaction of a process that says nothing: another one waits for it."""


def dial(address: PostgresSchema, wait: float = 0.0) -> psycopg.Connection[Any]:
    """Open a connection.

    Args:
        address: of the database.
        wait: seconds to try again, as while a server starts.

    Raises:
        LedgerError: there is none. Nothing of the address but its place is quoted.
    """
    import psycopg

    until = time.monotonic() + wait
    given = {
        **_SOON, **address.parts, "application_name": "discreet", "client_encoding": "utf8",
    }  # fmt: skip
    while True:
        # Unprepared, since a pooler between may hand each transaction to another server process.
        with contextlib.suppress(psycopg.Error):
            return psycopg.connect(**given, autocommit=True, prepare_threshold=None)
        if time.monotonic() >= until:
            break
        time.sleep(_PAUSE)
    raise LedgerError(
        f"The PostgreSQL server of {address.where} cannot be reached, or refuses this user.",
        "Check the address, and that the password is in it, in PGPASSWORD or in a password file; psql with the same "
        "address says more.",
    )


def hang_up(connection: psycopg.Connection[Any] | None, process: int) -> None:
    """Close a connection that this process, by its id, opened; that of a parent is the parent's to close."""
    if connection is not None and process == os.getpid():
        with contextlib.suppress(Exception):
            connection.close()


def see_durable(connection: psycopg.Connection[Any], address: PostgresSchema) -> None:
    """See that the server is one that a ledger can trust with a commit.

    Raises:
        LedgerError: it is too old, not in UTF-8, or does not sync.
    """
    info = connection.info
    if info.server_version < 140000 or info.parameter_status("server_encoding") != "UTF8":
        raise LedgerError(
            f"The PostgreSQL server of {address.where} is older than 14, or its database is not in UTF-8.",
            "Use a newer server, or a database made with ENCODING 'UTF8'.",
        )
    found = connection.execute(
        "SELECT current_setting('fsync'), current_setting('full_page_writes')"
    ).fetchone()
    if found != ("on", "on"):
        raise LedgerError(
            f"The PostgreSQL server of {address.where} runs with fsync or full_page_writes off, so that a crash could "
            "forget charges.",
            "Switch both on.",
        )


def begin_writing(address: PostgresSchema, wait: float) -> str:
    """The statements that begin a transaction that writes: each commit waits for the disk.

    Args:
        address: of the tables.
        wait: seconds to wait for the locks of others.
    """
    return (
        "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; "
        f"SET LOCAL search_path = pg_catalog, {address.quoted}; "
        "SELECT set_config('synchronous_commit', CASE current_setting('synchronous_commit') "
        "WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true); "
        f"SET LOCAL lock_timeout = {max(1, round(wait * 1000))}; SET LOCAL statement_timeout = 0; "
        f"SET LOCAL idle_in_transaction_session_timeout = '{IDLE}s'"
    )


def begin_reading(address: PostgresSchema) -> str:
    """The statements that begin a transaction that reads one state of the tables."""
    return (
        "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; "
        f"SET LOCAL search_path = pg_catalog, {address.quoted}; SET LOCAL statement_timeout = 0"
    )
