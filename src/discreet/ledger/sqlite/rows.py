"""The rows of a SQLite ledger as one transaction sees them."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import BinaryIO

from discreet.errors import LedgerCorrupt
from discreet.ledger.chain.book import Book
from discreet.ledger.chain.entry import Entry
from discreet.ledger.rows import (
    ADD_POSTINGS,
    ENTRY,
    ONE_POSTING,
    Row,
    RowCursor,
    TableRows,
    entry_row,
    posting_rows,
)
from discreet.ledger.store import PIECE, pieces

_ADD_ENTRY = f"INSERT INTO discreet_entry ({', '.join(ENTRY)}, answer) VALUES ({'?, ' * len(ENTRY)}?)"
_ADD_LARGE = f"{_ADD_ENTRY.removesuffix('?)')}zeroblob(?))"


class SqlRows(TableRows):
    """Reads and appends within a transaction of SQLite."""

    def __init__(self, connection: sqlite3.Connection, known: Book, look: int, *, same: bool = False) -> None:
        super().__init__(known, look, same=same)
        self._connection = connection

    def execute(self, sql: str, values: Sequence[object] = ()) -> RowCursor:
        """Run a statement; a value stands for each question mark."""
        return self._connection.execute(sql, values)

    def all(self, columns: Sequence[str], sql: str, values: Sequence[object]) -> list[Row]:
        """All rows that a query of these columns finds, as one text.

        Python lets another thread go on at each row that is fetched, and gets its turn back some milliseconds later,
        while all other processes wait for this one's transaction.
        """
        together = f"SELECT json_group_array(json_array({', '.join(columns)})) FROM ({sql})"
        with contextlib.suppress(
            sqlite3.OperationalError
        ):  # somebody wrote a blob, or SQLite is without JSON
            (found,) = self._connection.execute(together, values).fetchone()
            return [tuple(row) for row in json.loads(found)]
        return self._connection.execute(sql, values).fetchall()

    def answer(self, number: int) -> Iterator[bytes]:
        """See `LedgerRows`."""
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
        """See `LedgerRows`."""
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
