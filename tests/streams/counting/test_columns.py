"""Columns mean the same as values; `test_add` has the whole, here are the corners."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.streams import Measure
from discreet.streams.counting import values
from discreet.streams.counting.columns import steps_of, units_of
from tests.depth import examples

MEASURES = [
    Measure("sum", "x", Fraction(-10), Fraction(500)),
    Measure("sum", "x", Fraction(1, 10), Fraction(1, 3)),
    Measure("sum", "x", Fraction(0), Fraction(1 << 70)),
    Measure("sum", "x", Fraction(-1, 10**30), Fraction(0)),
    Measure("mean", "x", Fraction(5), Fraction(5), mean=True),
]


@pytest.mark.parametrize("measure", MEASURES)
@settings(max_examples=examples(20, 100))
@given(
    numbers=st.lists(st.floats() | st.floats(-1, 1) | st.integers(-(10**9), 10**9).map(float), max_size=20)
)
def test_doubles_have_the_steps_of_their_exact_values(measure: Measure, numbers: list[float]) -> None:
    halves = [float((k + Fraction(1, 2)) * measure.grid) for k in (-1, 0, 1, 7)]
    numbers = numbers + halves + [np.nextafter(half, end) for half in halves for end in (-np.inf, np.inf)]
    steps, known = steps_of(pa.array(numbers, pa.float64()), measure)
    wanted = [values.steps_of(measure, number) for number in numbers]
    assert known.tolist() == [one is not None for one in wanted]
    assert steps[known].tolist() == [one for one in wanted if one is not None]


def test_units_that_are_spelt_alike_are_one() -> None:
    columns = [
        (pa.array([0.0, -0.0, 1.0, None, 1.5]), ["0", "0", "1", None, "1.5"]),
        (pa.chunked_array([["a", ""], ["a", None]]), ["a", None, "a", None]),
        (pa.array(["x", "", "a", None, "b"]).slice(1), [None, "a", None, "b"]),
        (pa.array([], pa.string()), []),
        (pa.array([True, None, False]), [None] * 3),
    ]
    for column, wanted in columns:
        places, texts = units_of(column)
        assert [None if at < 0 else texts[int(at)].as_py() for at in places] == wanted
