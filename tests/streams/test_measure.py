"""Means are two sums that move no further than a count."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.streams.measure import Measure

ends = st.fractions(-1000, 1000, max_denominator=1000)


@given(st.tuples(ends, ends), ends, st.booleans(), st.sampled_from([6, 12, 20]))
def test_a_row_adds_at_most_the_most(
    pair: tuple[Fraction, Fraction], value: Fraction, mean: bool, bits: int
) -> None:
    measure = Measure("x", "x", min(pair), max(pair), mean, bits)
    added = measure.adds(measure.steps(value))
    assert len(added) == measure.parts
    assert sum(map(abs, added)) <= measure.most
    assert sum(one**2 for one in added) <= measure.most**2
    if measure.one_sided:
        assert all(one >= 0 for one in added) or all(one <= 0 for one in added) or measure.lo < 0 < measure.hi


def test_a_count_adds_one() -> None:
    assert (Measure().adds(1), Measure().most, Measure().one_sided) == ((1,), 1, True)
    assert not Measure("s", "s", Fraction(-1), Fraction(1)).one_sided


@pytest.mark.parametrize("value", [0, 3, 10])
def test_both_parts_of_a_mean_add_up_to_its_range(value: int) -> None:
    mean = Measure("m", "m", Fraction(0), Fraction(10), mean=True)
    assert sum(mean.adds(mean.steps(Fraction(value)))) * mean.grid == 10
