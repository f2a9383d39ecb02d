"""The last entry of a ledger and all its totals: the base of the next charge.

The totals of all accounts are kept in two ways: in the postings, which an index finds, and here. The hash of each entry
covers the digest of the whole book, so neither an index nor a book that lost a charge goes unnoticed.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property

from discreet.accounting.tally import Tally, admits
from discreet.errors import InvalidParameter, UnsupportedEvent
from discreet.ledger.chain.entry import Entry, Head, corrupt, digest_of, sealed
from discreet.records import dataclass

_SLACK = Fraction(1, 10**9)
"""Floats of another machine may differ in their last digits; a forged charge differs by more."""


@dataclass(frozen=True)
class Book:
    """A head, and the loss charged to each account up to it."""

    head: Head
    tallies: Mapping[str, Tally]

    def plus(self, entry: Entry) -> Book:
        """The book after one more entry, unchecked."""
        head = Head(entry.number, entry.hash)
        if entry.postings:
            return Book(head, {**self.tallies, **{line.account: line.tally for line in entry.postings}})
        same = Book(head, self.tallies)
        if "digest" in self.__dict__:
            same.__dict__["digest"] = self.digest  # of the same totals
        return same

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all totals, hexadecimal; the order of accounts does not matter."""
        return digest_of(_totals(self.tallies))


def after(book: Book, tallies: Mapping[str, Tally]) -> str:
    """The digest of the totals once some accounts have new ones."""
    return Book(book.head, {**book.tallies, **tallies}).digest if tallies else book.digest


def follow(book: Book, entry: Entry) -> Book:
    """The book after one more entry, which must be sealed, follow from the one before it and add up.

    Raises:
        LedgerCorrupt: names the entry.
    """
    number = book.head.number + 1
    if entry.number != number:
        raise corrupt(number, "is missing")
    if not sealed(entry):
        raise corrupt(number, "was altered")
    if entry.previous != book.head.hash:
        raise corrupt(number, "does not follow from the one before it")
    for line in entry.postings:
        before = book.tallies.get(line.account, Tally())
        if entry.kind == "adopt":
            # It charges the loss of entries that are gone: no total may fall, however large that loss was.
            rises = line.squares >= before.squares and line.count >= before.count
            proper = rises and line.total == before.loss + line.loss
        else:
            slack = Fraction(0) if line.rule == "pure" else _SLACK
            right = line.tally == before.plus(line.loss, _rho(entry.event))
            proper = right and admits(line.rule, line.tally, line.limit, slack)
        if not proper:
            raise corrupt(number, "has a wrong total or overdraws an account")
    then = book.plus(entry)
    if entry.totals != then.digest:
        raise corrupt(number, "has a wrong total or overdraws an account")
    return then


def _rho(event: str) -> Fraction | None:
    """The rho that the text of an event says, exactly; None where its loss says all."""
    if '"kind":"Converted"' not in event:
        return None  # nearly all of them, which need not be read
    from discreet.accounting.event_text import read
    from discreet.accounting.pricing import rho_of

    try:
        return rho_of(read(event))
    except (InvalidParameter, UnsupportedEvent):
        return None  # then it has another total, and `verify` says that it has no price


def _totals(tallies: Mapping[str, Tally]) -> bytes:
    # No account's name holds a line break: names are printable.
    lines = ["\n".join((name, *tallies[name].told)) for name in sorted(tallies)]
    return "\n".join((*lines, "")).encode()
