"""The picture of a budget, some releases ahead."""

from __future__ import annotations

from fractions import Fraction

from discreet.accounting.loss import Loss
from discreet.accounting.tally import Tally
from discreet.planning.forecast import forecast
from discreet.plots.budget import spending


def test_each_accountant_has_its_line_and_its_end() -> None:
    found = forecast(Loss(3, "1e-6"), Tally(), Fraction(1, 10), 60)
    drawn = str(spending(found, Fraction(3), Fraction(1, 10), 60).to_dict())
    assert "pure: 30 of 60 fit, zcdp: 35 of 60 fit, pld: 42 of 60 fit" in drawn
    nothing = forecast(Loss(3), Tally(), Fraction(5), 60)
    assert "pure: 0 of 60 fit" in str(spending(nothing, Fraction(3), Fraction(5), 60).to_dict())
