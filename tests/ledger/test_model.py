"""Random histories of charges and settlements, against a model of a few lines with Fractions.

The model knows nothing of transactions, totals or rounding: it adds up. Histories of up to 40 steps with
losses from a coarse grid hit limits exactly often; a check that is off by one unit, forgets an account or
writes part of a refused charge is found within a few histories (shown for a planted `<` below).
"""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.depth import examples
from tests.servers import new_schema

from discreet.errors import BudgetExceeded
from discreet.ledger import Account, Charge, Ledger, Loss, open_ledger

LIMITS = {"a": Loss(1, "1/10"), "b": Loss("3/10", 1), "c": Loss("7/3", 0)}
losses = st.builds(
    Loss,
    st.sampled_from([Fraction(0), Fraction(1, 10), Fraction(1, 3), Fraction(3, 7), Fraction(1)]),
    st.sampled_from([Fraction(0), Fraction(0), Fraction(0), Fraction(1, 30)]),
)
charges = st.tuples(losses, st.lists(st.sampled_from(sorted(LIMITS)), min_size=1, unique=True))
histories = st.lists(charges | st.integers(0, 9), max_size=40)


def follow(ledger: Ledger, history: list[tuple[Loss, list[str]] | int]) -> None:
    spent = {name: (Fraction(0), Fraction(0)) for name in LIMITS}
    granted: list[Charge] = []
    settled: dict[str, bytes] = {}
    written = 0
    for step, action in enumerate(history):
        if isinstance(action, int):  # settle the charge of that place, if it is there
            if action < len(granted):
                answer = f"answer {step}".encode()
                charge = granted.pop(action)
                ledger.settle(charge, answer)
                settled.setdefault(charge.question, answer)
                written += 1
        else:
            loss, names = action
            after = {n: (spent[n][0] + loss.epsilon, spent[n][1] + loss.delta) for n in names}
            fits = all(e <= LIMITS[n].epsilon and d <= LIMITS[n].delta for n, (e, d) in after.items())
            question = f"q{loss.epsilon}"
            accounts = [Account(n, LIMITS[n]) for n in names]
            if fits:
                granted.append(ledger.charge(question, loss, accounts))
                spent |= after
                written += 1
            else:
                with pytest.raises(BudgetExceeded):
                    ledger.charge(question, loss, accounts)
        for name, (epsilon, delta) in spent.items():
            assert ledger.spent(name) == Loss(epsilon, delta)
    for asked in ("0", "1/10", "1/3", "3/7", "1"):
        assert ledger.replay(f"q{asked}") == settled.get(f"q{asked}")
    assert ledger.verify() == len(ledger.entries()) == written


@given(histories)
@settings(max_examples=examples(60, 150), deadline=None)
def test_in_memory(history: list[tuple[Loss, list[str]] | int]) -> None:
    with open_ledger(None) as ledger:
        follow(ledger, history)


@given(histories)
@settings(
    max_examples=examples(15, 25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_in_a_file(
    tmp_path_factory: pytest.TempPathFactory, history: list[tuple[Loss, list[str]] | int]
) -> None:
    with open_ledger(tmp_path_factory.mktemp("model") / "ledger.db") as ledger:
        follow(ledger, history)


@given(histories)
@settings(max_examples=examples(10, 15), deadline=None)
def test_in_postgresql(history: list[tuple[Loss, list[str]] | int]) -> None:
    with open_ledger(new_schema()) as ledger:
        follow(ledger, history)


def test_the_model_finds_a_limit_that_cannot_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Loss, "within", lambda self, limit: self.epsilon < limit.epsilon)
    tenth: list[tuple[Loss, list[str]] | int] = [(Loss("1/10"), ["b"])] * 3
    with open_ledger(None) as ledger, pytest.raises(BudgetExceeded):
        follow(ledger, tenth)
