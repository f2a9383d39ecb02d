"""Three ways to the same half-width: each is the reference of the others where they meet."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.mechanisms.laplace_sum import half_width


@pytest.mark.parametrize("confidence", ["0.5", "0.95", "0.999"])
@pytest.mark.parametrize("n", [1, 2, 4, 9, 30, 40])
def test_equal_variables_have_one_half_width(n: int, confidence: str) -> None:
    found = half_width.equal(n, Fraction(confidence))
    assert half_width.half_width([1.0] * n, confidence) == pytest.approx(found, rel=1e-5)
    # Equal weights are moved apart by 1e-4, where there are few.
    assert float(half_width.each(np.ones(n), float(confidence))) == pytest.approx(found, rel=3e-4)


def test_different_scales_have_one_half_width() -> None:
    for given in ([1.0, 0.5], [2.0, 0.3, 0.1], [1.0, 0.9, 0.4, 0.2]):
        found = half_width.half_width(given, 0.95)
        assert float(half_width.each(np.array(given), 0.95)) == pytest.approx(found, rel=1e-6)
    # A half-width that leaves the second variable out is told from it.
    assert half_width.half_width([1.0], 0.95) != pytest.approx(
        half_width.half_width([1.0, 0.5], 0.95), rel=1e-2
    )
