"""A ledger composes by the rule that its accounts name, and refuses before it is overspent."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest
from tests.depth import deep

from discreet.accounting import RULES, ZCDP, Homogeneous, Rule, Tally, price
from discreet.errors import BudgetExceeded, InvalidParameter, LedgerCorrupt
from discreet.ledger import Account, Ledger, Loss, Posting, open_ledger

DELTA = Fraction(1, 10**6)
LIMIT = Loss(2, DELTA)


def _fill(ledger: Ledger, account: Account, loss: Loss, most: int = 400) -> int:
    for asked in range(most):
        try:
            ledger.charge(f"{account.name} {asked}", loss, [account])
        except BudgetExceeded:
            return asked
    return most


# The rule is the same on PostgreSQL; test_threads_spend_one_budget refuses there what is too much.
@pytest.mark.parametrize("place", ["memory", "file", pytest.param("postgres", marks=deep)], indirect=True)
def test_how_many_questions_each_rule_lets_through(place: str | None) -> None:
    tenth = Loss("1/20")
    with open_ledger(place) as ledger:
        passed = {rule: _fill(ledger, Account(rule, LIMIT, rule), tenth) for rule in RULES}
        assert passed["pure"] == 40
        zcdp, pld = passed["zcdp"], passed["pld"]
        assert ZCDP(zcdp * Fraction(1, 800)).loss(DELTA / 2).epsilon <= 2
        assert ZCDP((zcdp + 1) * Fraction(1, 800)).loss(DELTA / 2).epsilon > 2
        assert Homogeneous("1/20", pld).loss(DELTA / 4).epsilon <= 2
        assert Homogeneous("1/20", pld + 1).loss(DELTA / 4).epsilon > 2
        assert 40 < zcdp < pld
        for rule in RULES:
            spent = ledger.spent(rule)
            assert spent == ledger.spent(Account(rule, LIMIT, rule))
            assert spent.epsilon <= 2
            assert ledger.spent(Account(rule, LIMIT, rule), tenth).epsilon > 2
        assert ledger.verify() == sum(passed.values())


def test_the_first_question_costs_its_epsilon_under_every_rule() -> None:
    with open_ledger(None) as ledger:
        for rule in RULES:
            ledger.charge("q", Loss(1), [Account(rule, LIMIT, rule)])
            # by pld a millionth less: delta pays for it
            assert 0.999999 < float(ledger.spent(rule).epsilon) <= 1
            with pytest.raises(BudgetExceeded) as caught:
                ledger.charge("q", Loss("3/2"), [Account(rule, LIMIT, rule)])
            assert caught.value.left.startswith("1")


def test_another_epsilon_loses_the_price_of_equal_ones() -> None:
    account = Account("a", LIMIT, "pld")
    with open_ledger(None) as ledger:
        passed = _fill(ledger, account, Loss("1/20"))
        assert _fill(ledger, account, Loss("1/100000"), 1) == 0, (
            "one that differs is refused at the edge of (c)"
        )
    with open_ledger(None) as ledger:
        assert _fill(ledger, account, Loss("1/100000"), 1) == 1
        assert _fill(ledger, account, Loss("1/20")) < passed


def test_deltas_of_questions_take_the_half_that_is_kept_for_them() -> None:
    for rule in ("zcdp", "pld"):
        account = Account("a", LIMIT, rule)
        with open_ledger(None) as ledger:
            assert _fill(ledger, account, Loss("1/1000", DELTA / 10)) == 5
            with pytest.raises(BudgetExceeded, match="delta 0 left"):
                ledger.charge("q", Loss("1/1000", DELTA / 10), [account])


def test_accounts_of_one_charge_may_have_different_rules() -> None:
    house, ana = Account("house", LIMIT, "zcdp"), Account("ana", Loss(1))
    with open_ledger(None) as ledger:
        for at in range(20):
            ledger.charge(str(at), Loss("1/20"), [house, ana])
        with pytest.raises(BudgetExceeded, match="ana"):
            ledger.charge("more", Loss("1/20"), [house, ana])
        assert ledger.spent("ana") == Loss(1)
        assert ledger.verify() == 20


def test_a_rule_may_change_and_sees_the_whole_past() -> None:
    with open_ledger(None) as ledger:
        assert _fill(ledger, Account("a", LIMIT), Loss("1/20")) == 40
        further = _fill(ledger, Account("a", LIMIT, "zcdp"), Loss("1/20"))
        assert further > 0
        past = Tally(Loss(Fraction(40 + further, 20)), Fraction(40 + further, 400), 40 + further)
        assert ledger.spent(Account("a", LIMIT, "zcdp")) == price("zcdp", past, DELTA)
        assert _fill(ledger, Account("a", LIMIT), Loss("1/20")) == 0, "by the sum it is overspent"
        ledger.verify()


def test_no_such_rule() -> None:
    with pytest.raises(InvalidParameter):
        Account("a", LIMIT, "rdp")  # type: ignore[arg-type]
    for rule in ("zcdp", "pld"):
        for delta in (0, 1, 5):
            with pytest.raises(InvalidParameter, match="needs a delta"):
                Account("a", Loss(1, delta), rule)


def test_a_huge_epsilon_is_refused_as_any_other() -> None:
    with open_ledger(None) as ledger:
        for rule in RULES:
            for epsilon in (10, 10**9, 10**18):
                with pytest.raises(BudgetExceeded):
                    ledger.charge("q", Loss(epsilon), [Account(rule, LIMIT, rule)])


@pytest.mark.parametrize(
    "change",
    [
        "rule = 'pld'",
        "rule = 'none'",
        "squares = '0'",
        "squares = '1/0'",
        "squares = ''",
        "charges = 1",
        "charges = 'x'",
    ],
)
def test_what_is_kept_for_a_rule_is_sealed(tmp_path: Path, change: str) -> None:
    path = tmp_path / "ledger.db"
    with open_ledger(path) as ledger:
        _fill(ledger, Account("a", LIMIT, "zcdp"), Loss("1/20"), 4)
        assert ledger.verify() == 4
    with closing(sqlite3.connect(path)) as connection, connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute(f"UPDATE discreet_posting SET {change} WHERE number = 3")
    with pytest.raises(LedgerCorrupt, match="Entry 3"), open_ledger(path) as ledger:
        ledger.verify()


@pytest.mark.parametrize("rule", ["zcdp", "pld"])
def test_a_charge_that_overdraws_with_a_right_hash_is_found(
    rule: Rule, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted fault: a ledger that admits everything writes a sound chain, and verify still finds it."""
    with open_ledger(None) as ledger:
        account = Account("a", LIMIT, rule)
        passed = _fill(ledger, account, Loss("1/20"))
        monkeypatch.setattr("discreet.ledger.admission.admits", lambda *_: True)
        ledger.charge("too much", Loss("1/20"), [account])
        with pytest.raises(
            LedgerCorrupt, match=f"Entry {passed + 1} of the ledger has a wrong total or overdraws"
        ):
            ledger.verify()


def test_a_tally_that_forgets_squares_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another: what would make room without end, a tally that does not grow."""
    account = Account("a", LIMIT, "zcdp")
    with open_ledger(None) as ledger:
        ledger.charge("one", Loss("1/20"), [account])
        monkeypatch.setattr(
            Posting, "tally", property(lambda line: Tally(line.total, Fraction(0), line.count))
        )
        ledger.charge("two", Loss("1/20"), [account])
        monkeypatch.undo()
        with pytest.raises(LedgerCorrupt, match="Entry 2"):
            ledger.verify()
