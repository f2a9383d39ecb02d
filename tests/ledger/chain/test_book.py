"""A book follows an entry that is sealed, comes next and adds up, and no other."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Any

import pytest

from discreet.accounting.loss import Loss
from discreet.accounting.tally import Tally
from discreet.errors import LedgerCorrupt
from discreet.ledger.chain.book import Book, after, follow
from discreet.ledger.chain.entry import Entry, Posting, genesis, make_entry

BOOK = Book(genesis("00"), {"a": Tally().plus(Loss("0.2")), "b": Tally()})


def charge(kind: Any = "charge", totals: str | None = None, **line: Any) -> Entry:
    """The next entry, with one posting that adds up unless it is told otherwise."""
    tally = BOOK.tallies["a"].plus(Loss("0.1"))
    own = Posting("a", Loss("0.1"), tally.loss, Loss(1), "pure", tally.squares, tally.count)
    posting = dataclasses.replace(own, **line)
    digest = after(BOOK, {"a": posting.tally}) if totals is None else totals
    return make_entry(BOOK.head, kind, "count", totals=digest, postings=[posting])


def test_an_entry_that_adds_up_is_followed() -> None:
    entry = charge()
    then = follow(BOOK, entry)
    assert then.head == (1, entry.hash)
    assert then.tallies["a"].loss == Loss("0.3")
    assert then.tallies["b"] == Tally()
    assert then.digest == entry.totals != BOOK.digest


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (dataclasses.replace(charge(), number=2), "is missing"),
        (dataclasses.replace(charge(), question="another"), "was altered"),
        (make_entry(genesis("01"), "charge", "count", totals=BOOK.digest), "does not follow"),
        (charge(total=Loss("0.2")), "wrong total"),
        (charge(squares=Fraction(0)), "wrong total"),
        (charge(count=1), "wrong total"),
        (charge(limit=Loss("0.25")), "overdraws"),
        (charge(totals=BOOK.digest), "wrong total"),
        (charge("adopt", squares=Fraction(0)), "wrong total"),
        (charge("adopt", count=0), "wrong total"),
    ],
)
def test_another_entry_is_named_as_corrupt(entry: Entry, words: str) -> None:
    with pytest.raises(LedgerCorrupt, match="Entry 1") as found:
        follow(BOOK, entry)
    assert words in found.value.cause


def test_what_is_adopted_may_pass_the_limit() -> None:
    assert follow(BOOK, charge("adopt", limit=Loss("0.25"))).tallies["a"].loss == Loss("0.3")


def test_the_digest_does_not_depend_on_the_order_of_accounts() -> None:
    turned = Book(BOOK.head, dict(reversed(list(BOOK.tallies.items()))))
    assert turned.digest == BOOK.digest != Book(BOOK.head, {"a": Tally()}).digest
