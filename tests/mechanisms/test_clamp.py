from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.errors import InvalidParameter
from discreet.mechanisms import Laplace, clamp, clamp_bias
from discreet.noise.distribution import DiscreteLaplace


@pytest.mark.parametrize("scale", [0.5, 3, 20])
@pytest.mark.parametrize(
    ("value", "low", "high"), [(0, 0, None), (3, 0, 10), (10, None, 10), (5, 0, 10), (4, 2, 5)]
)
def test_the_bias_is_the_sum_over_the_law(scale: Any, value: int, low: Any, high: Any) -> None:
    noise = DiscreteLaplace(Fraction(scale))
    z = np.arange(-1500, 1501)
    answers = np.clip(value + z, -math.inf if low is None else low, math.inf if high is None else high)
    bias = float((noise.pmf(z) * (answers - value)).sum())
    assert float(clamp_bias(noise, value, low, high)) == pytest.approx(bias, abs=1e-9)


def test_the_bias_on_a_grid_and_in_the_limit() -> None:
    fine = Laplace(0.5, 1, granularity=2**-12).distribution
    for value in (0.0, 1.0, 2.5):
        limit = (math.exp(-value / 2) - math.exp(-(4 - value) / 2)) * 2 / 2
        assert float(clamp_bias(fine, value, 0, 4)) == pytest.approx(limit, abs=1e-3)
    assert clamp_bias(fine, [0.0, 2.0, 4.0], 0, 4).tolist()[1] == 0
    assert clamp_bias(fine, [0.0, 2.0]).tolist() == [0, 0]


def test_clamping_costs_nothing_and_drawing_again_does() -> None:
    # Answers 0 and 1 at epsilon 1, bounds 0 and 2. Clamped: the masses outside are added at the bounds.
    noise, z = DiscreteLaplace(Fraction(1)), np.arange(-400, 401)

    def clamped(f: int) -> Any:
        return np.bincount(np.clip(f + z, 0, 2), weights=noise.pmf(z), minlength=3)

    def again(f: int) -> Any:  # planted fault: the noise is drawn until the answer lies within the bounds
        inside = noise.pmf(np.arange(3) - f)
        return inside / inside.sum()

    assert np.abs(np.log(clamped(0) / clamped(1))).max() <= 1 + 1e-9
    assert np.abs(np.log(again(0) / again(1))).max() > 1.1


def test_types_and_shapes() -> None:
    assert clamp(5, 0, 3) == 3
    assert type(clamp(5, 0, 3)) is int
    assert clamp(-0.5, low=0) == 0.0
    assert type(clamp(-0.5, low=0)) is float
    assert clamp(7) == 7
    array = np.array([[-4, 9], [2, 3]])
    assert clamp(array, 0, 5).tolist() == [[0, 5], [2, 3]]
    assert clamp(array, Fraction(1, 2), "7/2").tolist() == [[1, 3], [2, 3]]
    assert clamp(array).dtype == np.int64
    assert clamp(np.array([0.25, 0.75]), 0.5).tolist() == [0.5, 0.75]
    released = Laplace(0.1).release(np.zeros(1000, int))
    assert clamp(released, low=0).min() == 0
    assert (clamp(released, low=0)[released >= 0] == released[released >= 0]).all()


@pytest.mark.parametrize("bounds", [(3, 2), (float("nan"), 1), (0, float("inf")), ("x", 1), (True, 3)])
def test_bad_bounds(bounds: Any) -> None:
    with pytest.raises(InvalidParameter):
        clamp(1, *bounds)


def test_bad_values() -> None:
    for bad in ("x", None, [True], [None]):
        with pytest.raises(InvalidParameter):
            clamp(bad, 0)
    with pytest.raises(InvalidParameter, match="outside"):
        clamp_bias(DiscreteLaplace(Fraction(1)), -1, low=0)
    with pytest.raises(InvalidParameter, match="above"):
        clamp(1, "1/3", "2/3")  # no integer lies between
