"""The bill of a question holds what was charged, and nothing that was certainly not charged."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest

from discreet.errors import EngineError, LedgerError
from discreet.ledger import Account, Charge, Ledger, Loss, open_ledger
from discreet.ledger.faults import SettledElsewhere, UnknownOutcome, read_only
from discreet.release import bill as bill_module
from discreet.release.bill import Bill, billed, charged_at

HALF = Loss(Fraction(1, 2))
VISITS = Account("visits", Loss(3))


@pytest.fixture
def ledger() -> Ledger:
    return open_ledger(None)


def raising(error: BaseException) -> Callable[[], Charge]:
    def charge() -> Charge:
        raise error

    return charge


def told(ledger: Ledger, charge: Callable[[], Charge]) -> object:
    """The cost that an error says which comes some time after a charge that may have failed."""

    def asked() -> None:
        with Bill() as bill:
            with suppress(SettledElsewhere, LedgerError):  # the gate goes on to the answer of another process
                bill.charge(ledger, "how many", HALF, charge)
            raise EngineError("It failed later.")

    with pytest.raises(EngineError) as caught:
        asked()
    return caught.value.charged


def test_a_charge_is_on_the_bill_of_each_later_error(ledger: Ledger) -> None:
    assert told(ledger, lambda: ledger.charge("how many", HALF, [VISITS])) == HALF


@pytest.mark.parametrize("error", [SettledElsewhere(), read_only("l.db cannot be written", "Ask.")])
def test_what_was_certainly_not_charged_is_not_looked_up(ledger: Ledger, error: Exception) -> None:
    """Another process charges the same question at that moment: its charge is on no bill but its own."""

    def charge() -> Charge:
        ledger.charge("how many", HALF, [VISITS])
        raise error

    assert told(ledger, charge) is None


def test_what_may_have_been_charged_is_looked_up(ledger: Ledger) -> None:
    assert told(ledger, raising(LedgerError("The disk is gone.", "Ask again."))) is None

    def interrupted() -> Charge:
        ledger.charge("how many", HALF, [VISITS])
        raise LedgerError("The disk is gone.", "Ask again.")

    assert told(ledger, interrupted) == HALF


def test_it_counts_where_the_ledger_cannot_be_read(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreadable(*_: Any) -> Any:
        raise LedgerError("The disk is gone.", "Ask again.")

    monkeypatch.setattr(ledger, "newest", unreadable)
    assert told(ledger, raising(LedgerError("The disk is gone.", "Ask again."))) == HALF
    with pytest.raises(UnknownOutcome) as lost, Bill() as bill:
        bill.charge(ledger, "how many", HALF, raising(UnknownOutcome("l.db")))
    assert lost.value.charged == HALF


def test_an_answer_has_the_time_of_its_charge(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of the work would tell how long it took."""
    hours = iter(range(24))

    class Clock:
        @staticmethod
        def now(zone: dt.tzinfo) -> dt.datetime:
            return dt.datetime(2026, 1, 1, next(hours), 30, 5, 17, zone)

    monkeypatch.setattr(bill_module, "dt", SimpleNamespace(datetime=Clock, UTC=dt.UTC))
    with Bill() as bill, billed(bill):
        bill.charge(ledger, "how many", HALF, lambda: ledger.charge("how many", HALF, [VISITS]))
        seen = {charged_at() for _ in range(3)}
        assert bill.charged is not None
    assert seen == {bill.charged.replace(microsecond=0)}
    assert charged_at() != charged_at(), "without a charge it is the present time"
