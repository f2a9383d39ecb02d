"""An edge moves the released numbers by two, and the intervals of the histogram hold."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.graphs import Histogram, counts
from discreet.release.draw import Draw, Use
from tests.depth import few
from tests.graphs.invented import known, neighbours


# A deep run asks 2 as well, which goes through the same lines as 1 and 4.
@pytest.mark.parametrize("most", few([1, 2, 4], 2))
def test_an_edge_moves_the_numbers_by_no_more_than_the_noise_covers(most: int) -> None:
    moved = max(
        int(np.abs(counts.at_least(a, most) - counts.at_least(b, most)).sum())
        for size in (2, 3, 4, 5)
        for a, b in neighbours(size)
    )
    made = Histogram(5, most, False, Fraction(1), 0.95).mechanisms["degrees"]
    assert made.loss == 1
    assert moved == made.sensitivity == 2


def test_intervals_cover() -> None:
    """Of 60 histograms at 80 %: each bar is covered 25 times, but for a chance of 2e-10 for all together."""
    _, graph = known("club")
    right = np.bincount(graph.degrees, minlength=18)
    right = np.append(right[:12], right[12:].sum())
    asked = Histogram(34, 12, False, Fraction(2), 0.8)
    hits = np.zeros(13, int)
    for _ in range(60):
        draw = Draw({"degrees": Use(asked.mechanisms["degrees"], "add_remove", asked.size)})
        bars = asked.columns(asked.draw(graph, draw))["vertices"]
        draw.see_all_drawn()
        hits += [bar.low <= at <= bar.high for bar, at in zip(bars, right, strict=True)]
        assert all(0 <= bar.low <= bar.value <= bar.high <= 34 for bar in bars)
    assert hits.min() >= 25
