"""The law of a mean of sums of released integers, against simulated noise."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.mechanisms.numeric.laplace import float_half_width
from discreet.sql.plan.recalled import Law, Recalled, variance

LAWS: list[tuple[Law, ...]] = [(((10.0, 1),), ((4.0, 6),)), (((7.0, 30),),), (((20.0, 1),), ((20.0, 1),), ((3.0, 90),)),
        (((9.0, 2), (3.0, 11)), ((12.0, 1),))]  # fmt: skip
DRAWS = 40_000


def discrete(draw: np.random.Generator, scale: float, size: tuple[int, ...]) -> np.ndarray:
    """Discrete Laplace noise: the difference of two geometric variables."""
    p = -np.expm1(-1 / scale)
    return draw.geometric(p, size) - draw.geometric(p, size)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("narrower", [1.0, 0.95])
def test_an_interval_covers_as_often_as_it_says(law: tuple[Law, ...], narrower: float) -> None:
    """Coverage has a standard deviation of 0.0011, so 0.007 is 6.4 of them: false alarms below 1e-9.

    A half-width that is 5 % too small covers 0.012 less, which is found with a power of more than 99.9 %.
    """
    draw, own = np.random.default_rng(5), Recalled((law,))
    noise = sum(
        weight * discrete(draw, scale, (DRAWS, count)).sum(axis=1)
        for weight, pairs in zip(own.weights[0], law, strict=True)
        for scale, count in pairs
    )
    width = own.half_width(np.ones(1), 0, 0.95)
    seen = float(np.mean(np.abs(noise) <= narrower * width))
    assert (abs(seen - 0.95) < 0.007) == (narrower == 1.0)
    assert np.var(noise) == pytest.approx(variance(law), rel=0.1)
    again = own.half_widths(np.ones((1, 1)), np.zeros(1, np.intp), 0.95)
    assert again[0] == pytest.approx(width, rel=0.03)
    assert np.var(own.sample_noise(0, (DRAWS,), np.random.default_rng(7))) == pytest.approx(
        variance(law), rel=0.1
    )


def test_one_integer_alone_has_the_interval_of_its_release() -> None:
    assert Recalled(((((10.0, 1),),),)).half_width(np.array([2.0]), 0, 0.95) == 2 * float_half_width(
        10.0, 0.05
    )


def test_no_other_weights_have_less_variance() -> None:
    law = LAWS[0]
    weights = Recalled((law,)).weights[0]
    own = variance(law)
    for shift in (-0.1, 0.1):
        other = weights + np.array([shift, -shift])
        assert sum(w**2 * 2 * s * s * m for w, ((s, m),) in zip(other, law, strict=True)) > own
