"""The store in a SQLite file, in WAL mode with full sync."""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable

from discreet.errors import InvalidParameter, LedgerError
from discreet.ledger.entry import FORMAT
from discreet.ledger.faults import busy, code_of, explain
from discreet.ledger.rows import SqlRows
from discreet.ledger.schema import MAKE
from discreet.ledger.store import MemoryStore, Result, Rows, Store


def open_sql(address: str, timeout: float) -> Store:
    """Open the store at a path or URL; see `open_ledger`."""
    if "://" not in address:
        return SqliteStore(address, timeout)
    scheme, _, path = address.partition("://")
    if scheme != "sqlite" or "?" in path or (path and not path.startswith("/")):
        # No options: one such as nolock=1 would let two processes spend the same budget.
        raise InvalidParameter(
            "The ledger's address is not a path or a SQLite URL without options.",
            "Write a path, or sqlite:///path.",
        )
    file = path.removeprefix("/")
    return MemoryStore() if file in ("", ":memory:") else SqliteStore(file, timeout)


class SqliteStore:
    """One connection to one file, used by one thread at a time."""

    durable = True

    def __init__(self, path: str, timeout: float) -> None:
        self.where = os.path.abspath(path)
        self._connection: sqlite3.Connection | None = None
        self._process = 0
        self._closed = False
        self._timeout = timeout
        self._lock = threading.RLock()
        self._file = (0, 0)
        _stores.add(self)
        # Fails now, not at the first charge, if the file is read-only; BEGIN IMMEDIATE alone would not.
        self._run(SqlRows.probe, "BEGIN IMMEDIATE")

    def read(self, work: Callable[[Rows], Result]) -> Result:
        """Run `work` on a snapshot."""
        return self._run(work, "BEGIN")

    def write(self, work: Callable[[Rows], Result]) -> Result:
        """Run `work` as the only writer; on return its rows are on disk."""
        # IMMEDIATE takes the write lock before the first read, so what is checked is still true at commit.
        return self._run(work, "BEGIN IMMEDIATE")

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._closed = True
            self.release()

    def hold(self) -> None:
        """Wait for the running transaction and keep others out."""
        self._lock.acquire()

    def let_go(self) -> None:
        """Undo `hold`."""
        self._lock.release()

    def release(self) -> None:
        """Close the connection; the next transaction opens a new one. The caller holds the lock."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        if self._process != os.getpid():
            _inherited.append(connection)  # closing a parent's connection drops locks; keep it, unused
            return
        with contextlib.suppress(
            sqlite3.Error
        ):  # as when the interpreter ends and closes things in any order
            connection.close()

    def __del__(self) -> None:
        self.release()

    def _run(self, work: Callable[[SqlRows], Result], begin: str) -> Result:
        if not self._lock.acquire(timeout=self._timeout):
            raise busy(self.where)
        try:
            try:
                connection = self._ready()
                connection.execute(begin)
                self._same_file()
                result = work(SqlRows(connection))
                connection.execute("COMMIT")
            except (sqlite3.Error, OSError) as error:
                problem = explain(error, self.where)
                self.release()
            except BaseException:
                self._roll_back()
                raise
            else:
                return result
        finally:
            self._lock.release()
        # Raised out here, the error carries no trace of the database's own, whose text may hold an answer.
        raise problem

    def _ready(self) -> sqlite3.Connection:
        if self._closed:
            raise LedgerError("The ledger is closed.", "Open it again.")
        if self._connection is None:
            self._connection = self._connect()
            self._process = os.getpid()
            self._set_up(self._connection)
        elif self._process != os.getpid():
            # Only a fork behind Python's back comes here; SQLite must not be used across one.
            raise LedgerError(
                "The process was forked with the ledger open.", "Open the ledger in the child process."
            )
        return self._connection

    def _connect(self) -> sqlite3.Connection:
        if not os.path.exists(self.where):
            # Questions and salts are nobody else's business. SQLite's side files take the same mode.
            with contextlib.suppress(FileExistsError):
                os.close(os.open(self.where, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        return sqlite3.connect(
            self.where, timeout=self._timeout, isolation_level=None, check_same_thread=False
        )

    def _set_up(self, connection: sqlite3.Connection) -> None:
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                _prepare(connection)
                break
            except sqlite3.OperationalError as error:
                # SQLite reports a busy file at once while another process switches it to WAL.
                if not code_of(error).startswith("SQLITE_BUSY") or time.monotonic() > deadline:
                    raise
            self._roll_back()
            time.sleep(0.01)
        found = connection.execute("SELECT format FROM discreet_ledger").fetchone()
        if found != (FORMAT,):
            raise LedgerError(
                f"The ledger at {self.where} is of a format that this version does not know.",
                "Use the version of discreet that wrote it, or a later one.",
            )
        state = os.stat(self.where)
        if state.st_nlink > 1:
            # SQLite's log is found by name: two names are two logs, and a budget that is spent twice.
            raise LedgerError(
                f"The ledger at {self.where} has a second name (a hard link).", "Remove one of the two names."
            )
        self._file = (state.st_dev, state.st_ino)

    def _same_file(self) -> None:
        try:
            state = os.stat(self.where)
            same = (state.st_dev, state.st_ino) == self._file
        except OSError:
            same = False
        if not same:
            raise LedgerError(
                f"The ledger at {self.where} was moved or replaced while it was open.",
                "Put it back, or open the ledger again.",
            )

    def _roll_back(self) -> None:
        if self._connection is not None:
            try:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
            except sqlite3.Error:
                self.release()


def _prepare(connection: sqlite3.Connection) -> None:
    def value(sql: str) -> object:
        row = connection.execute(sql).fetchone()
        return None if row is None else row[0]

    made = "SELECT 1 FROM sqlite_master WHERE name = 'discreet_ledger'"
    if value("PRAGMA journal_mode") != "wal":
        value("PRAGMA journal_mode = WAL")  # where a file system cannot, the rollback journal is as safe
    value("PRAGMA synchronous = EXTRA")  # FULL, and the folder too when a rollback journal is deleted
    value("PRAGMA fullfsync = ON")  # macOS: through the drive's own cache
    assert value("PRAGMA synchronous") == 3
    if value(made) is None:
        connection.execute("BEGIN IMMEDIATE")
        if value(made) is None:
            for statement in MAKE:
                connection.execute(statement)
            row = (FORMAT, secrets.token_hex(16))
            connection.execute("INSERT INTO discreet_ledger (format, identity) VALUES (?, ?)", row)
        connection.execute("COMMIT")


# SQLite must not be used across a fork: the child would believe that it holds the parent's file locks. So
# every ledger closes its file before a fork, and parent and child each open it again when they need it.
_stores: weakref.WeakSet[SqliteStore] = weakref.WeakSet()
_held: list[SqliteStore] = []
_inherited: list[sqlite3.Connection] = []
_forking = threading.RLock()  # one fork at a time, so that two cannot wait for each other's stores


def _before_fork() -> None:
    _forking.acquire()
    for store in list(_stores):
        store.hold()
        store.release()
        _held.append(store)


def _after_fork() -> None:
    while _held:
        _held.pop().let_go()
    _forking.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
