"""The faults that every store can meet say what stands."""

from __future__ import annotations

import pickle

from discreet.errors import LedgerError
from discreet.ledger import Loss
from discreet.ledger.faults import DiskFullError, UnknownOutcome, busy, read_only


def test_a_commit_that_was_lost_from_sight_may_stand() -> None:
    error = UnknownOutcome("postgresql://h:1/d#s")
    assert "may stand" in str(error)
    error.charged, error.told = Loss(1), True
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.charged, str(again)) == (UnknownOutcome, Loss(1), str(error))


def test_a_charge_on_a_ledger_that_can_only_be_read_is_certainly_not_written() -> None:
    error = read_only("l.db cannot be written", "Ask for the right to write it.")
    assert isinstance(error, LedgerError)
    assert error.unwritten, "so that the answer of another process is given in its place"
    assert not busy("l.db").unwritten
    assert not UnknownOutcome("l.db").unwritten


def test_all_are_errors_of_the_ledger() -> None:
    assert isinstance(busy("x"), LedgerError)
    assert issubclass(DiskFullError, LedgerError)
