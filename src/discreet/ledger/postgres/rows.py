"""The rows of a ledger in PostgreSQL as one transaction sees them."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, BinaryIO

from discreet.ledger.chain.book import Book
from discreet.ledger.chain.entry import Entry, Head, genesis
from discreet.ledger.rows import (
    ADD_ENTRY,
    ADD_POSTINGS,
    ONE_POSTING,
    RowCursor,
    TableRows,
    entry_row,
    posting_rows,
)
from discreet.ledger.store import pieces

if TYPE_CHECKING:
    import psycopg

_ADD_PIECE = "INSERT INTO discreet_answer (number, piece, content) VALUES (?, ?, ?)"


class PostgresRows(TableRows):
    """Reads and appends within a transaction of PostgreSQL.

    Args:
        connection: that is in it.
        known: the book that the head names.
        look: how many entries before it are checked again.
        identity: of the ledger, as the transaction found it.
    """

    def __init__(self, connection: psycopg.Connection[Any], known: Book, look: int, identity: str) -> None:
        super().__init__(known, look)
        self._connection = connection
        self._identity = identity
        self.added: Entry | None = None

    def execute(self, sql: str, values: Sequence[object] = ()) -> RowCursor:
        """Run a statement; a value stands for each question mark."""
        return self._connection.execute(sql.replace("?", "%s"), values)

    def genesis(self) -> Head:
        """See `LedgerRows`."""
        return genesis(self._identity)

    def answer(self, number: int) -> Iterator[bytes]:
        """See `LedgerRows`."""
        index = 0
        find = "SELECT content FROM discreet_answer WHERE number = ? AND piece = ?"
        while (row := self._first(find, number, index)) is not None:
            yield bytes(row[0])
            index += 1

    def stray(self) -> bool:
        """See `LedgerRows`."""
        answers = (
            "SELECT 1 FROM discreet_answer AS a LEFT JOIN discreet_entry AS e ON e.number = a.number "
            "AND e.kind = 'settle' GROUP BY a.number HAVING count(e.number) <> max(a.piece) + 1 LIMIT 1"
        )
        return super().stray() or self._first(answers) is not None

    def whole(self) -> None:
        """Nothing: the server has checksums of its own, and no total is believed that an index alone finds."""

    def add(self, entries: Sequence[tuple[Entry, bytes | None]]) -> None:
        """See `TableRows`; all of them go to the server together."""
        with self._connection.pipeline():
            for entry, answer in entries:
                self._add(entry)
                for index, piece in enumerate(pieces(io.BytesIO(answer or b""))):
                    self.execute(_ADD_PIECE, (entry.number, index, piece))

    def add_large(self, entry: Entry, answer: BinaryIO) -> None:
        """See `TableRows`."""
        self._add(entry)
        for index, piece in enumerate(pieces(answer)):
            self.execute(_ADD_PIECE, (entry.number, index, piece))

    def _add(self, entry: Entry) -> None:
        self.execute(ADD_ENTRY, entry_row(entry))
        if lines := posting_rows(entry):
            self.execute(
                ADD_POSTINGS.format(", ".join([ONE_POSTING] * len(lines))), [*chain.from_iterable(lines)]
            )
        self.added = entry
