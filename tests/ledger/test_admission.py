"""An account admits what fits, and the words of a refusal hold the loss asked for and the loss left."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting.events import LaplaceNoise
from discreet.errors import BudgetExceeded
from discreet.ledger import Account, Ledger, Loss
from discreet.ledger.admission import admit_charge, priced
from discreet.ledger.store import MemoryStore


def rows_after(account: Account, *losses: Loss) -> MemoryStore:
    """A store in which the account was charged."""
    store = MemoryStore()
    ledger = Ledger(store)
    for at, loss in enumerate(losses):
        ledger.charge(f"question {at}", loss, [account])
    return store


@settings(deadline=None)
@given(st.lists(st.integers(0, 40), max_size=6), st.integers(0, 40))
def test_a_charge_is_admitted_exactly_when_it_fits(tenths: list[int], cost: int) -> None:
    account = Account("a", Loss(10))
    before: list[int] = []
    for one in tenths:
        if sum(before) + one <= 100:
            before.append(one)
    store = rows_after(account, *(Loss(Fraction(one, 10)) for one in before))

    def ask() -> Loss:
        return store.read(lambda rows: admit_charge(rows, account, Loss(Fraction(cost, 10)))).spent

    if sum(before) + cost <= 100:
        assert ask() == Loss(Fraction(sum(before) + cost, 10))
    else:
        with pytest.raises(BudgetExceeded) as refused:
            ask()
        assert float(refused.value.asked) == cost / 10
        assert float(refused.value.left) == (100 - sum(before)) / 10


def test_a_delta_that_was_not_granted_names_the_fix() -> None:
    account = Account("a", Loss(1))
    with pytest.raises(BudgetExceeded, match="No delta is granted"):
        MemoryStore().read(lambda rows: admit_charge(rows, account, Loss("0.1", "1e-9")))


def test_an_event_is_priced_and_a_loss_is_itself() -> None:
    assert priced(Loss(1)) == (Loss(1), "")
    loss, text = priced(LaplaceNoise(10, neighbours="add_remove"))
    assert loss == Loss("0.1")
    assert "LaplaceNoise" in text
