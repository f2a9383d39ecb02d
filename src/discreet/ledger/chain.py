"""Walk a ledger from its first entry and check that every one follows from those before it."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from discreet.accounting.tally import Tally, admits
from discreet.errors import LedgerCorrupt
from discreet.ledger.entry import Entry, Head, digest_of, sealed
from discreet.ledger.store import Rows, Store

_SLACK = Fraction(1, 10**9)
"""Floats of another machine may differ in their last digits; a forged charge differs by more."""


def check(entry: Entry) -> None:
    """Raise unless the entry's hash is that of its fields.

    Raises:
        LedgerCorrupt: names the entry.
    """
    if not sealed(entry):
        raise corrupt(entry.number, "was altered")


def corrupt(number: int, what: str) -> LedgerCorrupt:
    """Make the error that names an entry."""
    return LedgerCorrupt(
        f"Entry {number} of the ledger {what}.", "Answer nothing more from it, and restore it from a backup."
    )


def verify(store: Store, noted: Head | None, *, page: int) -> int:
    """Check every entry and return how many there are; see `Ledger.verify`.

    Each page is a transaction of its own, so that charges go on meanwhile: entries are only ever added.
    """
    walk = store.read(lambda rows: _Walk(rows.genesis()))
    _compare(walk.head, noted)
    while True:
        found = store.read(lambda rows: _page(rows, walk, noted, page))
        if not found:
            break
    if noted is not None and noted.number > walk.head.number:
        raise corrupt(
            walk.head.number + 1, "is gone, with all after it: the ledger is shorter than was noted"
        )
    return walk.head.number


@dataclass
class _Walk:
    head: Head
    tallies: dict[str, Tally] = field(default_factory=dict)
    open: dict[int, str] = field(default_factory=dict)  # question of each charge that is not settled yet


def _page(rows: Rows, walk: _Walk, noted: Head | None, size: int) -> bool:
    found = rows.after(walk.head.number, size)
    for entry in found:
        _follow(rows, walk, entry)
        walk.head = Head(entry.number, entry.hash)
        _compare(walk.head, noted)
    if not found and rows.stray():
        raise corrupt(walk.head.number + 1, "is gone, but not its postings")
    return bool(found)


def _follow(rows: Rows, walk: _Walk, entry: Entry) -> None:
    number = walk.head.number + 1
    if entry.number != number:
        raise corrupt(number, "is missing")
    check(entry)
    if entry.previous != walk.head.hash:
        raise corrupt(number, "does not follow from the one before it")
    if entry.kind == "settle":
        if walk.open.pop(entry.settles or 0, None) != entry.question or entry.postings:
            raise corrupt(number, "settles no open charge of its question")
        if digest_of(rows.answer(number)) != entry.digest:
            raise corrupt(number, "holds an answer that was altered")
        return
    if entry.settles is not None or entry.digest or not entry.postings:
        raise corrupt(number, "is no proper charge")
    walk.open[number] = entry.question
    for line in entry.postings:
        tally = walk.tallies.get(line.account, Tally()).plus(line.loss)
        slack = Fraction(0) if line.rule == "pure" else _SLACK
        if line.tally != tally or not admits(line.rule, tally, line.limit, slack):
            raise corrupt(number, "has a wrong total or overdraws an account")
        walk.tallies[line.account] = tally


def _compare(head: Head, noted: Head | None) -> None:
    if noted is not None and head.number == noted.number and head.hash != noted.hash:
        raise corrupt(head.number, "is not the one that was noted")
