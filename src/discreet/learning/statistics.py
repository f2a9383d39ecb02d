"""Bounded columns as exact integers: moved to [-1, 1] by their bounds, clamped, and rounded to a grid of 2^-16."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidParameter
from discreet.rational import Number, decimal

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Bounds = Sequence[tuple[Number, Number] | Number]
"""(least, greatest) of each column; or one pair for all of them, where a learner says so."""

STEPS: Final = 1 << 16
"""A column lies in -STEPS to STEPS."""
MOST_ROWS: Final = 1 << 28
"""More rows could add up to more than 64 bits."""


def scaled(values: npt.ArrayLike, bounds: Bounds) -> Integers:
    """Columns on the grid, from -STEPS to STEPS: int64 (n, k) from (n, k); NaN is the middle.

    Raises:
        InvalidParameter: values and bounds do not fit, or there are too many rows.
    """
    given = np.asarray(values, np.float64)
    if given.ndim != 2 or given.shape[1] != len(bounds) or len(given) > MOST_ROWS:
        raise InvalidParameter(
            "The columns and their bounds do not fit.", "Give one (least, greatest) for each of the columns."
        )
    found: Integers = np.rint(moved(given, read_bounds(bounds)) * STEPS).astype(np.int64)
    return found


def moved(values: Floats, ends: Floats) -> Floats:
    """Columns between -1 and 1 by their bounds, float64 (k, 2); NaN is the middle."""
    middle, half = (ends[:, 0] + ends[:, 1]) / 2, (ends[:, 1] - ends[:, 0]) / 2
    with np.errstate(all="ignore"):
        found = np.nan_to_num((values - middle) / half, nan=0.0, posinf=1.0, neginf=-1.0)
    inside: Floats = np.clip(found, -1, 1)
    return inside


def read_bounds(bounds: Bounds) -> Floats:
    """Bounds as float64 (k, 2).

    Raises:
        InvalidParameter: one of them is no pair of finite numbers, the lesser first.
    """
    pairs: Any = bounds
    try:
        ends = np.array([[float(decimal(end)) for end in pair] for pair in pairs])
    except (TypeError, ValueError):
        ends = np.zeros(0)
    if ends.ndim != 2 or ends.shape[1] != 2 or not (ends[:, 0] < ends[:, 1]).all():
        raise InvalidParameter(
            "The bounds cannot be read.",
            "Give bounds=[(0, 120), (0, 1)], and target_bounds=(0, 1) to a regression, the least first.",
        )
    return ends
