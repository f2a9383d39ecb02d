"""The questions that accounts were charged for."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

from discreet.accounting.loss import Loss
from discreet.ledger import Account, Entry, open_ledger
from discreet.ledger.charged import charged_in

ANA, BEN = Account("analyst ana", Loss(9)), Account("analyst ben", Loss(9))


def test_charges_of_another_process_are_found_and_each_entry_is_read_once(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "ledger.db") as ours, open_ledger(tmp_path / "ledger.db") as theirs:
        known = charged_in(ours)
        assert not known.has(ours, ANA.name, "q0")
        for at in range(3):
            theirs.charge(f"q{at}", Loss("0.1"), [ANA, BEN] if at else [ANA])
        assert known.has(ours, ANA.name, "q0")
        assert not known.has(ours, BEN.name, "q0")
        assert known.has(ours, BEN.name, "q2")
        reads: list[int] = []
        since = ours.since

        def counting(number: int, count: int = 256, *, here: bool = False) -> list[Entry]:
            reads.append(number)
            return since(number, count, here=here)

        ours.since = counting  # type: ignore[method-assign]
        assert not known.has(ours, BEN.name, "q3")
        assert reads == [3]
        assert known is charged_in(ours)
        assert known is not charged_in(theirs)


def test_a_charge_that_was_made_here_is_known_without_a_look() -> None:
    ledger = open_ledger(None)
    charged_in(ledger).add(ANA.name, "q")
    assert charged_in(ledger).has(ledger, ANA.name, "q")
    assert not charged_in(ledger).has(ledger, BEN.name, "q")


def test_a_ledger_is_let_go() -> None:
    ledger = open_ledger(None)
    charged_in(ledger).has(ledger, ANA.name, "q")
    gone = weakref.ref(ledger)
    del ledger
    gc.collect(1)  # it is young; a walk over all that other tests left takes a second
    assert gone() is None
