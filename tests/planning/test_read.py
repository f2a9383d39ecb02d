"""The parameters of a plan are positive, finite and of a size that doubles can square."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InvalidParameter
from discreet.planning import read


@pytest.mark.parametrize(
    ("reader", "bad"),
    [
        (
            lambda v: read.above_zero(v, "x"),
            [0, -1, float("inf"), float("nan"), "1e31", "1e-31", "many", None],
        ),
        (read.epsilon, [0, -1, 1e7, "1e-16", "much", None]),
        (lambda v: read.probability(v, "x"), [0, 1, -0.1, 1.5, "likely", None]),
        (read.people, [0, -1, 1.5, "3", True, None]),
        (read.sensitivity_of, ["", "replace", "ADD_REMOVE"]),
    ],
)
def test_a_value_that_no_plan_takes_is_refused(reader: Callable[[Any], object], bad: list[Any]) -> None:
    for value in bad:
        with pytest.raises(InvalidParameter) as refused:
            reader(value)
        assert refused.value.fix


def test_a_value_is_read_as_its_shortest_decimal() -> None:
    assert read.above_zero("2.5", "x") == 2.5
    assert read.epsilon(0.1) == 0.1
    assert read.probability(0.05, "x") == 0.05
    assert read.people(7) == 7
    assert (read.sensitivity_of("add_remove"), read.sensitivity_of("replace_one")) == (1, 2)


@given(st.integers(1, 10**9))
def test_a_whole_number_that_floats_put_a_little_too_high_is_itself(n: int) -> None:
    assert read.least_whole(float(n)) == read.least_whole(math.nextafter(n, math.inf)) == n
    assert read.least_whole(n + 0.01) == n + 1
