"""The least value of a smooth and strongly convex function: the L-BFGS method (Nocedal and Wright 2006, algorithm 7.5).

SciPy's does the same; its linear algebra starts a thread for each core at every step, which on a busy machine takes ten
times as long as the function itself.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

import numpy as np

from discreet.synthetic.inference import Floats

MEMORY: Final = 10
"""So many steps tell the curvature."""
ENOUGH: Final = 1e-4
"""The share of the promised decrease that a step must reach."""
HALVINGS: Final = 30


def least(
    function: Callable[[Floats], tuple[float, Floats]], start: Floats, steps: int, tolerance: float = 1e-9
) -> Floats:
    """The place of the least value, or the best one after so many steps.

    Args:
        function: gives the value at a place and its slope there.
        start: where the search begins, (n,).
        steps: at most.
        tolerance: a step that lowers the value by less than this share of it is the last.

    Example:
        >>> least(lambda x: (float(((x - 3) ** 2).sum()), 2 * (x - 3)), np.zeros(2), 20).round(6).tolist()
        [3.0, 3.0]
    """
    place, (value, slope) = start, function(start)
    known: deque[tuple[Floats, Floats, float]] = deque(maxlen=MEMORY)
    for _ in range(steps):
        way = _direction(slope, known)
        falls = _times(way, slope)
        if not falls < 0:
            return place
        length = 1.0 if known else min(1.0, 1 / max(1.0, float(np.abs(slope).max())))
        for _ in range(HALVINGS):
            there = place + length * way
            new, slope_there = function(there)
            if new <= value + ENOUGH * length * falls:
                break
            length /= 2
        else:
            return place
        moved, turned = there - place, slope_there - slope
        curved = _times(moved, turned)
        if curved > 0:
            known.append((moved, turned, 1 / curved))
        gained = value - new
        place, value, slope = there, new, slope_there
        if gained <= tolerance * max(1.0, abs(value)):
            return place
    return place


def _times(left: Floats, right: Floats) -> float:
    return float((left * right).sum())  # not by BLAS, for its threads


def _direction(slope: Floats, known: deque[tuple[Floats, Floats, float]]) -> Floats:
    """Downhill, by the slope and the curvature that the last steps told."""
    way, shares = -slope, []
    for moved, turned, inverse in reversed(known):
        share = inverse * _times(moved, way)
        way = way - share * turned
        shares.append(share)
    if known:
        _, turned, inverse = known[-1]
        way = way / (inverse * _times(turned, turned))
    for (moved, turned, inverse), share in zip(known, reversed(shares), strict=True):
        way = way + (share - inverse * _times(turned, way)) * moved
    return way
