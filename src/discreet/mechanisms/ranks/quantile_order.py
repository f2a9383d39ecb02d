"""In which order quantiles are drawn: the middle one first, then those of the rows on either side, and so on.

The middle quantile splits the rows into two parts, of which a row lies in one; the quantiles of both parts are drawn
with the same share of epsilon, and so on (Kaplan, Schnapp and Stemmer 2022). So k quantiles share epsilon among
log2(k + 1) levels, rounded up, instead of k draws. The error of a quantile has two parts: that of its own draw, and a
share in the errors of the two quantiles between which it lies.

With intervals each quantile is drawn of all rows by itself, with an equal share: where a part is split within a heap of
equal values, the ends of no place would be sure.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from discreet.mechanisms.ranks.quantile import FINEST, row_moves
from discreet.records import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt


@dataclass(frozen=True)
class QuantileDraw:
    """The draw of one quantile.

    Attributes:
        whole: which quantile it is of all rows.
        part: which one it is of the rows of its part.
        below: the quantile drawn before at which the part begins; None where it begins with the first row.
        above: the one at which it ends, likewise.
        level: how many splits come before it.
        splits: whether others are drawn on either side of it.
    """

    whole: Fraction
    part: Fraction
    below: Fraction | None
    above: Fraction | None
    level: int
    splits: bool


@lru_cache(maxsize=256)
def steps(quantiles: tuple[Fraction, ...], apart: bool = False) -> tuple[QuantileDraw, ...]:
    """The draws of some quantiles, parts before those that they are split into.

    Args:
        quantiles: which.
        apart: whether each is drawn of all rows.

    Example:
        >>> [str(step.part) for step in steps((Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)))]
        ['1/2', '1/2', '1/2']
    """
    wanted = sorted(set(quantiles))
    if apart:
        return tuple(QuantileDraw(q, q.limit_denominator(FINEST), None, None, 0, False) for q in wanted)
    out: list[QuantileDraw] = []
    parts: list[tuple[int, int, int]] = [(0, len(wanted), 0)]
    for first, last, level in parts:
        low = wanted[first - 1] if first else None
        high = wanted[last] if last < len(wanted) else None
        start, reach = low or Fraction(0), (Fraction(1) if high is None else high) - (low or Fraction(0))
        # Any one that leaves no more on either side than the levels below have room for: the one nearest the middle.
        room = (1 << (last - first).bit_length() - 1) - 1
        middle = min(
            range(max(first, last - 1 - room), min(last, first + room + 1)),
            key=lambda index: abs((wanted[index] - start) / reach - Fraction(1, 2)),
        )
        part = ((wanted[middle] - start) / reach).limit_denominator(FINEST)
        sides = [
            side for side in ((first, middle, level + 1), (middle + 1, last, level + 1)) if side[0] < side[1]
        ]
        parts += sides
        out.append(QuantileDraw(wanted[middle], part, low, high, level, bool(sides)))
    return tuple(out)


def depth(quantiles: tuple[Fraction, ...], apart: bool = False) -> int:
    """How many levels share epsilon, or draws where each is drawn of all rows."""
    return len(set(quantiles)) if apart else 1 + max(step.level for step in steps(quantiles))


@lru_cache(maxsize=256)
def deviations(quantiles: tuple[Fraction, ...], apart: bool = False) -> dict[Fraction, float]:
    """The standard deviation of the rank of each where values lie densely, with all of epsilon at scale rows 1.

    A draw of its own has sqrt(2) scales, and a quantile inherits from its neighbours as it lies between them.
    """
    draws, levels = steps(quantiles, apart), depth(quantiles, apart)
    errors: dict[Fraction, npt.NDArray[np.float64]] = {}
    for index, step in enumerate(draws):
        error = np.zeros(len(draws))
        error[index] = np.sqrt(2) * 2 * float(row_moves(step.part)) * levels
        for beside, times in ((step.below, 1 - step.part), (step.above, step.part)):
            if beside is not None:
                error = error + float(times) * errors[beside]
        errors[step.whole] = error
    return {q: float(np.sqrt(error @ error)) for q, error in errors.items()}
