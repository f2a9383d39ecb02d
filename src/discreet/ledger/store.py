"""Where entries are kept: what a ledger asks of a store, and the store in memory."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable, Iterator
from typing import BinaryIO, Protocol, TypeVar

from discreet.errors import LedgerError
from discreet.ledger.entry import Entry, Head, genesis

Result = TypeVar("Result")
PIECE = 1 << 20
"""How many bytes of an answer are held at a time."""


def pieces(file: BinaryIO) -> Iterator[bytes]:
    """What a file holds, from its start."""
    file.seek(0)
    while piece := file.read(PIECE):
        yield piece


class Rows(Protocol):
    """The rows as one transaction sees them."""

    def genesis(self) -> Head:
        """Head of the ledger when it was empty."""

    def last(self) -> Entry | None:
        """The last entry."""

    def entry(self, number: int) -> Entry | None:
        """One entry by its number."""

    def last_charge(self, account: str) -> Entry | None:
        """The latest charge that has a posting to the account."""

    def settlement(self, charge: int) -> Entry | None:
        """The settlement of a charge."""

    def first_settlement(self, question: str) -> Entry | None:
        """The earliest settlement of a question."""

    def answer(self, number: int) -> Iterator[bytes]:
        """The answer that a settlement holds, in pieces."""

    def after(self, number: int, count: int) -> list[Entry]:
        """Up to `count` entries above a number, in order."""

    def stray(self) -> bool:
        """Whether a posting exists that belongs to no entry."""

    def append(self, entry: Entry, answer: BinaryIO | None = None) -> None:
        """Add an entry; the answer is read from the start of a file."""

    def salt(self, dataset: str) -> int | None:
        """The secret of a data set."""

    def add_salt(self, dataset: str, salt: int) -> None:
        """Keep a new secret."""


class Store(Protocol):
    """Runs transactions one after the other, across all threads and processes that share the store."""

    durable: bool
    where: str

    def read(self, work: Callable[[Rows], Result]) -> Result:
        """Run `work` on a consistent view."""

    def write(self, work: Callable[[Rows], Result]) -> Result:
        """Run `work` alone, then make what it appended durable before returning. All of it or nothing."""

    def close(self) -> None:
        """Let go of the store; closing twice is allowed."""


class MemoryStore:
    """A store that ends with its process, for notebooks and tests.

    A forked child would have a copy with a budget of its own, so it is refused there.
    """

    durable = False
    where = "memory"

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._rows: _MemoryRows | None = _MemoryRows()

    def read(self, work: Callable[[Rows], Result]) -> Result:
        """Run `work` alone."""
        return self.write(work)

    def write(self, work: Callable[[Rows], Result]) -> Result:
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

    def close(self) -> None:
        """Forget everything."""
        self._rows = None


class _MemoryRows:
    def __init__(self) -> None:
        self._genesis = genesis(secrets.token_hex(16))
        self._entries: list[Entry] = []
        self._answers: dict[int, bytes] = {}
        self._last: dict[str, int] = {}
        self._settlements: dict[int, int] = {}
        self._first: dict[str, int] = {}
        self._salts: dict[str, int] = {}

    def genesis(self) -> Head:
        return self._genesis

    def last(self) -> Entry | None:
        return self._entries[-1] if self._entries else None

    def entry(self, number: int) -> Entry | None:
        return self._entries[number - 1] if 1 <= number <= len(self._entries) else None

    def last_charge(self, account: str) -> Entry | None:
        return self.entry(self._last.get(account, 0))

    def settlement(self, charge: int) -> Entry | None:
        return self.entry(self._settlements.get(charge, 0))

    def first_settlement(self, question: str) -> Entry | None:
        return self.entry(self._first.get(question, 0))

    def answer(self, number: int) -> Iterator[bytes]:
        yield self._answers[number]

    def after(self, number: int, count: int) -> list[Entry]:
        return self._entries[number : number + count]

    def stray(self) -> bool:
        return False

    def append(self, entry: Entry, answer: BinaryIO | None = None) -> None:
        kept = b"".join(pieces(answer)) if answer is not None else b""
        self._entries.append(entry)
        if entry.settles is not None and answer is not None:
            self._answers[entry.number] = kept
            self._settlements[entry.settles] = entry.number
            self._first.setdefault(entry.question, entry.number)
        for posting in entry.postings:
            self._last[posting.account] = entry.number

    def salt(self, dataset: str) -> int | None:
        return self._salts.get(dataset)

    def add_salt(self, dataset: str, salt: int) -> None:
        self._salts[dataset] = salt
