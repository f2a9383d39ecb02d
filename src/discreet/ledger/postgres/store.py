"""The store in a PostgreSQL database, which processes on several hosts share.

The one row of `discreet_head` names the last entry and all totals. Who writes locks it first, so that each charge sees
every other one; it is read committed, and each statement behind the lock sees all that was committed before. Entry,
postings, answer and head are one transaction, and its commit is on the server's disk when it returns.

Where the connection is lost in the middle of a commit, nobody knows yet whether it stands. The store connects again,
waits for the lock, behind which the old transaction is over, and looks for its own entry by number and hash.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from discreet.errors import LedgerCorrupt, LedgerError
from discreet.ledger import forks
from discreet.ledger.chain.book import Book
from discreet.ledger.chain.book_text import read, told
from discreet.ledger.chain.entry import FORMAT, Entry, genesis
from discreet.ledger.chain.verify import LOOK
from discreet.ledger.committed import TransactionNeeded
from discreet.ledger.faults import UnknownOutcome, read_only
from discreet.ledger.group_commit import CommitGroup, CommitProgress, QueuedWork, fail, not_begun, run_all
from discreet.ledger.postgres.address import PostgresSchema
from discreet.ledger.postgres.dialling import begin_reading, begin_writing, dial, hang_up, see_durable
from discreet.ledger.postgres.faults import explain
from discreet.ledger.postgres.known import Known
from discreet.ledger.postgres.migrations import migrate
from discreet.ledger.postgres.rows import PostgresRows
from discreet.ledger.postgres.schema import MIGRATIONS
from discreet.ledger.postgres.turns import AdvisoryTurns
from discreet.ledger.store import NOTHING, LedgerRows, Needs, Result

if TYPE_CHECKING:
    import psycopg

TAIL = 4
"""How many entries before the head are checked again at each charge."""
TRIES = 3
"""How often a transaction is tried whose connection was lost before its commit, or that was not committed."""
_HEAD = "SELECT book, (SELECT identity FROM discreet_ledger) FROM discreet_head"


class PostgresStore:
    """Two connections to one database, for those who write and those who read: nobody reads behind a commit.

    Threads that come at the same time share a transaction and its commit.

    Args:
        address: of the ledger; it is made where it is not there.
        timeout: seconds to wait for other writers, and for a server that is gone.
        may_read: whether a ledger that this user may only read is opened all the same.
        known: of the store that this one reads for; None for one of its own.
    """

    durable = True
    made = False

    def __init__(
        self, address: PostgresSchema, timeout: float, may_read: bool = False, known: Known | None = None
    ) -> None:
        self.where = address.where
        self._address = address
        self._timeout = timeout
        self._connection: psycopg.Connection[Any] | None = None
        self._process = 0
        self._closed = False
        self._lock = threading.RLock()
        self._group = CommitGroup(self._batch)
        self._numbers = CommitGroup(self._tell_number)
        self._known = known or Known(self._named)
        self._reader: PostgresStore | None = None
        self._only_reads = known is not None
        self._reads_only = False
        self._may_read = may_read
        self.turns = AdvisoryTurns(address)
        forks.before_each(self)
        try:
            self._submit(lambda rows: rows.book(), False)
            if known is None:
                self._beside()
        except BaseException:
            self.close()
            raise

    def read(self, work: Callable[[LedgerRows], Result]) -> Result:
        """Run `work` on a snapshot."""
        return self._submit(work, False) if self._only_reads else self._beside().read(work)

    def _beside(self) -> PostgresStore:
        """The same ledger by another connection."""
        found = self._reader
        if found is None:
            with self._lock:
                if self._closed:
                    raise LedgerError("The ledger is closed.", "Open it again.")
                found = self._reader = self._reader or PostgresStore(
                    self._address, self._timeout, self._may_read, self._known
                )
        return found

    def look(self, work: Callable[[LedgerRows], Result], *, here: bool = False) -> Result:
        """Run `work` on the end of the ledger that is known here, or on a snapshot.

        Where another host wrote since, the entries that it wrote are read first, once for all who look.
        """
        if not self._closed and self._process == os.getpid():
            with contextlib.suppress(TransactionNeeded):
                return self._known.look(self.read, work, here=here)
        return self.read(work)

    def _named(self) -> int | None:
        """The number of the last entry that the head names now; those who ask at the same time ask once."""
        try:
            found = self._beside()._numbers.perform(lambda number: number, False, self._timeout, self.where)
        except LedgerError:
            return None
        return None if found is None else int(found)

    def write(self, work: Callable[[LedgerRows], Result], needs: Needs = NOTHING) -> Result:
        """Run `work` as the only writer; on return its rows are on the server's disk.

        Raises:
            UnknownOutcome: the connection was lost in the middle of the commit, and did not come back in time.
        """
        if self._reads_only:
            # It may have been made the primary meanwhile, which a new connection is told.
            with self._lock:
                self.release()
            self._submit(lambda rows: None, False)
        if self._reads_only:
            where = f"{self.where} can only be read by this user or on this server"
            raise read_only(where, "Name the primary server, and a user that may write the ledger.")
        return self._submit(work, True, needs)

    def has_settled(self, question: str, *, here: bool = False) -> bool | None:
        """Whether a question is settled; None where only a transaction can tell."""
        if self._closed or self._process != os.getpid():
            return None
        return self._known.has_settled(question, self.read, here=here)

    def afresh(self) -> None:
        """The server alone knows its disk; each transaction asks it."""

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            self._closed = True
            self.release()
            self.turns.close()
        if self._reader is not None:
            self._reader.close()

    def hold(self) -> None:
        """Wait for the running transaction and keep others out."""
        self._lock.acquire()

    def let_go(self, *, child: bool = False) -> None:
        """Undo `hold`; in a forked child also forget the threads that waited."""
        if child:
            self._group.forget()
            self._numbers.forget()
            self.turns.forget()
        self._lock.release()

    def release(self) -> None:
        """Close the connection; the next transaction opens a new one. The caller holds the lock."""
        if self._process != os.getpid():
            self._known.forget()
        connection, self._connection = self._connection, None
        hang_up(connection, self._process)

    def _submit(self, work: Callable[[Any], Result], writes: bool, needs: Needs = NOTHING) -> Result:
        return self._group.perform(work, writes, self._timeout, self.where, needs)

    def _batch(self, requests: list[QueuedWork]) -> None:
        """Run all requests in one transaction; those that are not done when this returns are tried again alone."""
        import psycopg

        if not self._lock.acquire(timeout=self._timeout):
            fail(requests, not_begun(self.where))
            return
        step = CommitProgress()
        try:
            problem: Exception
            try:
                self._transact(requests, step)
            except psycopg.Error as error:
                problem = explain(error, self.where)
                lost = self._connection is None or self._connection.closed
                self.release()
                if lost:
                    step.request = None  # nothing of the transaction stands, and no request is to blame
                    if self._again(requests):
                        return
            except Exception as error:  # ours, or of the file that an answer comes from
                problem = error
                self.release()
            except BaseException:
                self.release()
                if step.committing:
                    fail(requests, UnknownOutcome(self.where))
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
            self._lock.release()

    def _tell_number(self, requests: list[QueuedWork]) -> None:
        """Tell all who ask the number that the head names now."""
        import psycopg

        found: int | None = None
        with self._lock, contextlib.suppress(psycopg.Error, LedgerError):
            row = self._ready().execute(f"SELECT number FROM {self._address.quoted}.discreet_head").fetchone()
            found = row[0] if row else None
        for request in requests:
            request.result, request.done = found, True

    def _again(self, requests: Sequence[QueuedWork]) -> bool:
        """Whether requests are to be tried again whose transaction is known not to stand."""
        for request in requests:
            request.tries += 1
        return all(request.tries < TRIES for request in requests)

    def _transact(self, requests: list[QueuedWork], step: CommitProgress) -> None:
        import psycopg

        writes = any(request.writes for request in requests)
        connection = self._ready()
        begin = f"{begin_writing(self._address, self._timeout)}; {_HEAD} FOR UPDATE"
        begin = begin if writes else f"{begin_reading(self._address)}; {_HEAD}"
        noted = self._noted(connection, begin, self._known.book)
        rows = PostgresRows(connection, noted, TAIL, self._known.identity)
        if writes:
            self._group.gather(requests)  # who came while another process had the lock
            self._known.before_writing(rows, [request.needs for request in requests])
        run_all(requests, rows, step, (psycopg.Error,))
        if rows.added is None:
            connection.execute("COMMIT")
        else:
            self._commit(connection, rows.book(), rows.added, step)
        self._known.follow(rows)
        for request in requests:
            request.done = True

    def _commit(
        self, connection: psycopg.Connection[Any], book: Book, last: Entry, step: CommitProgress
    ) -> None:
        """Note the head, and commit; on return the entries stand, or an error says that they do not, or may."""
        import psycopg

        connection.execute(
            "UPDATE discreet_head SET number = %s, book = %s",
            (book.head.number, told(self._known.identity, book)),
        )
        step.committing = True
        try:
            if connection.execute("COMMIT").statusmessage == "COMMIT":
                return
        except psycopg.Error:
            pass
        self.release()
        stands = self._stands(last)
        if not stands:
            step.committing = False
            self.release()
            raise psycopg.OperationalError

    def _stands(self, entry: Entry) -> bool:
        """Whether a transaction stands whose commit was lost from sight, by its last entry.

        Raises:
            UnknownOutcome: the server did not come back in time.
        """
        import psycopg

        found: bool | None = None
        with contextlib.suppress(psycopg.Error, LedgerError):
            connection = self._ready()
            # Behind the lock the old transaction is over, even where its server process outlived the connection.
            begin = begin_writing(self._address, self._timeout)
            self._noted(connection, f"{begin}; {_HEAD} FOR UPDATE", self._known.book)
            row = connection.execute(
                "SELECT hash FROM discreet_entry WHERE number = %s", (entry.number,)
            ).fetchone()
            connection.execute("ROLLBACK")
            found = row == (entry.hash,)
        if found is None:
            self.release()
            raise UnknownOutcome(self.where)
        return found

    def _ready(self) -> psycopg.Connection[Any]:
        if self._closed:
            raise LedgerError("The ledger is closed.", "Open it again.")
        if self._connection is not None and self._process == os.getpid() and not self._connection.closed:
            return self._connection
        self.release()
        self._process = os.getpid()
        connection = dial(self._address, self._timeout if self._known.identity else 0.0)
        try:
            self._open(connection)
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        return connection

    def _open(self, connection: psycopg.Connection[Any]) -> None:
        """Make the tables where they are not there, and check the end of the chain and the totals."""
        see_durable(connection, self._address)
        migrate(connection, self._address, MIGRATIONS, self._timeout)
        self._reads_only = not _may_write(connection, self._address)
        if self._reads_only and not self._may_read:
            raise LedgerError(
                f"The ledger at {self.where} is read-only for this user or on this server.",
                "Name the primary server, and a user that may write the ledger.",
            )
        known = self._known.book
        connection.execute(begin_reading(self._address))
        row = connection.execute("SELECT format, identity FROM discreet_ledger").fetchone()
        if row is None or row[0] != FORMAT:
            raise LedgerError(f"The ledger at {self.where} is of a format that this version does not know.",
                              "Use the version of discreet that wrote it or a later one.")  # fmt: skip
        if self._known.identity and row[1] != self._known.identity:
            raise LedgerCorrupt(f"Another ledger is at {self.where} than before.", "Put the right one back.")
        self._known.identity = row[1]
        if connection.execute(_HEAD).fetchone() is None and not self._reads_only:
            self._begin_head(connection)
        rows = PostgresRows(connection, self._noted(connection, _HEAD, known), LOOK, self._known.identity)
        for account in rows.book().tallies:
            rows.tally(account)
        connection.execute("COMMIT")
        self._known.follow(rows)

    def _begin_head(self, connection: psycopg.Connection[Any]) -> None:
        """Note the head of an empty ledger; of one with entries it is lost."""
        connection.execute(f"COMMIT; {begin_writing(self._address, self._timeout)}")
        begun = connection.execute(
            "INSERT INTO discreet_head (one, number, book) SELECT true, 0, %s "
            "WHERE NOT EXISTS (SELECT 1 FROM discreet_entry) ON CONFLICT DO NOTHING",
            (told(self._known.identity, Book(genesis(self._known.identity), {})),),
        )
        self.made = begun.rowcount == 1
        connection.execute(f"COMMIT; {begin_reading(self._address)}")

    def _noted(self, connection: psycopg.Connection[Any], statements: str, known: Book | None) -> Book:
        """The book in the second place, once it is known to be ours and no older than the one that was seen here.

        Args:
            connection: it may have a snapshot already.
            statements: the last of them reads the second place.
            known: the book that was seen before the snapshot; newer ones may be seen meanwhile.
        """
        cursor = connection.execute(statements)
        while cursor.nextset():
            pass
        row = cursor.fetchone()
        try:
            identity, book = read(row[0]) if row else ("", None)
        except ValueError:
            identity, book = "", None
        if row is None or book is None or {identity, row[1]} != {self._known.identity}:
            raise LedgerCorrupt(
                f"The head of the ledger at {self.where} is missing, unreadable or another ledger's: nothing tells "
                "whether the ledger is complete.",
                "Restore the database from a backup.",
            )
        if known is not None and (
            book.head.number < known.head.number
            or (book.head.number == known.head.number and book.head != known.head)
        ):
            raise LedgerCorrupt(
                f"The head of the ledger at {self.where} names entry {book.head.number}, and entry "
                f"{known.head.number} was there before.",
                "An old copy was put back, or a standby that had lost charges took over. Restore the newest copy.",
            )
        return book


def _may_write(connection: psycopg.Connection[Any], address: PostgresSchema) -> bool:
    tables = [f"{address.quoted}.discreet_{name}" for name in ("entry", "posting", "answer", "salt")]
    wanted = " AND ".join(f"has_table_privilege('{table}', 'INSERT')" for table in tables)
    head = f"has_table_privilege('{address.quoted}.discreet_head', 'UPDATE')"
    row = connection.execute(
        f"SELECT NOT pg_is_in_recovery() AND {wanted} AND {head} "
        "AND NOT current_setting('default_transaction_read_only')::boolean"
    ).fetchone()
    return row == (True,)
