"""Losses are exact, and what is not exactly representable is rounded against the analyst."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting import UNIT, ZCDP, Loss
from discreet.accounting.loss import at_least, at_most
from discreet.errors import InvalidParameter

rationals = st.fractions(min_value=0, max_value=10**6) | st.floats(0, 1e6).map(Fraction)


def test_what_is_kept_exactly() -> None:
    for value in ("0.1", "0.123456789012345678", "1/3", "17/63", "1/64", Fraction(1, 2**60), 0.1, 3):
        loss = Loss(value, value)
        assert loss.rounded_up() == loss == loss.rounded_down()


@given(rationals, rationals)
def test_rounding_is_up_for_losses_and_by_less_than_a_unit(epsilon: Fraction, delta: Fraction) -> None:
    loss = Loss(epsilon, delta)
    up, down = loss.rounded_up(), loss.rounded_down()
    assert down.within(loss)
    assert loss.within(up)
    for name in ("epsilon", "delta"):
        assert getattr(up, name) - getattr(loss, name) < Fraction(1, UNIT)
        assert getattr(loss, name) - getattr(down, name) < Fraction(1, UNIT)
        assert UNIT % getattr(up, name).denominator == 0


@given(rationals, rationals)
def test_rounding_the_limit_down_changes_no_decision(spent: Fraction, limit: Fraction) -> None:
    total = Loss(spent).rounded_up()
    assert total.within(Loss(limit)) == total.within(Loss(limit).rounded_down())


@given(st.integers(0, 10**6 * UNIT) | st.integers(0, 10**20))
def test_words_never_promise_more_than_is_left(units: int) -> None:
    value = Fraction(units, UNIT)  # whatever the ledger says is such a multiple
    low, high = Fraction(at_most(value)), Fraction(at_least(value))
    assert low <= value <= high
    assert high - low <= value / 10**8


def test_a_sum_of_many_denominators_stays_short() -> None:
    total = Loss(0)
    for q in range(1, 2000):
        total += Loss(Fraction(1, q)).rounded_up()
    assert total.epsilon.denominator <= UNIT < 10**55
    exact = sum(Fraction(1, q) for q in range(1, 2000))
    assert 0 <= total.epsilon - exact < Fraction(2000, UNIT)


@pytest.mark.parametrize("bad", [-1, "-1/3", float("nan"), float("inf"), 10**18 + 1, "x", True, None])
def test_no_loss(bad: Any) -> None:
    for arguments in ((bad,), (1, bad)):
        with pytest.raises(InvalidParameter):
            Loss(*arguments)


@settings(deadline=None)
@given(st.fractions(0, 10**6, max_denominator=10**40), st.fractions(0, 1, max_denominator=10**40))
def test_losses_print_as_people_read_them_and_never_smaller_than_they_are(
    epsilon: Fraction, delta: Fraction
) -> None:
    loss, concentrated = Loss(epsilon, delta), ZCDP(epsilon, delta)
    for text in (str(loss), repr(loss), str(concentrated), repr(concentrated)):
        assert "/" not in text
        assert all(len(number.replace(".", "").lstrip("0")) <= 10 for number in re.findall(r"[0-9.]+", text))
        said = [Fraction(number) for number in re.findall(r"[0-9][0-9.e+-]*", text)]
        for exactly, number in zip((epsilon, delta), said, strict=False):
            assert exactly <= number <= exactly * (1 + Fraction(1, 10**8))
    assert str(Loss("1/3")) == "epsilon 0.333333334"
    assert repr(Loss("0.1", "1e-9")) == "Loss(0.1, 1e-09)"
