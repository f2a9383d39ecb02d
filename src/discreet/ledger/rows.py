"""The rows of a ledger in a database, as one transaction sees them; each kind of database has its own connection."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from fractions import Fraction
from functools import lru_cache
from itertools import chain, pairwise
from typing import Any, BinaryIO, Final, Protocol, TypeAlias, cast

from discreet.accounting.loss import Loss
from discreet.accounting.tally import RULES
from discreet.errors import LedgerCorrupt
from discreet.ledger.chain.book import Book
from discreet.ledger.chain.entry import Entry, Head, Kind, Posting, corrupt, genesis
from discreet.ledger.chain.verify import caught_up
from discreet.ledger.store import Needs, StoredCharge, pieces

Row: TypeAlias = tuple[Any, ...]

LOSSES = tuple(f"{what}_{part}" for what in ("loss", "total", "limit") for part in ("epsilon", "delta"))
"""The columns of a posting that hold rationals. They are text such as 1/10: no database rounds a text."""

POSTING = ("account", "number", "position", *LOSSES, "rule", "squares", "charges")
"""The columns of a posting, in order."""

ENTRY = (
    "number", "time", "kind", "question", "question_key", "settles", "digest", "guarantee", "event", "description",
    "totals", "previous", "hash",
)  # fmt: skip
"""The columns of an entry, in order; the answer, which may be large, is read alone."""

_RATIONAL = re.compile(r"\d{1,100}(/[1-9]\d{0,99})?")
_SQUARES = re.compile(r"\d{1,200}(/[1-9]\d{0,199})?")
_ENTRIES = f"SELECT {', '.join(ENTRY)} FROM discreet_entry"
_POSTINGS = f"SELECT {', '.join(POSTING)} FROM discreet_posting"
_LATEST = (
    f"WITH asked (account) AS (VALUES {{}}) SELECT {', '.join(f'p.{name} AS {name}' for name in POSTING)} FROM asked "
    "JOIN discreet_posting AS p ON p.account = asked.account "
    "AND p.number = (SELECT MAX(number) FROM discreet_posting WHERE account = asked.account)"
)
"""The latest posting of each of some accounts, each found by the index."""
_CHARGE = ("number", "hash", "question", "settled")
_CHARGES = (
    "SELECT number, hash, question, EXISTS (SELECT 1 FROM discreet_entry WHERE settles = e.number) AS settled "
    "FROM discreet_entry AS e WHERE kind = 'charge' AND number IN ({})"
)
ADD_ENTRY = f"INSERT INTO discreet_entry ({', '.join(ENTRY)}) VALUES ({', '.join('?' * len(ENTRY))})"
ADD_POSTINGS = f"INSERT INTO discreet_posting ({', '.join(POSTING)}) VALUES {{}}"
ONE_POSTING = f"({', '.join('?' * len(POSTING))})"

AT_ONCE = 1 << 20
"""Up to so many bytes of an answer are written at once, which is faster; a larger one is written piece by piece."""
KNOWN = 256
"""How many of the entries that were read last are known by their fields."""


class RowCursor(Protocol):
    """The rows that a statement found."""

    def fetchone(self) -> Any:
        """The next one; None at the end."""

    def fetchall(self) -> list[Any]:
        """All that are left."""

    def __iter__(self) -> Iterator[Any]:
        """One after the other."""


class TableRows:
    """Reads and appends within a transaction that its store has begun.

    A database fills in `execute`, `answer`, `whole`, `add` and `add_large`.

    Args:
        known: the book that was read or noted last.
        look: how many entries before it are checked again.
        same: whether nothing was written since it was read, so that nothing is to be checked again.
    """

    def __init__(self, known: Book, look: int, *, same: bool = False) -> None:
        self._known = known
        self._look = look
        self._book: Book | None = known if same else None
        self._last: list[Entry] = []  # those at the end of the chain, as this transaction read or wrote them
        self._lines: dict[str, Posting | None] = {}  # the latest of each account, likewise
        self._posted: dict[str, int] = {}  # the numbers of their entries
        self._fetched: dict[str, Row | None] = {}  # the rows of the latest postings, unread
        self._fetched_entries: dict[int, Entry] = {}
        self._charges: dict[int, StoredCharge] = {}
        self._unwritten: list[tuple[Entry, bytes | None]] = []
        self.changed = False
        self.flushing = False
        self.settled_before: Callable[[str, int, list[Entry]], bool | None] | None = None

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
        for (key,) in self.execute("SELECT question_key FROM discreet_entry WHERE kind = 'settle'"):
            yield key

    def genesis(self) -> Head:
        """See `LedgerRows`."""
        row = self._first("SELECT identity FROM discreet_ledger")
        if row is None:
            raise corrupt(0, "has lost its identity")
        return genesis(str(row[0]))

    def book(self) -> Book:
        """See `LedgerRows`."""
        if self._book is None:
            self._book = caught_up(self, self._known, self._look)
        return self._book

    def tally(self, account: str) -> Posting | None:
        """See `LedgerRows`."""
        book = self.book()
        if account in self._lines:
            return self._lines[account]
        if account in self._fetched:
            row = self._fetched[account]
        else:
            row = self._first(f"{_POSTINGS} WHERE account = ? ORDER BY number DESC LIMIT 1", account)
        try:
            line = None if row is None else _posting(row)
        except (ValueError, TypeError):
            line = None
        if (line.tally if line else None) != book.tallies.get(account):
            raise corrupt(book.head.number, "has other totals than the index of postings finds")
        self._lines[account] = line
        if row is not None:
            self._posted[account] = row[1]
        return line

    def posted(self, account: str) -> Entry | None:
        """See `LedgerRows`."""
        number = None if self.tally(account) is None else self._posted.get(account)
        if number in self._fetched_entries:
            return self._fetched_entries[number]
        return next(iter(self.after(number - 1, 1)), None) if isinstance(number, int) else None

    def charged(self, number: int) -> StoredCharge | None:
        """See `LedgerRows`."""
        if number not in self._charges:
            self._fetch_charges([number])
        return self._charges.get(number)

    def first_settlement(self, question: str) -> Entry | None:
        """See `LedgerRows`."""
        which = "WHERE question_key = ? AND kind = 'settle' ORDER BY number LIMIT 1"
        return next(iter(self._entries(which, key_of(question))), None)

    def has_settled(self, question: str) -> bool:
        """See `LedgerRows`."""
        before = self.settled_before
        known = None if before is None else before(question, self.book().head.number, self.last)
        return self.first_settlement(question) is not None if known is None else known

    def fetch(self, needs: Sequence[Needs]) -> None:
        """Read together the rows that the work of a batch asks for one by one.

        Each of them is compared and checked where it is asked for, as if it were read there.
        """
        accounts = list({account: None for need in needs for account in need.accounts})
        if accounts:
            asked = ", ".join(["(?)"] * len(accounts))
            found = self.all(POSTING, _LATEST.format(asked), accounts)
            self._fetched = {**dict.fromkeys(accounts), **{row[0]: row for row in found}}
            first = self._last[0].number if self._last else 0
            numbers = {row[1] for row in found if isinstance(row[1], int) and not 0 < first <= row[1]}
            with contextlib.suppress(LedgerCorrupt):  # whoever asks for such an entry is told
                marks = ", ".join("?" * len(numbers))
                entries = self._entries(f"WHERE number IN ({marks})", *numbers) if numbers else []
                self._fetched_entries = {entry.number: entry for entry in entries}
        if charges := [need.charge for need in needs if need.charge]:
            self._fetch_charges(charges)

    def _fetch_charges(self, numbers: Sequence[int]) -> None:
        self.flush()
        marks = ", ".join("?" * len(numbers))
        for number, key, question, settled in self.all(_CHARGE, _CHARGES.format(marks), numbers):
            self._charges[number] = StoredCharge(key, question, bool(settled))

    def execute(self, sql: str, values: Sequence[object] = ()) -> RowCursor:
        """Run a statement; a value stands for each question mark."""
        raise NotImplementedError

    def all(self, columns: Sequence[str], sql: str, values: Sequence[object]) -> list[Row]:
        """All rows that a query of these columns finds."""
        return self.execute(sql, values).fetchall()

    def answer(self, number: int) -> Iterator[bytes]:
        """See `LedgerRows`."""
        raise NotImplementedError

    def whole(self) -> None:
        """See `LedgerRows`."""

    def after(self, number: int, count: int) -> list[Entry]:
        """See `LedgerRows`."""
        if self._last and number + 1 >= self._last[0].number:
            first = number + 1 - self._last[0].number
            return self._last[first : first + count]
        found = self._entries("WHERE number > ? ORDER BY number LIMIT ?", number, count)
        if len(found) < count and found and found[-1].number - found[0].number == len(found) - 1:
            self._last = found  # up to the end, without a gap
        return list(found)

    def reach_back(self, number: int) -> None:
        """Have all entries behind a number in `last`, if they are a chain with those in it."""
        first = self._last[0].number if self._last else self.book().head.number + 1
        if first > number + 1:
            last = (
                self._entries("WHERE number > ? AND number < ? ORDER BY number", number, first) + self._last
            )
            linked = all(entry.previous == before.hash for before, entry in pairwise(last))
            if linked and len(last) == self.book().head.number - number:
                self._last = last

    def stray(self) -> bool:
        """See `LedgerRows`."""
        orphan = (
            "SELECT 1 FROM discreet_posting WHERE number NOT IN (SELECT number FROM discreet_entry) LIMIT 1"
        )
        return self._first(orphan) is not None

    def append(self, entry: Entry, answer: BinaryIO | None = None) -> None:
        """See `LedgerRows`. A small answer is written with all others of the batch, by `flush`."""
        book = self.book()
        self.changed = True
        size = 0 if answer is None else answer.seek(0, os.SEEK_END)
        if size > AT_ONCE:
            self.flush()
            self.add_large(entry, cast(BinaryIO, answer))
        else:
            self._unwritten.append((entry, None if answer is None else b"".join(pieces(answer))))
        if entry.settles in self._charges:
            self._charges[entry.settles] = self._charges[entry.settles]._replace(settled=True)
        _remember(entry)
        if self._last:
            self._last.append(entry)
        self._lines.update((line.account, line) for line in entry.postings)
        self._posted.update((line.account, entry.number) for line in entry.postings)
        self._book = book.plus(entry)

    def flush(self) -> None:
        """Write the entries that were appended, in order: before anything is read anew, and before the commit."""
        if self._unwritten:
            unwritten, self._unwritten = self._unwritten, []
            self.flushing = True
            self.add(unwritten)
            self.flushing = False

    def add(self, entries: Sequence[tuple[Entry, bytes | None]]) -> None:
        """Write entries, their postings and their answers."""
        raise NotImplementedError

    def add_large(self, entry: Entry, answer: BinaryIO) -> None:
        """Write a settlement, and its answer piece by piece."""
        raise NotImplementedError

    def salt(self, dataset: str) -> int | None:
        """See `LedgerRows`."""
        row = self._first("SELECT salt FROM discreet_salt WHERE dataset_key = ?", key_of(dataset))
        try:
            return None if row is None else int(row[0], 16)
        except (ValueError, TypeError):
            pass  # its text stays in here
        raise LedgerCorrupt("The ledger's secret of a data set was altered.", "Restore it from a backup.")

    def add_salt(self, dataset: str, salt: int) -> None:
        """See `LedgerRows`."""
        self.changed = True
        row = (key_of(dataset), dataset, f"{salt:016x}")
        self.execute("INSERT INTO discreet_salt (dataset_key, dataset, salt) VALUES (?, ?, ?)", row)

    def _first(self, sql: str, *values: object) -> Row | None:
        self.flush()
        return cast(Row | None, self.execute(sql, values).fetchone())

    def _entries(self, which: str, *values: object) -> list[Entry]:
        self.flush()
        rows = self.all(ENTRY, f"{_ENTRIES} {which}", values)
        charges = [row[0] for row in rows if row[2] != "settle"]
        lines: dict[int, list[Row]] = {}
        if charges:
            marks = ", ".join("?" * len(charges))
            of_them = f"WHERE number IN ({marks}) ORDER BY number, position"
            for line in self.all(POSTING, f"{_POSTINGS} {of_them}", charges):
                lines.setdefault(line[1], []).append(line)
        return [_entry(len(row), *row, *chain.from_iterable(lines.get(row[0], ()))) for row in rows]


_written: Final[dict[tuple[Row, tuple[type, ...]], Entry]] = {}
"""The entries that this process wrote last, by their fields and the types of these."""
_posted: Final[dict[tuple[Row, tuple[type, ...]], Posting]] = {}
"""Their postings, likewise."""


def _remember(entry: Entry) -> None:
    """Know an entry by the fields that are written: these very fields need not be parsed and hashed again."""
    lines = posting_rows(entry)
    fields = (*entry_row(entry), *chain.from_iterable(lines))
    if len(_written) >= KNOWN:
        _written.clear()
    if len(_posted) >= KNOWN:
        _posted.clear()
    _written[fields, tuple(map(type, fields))] = entry
    for line, posting in zip(lines, entry.postings, strict=True):
        _posted[line, tuple(map(type, line))] = posting


def _entry(width: int, *fields: object) -> Entry:
    """Read an entry; the same fields, of the same types, are the same entry, so that its hash is computed once.

    Args:
        width: how many of the fields are the entry's own.
        fields: those of the entry, then those of its postings.
    """
    written = _written.get((fields, tuple(map(type, fields))))
    return _read_entry(width, *fields) if written is None else written


@lru_cache(KNOWN, typed=True)
def _read_entry(width: int, *fields: object) -> Entry:
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
    """Read a posting; the same fields, of the same types, are the same posting."""
    written = _posted.get((line, tuple(map(type, line))))
    return _read_posting(*line) if written is None else written


@lru_cache(KNOWN, typed=True)
def _read_posting(*line: Any) -> Posting:
    account, _, _, *losses, rule, squares, charges = line
    if not isinstance(charges, int) or rule not in RULES:
        raise ValueError
    parts = [_rational(text) for text in losses]
    loss, total, limit = (Loss(parts[index], parts[index + 1]) for index in (0, 2, 4))
    return Posting(account, loss, total, limit, rule, _rational(squares, _SQUARES), charges)


def _rational(text: str, pattern: re.Pattern[str] = _RATIONAL) -> Fraction:
    if not pattern.fullmatch(text):
        raise ValueError
    return Fraction(text)


def entry_row(entry: Entry) -> Row:
    """The fields of an entry, in the order of the columns."""
    time = entry.time.isoformat(timespec="microseconds")
    return (entry.number, time, entry.kind, entry.question, key_of(entry.question), entry.settles, entry.digest,
            entry.guarantee, entry.event, entry.description, entry.totals, entry.previous, entry.hash)  # fmt: skip


def posting_rows(entry: Entry) -> list[Row]:
    """The fields of the postings of an entry, in the order of the columns."""
    return [_posting_row(entry.number, position, line) for position, line in enumerate(entry.postings)]


def _posting_row(number: int, position: int, line: Posting) -> Row:
    losses = [
        str(part) for loss in (line.loss, line.total, line.limit) for part in (loss.epsilon, loss.delta)
    ]
    return (line.account, number, position, *losses, line.rule, str(line.squares), line.count)


@lru_cache(KNOWN)
def key_of(text: str) -> str:
    """The key under which a question is found."""
    return hashlib.sha256(text.encode()).hexdigest()
