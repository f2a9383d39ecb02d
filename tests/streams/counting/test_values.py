"""Every value has one meaning."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

from discreet.streams.counting.values import number_of, steps_of, text_of
from discreet.streams.measure import Measure


@pytest.mark.parametrize(
    ("value", "text"),
    [("a", "a"), (1, "1"), (1.0, "1"), (1.5, "1.5"), (-0.0, "0"), (True, ""), (None, ""), ([1], ""),
     (1e300, str(int(1e300)))],
)  # fmt: skip
def test_texts(value: Any, text: str) -> None:
    assert text_of(value) == text


@pytest.mark.parametrize(
    ("value", "number"), [("7", 7), ("x", None), (math.nan, None), (True, None), (3, 3), ({}, None)]
)
def test_numbers(value: Any, number: float | None) -> None:
    assert number_of(value) == number


def test_steps() -> None:
    cost = Measure("sum", "cost", Fraction(-1), Fraction(1))
    assert [steps_of(cost, value) for value in (math.inf, "-inf", "x")] == [*reversed(cost.ends), None]
    assert steps_of(Measure(), None) == 1
