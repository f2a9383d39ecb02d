"""The store in a SQLite file, with a rollback journal, full sync, and a head in a second place.

A rollback journal, not a write-ahead log: after a commit all that was written is in the file itself, so a side file
that is lost, damaged or not copied along takes no charge with it. A commit costs more syncs, which `group_commit`
shares out.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Callable
from typing import Any

from discreet.errors import DiscreetError, InvalidParameter, LedgerCorrupt, LedgerError
from discreet.ledger import forks
from discreet.ledger.chain.book import Book
from discreet.ledger.chain.verify import LOOK
from discreet.ledger.committed import KnownEnd, TransactionNeeded
from discreet.ledger.faults import busy
from discreet.ledger.group_commit import CommitGroup, CommitProgress, QueuedWork, fail, not_begun, run_all
from discreet.ledger.sqlite.faults import code_of, explain
from discreet.ledger.sqlite.head import HeadFile, Noted, head_of, read_number
from discreet.ledger.sqlite.making import opened
from discreet.ledger.sqlite.rows import SqlRows
from discreet.ledger.store import NOTHING, LedgerRows, MemoryStore, Needs, Result, Store
from discreet.ledger.turn import FileTurns

TAIL = 4
"""How many entries before the head are checked again at each charge; the last charge of an account is among them."""


def open_sql(address: str, timeout: float) -> Store:
    """Open the store at a path or URL; see `open_ledger`."""
    if "://" not in address:
        return SqliteStore(address, timeout)
    scheme, _, path = address.partition("://")
    if scheme != "sqlite" or "?" in path or (path and not path.startswith("/")):
        # No options: one such as nolock=1 would let two processes spend the same budget.
        raise InvalidParameter(
            "The ledger's address is not a path, a SQLite URL without options, or a PostgreSQL URL.",
            "Write a path, sqlite:///path, or postgresql://server/database.",
        )
    file = path.removeprefix("/")
    return MemoryStore() if file in ("", ":memory:") else SqliteStore(file, timeout)


class SqliteStore:
    """One connection to one file. Threads that come at the same time share a transaction and its commit."""

    durable = True
    made = False

    def __init__(self, path: str, timeout: float) -> None:
        self.where = os.path.abspath(path)
        self._connection: sqlite3.Connection | None = None
        self._head: HeadFile | None = None
        self._process = 0
        self._closed = False
        self._timeout = timeout
        self._lock = threading.RLock()
        self._group = CommitGroup(self._batch)
        self._file = (0, 0)
        self._identity = ""
        self._newest: Book | None = None  # the last book that stood in the second place too
        self._seen: Book | None = None  # the last book that was read
        # The data_version of the file at that time, which SQLite changes with each commit of another connection.
        self._version = -1
        place = head_of(self.where)
        self._end = KnownEnd(lambda: read_number(place))
        self.turns = FileTurns(f"{os.path.realpath(self.where)}-turns")
        forks.before_each(self)
        # Fails now, not at the first charge, if the file is read-only; BEGIN IMMEDIATE alone would not.
        self._submit(SqlRows.probe, True)

    def read(self, work: Callable[[LedgerRows], Result]) -> Result:
        """Run `work` on a snapshot."""
        return self._submit(work, False)

    def look(self, work: Callable[[LedgerRows], Result], *, here: bool = False) -> Result:
        """Run `work` on the end of the ledger that is known here, or on a snapshot.

        Where another process wrote since, the entries that it wrote are read first, once for all who look.
        """
        if not self._closed and self._process == os.getpid():
            with contextlib.suppress(TransactionNeeded):
                return self._end.look(self.read, work, here=here)
        return self.read(work)

    def write(self, work: Callable[[LedgerRows], Result], needs: Needs = NOTHING) -> Result:
        """Run `work` as the only writer; on return its rows are on disk, and the second place names them."""
        return self._submit(work, True, needs)

    def afresh(self) -> None:
        """Let go of the pages that SQLite keeps until another connection commits: the disk may have others by now."""
        with self._lock:
            if self._connection is not None and self._process == os.getpid():
                self._version = -1
                with contextlib.suppress(sqlite3.Error):
                    self._connection.execute("PRAGMA shrink_memory").close()

    def has_settled(self, question: str, *, here: bool = False) -> bool | None:
        """Whether a question is settled; None where only a transaction can tell."""
        if self._closed or self._process != os.getpid():
            return None
        return self._end.has_settled(question, self.read, here=here)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._closed = True
            self.release()

    def hold(self) -> None:
        """Wait for the running transaction and keep others out."""
        self._lock.acquire()

    def let_go(self, *, child: bool = False) -> None:
        """Undo `hold`; in a forked child also forget the threads that waited."""
        if child:
            self._group.forget()
        self._lock.release()

    def release(self) -> None:
        """Close the connection; the next transaction opens a new one. The caller holds the lock."""
        self._end.forget()
        self._version = -1
        connection, self._connection = self._connection, None
        head, self._head = self._head, None
        if head is not None:
            head.close()
        if connection is None:
            return
        if self._process != os.getpid():
            _inherited.append(connection)  # closing a parent's connection drops locks; keep it, unused
            return
        # As when the interpreter ends and closes things in any order.
        with contextlib.suppress(sqlite3.Error):
            connection.close()

    def __del__(self) -> None:
        self.release()

    def _submit(self, work: Callable[[Any], Result], writes: bool, needs: Needs = NOTHING) -> Result:
        return self._group.perform(work, writes, self._timeout, self.where, needs)

    def _batch(self, requests: list[QueuedWork]) -> None:
        """Run all requests in one transaction; those that are not done when this returns are tried again alone."""
        if not self._lock.acquire(timeout=self._timeout):
            fail(requests, not_begun(self.where))
            return
        step = CommitProgress()
        try:
            try:
                self._transact(requests, step)
            except (sqlite3.Error, OSError) as error:
                problem: Exception = explain(error, self.where)
                if code_of(error).startswith("SQLITE_BUSY"):
                    self._roll_back()  # all is well with the connection
                    step.committing = False
                else:
                    self.release()
            except DiscreetError as error:
                problem = error
                self._roll_back()
            except UnicodeDecodeError as error:  # sqlite3 itself stumbles over the words of a damaged file
                problem = explain(error, self.where)
                self.release()
            except BaseException:
                self._roll_back()
                if step.committing:
                    fail(requests, LedgerError(
                        "The ledger was interrupted while it wrote; the charge may stand.", "Ask again."))  # fmt: skip
                raise
            else:
                return
            if not step.sharing:
                fail(
                    requests if step.request is None else [step.request],
                    problem,
                    unwritten=not step.committing,
                )
        finally:
            if self._head is not None:
                self._head.unlock()
            self._lock.release()

    def _transact(self, requests: list[QueuedWork], step: CommitProgress) -> None:
        writes = any(request.writes for request in requests)
        connection = self._ready()
        assert self._seen is not None
        self._same_file()
        noted = self._claim() if writes else self._seen
        if writes and self._head is not None and self._head.waited:
            self._group.gather(requests)
        connection.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
        (version,) = connection.execute("PRAGMA data_version").fetchone()
        rows = SqlRows(connection, noted, TAIL, same=not writes and version == self._version)
        self._version = -1
        if writes:
            self._end.before_writing(rows, [request.needs for request in requests])
        run_all(requests, rows, step, (sqlite3.Error, OSError, UnicodeDecodeError))
        step.committing = writes
        connection.execute("COMMIT")
        self._end.follow(rows)
        if writes:
            self._note(rows.book(), noted)
        elif rows.reached is not None:
            self._seen = rows.reached
        if writes or rows.reached is not None:
            self._version = version
        for request in requests:
            request.done = True

    def _claim(self) -> Book:
        """Wait for other writers, and read the book that the second place names."""
        head = self._head
        assert head is not None
        for _ in range(100):
            # Who opened it just now has the lock, and may not wait for others who wait for it.
            first = contextlib.nullcontext(True) if head.held else self.turns.next_to_write(self._timeout)
            with first:
                had = head.lock(self._timeout)
            if not had:
                raise busy(self.where)
            if head.in_place():
                break
            # Another writer made the file larger, under the same name; or it is not ours, which its content tells.
            head.close()
            head = self._head = HeadFile(head.path)
        return self._agreed(head.read())

    def _agreed(self, noted: Noted) -> Book:
        """The content of the second place, once it is known to be ours and no older than the book seen here."""
        known = self._newest
        if noted.identity != self._identity:
            raise LedgerCorrupt(
                f"The head {head_of(self.where)} belongs to another ledger.", "Put the right one back."
            )
        if known is not None and (
            noted.book.head.number < known.head.number
            or (noted.book.head.number == known.head.number and noted.book.head != known.head)
        ):
            raise LedgerCorrupt(
                f"The ledger's head {head_of(self.where)} names entry {noted.book.head.number}, and entry "
                f"{known.head.number} was there before.",
                "An old copy was put back. Let `discreet budget adopt` take the ledger over.",
            )
        return noted.book

    def _note(self, book: Book, noted: Book) -> None:
        assert self._head is not None
        if book.head != noted.head:
            self._head.write(self._identity, book)
        self._newest = self._seen = book
        self._end.committed.note(book.head.number)

    def _ready(self) -> sqlite3.Connection:
        if self._closed:
            raise LedgerError("The ledger is closed.", "Open it again.")
        if self._connection is None:
            self._process = os.getpid()
            self._connection, self._head, self._identity, made = opened(self.where, self._timeout)
            self.made = self.made or made
            self._check()
        elif self._process != os.getpid():
            # Only a fork behind Python's back comes here; SQLite must not be used across one.
            raise LedgerError(
                "The process was forked with the ledger open.", "Open the ledger in the child process."
            )
        return self._connection

    def _check(self) -> None:
        """Check the file's name, the end of the chain, the second place and the index of postings."""
        connection, head = self._connection, self._head
        assert connection is not None
        assert head is not None
        state = os.stat(self.where)
        if state.st_nlink > 1:
            # The journal and the head are found by name: two names are two of each, and a budget spent twice.
            raise LedgerError(
                f"The ledger at {self.where} has a second name (a hard link).", "Remove one of the two names."
            )
        self._file = (state.st_dev, state.st_ino)
        noted = head.read()
        book = self._agreed(noted)
        connection.execute("BEGIN IMMEDIATE")
        rows = SqlRows(connection, book, LOOK)
        reached = rows.book()
        for account in reached.tallies:
            rows.tally(account)
        connection.execute("COMMIT")
        if noted.torn and reached.head == book.head:
            # A torn write comes after a commit, so the ledger would reach further than the slot that is left.
            raise LedgerCorrupt(
                f"One half of the ledger's head {head.path} is unreadable, and nothing tells whether it named more.",
                "Let `discreet budget adopt` make a new one.",
            )
        self._note(reached, book)

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


_inherited: list[sqlite3.Connection] = []
