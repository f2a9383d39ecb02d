"""Numbers are read exactly, in the spellings that people use, and never at the cost of their size."""

from __future__ import annotations

import contextlib
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import mechanisms as m
from discreet import rational
from discreet.accounting import ZCDP, Loss
from discreet.errors import InvalidParameter
from discreet.rational import LARGEST, SMALLEST, decimal, epsilon_of, exact, show

READERS = (exact, decimal)


@settings(deadline=None)
@given(st.fractions(), st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_are_read_exactly(rational: Fraction, double: float) -> None:
    for read in READERS:
        assert read(rational) == read(str(rational)) == rational
    assert exact(double) == Fraction(double)
    assert decimal(double) == Fraction(repr(double)) == decimal(repr(double))


@pytest.mark.parametrize(
    ("text", "value"),
    [("1/3", Fraction(1, 3)), (" 0.1 ", Fraction(1, 10)), ("+2", 2), (".5", Fraction(1, 2)), ("5.", 5),
     ("1e-9", Fraction(1, 10**9)), ("-1.5E3", -1500), ("0e9", 0)],
)  # fmt: skip
def test_spellings(text: str, value: Fraction) -> None:
    assert exact(text) == decimal(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "1_0",
        "٣",
        "1/0",
        "1 / 3",
        "0x10",
        "nan",
        "inf",
        "",
        " ",
        "1e",
        "--1",
        "1e+-1",
        "½",
        "1/3/4",
        "9" * 5000,
    ],
)
def test_other_spellings_are_refused(text: str) -> None:
    for read in READERS:
        with pytest.raises(InvalidParameter, match="not a number"):
            read(text)


HUGE: list[Any] = [
    "1e20000000", "1e-20000000", "1e400", "-1e400", "1e-400", "1e1100", Decimal("1e20000000"), Decimal("1e-20000000"),
    Decimal("1e400"), Decimal("9" * 3000), 10**400, -(10**400), Fraction(1, 10**400), int(LARGEST), SMALLEST / 2,
]  # fmt: skip


@pytest.mark.parametrize("value", HUGE, ids=range(len(HUGE)))
def test_what_no_double_holds_is_refused_before_its_digits_are_made(
    value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []

    def fraction(*given: Any) -> Fraction:
        found = Fraction(*given)
        made.append(found.numerator.bit_length() + found.denominator.bit_length())
        return found

    given = (
        max(value.numerator.bit_length(), value.denominator.bit_length())
        if isinstance(value, int | Fraction)
        else 0
    )
    monkeypatch.setattr(rational, "Fraction", fraction)
    for read in READERS:
        with pytest.raises(InvalidParameter, match="range of doubles"):
            read(value)
    assert max(made, default=0) <= max(2 * given, 10_000), "no more bits than were handed over"


def test_the_fault_is_caught_that_a_short_text_makes_a_long_integer() -> None:
    assert Fraction("1e20000").numerator.bit_length() > 60_000, "and of 1e20000000 it takes twenty seconds"


def test_a_long_double_is_refused_rather_than_rounded() -> None:
    third = np.longdouble(1) / 3
    if third != float(third):
        with pytest.raises(InvalidParameter, match="longdouble"):
            exact(third)


def test_everything_that_is_read_can_be_written() -> None:
    for value in (SMALLEST, LARGEST - 1, Fraction(0), -SMALLEST, Fraction(10**400), Fraction(-1, 10**400)):
        assert show(value)
    assert [show(Fraction(n, 3 * 10**400)) for n in (1, -2)] == ["3.33333e-401", "-6.66667e-401"]
    assert show(Fraction(2**64)) == "1.84467e+19"


ENDS = [
    "5e-324",
    "1e-300",
    "1e-30",
    "1e-9",
    "0.5",
    "1",
    "10",
    "1e18",
    "1e30",
    "1e300",
    "1.7e308",
    "1e400",
    "0",
    "-1",
]
BUILDERS: dict[str, Any] = {
    "Laplace": lambda a, b: m.Laplace(a, b).error(),
    "DiscreteGaussian": lambda a, b: (m.DiscreteGaussian(a, b).error(), m.DiscreteGaussian(a, b).variance),
    "Exponential": lambda a, b: m.Exponential(a, b).error(3),
    "PermuteAndFlip": lambda a, b: m.PermuteAndFlip(a, b).release([1, 2]),
    "NoisyMax": lambda a, b: m.NoisyMax(a, b).error(3),
    "AboveThreshold": lambda a, b: m.AboveThreshold(a, b).error(3),
    "Staircase": lambda a, b: m.Staircase(a, b).error(),
    "LocalLaplace": lambda a, b: m.LocalLaplace(a, 0, b).release([1.0]),
    "LocalLaplace, bounds": lambda a, b: m.LocalLaplace(1, a, b).release([1.0]),
    "RandomizedResponse": lambda a, b: m.RandomizedResponse(a, 3).release([1]),
    "ZCDP.loss": lambda a, b: ZCDP(a).loss(b),
    "ZCDP.delta_at": lambda a, b: ZCDP(a).delta_at(b),
    "ZCDP.gaussian": lambda a, b: ZCDP.gaussian(a, b).loss("1e-9"),
    "Loss": lambda a, b: str(Loss(a, b)),
    "epsilon": lambda a, b: epsilon_of(a),
}


@pytest.mark.parametrize("name", BUILDERS)
@pytest.mark.filterwarnings("error")
def test_extreme_parameters_are_answered_or_refused_by_name(name: str) -> None:
    for a in ENDS:
        for b in ENDS:
            with contextlib.suppress(InvalidParameter):
                BUILDERS[name](a, b)


def test_a_delta_that_no_double_holds_is_rounded_up_and_not_to_zero() -> None:
    assert ZCDP("1e-3").delta_at(100) > 0
    assert ZCDP("1e-300").loss("1e-9").epsilon > 0
