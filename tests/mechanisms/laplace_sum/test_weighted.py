"""How wide sums of Laplace variables are, against direct simulation and against each other."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.mechanisms.laplace_sum.equal import tail as equal_tail
from discreet.mechanisms.laplace_sum.weighted import reach, standard_reach, tail
from tests.depth import DEEP, few, in_turn

SAMPLES = 250_000 if DEEP else 100_000
WEIGHTS = [[1.0], [1, 1], [1, 0.5, 0.2], [1, 1, 1, 1], [1] * 7, [1] * 40, [1, 0.5, 0.2, 0.1, 0.7], [1] + [0.2] * 8,
           [1, 1, 1, 0.1, 0.1, 0.1], [1] + [0.01] * 6, [1] * 200, [1] * 10 + [0.1] * 100]  # fmt: skip


# A deep run asks all weights at each confidence.
@pytest.mark.parametrize(
    ("weights", "confidence"),
    few(in_turn(WEIGHTS, [0.8, 0.95, 0.99]), 6),
    ids=lambda w: f"{len(w)} from {w[0]:g} to {w[-1]:g}" if isinstance(w, list) else str(w),
)
def test_half_widths_have_their_confidence(weights: list[float], confidence: float) -> None:
    """Power: 100,000 samples have a standard error of 0.13 points at 80 % and 0.03 at 99 %, so a confidence that is off
    by a point is found for sure. No false alarms: the seed is fixed; the largest deviation is 0.3 points.
    A deep run draws 250,000, whose standard errors are 0.08 and 0.02 points.
    """
    rng = np.random.default_rng(1)
    total = sum(w * rng.laplace(size=SAMPLES) for w in weights)
    width = float(reach(np.array(weights, dtype=np.float64), confidence))
    assert abs(np.mean(np.abs(total) <= width) - confidence) < 0.005


def test_the_tail_of_equal_weights_is_that_of_partial_fractions() -> None:
    for n in (1, 2, 3):
        for t in (0.1, 1.0, 5.0, 20.0):
            exact = float(tail(np.ones(n), np.array(t)))
            assert equal_tail(n, t) == pytest.approx(exact, abs=1e-4)
    assert equal_tail(1, 2.0) == pytest.approx(math.exp(-2))
    assert equal_tail(30, 0.0) == pytest.approx(1)


def test_widths_grow_from_normal_to_laplace() -> None:
    effective = np.array([1e9, 40, 10, 3, 1])
    widths = standard_reach(effective, 0.99)
    assert widths[0] == pytest.approx(2.5758, abs=1e-4)
    assert widths[-1] == pytest.approx(math.log(100) / math.sqrt(2))
    assert np.all(np.diff(widths) > 0)


def test_weights_as_large_as_doubles_have_a_width_without_a_warning() -> None:
    for size in (1, 2, 3, 9):
        plain = reach(np.linspace(0.5, 1, size), 0.95)
        assert reach(np.linspace(0.5, 1, size) * 1e300, 0.95) == pytest.approx(plain * 1e300, rel=1e-9)
        assert reach(np.full(size, 1.7e308), 0.95) == np.inf or size == 1
