"""The end of a ledger as this process knows it to be committed, for looks that need no transaction.

Who looks at a budget, or for charges that came since, would else wait for the disk of those who charge. A look is made
here only while the second place names no later entry, so that it shows all that was charged before it began, by any
process. A second place that names an earlier entry than was noted in it is an old copy, and no look is made beside it.
Nothing is charged, verified or given as an answer from here: that is a transaction, which reads the file.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import BinaryIO, NoReturn, TypeVar

from discreet.ledger.chain.book import Book
from discreet.ledger.chain.entry import Entry, Head, Posting
from discreet.ledger.rows import TableRows, key_of
from discreet.ledger.settled_questions import SettledQuestions
from discreet.ledger.store import LedgerRows, Needs, StoredCharge
from discreet.records import dataclass

T = TypeVar("T")
Read = Callable[[Callable[[LedgerRows], int]], int]
"""Runs work on a snapshot, in a transaction."""

KEPT = 1024
"""How many entries are kept at least, once so many were seen; at most twice as many."""


class TransactionNeeded(Exception):
    """This is not known without a transaction."""


@dataclass(frozen=True)
class LedgerSnapshot:
    """The end of the ledger at one moment; it is `LedgerRows` for those who read little.

    Attributes:
        end: the book.
        first: the number of the first entry that is kept.
        entries: those from it on, up to the book's; others may stand behind these.
        posted_in: the entry of the latest posting of each account that is known.
    """

    end: Book
    first: int
    entries: Sequence[Entry]
    posted_in: Mapping[str, Entry]

    def book(self) -> Book:
        """See `LedgerRows`."""
        return self.end

    def after(self, number: int, count: int) -> list[Entry]:
        """See `LedgerRows`."""
        last = self.end.head.number
        if number >= last:
            return []
        if number + 1 < self.first:
            raise TransactionNeeded
        start = number + 1 - self.first
        return list(self.entries[start : min(start + count, last + 1 - self.first)])

    def posted(self, account: str) -> Entry | None:
        """See `LedgerRows`."""
        if account not in self.end.tallies:
            return None
        if account not in self.posted_in:
            raise TransactionNeeded
        return self.posted_in[account]

    def tally(self, account: str) -> Posting | None:
        """See `LedgerRows`."""
        entry = self.posted(account)
        line = None if entry is None else next((p for p in entry.postings if p.account == account), None)
        if (line.tally if line else None) != self.end.tallies.get(account):
            raise TransactionNeeded
        return line

    def genesis(self) -> Head:
        """Not known here, as all that follows."""
        raise TransactionNeeded

    def charged(self, number: int) -> StoredCharge | None:
        """Not known here."""
        raise TransactionNeeded

    def first_settlement(self, question: str) -> Entry | None:
        """Not known here."""
        raise TransactionNeeded

    def has_settled(self, question: str) -> bool:
        """Not known here."""
        raise TransactionNeeded

    def answer(self, number: int) -> Iterator[bytes]:
        """Not known here."""
        raise TransactionNeeded

    def stray(self) -> bool:
        """Not known here."""
        raise TransactionNeeded

    def whole(self) -> None:
        """Not known here."""
        raise TransactionNeeded

    def append(self, entry: Entry, answer: BinaryIO | None = None) -> NoReturn:
        """Nothing is written here."""
        raise TransactionNeeded

    def salt(self, dataset: str) -> int | None:
        """Not known here."""
        raise TransactionNeeded

    def add_salt(self, dataset: str, salt: int) -> NoReturn:
        """Nothing is written here."""
        raise TransactionNeeded


class Committed:
    """The end of one ledger.

    Args:
        named: the number of the last entry that the second place names now; None where it cannot be read.
    """

    def __init__(self, named: Callable[[], int | None]) -> None:
        self._named = named
        self._following = threading.Lock()
        self._look: LedgerSnapshot | None = None
        self._entries: list[Entry] = []  # it only grows, so that a look may share it
        self._posted: dict[str, Entry] = {}
        self._noted = 0  # the entry that the second place named last when this process had its lock
        self._reached = 0  # the last entry of the last transaction of this process

    def note(self, number: int) -> None:
        """Take note of the last entry that the second place names; one thread at a time, under its lock."""
        self._noted = number

    def follow(self, book: Book, last: Sequence[Entry]) -> None:
        """Take note of a book that is committed, and of the entries at its end.

        Args:
            book: that the chain was checked up to.
            last: the entries up to it, without a gap; where others stand between these and those that are known,
                nothing is taken note of.
        """
        with self._following:
            self._reached = max(self._reached, book.head.number)
            self._follow(book, last)

    def _follow(self, book: Book, last: Sequence[Entry]) -> None:
        known = self._look
        if known is not None and known.end.head.number >= book.head.number:
            return
        if not last or last[-1].number != book.head.number:
            self.forget()
            return
        since = known.end.head.number + 1 if known is not None else 0
        if known is not None and last[0].number > since:
            return  # entries of other processes come between, which the next look reads
        if known is None:
            entries, new = list(last), last
            self._posted = {}
        else:
            entries, new = self._entries, last[since - last[0].number :]
            entries = entries if len(entries) < 2 * KEPT else entries[-KEPT:]
            entries.extend(new)
        posted = {line.account: entry for entry in new for line in entry.postings}
        self._entries, self._posted = entries, {**self._posted, **posted} if posted else self._posted
        self._look = LedgerSnapshot(book, entries[0].number, entries, self._posted)

    def look(self, read: Read, work: Callable[[LedgerRows], T], *, here: bool = False) -> T:
        """Run `work` on the end that is known.

        Where another process wrote since, the entries that it wrote are read first, once for all who look.

        Args:
            read: has entries read up to the end, in a transaction, and returns the number of the last one.
            work: reads little.
            here: whether the end is that which this process read or wrote last; others may have written since.

        Raises:
            Unknown: it reads more than is known here.
        """
        known, least = self._look if here else self.now(), self._reached if here else 0
        if known is None and not here:
            least = read(lambda rows: rows.book().head.number)
            known = self._look
        if known is None or known.end.head.number < least:
            raise TransactionNeeded
        return work(known)

    def start_anew(self) -> None:
        """Know no entries any more, as there are too many new ones."""
        self._look, self._entries, self._posted = None, [], {}

    def forget(self) -> None:
        """Know nothing any more."""
        self.start_anew()
        self._noted = self._reached = 0

    @property
    def number(self) -> int | None:
        """The last entry that is known; None before the first look."""
        look = self._look
        return None if look is None else look.end.head.number

    def now(self) -> LedgerSnapshot | None:
        """A look at the ledger; None where another process may have written since, or put an old copy back."""
        look, noted = self._look, self._noted
        if look is None:
            return None
        named = self._named()
        return look if named is not None and noted <= named <= look.end.head.number else None


class KnownEnd:
    """The end of a ledger as one process knows it: its last entries, and which questions were settled.

    Args:
        named: the number of the last entry that the second place names now; None where it cannot be read.

    Attributes:
        committed: the entries at the end.
        settled: the questions that were settled.
    """

    def __init__(self, named: Callable[[], int | None]) -> None:
        self.committed = Committed(named)
        self.settled = SettledQuestions(named, key_of)

    def look(self, read: Read, work: Callable[[LedgerRows], T], *, here: bool = False) -> T:
        """Run `work` on the end that is known; see `Committed.look`.

        Args:
            read: runs its work on a snapshot.
            work: reads little.
            here: as there.

        Raises:
            Unknown: it reads more than is known here.
        """
        return self.committed.look(lambda number: self._catch_up(read, number), work, here=here)

    def has_settled(self, question: str, read: Read, *, here: bool = False) -> bool | None:
        """Whether a question is settled, as far as the ledger is known `here`; None where a transaction can tell."""
        if here:
            return self.settled.has_here(question)
        return self.settled.has(question, lambda: self._catch_up(read, lambda _: 0))

    def _catch_up(self, read: Read, work: Callable[[LedgerRows], int]) -> int:
        """Read the entries that others wrote, for all who look and for all who ask whether one is settled."""

        def reached(rows: LedgerRows) -> int:
            self._reach_back(rows)
            return work(rows)

        return read(reached)

    def before_writing(self, rows: TableRows, needs: Sequence[Needs]) -> None:
        """Have a transaction that will write read all that is to be known of the end, and all that it needs."""
        book = rows.book()
        if self.settled.wanted:
            self.settled.load(book.head.number, rows.settled())
        self._reach_back(rows)
        rows.fetch(needs)
        rows.settled_before = self.settled.has_within

    def _reach_back(self, rows: LedgerRows) -> None:
        """Have a transaction read the entries since those that are known, so that `follow` can be told of them.

        Very many of them are not kept: then nothing is known any more.
        """
        committed, head = self.committed, rows.book().head.number
        if committed.number is not None and head - committed.number > KEPT:
            committed.start_anew()
        known = [number for number in (committed.number, self.settled.number) if number is not None]
        if known and head - min(known) <= KEPT and isinstance(rows, TableRows):
            rows.reach_back(min(known))

    def follow(self, rows: TableRows) -> None:
        """Take note of the end that a transaction read or wrote, once it is committed."""
        if rows.reached is not None:
            self.settled.follow(rows.reached.head.number, rows.last)
            self.committed.follow(rows.reached, rows.last)

    def forget(self) -> None:
        """Know nothing any more."""
        self.settled.forget()
        self.committed.forget()
