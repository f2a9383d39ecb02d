"""Numbers that are vouched for are read exactly, and their intervals hold wherever they lie."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.errors import EngineError, InvalidParameter
from discreet.mechanisms.arrays import take
from discreet.mechanisms.numeric import unbounded_laplace
from discreet.release import vouched

EPSILON = Fraction(1)
ONE = vouched.mechanism(Fraction(1), EPSILON)


def no_noise(scale: Any, size: int) -> Any:
    return np.zeros(size, np.int64)


def ends(value: Any, noise: Any = ONE) -> list[tuple[Fraction, Fraction, Fraction]]:
    numbers = vouched.computed(lambda: value, noise.release)
    release = vouched.answer(numbers, noise, 0.95, "a number", "")
    columns = release.values["value"], release.low["value"], release.high["value"]
    return [tuple(Fraction(each.as_py()) for each in row) for row in zip(*columns, strict=True)]  # type: ignore[misc]


NUMBERS: list[Any] = [
    2**55 + 1, 2**62 + 257, 2**70 + 1, -(2**90) - 1, 10**300, Fraction(2**60) + Fraction(1, 3), Fraction(1, 3), 0, 5,
    0.1, Decimal(2**60 + 1), 1e300, 2.0**45, -1e18, np.int64(2**62 + 1), np.uint64(2**63 + 1), np.float32(0.1),
]  # fmt: skip


@pytest.mark.parametrize("number", NUMBERS, ids=range(len(NUMBERS)))
def test_the_interval_is_around_the_number_itself(number: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # Without noise the interval must reach as far as the noise goes at 95 %, about 3, to both sides of the number.
    monkeypatch.setattr(unbounded_laplace, "laplace", no_noise)
    exact = Fraction(number.item() if isinstance(number, np.generic) else number)
    for given in (number, [number], [number, 0.5], [0.5, number, 7]):
        place = given.index(number) if isinstance(given, list) else 0
        value, low, high = ends(given)[place]
        assert low <= exact - Fraction(29, 10)
        assert high >= exact + Fraction(29, 10)
        assert high - low <= max(Fraction(7), abs(exact) / 2**50)
        assert abs(value - exact) <= max(Fraction(1, 2**19), abs(exact) / 2**52)


def test_the_fault_is_caught_that_far_numbers_are_clipped_and_integers_are_rounded() -> None:
    farthest = 2.0**60 * float(ONE.granularity or 1)
    clipped = np.asarray(2**70, np.float64).clip(-farthest, farthest)
    assert abs(float(clipped) - 2**70) > 10**20, "no interval of half-width 3 holds the truth"
    one, other = (float(np.float64(n)) for n in (2**55 + 3, 2**55 + 5))
    assert other - one == 8, "neighbours 2 apart are released 8 apart"


@pytest.mark.parametrize("offset", [0, 2**55, -(2**62), 2**80])
def test_neighbours_stay_as_near_as_the_sensitivity_says(
    offset: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unbounded_laplace, "laplace", no_noise)
    grid = ONE.granularity
    assert grid is not None
    rows = [[offset + 3, 0.25], [offset + 4, 0.25], [offset + Fraction(7, 2), Fraction(1, 3)]]
    steps = [ONE.release(take(row)) for row in rows]
    moved = [sum(abs(int(a) - int(b)) for a, b in zip(steps[0], other, strict=True)) for other in steps[1:]]
    assert moved[0] * grid == 1
    assert moved[1] * grid <= Fraction(1, 2) + Fraction(1, 12) + grid


def test_an_interval_covers_as_often_as_it_says_far_out() -> None:
    # 4,000 numbers at 95 %: fewer than 3,700 hits, or all of them, have a probability below 1e-9; numbers that are
    # clipped at 2^40 scales have none.
    truth = 2**41 + 1
    found = ends([truth] * 4000, vouched.mechanism(Fraction(1), EPSILON))
    hits = sum(low <= truth <= high for _, low, high in found)
    assert 3700 <= hits < 4000


FAILING: dict[str, Callable[[], Any]] = {
    "masked": lambda: np.ma.array([1.0, 2.0], mask=[True, False]),
    "a boolean": lambda: True,
    "infinite": lambda: [1, float("inf")],
    "text": lambda: "1",
    "nothing": list,
    "beyond doubles": lambda: 10**400,
}


@pytest.mark.parametrize("kind", FAILING)
def test_what_is_no_number_is_withheld(kind: str) -> None:
    with pytest.raises(EngineError) as caught:
        vouched.computed(FAILING[kind], ONE.release)
    assert caught.value.__context__ is None


@pytest.mark.parametrize("sensitivity", ["5e-324", "1e-200", "1e-100", "1e100", "1e200", "1e300"])
@pytest.mark.parametrize("epsilon", ["1e-300", "1", "1e300"])
def test_extreme_scales_are_answered_or_refused_before_the_charge(sensitivity: str, epsilon: str) -> None:
    try:
        noise = vouched.mechanism(Fraction(sensitivity), Fraction(epsilon))
    except InvalidParameter:
        return
    assert len(ends([0.0, 1e300, 10**300, Fraction(1, 3)], noise)) == 4
