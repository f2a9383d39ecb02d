"""A book follows an entry that is sealed, comes next and adds up, and no other."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Any

import pytest

from discreet.accounting.event_text import written
from discreet.accounting.events import Concentrated, Converted
from discreet.accounting.loss import Loss
from discreet.accounting.tally import Tally
from discreet.accounting.zcdp import ZCDP
from discreet.errors import LedgerCorrupt
from discreet.ledger.chain.book import Book, after, follow
from discreet.ledger.chain.entry import Entry, Posting, genesis, make_entry
from discreet.ledger.chain.verify import see_price

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


REST = Loss("0.1", "1e-9")
NOISE = written(Converted(Concentrated(ZCDP.bought(REST), neighbours="add_remove"), REST))


def noisy(rho: Fraction | None, event: str = NOISE) -> Entry:
    """The next entry, a charge of Gaussian noise that counts this rho."""
    tally = BOOK.tallies["a"].plus(REST, rho)
    own = Posting("a", REST, tally.loss, Loss(1, "1e-6"), "zcdp", tally.squares, tally.count)
    digest = after(BOOK, {"a": own.tally})
    return make_entry(BOOK.head, "charge", "count", totals=digest, postings=[own], event=event)


def test_gaussian_noise_is_followed_by_the_rho_of_its_event() -> None:
    entry = noisy(ZCDP.bought(REST).rho)
    assert follow(BOOK, entry).tallies["a"] == entry.postings[0].tally
    see_price(entry)
    # Planted faults: the square of its epsilon, half of its rho, and an event that says more than it costs.
    for wrong in (noisy(None), noisy(ZCDP.bought(REST).rho / 2), noisy(ZCDP.bought(REST).rho, event="")):
        with pytest.raises(LedgerCorrupt, match="wrong total"):
            follow(BOOK, wrong)
    twice = ZCDP(2 * ZCDP.bought(REST).rho)
    cheap = noisy(twice.rho, written(Converted(Concentrated(twice, neighbours="add_remove"), REST)))
    with pytest.raises(LedgerCorrupt, match="price"):
        see_price(cheap)
