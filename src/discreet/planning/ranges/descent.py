"""The least value of a smooth function near a start, by L-BFGS (Nocedal and Wright 2006, algorithm 7.5).

The way is the same for the same start: nothing is random, and no data is looked at.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

KEPT = 12
"""How many steps the curvature is read off."""
ENOUGH = 1e-6
"""A step that gains less is the last one."""
HALVINGS = 25


def least(error: Callable[[Floats], tuple[float, Floats]], start: Floats, steps: int) -> Floats:
    """The place with the least value that so many steps reach.

    Args:
        error: the value and the gradient at a place.
        start: where to begin.
        steps: the most.

    Example:
        >>> least(lambda x: (float(((x - 3) ** 2).sum()), 2 * (x - 3)), np.zeros(2), 20).round(3).tolist()
        [3.0, 3.0]
    """
    place, (value, slope) = start, error(start)
    known: deque[tuple[Floats, Floats]] = deque(maxlen=KEPT)
    still = 0
    for _ in range(steps):
        way = -_through(slope, known)
        fall = float(way @ slope)
        if fall >= 0:
            known.clear()
            way, fall = -slope, -float(slope @ slope)
        length = 1.0 if known else min(1.0, 0.1 / max(float(np.abs(slope).max()), 1e-300))
        for _ in range(HALVINGS):
            new = place + length * way
            found, turned = error(new)
            if found <= value + 1e-4 * length * fall:
                break
            length /= 2
        else:
            return place
        if float((turned - slope) @ (new - place)) > 1e-12:
            known.append((new - place, turned - slope))
        still = still + 1 if value - found < ENOUGH else 0
        place, value, slope = new, found, turned
        if still >= 3:
            return place
    return place


def _through(slope: Floats, known: deque[tuple[Floats, Floats]]) -> Floats:
    """The slope times the inverse curvature that the last steps tell of (two loops)."""
    out, shares = slope.copy(), []
    for step, turn in reversed(known):
        share = float(step @ out) / float(step @ turn)
        shares.append(share)
        out = out - share * turn
    if known:
        step, turn = known[-1]
        out = out * (float(step @ turn) / float(turn @ turn))
    for (step, turn), share in zip(known, reversed(shares), strict=True):
        out = out + step * (share - float(turn @ out) / float(step @ turn))
    return out
