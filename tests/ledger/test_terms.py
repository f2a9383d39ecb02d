"""The terms of an analyst's budget are seen in the transaction of the charge, and refuse before it."""

from __future__ import annotations

from fractions import Fraction

import pyarrow as pa
import pytest

import discreet as dp
from discreet.accounting.loss import Loss
from discreet.errors import BudgetExceeded
from discreet.ledger.terms import Terms
from discreet.release.account import DataAccount
from discreet.session.analyst import AnalystSession

COUNT = "SELECT COUNT(*) AS n FROM data"


def session() -> dp.Session:
    return dp.protect(pa.table({"age": [31, 47, 62]}), privacy_unit="row", bounds={"age": (0, 120)}, budget=5)


def test_a_question_may_cost_no_more_than_its_cap() -> None:
    with session() as whole:
        ana = AnalystSession(whole, "ana", 2, most="0.1")
        with pytest.raises(BudgetExceeded, match=r"one question of analyst ana has epsilon 0\.1 left"):
            ana.sql(COUNT, epsilon="0.11")
        assert not whole.ledger.entries()
        ana.sql(COUNT, epsilon="0.1")
        ben = AnalystSession(whole, "ben", 2, most="0.05")
        with pytest.raises(BudgetExceeded, match="one question of analyst ben"):
            ben.sql(COUNT, epsilon="0.1")  # an answer that ana bought is one for ben too
        assert ana.budget.spent == Fraction(1, 10)
        assert ben.budget.spent == 0


def test_a_preview_says_that_the_cap_will_refuse_and_the_refusal_names_it() -> None:
    with session() as whole:
        ana = AnalystSession(whole, "ana", 2, most="0.1")
        assert "one question may cost you epsilon 0.1 at most" in str(ana.preview(COUNT, epsilon="0.2"))
        assert not ana.preview(COUNT, epsilon="0.1").warnings
        assert not whole.preview(COUNT, epsilon="0.2").warnings
        with pytest.raises(BudgetExceeded, match=r"Ask with epsilon 0\.1 at most"):
            ana.sql(COUNT, epsilon="0.2")
        assert "epsilon 0.1 at most" in str(ana.preview_workload({"a": COUNT}, epsilon="0.2"))


def test_nothing_is_charged_after_the_end_and_answers_stay() -> None:
    with session() as whole:
        now = [1000.0]
        ana = AnalystSession(whole, "ana", 2, until=2000)
        object.__setattr__(ana.terms, "clock", lambda: now[0])
        release = ana.sql(COUNT, epsilon="0.1")
        now[0] = 2000.0
        with pytest.raises(BudgetExceeded, match="has ended") as caught:
            ana.sql(COUNT, epsilon="0.2")
        assert caught.value.charged is None
        assert ana.again(COUNT, epsilon="0.1")["n"] == release["n"]
        assert len([one for one in whole.ledger.entries() if one.kind == "charge"]) == 1


def test_without_the_look_in_the_transaction_a_cap_does_not_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault."""
    monkeypatch.setattr(DataAccount, "_see_terms", lambda *_: None)
    with pytest.raises(pytest.fail.Exception):
        test_a_question_may_cost_no_more_than_its_cap()


def test_terms_are_equal_by_their_content() -> None:
    assert Terms(Fraction(1), until=5) == Terms(Fraction(1), until=5)
    Terms(Fraction(1)).see("analyst ana", Loss(100))  # the limit itself is the account's
