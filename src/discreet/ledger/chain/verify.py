"""Walk a ledger from its first entry and check that every one follows from those before it."""

from __future__ import annotations

from discreet.errors import InvalidParameter, LedgerCorrupt, UnsupportedEvent
from discreet.ledger.chain.book import Book, follow
from discreet.ledger.chain.entry import Entry, Head, corrupt, digest_of, sealed
from discreet.ledger.store import LedgerRows, Store
from discreet.records import dataclass, field

LOOK = 64
"""How many entries at the end of the chain are checked when a ledger is opened."""


def check(entry: Entry) -> None:
    """Raise unless the entry's hash is that of its fields.

    Raises:
        LedgerCorrupt: names the entry.
    """
    if not sealed(entry):
        raise corrupt(entry.number, "was altered")


def caught_up(rows: LedgerRows, known: Book, look: int) -> Book:
    """The book of the stored entries, which must contain the entries known before.

    Args:
        rows: the stored entries.
        known: an earlier book of the same ledger.
        look: how many entries before it are checked too: that each is sealed and follows from the one before.

    Raises:
        LedgerCorrupt: names the first entry that does not fit.
    """
    start, genesis = max(0, known.head.number - look), rows.genesis()
    head = genesis if start == 0 else None
    page = rows.after(start, known.head.number - start + LOOK)
    for entry in page[: known.head.number - start]:
        check(entry)
        if entry.number != (start if head is None else head.number) + 1:
            raise corrupt((start if head is None else head.number) + 1, "is missing")
        if head is not None and entry.previous != head.hash:
            raise corrupt(entry.number, "does not follow from the one before it")
        head = Head(entry.number, entry.hash)
    if head is None or head.number < known.head.number:
        cut = (start if head is None else head.number) + 1
        raise LedgerCorrupt(
            f"Entry {cut} of the ledger is gone, with all after it: its head names entry {known.head.number}.",
            "Put the newest copy of the ledger back; where there is none, `discreet budget adopt` goes on, and "
            "counts the lost charges as spent.",
        )
    if head.hash != known.head.hash:
        raise corrupt(head.number, "is not the one that the ledger's head names")
    if (page[head.number - start - 1].totals if head.number else Book(genesis, {}).digest) != known.digest:
        raise corrupt(head.number, "has other totals than the ledger's head")
    book, rest = known, page[known.head.number - start :]
    while rest:
        for entry in rest:
            book = follow(book, entry)
        rest = rows.after(book.head.number, LOOK)
    return book


def verify(store: Store, noted: Head | None, *, page: int) -> int:
    """Check every entry and return how many there are; see `Ledger.verify`.

    Each page is a transaction of its own, so that charges go on meanwhile: entries are only ever added.
    """
    store.afresh()
    walk = store.read(lambda rows: _Walk(Book(rows.genesis(), {})))
    _compare(walk.head, noted)
    while store.read(lambda rows: _page(rows, walk, noted, page)):
        pass
    if noted is not None and noted.number > walk.head.number:
        raise corrupt(
            walk.head.number + 1, "is gone, with all after it: the ledger is shorter than was noted"
        )
    return walk.head.number


@dataclass
class _Walk:
    book: Book
    open: dict[int, str] = field(default_factory=dict)  # question of each charge that is not settled yet

    @property
    def head(self) -> Head:
        return self.book.head


def _page(rows: LedgerRows, walk: _Walk, noted: Head | None, size: int) -> bool:
    found = rows.after(walk.head.number, size)
    for entry in found:
        _follow(rows, walk, entry)
        _compare(walk.head, noted)
    if not found:
        if rows.stray():
            raise corrupt(walk.head.number + 1, "is gone, but not its postings")
        _agree(rows, walk.book)
    return bool(found)


def _agree(rows: LedgerRows, book: Book) -> None:
    """Compare the end of the walk with the second place and with the finds of the index of postings."""
    kept = rows.book()
    if (kept.head, kept.digest) != (book.head, book.digest):
        raise corrupt(book.head.number, "is not the one that the ledger's second place names")
    for account in book.tallies:
        rows.tally(account)
    rows.whole()


def _follow(rows: LedgerRows, walk: _Walk, entry: Entry) -> None:
    walk.book, number = follow(walk.book, entry), entry.number
    if entry.kind == "settle":
        if walk.open.pop(entry.settles or 0, None) != entry.question or entry.postings:
            raise corrupt(number, "settles no open charge of its question")
        if digest_of(rows.answer(number)) != entry.digest:
            raise corrupt(number, "holds an answer that was altered")
        return
    if entry.kind not in ("charge", "adopt") or entry.settles is not None or entry.digest:
        raise corrupt(number, "is no proper charge")
    if not entry.postings:
        raise corrupt(number, "is no proper charge")
    if entry.kind == "charge":
        walk.open[number] = entry.question
    if entry.event:
        see_price(entry)


def see_price(entry: Entry) -> None:
    """Price the event of a charge, and see that each account was charged as much.

    Raises:
        LedgerCorrupt: it was charged less or more, or says nothing that can be priced.
    """
    from discreet.accounting.event_text import read
    from discreet.accounting.pricing import loss_of

    try:
        price = loss_of(read(entry.event)).rounded_up()
    except (InvalidParameter, UnsupportedEvent):
        price = None
    if any(line.loss != price for line in entry.postings):
        raise corrupt(entry.number, "has another loss than the price of its event")


def _compare(head: Head, noted: Head | None) -> None:
    if noted is not None and head.number == noted.number and head.hash != noted.hash:
        raise corrupt(head.number, "is not the one that was noted")
