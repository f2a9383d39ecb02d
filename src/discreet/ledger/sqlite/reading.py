"""A ledger that may be read and not written: to look at, to verify, and to answer settled questions from again."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable
from urllib.parse import quote

from discreet.errors import DiscreetError, LedgerCorrupt, LedgerError
from discreet.ledger.chain.entry import FORMAT
from discreet.ledger.chain.verify import LOOK
from discreet.ledger.faults import read_only
from discreet.ledger.sqlite.faults import explain
from discreet.ledger.sqlite.head import HeadFile, head_of
from discreet.ledger.sqlite.rows import SqlRows
from discreet.ledger.store import NOTHING, LedgerRows, Needs, Result
from discreet.ledger.turn import FileTurns


class ReadingStore:
    """Reads one file in transactions of their own; a charge is refused before anything is touched."""

    durable = True
    made = False

    def __init__(self, path: str, timeout: float) -> None:
        self.where = os.path.abspath(path)
        self.turns = FileTurns(f"{os.path.realpath(self.where)}-turns")
        self._timeout = timeout
        self._lock = threading.Lock()
        self._closed = False
        self.read(lambda rows: rows.book())

    def read(self, work: Callable[[LedgerRows], Result]) -> Result:
        """Run `work` on a snapshot that reaches at least as far as the head says."""
        with self._lock:
            if self._closed:
                raise LedgerError("The ledger is closed.", "Open it again.")
            problem: DiscreetError
            try:
                return self._read(work)
            except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
                problem = explain(error, self.where)
        raise problem

    def look(self, work: Callable[[LedgerRows], Result], *, here: bool = False) -> Result:
        """Run `work` on a snapshot."""
        return self.read(work)

    def write(self, work: Callable[[LedgerRows], Result], needs: Needs = NOTHING) -> Result:
        """Refuse: nothing can be charged."""
        raise read_only(
            f"{self.where} can only be read",
            "Allow writing to the file, its head and its folder, or name another ledger.",
        )

    def afresh(self) -> None:
        """Nothing is kept between two transactions."""

    def has_settled(self, question: str, *, here: bool = False) -> bool | None:
        """It is looked up."""
        return None

    def close(self) -> None:
        """Forget it; no file is open between two transactions."""
        self._closed = True

    def _read(self, work: Callable[[LedgerRows], Result]) -> Result:
        # The head first: who writes commits before the head is written, so the snapshot reaches at least as far.
        head = HeadFile(head_of(self.where), write=False)
        try:
            noted = head.read()
        finally:
            head.close()
        if noted.torn:
            raise LedgerCorrupt(
                f"One half of the ledger's head {head.path} is unreadable, or is being written.", "Try again."
            )
        connection = sqlite3.connect(
            f"file:{quote(self.where)}?mode=ro", uri=True, timeout=self._timeout, isolation_level=None,
            check_same_thread=False,
        )  # fmt: skip
        try:
            connection.execute("BEGIN")
            found = connection.execute("SELECT format, identity FROM discreet_ledger").fetchone()
            if found is None or found[0] != FORMAT:
                raise LedgerError(
                    f"The ledger at {self.where} is of a format that this version does not know.",
                    "Use the version of discreet that wrote it, or a later one.",
                )
            if found[1] != noted.identity:
                raise LedgerCorrupt(
                    f"The head {head.path} belongs to another ledger.", "Put the right one back."
                )
            return work(SqlRows(connection, noted.book, LOOK))
        finally:
            connection.close()


def only_readable(path: str) -> bool:
    """Whether there is a ledger at a path that this user may read and not write."""
    places = [path, head_of(path)]
    if not all(os.path.isfile(place) and os.access(place, os.R_OK) for place in places):
        return False
    folder = os.path.dirname(os.path.realpath(path))
    return not (all(os.access(place, os.W_OK) for place in places) and os.access(folder, os.W_OK | os.X_OK))
