"""The ends of an interval from draws: which of the ordered draws they are.

The value that is sought is as likely to lie in any of the n + 1 gaps between n ordered draws. So between the i-th of
them and the i-th from above it lies with probability (n + 1 - 2 i)/(n + 1), which is the confidence at least exactly
when i <= (1 - confidence)/2 (n + 1). The greatest such i is taken. To leave out (1 - confidence)/2 n draws at each end
instead makes intervals that hold too rarely: of 400 draws 94.5 % of the time where 95 % is said, of 160 draws 93.8 %.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def place(draws: int, confidence: float) -> int:
    """The number of the draw at which an interval ends, counted from 1 from either side.

    Example:
        >>> place(400, 0.95), place(160, 0.95), place(4000, 0.95)
        (10, 4, 100)
    """
    return max(1, math.floor((1 - confidence) / 2 * (draws + 1)))


def percentiles(samples: Floats, confidence: float) -> tuple[Floats, Floats]:
    """The central interval over the first axis; a draw without a value (NaN) may lie anywhere."""
    rank = place(len(samples), confidence)
    missing = np.isnan(samples).sum(axis=0)
    # NaN last, where it stands for the greatest value; below it shifts the others.
    ordered = np.sort(samples, axis=0)
    lowest = np.take_along_axis(ordered, np.maximum(rank - 1 - missing, 0)[np.newaxis], axis=0)[0]
    lost = missing >= rank
    return np.where(lost, -np.inf, lowest), np.where(lost, np.inf, ordered[-rank])


def percentile_sql(values: str, missing: str, draws: int, confidence: float) -> tuple[str, str]:
    """The same in SQL; NULL where no draw has a value.

    Args:
        values: SQL of the ordered list of the draws that have a value.
        missing: SQL of how many have none.
        draws: how many there are.
        confidence: strictly between 0 and 1.
    """
    rank = place(draws, confidence)
    low, high = (
        f"CASE WHEN {missing} = {draws} THEN NULL WHEN {missing} >= {rank} THEN CAST('{end}' AS DOUBLE) "
        f"ELSE {values}[{index}] END"
        for end, index in (("-Infinity", f"{rank} - {missing}"), ("Infinity", str(draws + 1 - rank)))
    )
    return low, high
