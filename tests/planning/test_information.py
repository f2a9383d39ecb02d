"""How much information an answer holds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet import planning as plan


def test_information() -> None:
    assert round(plan.divergence(1), 4) == 0.3679
    assert plan.divergence(0.01) == pytest.approx(0.01**2 / 2, rel=0.01)
    for e in (0.5, 2.0):  # by integrating p ln(p/q)
        y = np.linspace(-60, 60, 2_400_001)
        p, q = np.exp(-np.abs(y)) / 2, np.exp(-np.abs(y - e)) / 2
        assert plan.divergence(e) == pytest.approx(float(np.trapezoid(p * np.log(p / q), y)), rel=1e-5)
        m = (p + q) / 2
        both = np.trapezoid(p * np.log(p / m), y) + np.trapezoid(q * np.log(q / m), y)
        assert plan.information(e) == pytest.approx(float(both) / 2, rel=1e-5)
    assert [round(plan.rate_distortion(e), 3) for e in (0.1, 1)] == [0.242, 0.177]
    assert plan.rate_distortion(1e-3) == pytest.approx(0.25, abs=1e-3)
    assert plan.information(200) == pytest.approx(math.log(2))
    assert plan.divergence(9.99e-4) == pytest.approx(plan.divergence(1.001e-3), rel=0.01)
