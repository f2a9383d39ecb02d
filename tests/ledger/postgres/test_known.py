"""A look at a ledger in PostgreSQL shows all that was charged before it, by any process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.ledger.test_committed import ANA, VISITS, answered, see_present
from tests.servers import new_schema

from discreet.ledger import Ledger, open_ledger
from discreet.ledger.committed import Committed
from discreet.ledger.postgres.store import PostgresStore
from discreet.ledger.settled_questions import SettledQuestions

Pair = tuple[Ledger, Ledger]


@pytest.fixture
def pair() -> Iterator[Pair]:
    place = new_schema()
    with open_ledger(place) as one, open_ledger(place) as two:
        yield one, two


def test_the_charges_of_others_are_seen_at_once(pair: Pair) -> None:
    see_present(*pair)


def test_a_look_that_does_not_ask_whether_others_wrote_is_found(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted fault."""
    monkeypatch.setattr(Committed, "now", lambda self: self._look)
    with pytest.raises(AssertionError):
        see_present(*pair)


def see_settled(pair: Pair) -> None:
    ours, theirs = pair
    answered(ours, "first")
    assert ours._store.has_settled("theirs") is False
    answered(theirs, "theirs")
    assert ours._store.has_settled("theirs")
    assert ours.replay("theirs") == b"theirs"
    assert ours._store.has_settled("new") is False


def test_a_question_that_another_process_settled_is_not_taken_for_new(pair: Pair) -> None:
    see_settled(pair)


def test_a_stale_memory_is_found(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: nobody looks at how far the ledger reaches now."""
    store = pair[0]._store
    assert isinstance(store, PostgresStore)
    monkeypatch.setattr(store._known.settled, "_named", lambda: 0)
    with pytest.raises(AssertionError):
        see_settled(pair)


def test_a_settlement_that_nobody_noted_is_found(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: entries are followed by their number alone."""
    monkeypatch.setattr(
        SettledQuestions, "follow", lambda self, number, last: setattr(self, "_number", number)
    )
    with pytest.raises(AssertionError):
        see_settled(pair)


def test_a_look_needs_no_transaction(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger, _ = pair
    answered(ledger, "first", VISITS, ANA)
    monkeypatch.setattr(PostgresStore, "read", lambda *_: pytest.fail("a look read"))
    assert len(ledger.since(0)) == 2
    assert ledger.standings([VISITS, ANA])[0][0] is not None
