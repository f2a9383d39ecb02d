"""How long a budget lasts: the forecast is that of the ledger, charge by charge."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet.accounting.loss import Loss
from discreet.accounting.tally import RULES, Tally
from discreet.errors import BudgetExceeded, InvalidParameter
from discreet.ledger import Account, open_ledger
from discreet.planning.forecast import forecast


@pytest.mark.parametrize("rule", RULES)
def test_so_many_charges_are_admitted_and_no_more(rule: str) -> None:
    limit = Loss(1, "1e-6")
    with open_ledger(":memory:") as ledger:
        account = Account("data", limit, rule)  # type: ignore[arg-type]
        ledger.charge("before", Loss("1/4"), [account])
        last = ledger.posting("data")
        assert last is not None
        past = last.tally
        (found,) = (one for one in forecast(limit, past, Fraction(1, 50), 500) if one.rule == rule)
        assert 0 < len(found.spent) < 500
        for number in range(len(found.spent)):
            ledger.charge(f"day {number}", Loss("1/50"), [account])
        assert ledger.spent(account).epsilon == found.spent[-1]
        with pytest.raises(BudgetExceeded):
            ledger.charge("one more", Loss("1/50"), [account])


def test_the_most_fits_and_a_little_more_does_not() -> None:
    for one in forecast(Loss(3, "1e-6"), Tally(), Fraction(1), 90):
        assert len(forecast(Loss(3, "1e-6"), Tally(), one.most, 90)[RULES.index(one.rule)].spent) == 90
        more = one.most * Fraction(101, 100)
        assert len(forecast(Loss(3, "1e-6"), Tally(), more, 90)[RULES.index(one.rule)].spent) < 90


def test_without_a_delta_it_is_the_sum() -> None:
    (found,) = forecast(Loss(3), Tally(), Fraction(1, 10), 40)
    assert (found.rule, len(found.spent), found.most) == ("pure", 30, Fraction("0.075"))
    for releases in (0, 10**6):
        with pytest.raises(InvalidParameter):
            forecast(Loss(3), Tally(), Fraction(1), releases)
