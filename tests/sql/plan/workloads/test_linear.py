"""The law of linear estimates, with a matrix of two nodes."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.sql.plan.workloads.linear import FINE_BITS, LinearLaw


class Two(LinearLaw):
    """An integer with the noise of two nodes."""

    scales = (Fraction(2), Fraction(6))
    heaviest: Any = np.array([0.8, -0.6])


def test_the_interval_is_that_of_the_draws() -> None:
    """A sum of two Laplace variables; 200,000 draws miss 5 % but for twelve standard errors."""
    drawn = Two().sample_noise(0, (200_000,), np.random.default_rng(7))
    assert np.isclose(drawn.var(), 4 * 2, rtol=0.06)
    missed = np.mean(np.abs(drawn) > Two().half_width(np.array([1.0]), 0, 0.95))
    assert abs(missed - 0.05) < 0.006


def test_larger_scales_and_weights_are_wider_and_finer_steps_are_for_less_noise() -> None:
    law = Two()
    assert law.half_width(np.array([1.0]), 1, 0.9) == pytest.approx(
        3 * law.half_width(np.array([1.0]), 0, 0.9)
    )
    assert law.half_widths(np.array([[1.0, 0], [2.0, 0]]), np.array([0, 0]), 0.9).tolist() == pytest.approx(
        [law.half_width(np.array([1.0]), 0, 0.9), 2 * law.half_width(np.array([1.0]), 0, 0.9)]
    )
    assert (law.bits(0), law.bits(1)) == (FINE_BITS - 1, FINE_BITS - 2)
