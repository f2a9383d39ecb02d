"""The least value is found, and a search that is stopped never ends higher than it began."""

from __future__ import annotations

import numpy as np

from discreet.synthetic.descent import least
from discreet.synthetic.inference import Floats


def steep(x: Floats) -> tuple[float, Floats]:
    weights = np.logspace(0, 4, x.size)
    return float((weights * (x - 1) ** 2).sum() + np.logaddexp(0, x).sum()), 2 * weights * (x - 1) + 1 / (
        1 + np.exp(-x)
    )


def test_the_slope_at_the_end_is_nothing() -> None:
    found = least(steep, np.full(40, -7.0), 500, tolerance=0)
    assert np.abs(steep(found)[1]).max() < 0.1  # it was 160,000 at the start


def test_it_never_rises() -> None:
    start = np.full(40, -7.0)
    values = [steep(least(steep, start, steps))[0] for steps in range(8)]
    assert values == sorted(values, reverse=True)
