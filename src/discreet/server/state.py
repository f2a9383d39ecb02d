"""Everything that the service knows beside the ledgers: people, their budgets and tokens, questions, and an audit log.

One SQLite file, which only its owner may read. No data value, no answer and no token is in it; of tokens it keeps
hashes. Budgets are limits only: the losses spent are in the ledgers.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from discreet.errors import LedgerError

FORMAT = 1
_TABLES = (
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
    *(
        f"CREATE TRIGGER audit_{verb.lower()} BEFORE {verb} ON audit "
        "BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END"
        for verb in ("UPDATE", "DELETE")
    ),
)
Row = sqlite3.Row


class State:
    """The state of a service, shared by threads and processes.

    Args:
        where: the file; it is made where it is not there.
        clock: seconds since 1970.

    Raises:
        LedgerError: the file cannot be opened, or is of another format.
    """

    def __init__(self, where: Path, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.RLock()
        try:
            with contextlib.suppress(FileExistsError):
                os.close(os.open(where, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            self._db = sqlite3.connect(where, timeout=10, isolation_level=None, check_same_thread=False)
            self._db.row_factory = Row
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")
            self._db.execute("PRAGMA foreign_keys = ON")
            self._make()
            found = self._db.execute("SELECT format FROM service").fetchone()
        except (OSError, sqlite3.Error):
            found = None
        if found is None or found["format"] != FORMAT:
            raise LedgerError(
                f"The file {where} of the service cannot be opened, or is of another version.",
                "See that its folder can be written, and that the file was made by this version.",
            )

    def _make(self) -> None:
        with self.writing():
            made = self._db.execute("SELECT 1 FROM sqlite_master WHERE name = 'service'").fetchone() is None
            if made:
                for statement in _TABLES:
                    self._db.execute(statement)
                self._db.execute("INSERT INTO service VALUES (?)", (FORMAT,))

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction: all of it or nothing."""
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def now(self) -> int:
        """Seconds since 1970."""
        return int(self._clock())

    def all(self, sql: str, given: Sequence[Any] = ()) -> list[Row]:
        """The rows of a query."""
        with self._lock:
            return self._db.execute(sql, given).fetchall()

    def one(self, sql: str, given: Sequence[Any] = ()) -> Row | None:
        """The first row of a query."""
        with self._lock:
            row: Row | None = self._db.execute(sql, given).fetchone()
            return row

    def run(self, sql: str, given: Sequence[Any] = ()) -> int:
        """Run a statement, and return how many rows it changed."""
        with self._lock:
            return self._db.execute(sql, given).rowcount

    def note(self, who: str, action: str, about: str = "") -> None:
        """Write a line of the audit log."""
        self.run(
            "INSERT INTO audit (made, who, action, about) VALUES (?, ?, ?, ?)",
            (self.now(), who, action, about),
        )

    def audit(self, limit: int, before: int | None = None) -> list[Row]:
        """The newest lines of the audit log, the newest first.

        Args:
            limit: how many at most.
            before: only lines with a lower number.
        """
        return self.all(
            "SELECT * FROM audit WHERE number < ? ORDER BY number DESC LIMIT ?",
            (before if before is not None else 1 << 62, limit),
        )

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._db.close()
