"""Skewness and kurtosis from noisy moments, by DuckDB's formulas."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.sql.measures.bernstein import power

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

SHAPES = frozenset({"skewness", "kurtosis", "kurtosis_pop"})
"""The measures of shape, as the table of aggregates names them."""


def shape(quantity: str, body: Floats, levels: int) -> Floats:
    """A measure of shape of the rows behind some noisy entries.

    Args:
        quantity: one of `SHAPES`.
        body: float64 array (..., degree + 1), noisy sums of the Bernstein basis.
        levels: R, which one row adds to their sum.

    Returns:
        float64 array (...); NaN where there are too few rows, or where noise leaves no variance.
    """
    degree = body.shape[-1] - 1
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        total = np.where(body.sum(axis=-1) > 0, body.sum(axis=-1), np.nan)
        n = total / levels
        mean, square, cube = (np.clip(body @ power(degree, k) / total, 0, 1) for k in (1, 2, 3))
        variance = square - mean**2
        variance = np.where(variance > 0, variance, np.nan)
        third = cube - 3 * square * mean + 2 * mean**3
        if quantity == "skewness":
            adjusted = np.where(n > 2, np.sqrt(n * (n - 1)) / (n - 2), np.nan)
            return np.asarray(adjusted * third / variance**1.5)
        fourth = np.clip(body @ power(degree, 4) / total, 0, 1)
        central = fourth - 4 * cube * mean + 6 * square * mean**2 - 3 * mean**4
        ratio = central / variance**2
        if quantity == "kurtosis_pop":
            return np.asarray(np.where(n > 1, ratio - 3, np.nan))
        scaled = (n - 1) * ((n + 1) * ratio - 3 * (n - 1)) / ((n - 2) * (n - 3))
        return np.asarray(np.where(n > 3, scaled, np.nan))
