"""The smooth sensitivity is the maximum of its formula, and smooth."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from math import comb

import pytest

from discreet.mechanisms.numeric.smoothness import smooth_sensitivity

RUNGS: list[Callable[[int], int]] = [
    lambda x: min(x, 30), lambda x: 2 * comb(min(x, 30), 2), lambda x: 2 * comb(x, 7),
    lambda x: (x + 1) ** 2 + 2 * x**2, lambda x: 0,
    lambda x: max(0, x - 100),
]  # fmt: skip


@pytest.mark.parametrize("rung", RUNGS)
@pytest.mark.parametrize("q", [Fraction(1, 2), Fraction(5, 6), Fraction(47, 48)])
def test_it_is_the_maximum_and_smooth(rung: Callable[[int], int], q: Fraction) -> None:
    found = [smooth_sensitivity(rung, width, q) for width in range(40)]
    for width in (0, 1, 5, 29, 39):
        assert found[width] == max(q**t * rung(width + t) for t in range(450))
    for one, other in itertools.pairwise(found):
        assert q * other <= one <= other
