from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.errors import InvalidParameter
from discreet.mechanisms import Exponential, Laplace, l1
from discreet.noise.distribution import DiscreteLaplace

ROWS = (0, 1, 2)


def largest(query: Any, sets: list[tuple[tuple[int, ...], tuple[int, ...]]]) -> Fraction:
    return max(l1.distance(query(one), query(other)) for one, other in sets)


REPLACED = [
    (one, (*one[:i], new, *one[i + 1 :]))
    for one in itertools.product(ROWS, repeat=3)
    for i in range(3)
    for new in ROWS
]
REMOVED = [(one, one[1:]) for one in itertools.product(ROWS, repeat=3)]


def test_checklist_sensitivities() -> None:
    # ||(1,1,1,1,1)||_1 is 5, whatever is printed elsewhere.
    assert l1.distance([1] * 5, [0] * 5) == 5
    assert l1.proportion(1000) == Fraction(1, 1000)
    assert l1.average(0, 100, 400) == Fraction(1, 4)
    assert l1.histogram("replace_one") == 2
    assert l1.histogram("add_remove") == 1
    assert l1.vector([1] * 5) == 5


def test_they_are_attained_over_all_small_data_sets() -> None:
    bins = lambda rows: [rows.count(value) for value in ROWS]  # noqa: E731
    assert largest(bins, REPLACED) == l1.histogram("replace_one")
    assert largest(bins, REMOVED) == l1.histogram("add_remove")
    assert largest(lambda rows: [sum(rows)], REMOVED) == l1.total(0, 2)
    assert largest(lambda rows: [sum(rows)], REPLACED) == l1.total(0, 2, "replace_one")
    assert largest(lambda rows: [Fraction(sum(rows), 3)], REPLACED) == l1.average(0, 2, 3)
    assert largest(lambda rows: [Fraction(rows.count(1), 3)], REPLACED) == l1.proportion(3)
    assert largest(lambda rows: [rows.count(1)], REPLACED) == l1.count(neighbours="replace_one") == 1
    assert l1.total(-10, 3) == 10
    assert l1.count(4) == 4
    assert l1.histogram("replace_one", 3) == 6


def test_a_sensitivity_meant_per_coordinate_is_seen() -> None:
    # The fault of others: five counts that one unit changes by 1 each, with noise for a change of 1.
    def loss(scale: Fraction) -> float:
        noise = DiscreteLaplace(scale)
        return 5 * float(np.log(noise.pmf(0) / noise.pmf(1)))  # output 0 in all, answers 0 and 1 in all

    assert loss(Laplace(1, 1).scale) == pytest.approx(5)
    assert loss(Laplace(1, l1.vector([1] * 5)).scale) == pytest.approx(1)
    sequences: list[Any] = [[1, 1, 1, 1, 1], (1,), np.ones(5)]
    for each in sequences:
        for mechanism in (Laplace, Exponential):
            with pytest.raises(InvalidParameter, match=r"l1\.vector"):
                mechanism(1, each)


@pytest.mark.parametrize(
    "call",
    [
        lambda: l1.distance([1], [1, 2]), lambda: l1.distance([float("nan")], [1]), lambda: l1.vector([]),
        lambda: l1.vector([0, 0]), lambda: l1.vector([1, -1]), lambda: l1.count(0), lambda: l1.count(1, "swap"),  # type: ignore[arg-type]
        lambda: l1.histogram("both"), lambda: l1.proportion(0), lambda: l1.average(1, 1, 3),  # type: ignore[arg-type]
        lambda: l1.average(0, float("inf"), 3), lambda: l1.total(2, 1), lambda: l1.proportion(2.5),  # type: ignore[arg-type]
    ],
)  # fmt: skip
def test_bad_arguments(call: Any) -> None:
    with pytest.raises(InvalidParameter):
        call()
