"""Everything that the service knows beside the ledgers: people, their budgets and tokens, questions, and an audit log.

It lies in one SQLite file or in a schema of a PostgreSQL database. No data value, no answer and no token is in it; of
tokens it keeps hashes. Budgets are limits only: the losses spent are in the ledgers.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol, TypeVar

from discreet.ledger import Head
from discreet.ledger.group_commit import CommitGroup, QueuedWork
from discreet.ledger.postgres.address import is_address, read_address
from discreet.server.records.audit import AuditEntry, broken, followed, next_line, start
from discreet.server.records.changes import Changes

Row = Mapping[str, Any]
T = TypeVar("T")
PAGE = 1000
MOST = 10_000
"""How many queries are recalled."""
PATIENCE = 30.0
"""Seconds after which somebody who waits for others to write is told that the service is busy."""


class StateTables(Protocol):
    """Tables in a database, for one thread at a time."""

    def transaction(self) -> contextlib.AbstractContextManager[None]:
        """All of it or nothing, alone among all writers."""

    def read(self, sql: str, given: Sequence[Any]) -> list[Any]:
        """The rows of a query; a value stands for each question mark."""

    def write(self, sql: str, given: Sequence[Any]) -> int:
        """Run a statement within a transaction, and return how many rows it changed."""

    def changed(self) -> object:
        """A number that is another one after each change that is committed; None where it is kept elsewhere."""

    def afresh(self) -> None:
        """Keep no part of a file in memory: the next query reads it from the disk."""

    def close(self) -> None:
        """Let go of them."""


class ServiceState:
    """The state of a service, shared by threads and processes.

    Args:
        where: a file, or the url of a PostgreSQL database with the schema behind #; made where it is not there.
        clock: seconds since 1970.

    Raises:
        LedgerError: it cannot be opened, or is of a later version.
    """

    def __init__(self, where: str | os.PathLike[str], clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock, self._looking = threading.RLock(), threading.Lock()
        self._writer = 0  # the thread that writes
        self._where, self._group = os.fspath(where), CommitGroup(self._together)
        # Who looks something up, as every request does, need not wait for the disk of somebody who writes.
        self._tables, self._looks = _open(os.fspath(where)), _open(os.fspath(where))
        # By the real name of the file: who opens it through a link must hear of the changes of the others.
        place = f"{os.path.realpath(self._where)}-changes"
        self._changes = None if is_address(self._where) else Changes(place, PATIENCE)
        self._known: tuple[object, dict[tuple[str, Sequence[Any]], list[Row]]] = b"", {}

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction, alone among all writers: all of it or nothing. One inside another is a part of that one."""
        with self._lock:
            if self._writer:
                yield
                return
            with self._changes.changing() if self._changes else contextlib.nullcontext(), self._transaction():
                yield

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        """One transaction that changes nothing that `recall` keeps, or is known to `changes`."""
        with self._lock, self._tables.transaction():
            self._writer = threading.get_ident()
            try:
                yield
            finally:
                self._writer = 0

    def together(self, work: Callable[[], T]) -> T:
        """Do some work that writes; those who come meanwhile share one transaction, and wait for one disk.

        It writes nothing that `recall` is asked for, and it may be done twice, where it shared a transaction
        with work that failed. Not within `writing`.

        Raises:
            LedgerError: it was not begun in time, or cannot be written.
            Exception: that of the work, of which nothing is written then.
        """
        return self._group.perform(lambda _: work(), True, PATIENCE, self._where)

    def _together(self, requests: Sequence[QueuedWork]) -> None:
        """Do the work of all in one transaction; where one fails, each is done again in one of its own."""
        try:
            with self._transaction():
                for request in requests:
                    request.result = request.work(None)
        except Exception as error:
            if len(requests) == 1:
                requests[0].error = error
                requests[0].done = True
            return
        for request in requests:
            request.done = True

    def now(self) -> int:
        """Seconds since 1970."""
        return int(self._clock())

    def exactly(self) -> int:
        """Microseconds since 1970."""
        return int(self._clock() * 1e6)

    def all(self, sql: str, given: Sequence[Any] = ()) -> list[Row]:
        """The rows of a query."""
        if self._writer == threading.get_ident():
            return self._tables.read(sql, given)
        with self._looking:
            return self._looks.read(sql, given)

    def recall(self, sql: str, given: Sequence[Any] = ()) -> list[Row]:
        """The present rows of a query of people, tokens or budgets: they are kept, and read again after a change."""
        now: object = self._changed() if self._changes is None else self._changes.now()
        if now is None or self._writer == threading.get_ident():
            return self.all(sql, given)
        version, known = self._known
        if version != now:
            version, known = self._known = now, {}
        rows = known.get((sql, given))
        if rows is None:
            rows = self.all(sql, given)
            # A name that is not there is not kept, or guesses would fill the memory.
            if rows and len(known) < MOST:
                known[sql, given] = rows
        return rows

    def _changed(self) -> object:
        """The number that a database keeps; it is read before the rows, which are then at least as new."""
        with self._looking:
            return self._looks.changed()

    def first_row(self, sql: str, given: Sequence[Any] = ()) -> Row | None:
        """The first row of a query."""
        return next(iter(self.all(sql, given)), None)

    def run(self, sql: str, given: Sequence[Any] = ()) -> int:
        """Run a statement, and return how many rows it changed."""
        with self.writing():
            return self._tables.write(sql, given)

    # The audit log ---------------------------------------------------------------------------------------

    def note(self, who: str, action: str, about: str = "") -> None:
        """Write a line of the audit log."""
        with self.writing():
            line = next_line(self.head(), self.now(), who, action, about)
            self.run(
                "INSERT INTO audit (number, made, who, action, about, previous, hash) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (line.number, line.made, who, action, about, line.previous, line.hash),
            )
            self.run("UPDATE head SET number = ?, hash = ?", line.head)

    def head(self) -> Head:
        """Number and hash of the last line, to be noted elsewhere."""
        (row,) = self.all("SELECT number, hash FROM head")
        return Head(row["number"], row["hash"])

    def audit(self, limit: int, before: int | None = None) -> list[AuditEntry]:
        """The newest lines of the audit log, the newest first.

        Args:
            limit: how many at most.
            before: only lines with a lower number.
        """
        rows = self.all(
            "SELECT * FROM audit WHERE number < ? ORDER BY number DESC LIMIT ?",
            (before if before is not None else 1 << 62, limit),
        )
        return [AuditEntry.of(row) for row in rows]

    def audit_after(self, number: int) -> list[AuditEntry]:
        """Up to `PAGE` lines of the audit log above a number, in order."""
        rows = self.all("SELECT * FROM audit WHERE number > ? ORDER BY number LIMIT ?", (number, PAGE))
        return [AuditEntry.of(row) for row in rows]

    def verify(self, noted: Head | None = None) -> Head:
        """Compute every hash of the audit log again, and return its head.

        Args:
            noted: a head that was noted earlier; then its line must still be there, unchanged.

        Raises:
            LedgerCorrupt: names the first line that does not fit.
        """
        with self._looking:
            self._looks.afresh()
        (row,) = self.all("SELECT * FROM head")
        known = Head(row["number"], row["hash"])  # others may add lines meanwhile, and only add
        head, met = start(row["identity"]), known.number == 0
        while lines := self.audit_after(head.number):
            heads = list(followed(head, lines, noted))
            met |= known in heads
            head = heads[-1]
        if not met or (noted is not None and noted.number > head.number):
            raise broken(head.number + 1)
        return head

    def export(self) -> Iterator[str]:
        """The audit log as lines of JSON; the first names the service and the head."""
        (row,) = self.all("SELECT * FROM head")
        yield json.dumps({"identity": row["identity"], "head": [row["number"], row["hash"]]})
        number = 0
        while lines := [line for line in self.audit_after(number) if line.number <= row["number"]]:
            for line in lines:
                yield json.dumps(asdict(line), ensure_ascii=True)
            number = lines[-1].number

    def close(self) -> None:
        """Let go of it."""
        with self._lock, self._looking:
            self._tables.close()
            self._looks.close()
            if self._changes is not None:
                self._changes.close()


def _open(where: str) -> StateTables:
    if is_address(where):
        from discreet.server.records.postgres import PostgresTables

        return PostgresTables(read_address(where))
    from discreet.server.records.sqlite import SqliteTables

    return SqliteTables(Path(where))
