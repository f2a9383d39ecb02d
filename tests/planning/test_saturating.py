"""Sums that saturate: those of Python's integers, cut at +-2^62."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.planning.saturating import saturated

MOST = 2**62
ENDS = [0, 1, -1, 2**31 - 1, 2**31, -(2**31), 2**61, -(2**61), MOST - 1, MOST, -MOST, 1 - MOST]


@pytest.mark.parametrize("weights", [(1, 1, 1), (1, -1, -1), (128, 127, 1), (-(2**29), 2**29, 3)])
def test_sums_are_those_of_whole_numbers_cut(weights: tuple[int, int, int]) -> None:
    rows = [(a, b, c) for a in ENDS for b in ENDS for c in ENDS]
    exact = [sum(w * x for w, x in zip(weights, row, strict=True)) for row in rows]
    found = saturated(np.array(rows), lambda part: part @ np.array(weights))
    assert found.tolist() == [max(-MOST, min(MOST, one)) for one in exact]
    assert any(abs(one) > 2**63 for one in exact)  # which a plain sum gets wrong
