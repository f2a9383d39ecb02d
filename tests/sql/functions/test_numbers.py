"""Bins hold every number once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from discreet.sql.functions.numbers import bucket


@given(st.floats(-10, 10), st.integers(1, 50))
def test_every_number_is_in_one_bin(x: float, n: int) -> None:
    place = bucket(x, -3.0, 4.0, n)
    assert (place == 0) == (x < -3)
    assert (place == n + 1) == (x >= 4)
    assert 0 <= place <= n + 1
