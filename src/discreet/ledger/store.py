"""The place of the entries: the methods that a ledger asks of a store, and the store in memory."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable, Iterator
from typing import BinaryIO, NamedTuple, Protocol, TypeVar

from discreet.errors import LedgerError
from discreet.ledger.chain.book import Book
from discreet.ledger.chain.entry import Entry, Head, Posting, genesis

Result = TypeVar("Result")
PIECE = 1 << 20
"""How many bytes of an answer are held at a time."""
PAGE = 256
"""How many entries are read at a time."""


def pieces(file: BinaryIO) -> Iterator[bytes]:
    """The content of a file, from its start."""
    file.seek(0)
    while piece := file.read(PIECE):
        yield piece


def copied(answer: Iterator[bytes], into: BinaryIO) -> Iterator[bytes]:
    """The pieces of an answer; each is written into a file first."""
    for piece in answer:
        into.write(piece)
        yield piece


class StoredCharge(NamedTuple):
    """The part of a charge that settling it needs."""

    hash: str
    question: str
    settled: bool


class Needs(NamedTuple):
    """The rows that some work asks for, so that those of a whole batch are read together.

    Attributes:
        accounts: whose latest postings it asks for, by name.
        charge: the number of the charge that it settles; 0 for none.
    """

    accounts: tuple[str, ...] = ()
    charge: int = 0


NOTHING = Needs()
"""Nothing is named: each row is read when it is asked for."""


class LedgerRows(Protocol):
    """The rows as one transaction sees them."""

    def genesis(self) -> Head:
        """Head of the ledger when it was empty."""

    def book(self) -> Book:
        """The head and the totals. The tail of the chain and the second place were compared with them."""

    def tally(self, account: str) -> Posting | None:
        """The latest posting to the account, which was compared with the book."""

    def posted(self, account: str) -> Entry | None:
        """The entry that the index of postings names for the latest posting to the account; `check` it before use."""

    def charged(self, number: int) -> StoredCharge | None:
        """The part of a charge that settling it needs."""

    def first_settlement(self, question: str) -> Entry | None:
        """The earliest settlement of a question."""

    def has_settled(self, question: str) -> bool:
        """Whether there is one."""

    def answer(self, number: int) -> Iterator[bytes]:
        """The answer that a settlement holds, in pieces."""

    def after(self, number: int, count: int) -> list[Entry]:
        """Up to `count` entries above a number, in order."""

    def stray(self) -> bool:
        """Whether a posting exists that belongs to no entry."""

    def whole(self) -> None:
        """Check the part that no entry covers: the store's own structure, as far as it has one."""

    def append(self, entry: Entry, answer: BinaryIO | None = None) -> None:
        """Add an entry; the answer is read from the start of a file."""

    def salt(self, dataset: str) -> int | None:
        """The secret of a data set."""

    def add_salt(self, dataset: str, salt: int) -> None:
        """Keep a new secret."""


class Turns(Protocol):
    """Locks of questions beyond this process, where one thread at a time asks for the same one."""

    def take(self, question: str, deadline: float) -> bool:
        """Have a question's lock until `give`; False where it cannot be had until the deadline."""

    def give(self, question: str) -> None:
        """Let the next one have it."""


class Store(Protocol):
    """Runs transactions one after the other, across all threads and processes that share the store."""

    durable: bool
    where: str
    made: bool

    @property
    def turns(self) -> Turns | None:
        """Locks that other processes see; None where no other process shares the store."""

    def read(self, work: Callable[[LedgerRows], Result]) -> Result:
        """Run `work` on a consistent view."""

    def look(self, work: Callable[[LedgerRows], Result], *, here: bool = False) -> Result:
        """Run `work` on entries that are committed, all that were before; for looks, which nothing is charged by.

        With `here` they are those up to the last one that this process read or wrote; others may have written since.
        """

    def write(self, work: Callable[[LedgerRows], Result], needs: Needs = NOTHING) -> Result:
        """Run `work` alone, then make its entries durable before returning. All of it or nothing."""

    def afresh(self) -> None:
        """Keep no part of the file in memory: the next transaction reads it from the disk."""

    def has_settled(self, question: str, *, here: bool = False) -> bool | None:
        """Whether a question is settled; None where only a transaction can tell.

        With `here` the ledger is read no further than this process did last; others may have settled it since.
        """

    def close(self) -> None:
        """Let go of the store; closing twice is allowed."""


def entries_after(store: Store, number: int) -> Iterator[Entry]:
    """All entries above a number, in order, without answers."""
    while page := _page(store, number):
        number = page[-1].number
        yield from page


def _page(store: Store, number: int) -> list[Entry]:
    return store.read(lambda rows: rows.after(number, PAGE))


def entries_of(store: Store, account: str | None) -> list[Entry]:
    """The charges of an account and their settlements; all entries where none is named."""
    found: list[Entry] = []
    charges: set[int] = set()
    for entry in entries_after(store, 0):
        if entry.settles in charges or any(account in (None, line.account) for line in entry.postings):
            charges.add(entry.number)
            found.append(entry)
    return found


class MemoryStore:
    """A store that ends with its process, for notebooks and tests.

    A forked child would have a copy with a budget of its own, so it is refused there.
    """

    durable = False
    made = True
    where = "memory"
    turns = None

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._rows: _MemoryRows | None = _MemoryRows()

    def read(self, work: Callable[[LedgerRows], Result]) -> Result:
        """Run `work` alone."""
        return self.write(work)

    def look(self, work: Callable[[LedgerRows], Result], *, here: bool = False) -> Result:
        """Run `work` alone."""
        return self.write(work)

    def write(self, work: Callable[[LedgerRows], Result], needs: Needs = NOTHING) -> Result:
        """Run `work` alone. Work appends at its very end, so there is nothing to undo when it raises."""
        if os.getpid() != self._process:
            # Before the lock: another thread of the parent may have held it at the fork.
            raise LedgerError(
                "A ledger in memory cannot be used in a forked process, where its budget would exist twice.",
                "Keep the ledger in a file.",
            )
        with self._lock:
            if self._rows is None:
                raise LedgerError("The ledger is closed.", "Open it again.")
            return work(self._rows)

    def afresh(self) -> None:
        """There is no file."""

    def has_settled(self, question: str, *, here: bool = False) -> bool | None:
        """It is looked up."""
        return None

    def close(self) -> None:
        """Forget everything."""
        self._rows = None


class _MemoryRows:
    def __init__(self) -> None:
        self._genesis = genesis(secrets.token_hex(16))
        self._book = Book(self._genesis, {})
        self._entries: list[Entry] = []
        self._answers: dict[int, bytes] = {}
        self._last: dict[str, Posting] = {}
        self._posted: dict[str, int] = {}
        self._settled: set[int] = set()
        self._first: dict[str, int] = {}
        self._salts: dict[str, int] = {}

    def genesis(self) -> Head:
        return self._genesis

    def book(self) -> Book:
        return self._book

    def tally(self, account: str) -> Posting | None:
        return self._last.get(account)

    def posted(self, account: str) -> Entry | None:
        number = self._posted.get(account)
        return None if number is None else self._entries[number - 1]

    def charged(self, number: int) -> StoredCharge | None:
        entry = self._entries[number - 1] if 1 <= number <= len(self._entries) else None
        if entry is None or entry.kind != "charge":
            return None
        return StoredCharge(entry.hash, entry.question, number in self._settled)

    def first_settlement(self, question: str) -> Entry | None:
        number = self._first.get(question)
        return None if number is None else self._entries[number - 1]

    def has_settled(self, question: str) -> bool:
        return question in self._first

    def answer(self, number: int) -> Iterator[bytes]:
        yield self._answers[number]

    def after(self, number: int, count: int) -> list[Entry]:
        return self._entries[number : number + count]

    def stray(self) -> bool:
        return False

    def whole(self) -> None:
        pass

    def append(self, entry: Entry, answer: BinaryIO | None = None) -> None:
        kept = b"".join(pieces(answer)) if answer is not None else b""
        self._entries.append(entry)
        self._book = self._book.plus(entry)
        if entry.settles is not None and answer is not None:
            self._answers[entry.number] = kept
            self._settled.add(entry.settles)
            self._first.setdefault(entry.question, entry.number)
        for posting in entry.postings:
            self._last[posting.account] = posting
            self._posted[posting.account] = entry.number

    def salt(self, dataset: str) -> int | None:
        return self._salts.get(dataset)

    def add_salt(self, dataset: str, salt: int) -> None:
        self._salts[dataset] = salt
