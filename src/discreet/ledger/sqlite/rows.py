"""The rows of a SQLite ledger as one transaction sees them."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import BinaryIO

from discreet.errors import LedgerCorrupt
from discreet.ledger.chain.book import Book
from discreet.ledger.chain.entry import Entry
from discreet.ledger.rows import ADD_POSTINGS, ENTRY, ONE_POSTING, Cursor, TableRows, entry_row, posting_rows
from discreet.ledger.store import PIECE, pieces

_ADD_ENTRY = f"INSERT INTO discreet_entry ({', '.join(ENTRY)}, answer) VALUES ({'?, ' * len(ENTRY)}?)"
_ADD_LARGE = f"{_ADD_ENTRY.removesuffix('?)')}zeroblob(?))"


class SqlRows(TableRows):
    """Reads and appends within a transaction of SQLite."""

    def __init__(self, connection: sqlite3.Connection, known: Book, look: int, *, same: bool = False) -> None:
        super().__init__(known, look, same=same)
        self._connection = connection

    def execute(self, sql: str, values: Sequence[object] = ()) -> Cursor:
        """Run a statement; a value stands for each question mark."""
        return self._connection.execute(sql, values)

    def answer(self, number: int) -> Iterator[bytes]:
        """See `Rows`."""
        row = self._first("SELECT typeof(answer) FROM discreet_entry WHERE number = ?", number)
        if row is None or row[0] != "blob":
            return
        with self._blob(number, readonly=True) as blob:
            while piece := blob.read(PIECE):
                yield piece

    def _blob(self, number: int, readonly: bool) -> sqlite3.Blob:
        """The answer of an entry, in place: it may be larger than memory should be."""
        return self._connection.blobopen("discreet_entry", "answer", number, readonly=readonly)

    def whole(self) -> None:
        """See `Rows`."""
        if self._first("PRAGMA integrity_check(1)") != ("ok",):
            raise LedgerCorrupt("The ledger's file is damaged: its indexes and tables do not agree.",
                                "Restore it from a backup.")  # fmt: skip

    def add(self, entries: Sequence[tuple[Entry, bytes | None]]) -> None:
        """See `TableRows`."""
        for entry, answer in entries:
            self._connection.execute(_ADD_ENTRY, (*entry_row(entry), answer))
            if lines := posting_rows(entry):
                self._connection.execute(
                    ADD_POSTINGS.format(", ".join([ONE_POSTING] * len(lines))), [*chain.from_iterable(lines)]
                )

    def add_large(self, entry: Entry, answer: BinaryIO) -> None:
        """See `TableRows`."""
        self._connection.execute(_ADD_LARGE, (*entry_row(entry), answer.seek(0, os.SEEK_END)))
        with self._blob(entry.number, readonly=False) as blob:
            for piece in pieces(answer):
                blob.write(piece)

    def probe(self) -> None:
        """Write nothing, which fails where nothing can be written."""
        self._connection.execute("DELETE FROM discreet_salt WHERE FALSE")
