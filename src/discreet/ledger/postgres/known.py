"""The end of a ledger in PostgreSQL as one process knows it, by whichever of its connections it was read or written."""

from __future__ import annotations

import threading
from collections.abc import Callable

from discreet.ledger.chain.book import Book
from discreet.ledger.committed import KnownEnd
from discreet.ledger.rows import TableRows


class Known(KnownEnd):
    """The end of the ledger as this process knows it, with its identity and its newest book.

    Attributes:
        identity: of the ledger; empty before it was opened.
        book: the newest one that was committed.
    """

    def __init__(self, named: Callable[[], int | None]) -> None:
        super().__init__(named)
        self.identity = ""
        self.book: Book | None = None
        self._noting = threading.Lock()  # a reader and a writer come at the same time

    def follow(self, rows: TableRows) -> None:
        """Take note of the end that a transaction read or wrote, once it is committed."""
        book = rows.reached
        if book is None:
            return
        super().follow(rows)
        with self._noting:
            if self.book is None or book.head.number >= self.book.head.number:
                self.book = book
