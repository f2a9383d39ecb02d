"""The rows of a SQLite ledger as one transaction sees them."""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
from collections.abc import Iterator
from datetime import datetime
from fractions import Fraction
from functools import lru_cache
from itertools import chain
from typing import Any, BinaryIO, TypeAlias, cast

from discreet.accounting.loss import Loss
from discreet.accounting.tally import RULES
from discreet.errors import LedgerCorrupt
from discreet.ledger.chain.book import Book
from discreet.ledger.chain.entry import Entry, Head, Kind, Posting, corrupt, genesis
from discreet.ledger.chain.verify import caught_up
from discreet.ledger.sqlite.schema import ENTRY, POSTING
from discreet.ledger.store import PIECE, Charged, pieces

Row: TypeAlias = tuple[Any, ...]

_RATIONAL = re.compile(r"\d{1,100}(/[1-9]\d{0,99})?")
_SQUARES = re.compile(r"\d{1,200}(/[1-9]\d{0,199})?")
_ENTRIES = f"SELECT {', '.join(ENTRY)} FROM discreet_entry"
_POSTINGS = f"SELECT {', '.join(POSTING)} FROM discreet_posting"
_ADD_ENTRY = f"INSERT INTO discreet_entry ({', '.join(ENTRY)}, answer) VALUES ({'?, ' * len(ENTRY)}?)"
_ADD_LARGE = f"{_ADD_ENTRY.removesuffix('?)')}zeroblob(?))"
_ADD_POSTING = f"INSERT INTO discreet_posting ({', '.join(POSTING)}) VALUES ({'?, ' * (len(POSTING) - 1)}?)"


AT_ONCE = 1 << 24
"""Up to so many bytes of an answer are written at once, which is faster; a larger one is written piece by piece."""


KNOWN = 256
"""How many of the entries that were read last are known by their fields."""


class SqlRows:
    """Reads and appends within a transaction that its store has begun."""

    def __init__(self, connection: sqlite3.Connection, known: Book, look: int) -> None:
        self._connection = connection
        self._known = known
        self._look = look
        self._book: Book | None = None
        self._last: list[Entry] = []  # those at the end of the chain, as this transaction read or wrote them
        self._lines: dict[str, Posting | None] = {}  # the latest of each account, likewise
        self.changed = False

    @property
    def reached(self) -> Book | None:
        """The book, if it was asked for."""
        return self._book

    @property
    def last(self) -> list[Entry]:
        """Those at the end of the chain that this transaction read or wrote, without a gap."""
        return self._last

    def settled(self) -> Iterator[str]:
        """The keys of all settled questions."""
        for (key,) in self._connection.execute(
            "SELECT question_key FROM discreet_entry WHERE kind = 'settle'"
        ):
            yield key

    def genesis(self) -> Head:
        """See `Rows`."""
        row = self._first("SELECT identity FROM discreet_ledger")
        if row is None:
            raise corrupt(0, "has lost its identity")
        return genesis(str(row[0]))

    def book(self) -> Book:
        """See `Rows`."""
        if self._book is None:
            self._book = caught_up(self, self._known, self._look)
        return self._book

    def tally(self, account: str) -> Posting | None:
        """See `Rows`."""
        book = self.book()
        if account in self._lines:
            return self._lines[account]
        row = self._first(f"{_POSTINGS} WHERE account = ? ORDER BY number DESC LIMIT 1", account)
        try:
            line = None if row is None else _posting(row)
        except (ValueError, TypeError):
            line = None
        if (line.tally if line else None) != book.tallies.get(account):
            raise corrupt(book.head.number, "has other totals than the index of postings finds")
        self._lines[account] = line
        return line

    def charged(self, number: int) -> Charged | None:
        """See `Rows`."""
        settled = "EXISTS (SELECT 1 FROM discreet_entry WHERE settles = e.number)"
        row = self._first(
            f"SELECT hash, question, {settled} FROM discreet_entry AS e WHERE number = ? AND kind = 'charge'",
            number,
        )
        return None if row is None else Charged(row[0], row[1], bool(row[2]))

    def first_settlement(self, question: str) -> Entry | None:
        """See `Rows`."""
        return self._one(
            "WHERE question_key = ? AND kind = 'settle' ORDER BY number LIMIT 1", key_of(question)
        )

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

    def after(self, number: int, count: int) -> list[Entry]:
        """See `Rows`."""
        if self._last and number + 1 >= self._last[0].number:
            first = number + 1 - self._last[0].number
            return self._last[first : first + count]
        found = self._entries("WHERE number > ? ORDER BY number LIMIT ?", number, count)
        if len(found) < count and found and found[-1].number - found[0].number == len(found) - 1:
            self._last = found  # up to the end, without a gap
        return list(found)

    def stray(self) -> bool:
        """See `Rows`."""
        orphan = (
            "SELECT 1 FROM discreet_posting WHERE number NOT IN (SELECT number FROM discreet_entry) LIMIT 1"
        )
        return self._first(orphan) is not None

    def whole(self) -> None:
        """See `Rows`."""
        if self._first("PRAGMA integrity_check(1)") != ("ok",):
            raise LedgerCorrupt("The ledger's file is damaged: its indexes and tables do not agree.",
                                "Restore it from a backup.")  # fmt: skip

    def append(self, entry: Entry, answer: BinaryIO | None = None) -> None:
        """See `Rows`."""
        book = self.book()
        self.changed = True
        size = 0 if answer is None else answer.seek(0, os.SEEK_END)
        large = size > AT_ONCE
        kept = None if answer is None or large else b"".join(pieces(answer))
        time = entry.time.isoformat(timespec="microseconds")
        row = (entry.number, time, entry.kind, entry.question, key_of(entry.question), entry.settles, entry.digest,
               entry.guarantee, entry.event, entry.description, entry.totals, entry.previous, entry.hash,
               size if large else kept)  # fmt: skip
        self._connection.execute(_ADD_LARGE if large else _ADD_ENTRY, row)
        if answer is not None and large:
            with self._blob(entry.number, readonly=False) as blob:
                for piece in pieces(answer):
                    blob.write(piece)
        for index, line in enumerate(entry.postings):
            self._connection.execute(_ADD_POSTING, _posting_row(entry.number, index, line))
        if self._last:
            self._last.append(entry)
        self._lines.update((line.account, line) for line in entry.postings)
        self._book = book.plus(entry)

    def salt(self, dataset: str) -> int | None:
        """See `Rows`."""
        row = self._first("SELECT salt FROM discreet_salt WHERE dataset_key = ?", key_of(dataset))
        try:
            return None if row is None else int(row[0], 16)
        except (ValueError, TypeError):
            pass  # its text stays in here
        raise LedgerCorrupt("The ledger's secret of a data set was altered.", "Restore it from a backup.")

    def add_salt(self, dataset: str, salt: int) -> None:
        """See `Rows`."""
        self.changed = True
        row = (key_of(dataset), dataset, f"{salt:016x}")
        self._connection.execute(
            "INSERT INTO discreet_salt (dataset_key, dataset, salt) VALUES (?, ?, ?)", row
        )

    def probe(self) -> None:
        """Write nothing, which fails where nothing can be written."""
        self._connection.execute("DELETE FROM discreet_salt WHERE FALSE")

    def _first(self, sql: str, *values: object) -> Row | None:
        return cast(Row | None, self._connection.execute(sql, values).fetchone())

    def _one(self, which: str, *values: object) -> Entry | None:
        return next(iter(self._entries(which, *values)), None)

    def _entries(self, which: str, *values: object) -> list[Entry]:
        rows = self._connection.execute(f"{_ENTRIES} {which}", values).fetchall()
        charges = [row[0] for row in rows if row[2] != "settle"]
        lines: dict[int, list[Row]] = {}
        if charges:
            between = "WHERE number BETWEEN ? AND ? ORDER BY number, position"
            for line in self._connection.execute(f"{_POSTINGS} {between}", (min(charges), max(charges))):
                lines.setdefault(line[1], []).append(line)
        return [_entry(len(row), *row, *chain.from_iterable(lines.get(row[0], ()))) for row in rows]


@lru_cache(KNOWN, typed=True)
def _entry(width: int, *fields: object) -> Entry:
    """Read an entry; the same fields, of the same types, are the same entry, so that its hash is computed once.

    Args:
        width: how many of the fields are the entry's own.
        fields: those of the entry, then those of its postings.
    """
    number, time, kind, question, key, settles, digest, guarantee, event, description, totals, previous, seal = (
        cast(Row, fields[:width])
    )  # fmt: skip
    lines = [fields[index : index + len(POSTING)] for index in range(width, len(fields), len(POSTING))]
    try:
        posted = tuple(map(_posting, lines))
        when = datetime.fromisoformat(time)
        if key == key_of(question) and isinstance(number, int):
            return Entry(number, when, cast(Kind, kind), question, posted, settles, digest, guarantee, event,
                         description, totals, previous, seal)  # fmt: skip
    except (ValueError, TypeError, AttributeError):
        pass  # a field is not the one we wrote; the database's text stays in here
    raise corrupt(number, "was altered")


def _posting(line: Row) -> Posting:
    return _read_posting(*line)


@lru_cache(KNOWN, typed=True)
def _read_posting(*line: Any) -> Posting:
    account, _, _, *losses, rule, squares, charges = line
    if not isinstance(charges, int) or rule not in RULES:
        raise ValueError
    parts = [_rational(text) for text in losses]
    loss, total, limit = (Loss(parts[at], parts[at + 1]) for at in (0, 2, 4))
    return Posting(account, loss, total, limit, rule, _rational(squares, _SQUARES), charges)


def _rational(text: str, pattern: re.Pattern[str] = _RATIONAL) -> Fraction:
    if not pattern.fullmatch(text):
        raise ValueError
    return Fraction(text)


def _posting_row(number: int, position: int, line: Posting) -> Row:
    losses = [
        str(part) for loss in (line.loss, line.total, line.limit) for part in (loss.epsilon, loss.delta)
    ]
    return (line.account, number, position, *losses, line.rule, str(line.squares), line.count)


def key_of(text: str) -> str:
    """The key under which a question is found."""
    return hashlib.sha256(text.encode()).hexdigest()
