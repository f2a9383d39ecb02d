"""A book as text, for the second place where a ledger keeps its last entry and its totals."""

from __future__ import annotations

import json
from fractions import Fraction
from functools import lru_cache

from discreet.accounting.loss import Loss
from discreet.accounting.tally import Tally
from discreet.ledger.chain.book import Book
from discreet.ledger.chain.entry import Head


def told(identity: str, book: Book) -> str:
    """Write a book of the ledger of an identity: ASCII, on one line.

    Example:
        >>> book = Book(Head(0, "aa"), {"visits": Tally()})
        >>> read(told("0f", book)) == ("0f", book)
        True
    """
    totals = {name: [*tally.told[:3], tally.count] for name, tally in book.tallies.items()}
    fields = {"identity": identity, "number": book.head.number, "hash": book.head.hash, "totals": totals}
    return json.dumps(fields, ensure_ascii=True, separators=(",", ":"))


def read(text: str) -> tuple[str, Book]:
    """The identity and the book of a text.

    Raises:
        ValueError: it is another text.
    """
    try:
        fields = json.loads(text)
        tallies = {
            name: _tally(epsilon, delta, squares, count)
            for name, (epsilon, delta, squares, count) in fields["totals"].items()
        }
        return str(fields["identity"]), Book(Head(int(fields["number"]), str(fields["hash"])), tallies)
    except (KeyError, TypeError, AttributeError, ZeroDivisionError) as error:
        raise ValueError from error


@lru_cache(4096, typed=True)
def _tally(epsilon: str, delta: str, squares: str, count: int) -> Tally:
    """The totals of one account: a book of a hundred accounts differs from the one before it in two."""
    return Tally(Loss(epsilon, delta), Fraction(squares), int(count))
