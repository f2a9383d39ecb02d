"""An account admits what fits, and the words of a refusal hold the loss asked for and the loss left."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting.events import LaplaceNoise
from discreet.errors import BudgetExceeded
from discreet.ledger import Account, Entry, Ledger, Loss, open_ledger
from discreet.ledger.admission import admit_charge, priced
from discreet.ledger.rows import TableRows
from discreet.ledger.store import LedgerRows, MemoryStore


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


def test_a_budget_that_grants_less_delta_than_was_spent_names_the_delta() -> None:
    store = rows_after(Account("a", Loss(1, 1e-6)), Loss("0.1", 1e-6))
    with pytest.raises(BudgetExceeded, match="Delta 1e-06 was spent already") as refused:
        store.read(lambda rows: admit_charge(rows, Account("a", Loss(1)), Loss("0.1")))
    assert (refused.value.asked, refused.value.left) == ("0.1 and delta 0", "0.9 and delta 0")


def test_an_event_is_priced_and_a_loss_is_itself() -> None:
    assert priced(Loss(1)) == (Loss(1), "")
    loss, text = priced(LaplaceNoise(10, neighbours="add_remove"))
    assert loss == Loss("0.1")
    assert "LaplaceNoise" in text


NAMES = ("data set", "ana", "ben", "eve")


def filled(ledger: Ledger) -> dict[str, Entry | None]:
    """Charges and settlements of several accounts, and the last charge of each that says its guarantee."""
    rng = random.Random(3)
    for at in range(40):
        own = [Account(name, Loss(99)) for name in ("data set", rng.choice(NAMES[1:3]))]
        charge = ledger.charge(f"question {at}", Loss(0.1), own, guarantee="" if at % 7 == 0 else "{}")
        if at % 3:
            ledger.settle(charge, b"1")
    right = dict.fromkeys(NAMES)
    for entry in ledger.entries():
        right.update({line.account: entry for line in entry.postings if entry.guarantee})
    return right


def found_in(ledger: Ledger) -> dict[str, Entry | None]:
    return {name: ledger.latest(name) for name in NAMES}


@pytest.mark.parametrize("place", ["", "ledger.db"])
def test_the_last_charge_of_an_account_is_found_without_a_walk(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_ledger(tmp_path / place if place else None) as ledger:
        right = filled(ledger)
        assert right["ana"] is not None
        assert found_in(ledger) == right
        ledger.charge("another", Loss(0.1), [Account("ana", Loss(99))], guarantee="{}")
        for at in range(50):
            ledger.charge(f"many {at}", Loss(0.1), [Account("ben", Loss(99))], guarantee="{}")
        kept = ledger.latest("ana")
        read: list[int] = []
        if place:
            after = TableRows.after

            def noted(self: TableRows, number: int, count: int) -> list[Entry]:
                read.append(count)
                return after(self, number, count)

            monkeypatch.setattr(TableRows, "after", noted)
        assert ledger.latest("ana") == kept == next(e for e in ledger.entries() if e.question == "another")
        assert max(read[:1], default=1) == 1


@pytest.mark.parametrize("place", ["", "ledger.db"])
def test_an_index_that_names_another_entry_misleads_nobody(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted fault: the index of postings names an earlier charge, a settlement, or nothing."""
    with open_ledger(tmp_path / place if place else None) as ledger:
        right = filled(ledger)
        first, second, *_ = ledger.entries()
        rows = type(ledger._store.read(lambda rows: rows))
        for wrong in (first, second, None):
            named: list[LedgerRows] = []

            def posted(
                self: LedgerRows, _: str, wrong: Entry | None = wrong, named: list[LedgerRows] = named
            ) -> Entry | None:
                named.append(self)
                return wrong

            monkeypatch.setattr(rows, "posted", posted)
            assert found_in(ledger) == right
            assert named
