"""Rounding goes to the safe side of the truth, by little."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.accounting import rounding
from discreet.errors import InvalidParameter


@given(st.floats(1e-300, 1e300))
def test_a_loss_is_rounded_up_and_a_permission_down(value: float) -> None:
    exact = Fraction(value)
    assert exact < rounding.up(value) <= exact * (1 + Fraction(1, 2**40))
    assert exact * (1 - Fraction(1, 2**40)) <= rounding.down(value) < exact


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_a_loss_that_is_infinite_is_refused(value: float) -> None:
    with pytest.raises(InvalidParameter):
        rounding.up(value)


def test_a_permission_is_never_below_zero() -> None:
    assert rounding.down(-1.0) == rounding.down(0.0) == 0


@pytest.mark.parametrize(
    ("value", "ends"), [(-0.1, {}), (1.1, {}), (0, {"zero": False}), (1, {"one": False}), ("x", {})]
)
def test_a_fraction_outside_its_range_is_refused(value: Any, ends: dict[str, bool]) -> None:
    assert rounding.fraction_of_one(0, "q") == 0
    assert rounding.fraction_of_one(1, "q") == 1
    with pytest.raises(InvalidParameter, match="q"):
        rounding.fraction_of_one(value, "q", **ends)


@pytest.mark.parametrize("value", [0, -1, 1.0, True, "3"])
def test_a_number_that_is_not_whole_is_refused(value: Any) -> None:
    assert rounding.whole(3, "k") == 3
    with pytest.raises(InvalidParameter, match="k"):
        rounding.whole(value, "k")
