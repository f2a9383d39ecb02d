"""The tables of a service in one SQLite file, which only its owner may read."""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from discreet.errors import LedgerError
from discreet.server.records.audit import next_line, start

_AUDIT_TRIGGERS = tuple(
    f"CREATE TRIGGER audit_{verb.lower()} BEFORE {verb} ON audit "
    "BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END"
    for verb in ("UPDATE", "DELETE")
)
_FIRST = (
    "CREATE TABLE service (format INTEGER NOT NULL)",
    "CREATE TABLE people (name TEXT PRIMARY KEY, role TEXT NOT NULL CHECK (role IN ('steward', 'analyst')), "
    "made INTEGER NOT NULL)",
    "CREATE TABLE grants (name TEXT NOT NULL REFERENCES people, dataset TEXT NOT NULL, epsilon TEXT NOT NULL, "
    "PRIMARY KEY (name, dataset))",
    "CREATE TABLE tokens (id TEXT PRIMARY KEY, name TEXT NOT NULL REFERENCES people, digest TEXT NOT NULL, "
    "scopes TEXT NOT NULL, made INTEGER NOT NULL, expires INTEGER NOT NULL, revoked INTEGER)",
    "CREATE TABLE signins (digest TEXT PRIMARY KEY, token TEXT NOT NULL REFERENCES tokens, expires INTEGER NOT NULL)",
    "CREATE TABLE asks (name TEXT NOT NULL, dataset TEXT NOT NULL, key TEXT NOT NULL, body TEXT NOT NULL, "
    "made INTEGER NOT NULL, PRIMARY KEY (name, dataset, key))",
    "CREATE TABLE audit (number INTEGER PRIMARY KEY AUTOINCREMENT, made INTEGER NOT NULL, who TEXT NOT NULL, "
    "action TEXT NOT NULL, about TEXT NOT NULL)",
    *_AUDIT_TRIGGERS,
    "INSERT INTO service VALUES (1)",
)
_SECOND = (
    "ALTER TABLE grants ADD COLUMN most TEXT",
    "ALTER TABLE grants ADD COLUMN expires INTEGER",
    "ALTER TABLE asks ADD COLUMN came INTEGER NOT NULL DEFAULT 0",
    "CREATE TABLE versions (dataset TEXT NOT NULL, version TEXT NOT NULL, made INTEGER NOT NULL, "
    "PRIMARY KEY (dataset, version))",
    # The audit log becomes a chain, and the lines that are there its beginning.
    "DROP TRIGGER audit_update",
    "ALTER TABLE audit ADD COLUMN previous TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE audit ADD COLUMN hash TEXT NOT NULL DEFAULT ''",
    "CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), identity TEXT NOT NULL, number INTEGER NOT NULL, "
    "hash TEXT NOT NULL)",
)
_THIRD = (
    "CREATE TABLE identities (issuer TEXT NOT NULL, value TEXT NOT NULL, name TEXT NOT NULL REFERENCES people, "
    "made INTEGER NOT NULL, PRIMARY KEY (issuer, value))",
)
# A steward's page asks of each charge of a month whether its answer is there.
_FOURTH = ("CREATE INDEX asks_by_key ON asks (dataset, key)",)
MIGRATIONS = (_FIRST, _SECOND, _THIRD, _FOURTH)
"""The statements that make each version of the tables from the one before."""


class SqliteTables:
    """One connection to one file; its user lets one thread at a time in.

    Args:
        where: the file; it is made where it is not there.

    Raises:
        LedgerError: the file cannot be opened, or is of a later version.
    """

    def __init__(self, where: Path) -> None:
        self._where = where
        known, db = False, None
        with contextlib.suppress(OSError, sqlite3.Error):
            with contextlib.suppress(FileExistsError):
                os.close(os.open(where, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            db = sqlite3.connect(where, timeout=10, isolation_level=None, check_same_thread=False)
            self._db = db
            self._db.row_factory = sqlite3.Row
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")
            self._db.execute("PRAGMA foreign_keys = ON")
            known = self._make()
        if not known:
            if db is not None:
                db.close()
            raise LedgerError(
                f"The file {where} of the service cannot be opened, or is of another version.",
                "See that its folder can be written, and that no later version made the file.",
            )

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """All of it or nothing, alone among all writers."""
        with self._told():
            self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            with self._told():
                self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:  # where the disk is full, SQLite has undone it already
                with self._told():
                    self._db.execute("ROLLBACK")
            raise

    def read(self, sql: str, given: Sequence[Any]) -> list[Any]:
        """The rows of a query."""
        with self._told():
            return self._db.execute(sql, given).fetchall()

    def write(self, sql: str, given: Sequence[Any]) -> int:
        """Run a statement within a transaction, and return how many rows it changed."""
        with self._told():
            return self._db.execute(sql, given).rowcount

    def changed(self) -> object:
        """The number of the changes is a file of its own: see `Changes.now`."""
        return None

    def afresh(self) -> None:
        """Let go of the pages that SQLite keeps until another connection commits."""
        with self._told():
            self._db.execute("PRAGMA shrink_memory").close()

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    def _make(self) -> bool:
        self._db.execute("BEGIN IMMEDIATE")
        made = self._db.execute("SELECT 1 FROM sqlite_master WHERE name = 'service'").fetchone()
        have = self._db.execute("SELECT format FROM service").fetchone()[0] if made else 0
        for number, statements in enumerate(MIGRATIONS[have:], have + 1):
            for statement in statements:
                self._db.execute(statement)
            if number == 2:
                self._chain()
            self._db.execute("UPDATE service SET format = ?", (number,))
        self._db.execute("COMMIT")
        return bool(have <= len(MIGRATIONS))

    def _chain(self) -> None:
        """Seal the lines that are there."""
        identity = secrets.token_hex(16)
        head = start(identity)
        for row in self._db.execute("SELECT * FROM audit ORDER BY number").fetchall():
            line = next_line(head, row["made"], row["who"], row["action"], row["about"])
            self._db.execute(
                "UPDATE audit SET number = ?, previous = ?, hash = ? WHERE number = ?",
                (line.number, line.previous, line.hash, row["number"]),
            )
            head = line.head
        self._db.execute("INSERT INTO head VALUES (1, ?, ?, ?)", (identity, head.number, head.hash))
        self._db.execute(_AUDIT_TRIGGERS[0])

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        fault = ""
        try:
            yield
        except sqlite3.OperationalError as error:
            fault = getattr(error, "sqlite_errorname", "") or "unknown"
        if fault.startswith("SQLITE_BUSY"):
            raise LedgerError(
                f"The file {self._where} of the service is busy: another process has been writing to it for too long.",
                "Ask again later; where that process is stopped, end it.",
            )
        if fault:
            raise LedgerError(
                f"The file {self._where} of the service cannot be read or written.", "Check its disk."
            )
