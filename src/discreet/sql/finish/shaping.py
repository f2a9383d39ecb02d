"""Shapes noisy tables: none below zero, whole counts. Tables that are estimated together still add up.

**Below zero.** Every integer of a table that is measured by itself and that no row can make less is raised to zero. A
table that others are sums of keeps its sum over all cells: cells are lowered by one number and then raised to zero,
where that number leaves the sum (the projection on the simplex; Wang, Lopuhaä-Zwakenberg, Li, Skoric and Li 2020,
*Norm-Sub*). Of a series that is so for each series by itself.

**Whole.** Cell i gets round(S_i) - round(S_(i-1)), where S_i is the sum of the first i cells. So any cells that lie
side by side, such as the days up to one or the parts of a group of the outer keys, add up to less than one beside their
sum before, and cells that are not negative stay so. Where a count is that of a moment vector, the vector is scaled to
it, so that its mean stays.

It reads released numbers alone, so it is post-processing (Dwork and Roth 2014, proposition 2.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from discreet.sql.lower.run import NoisyIntegers
from discreet.sql.lower.workloads import tables_of
from discreet.sql.measures.measure import Moments, columns
from discreet.sql.measures.moments import JointMoments
from discreet.sql.plan.plan import AnyMeasure, QueryPlan
from discreet.sql.plan.shaping import Shaping

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]

EXACT = 2.0**52
"""Up to so many steps sums are exact; larger numbers are rounded one by one."""


def shaped(
    plan: QueryPlan, measured: Sequence[NoisyIntegers], tables: Sequence[NoisyIntegers]
) -> list[NoisyIntegers] | None:
    """The tables of a plan in the shape that was asked for; None where none was.

    Args:
        plan: of the question.
        measured: the integers of all that was measured.
        tables: the released ones.
    """
    how = plan.shaping
    if not how:
        return None
    found = tables_of(plan, measured, partial(_cells, how))
    return [_alone(how, table) if table.plan.estimated is None else _unscaled(how, table) for table in found]


def _alone(how: Shaping, table: NoisyIntegers) -> NoisyIntegers:
    """A table that was measured by itself, whose counts are whole."""
    if not how.nonnegative:
        return table
    entries = np.array(table.entries, order="F")
    for measure, part in zip(table.plan.measures, columns(table.plan.measures), strict=True):
        if _never_negative(measure):
            entries[:, part] = np.maximum(entries[:, part], 0)
    return replace(table, entries=entries)


def _unscaled(how: Shaping, table: NoisyIntegers) -> NoisyIntegers:
    """Counts without binary places, where they are whole."""
    if not how.integers or not table.places:
        return table
    entries, places = np.array(table.entries, order="F"), list(table.places)
    for index, (measure, part) in enumerate(
        zip(table.plan.measures, columns(table.plan.measures), strict=True)
    ):
        if _counts(measure):
            entries[:, part] >>= places[index]
            places[index] = 0
    return replace(table, entries=entries, places=tuple(places))


def _never_negative(measure: AnyMeasure) -> bool:
    """Whether no row makes an integer of a measure less: of all but sums of numbers below zero, and trees."""
    if isinstance(measure, Moments):
        return measure.degree >= 0 or (measure.grid is not None and measure.grid.lo >= 0)
    return isinstance(measure, JointMoments)


def _counts(measure: AnyMeasure) -> bool:
    return isinstance(measure, Moments) and measure.degree == 0


def _cells(how: Shaping, measures: Sequence[AnyMeasure], cells: Integers, places: Sequence[int]) -> Integers:
    """The cells that tables are sums of: int64 (series, cells, integers), in steps of 2^-places."""
    out = cells.copy()
    for measure, part, bits in zip(measures, columns(measures), places, strict=True):
        own = out[:, :, part].astype(np.float64)
        if how.nonnegative and _never_negative(measure):
            own = above_zero(own)
        if how.integers and _counts(measure):
            own = rounded(own, 2.0**bits)
        elif how.integers and isinstance(measure, Moments | JointMoments) and measure.degree >= 0:
            own = _with_whole_counts(own, measure.row_sensitivity * 2.0**bits)
        out[:, :, part] = np.rint(np.clip(own, -(2.0**62), 2.0**62)).astype(np.int64)
    return out


def above_zero(cells: Floats) -> Floats:
    """Cells (series, cells, integers) that are not negative, of the same sum where it is positive, else all zero.

    Example:
        >>> above_zero(np.array([5.0, -1.0, 2.0]).reshape(1, 3, 1)).ravel()
        array([4.5, 0. , 1.5])
    """
    total = np.maximum(cells.sum(axis=1, keepdims=True), 0)
    falling = -np.sort(-cells, axis=1)
    number = np.arange(1, cells.shape[1] + 1).reshape(1, -1, 1)
    lowered = (np.cumsum(falling, axis=1) - total) / number
    last = np.maximum((falling > lowered).sum(axis=1, keepdims=True), 1) - 1
    out = np.maximum(cells - np.take_along_axis(lowered, last, axis=1), 0)
    return np.where(total > 0, out, 0.0)


def rounded(cells: Floats, unit: float) -> Floats:
    """Cells (series, cells, integers) in whole units, so that the first ones always add up to their sum, rounded.

    Example:
        >>> rounded(np.array([0.4, 0.4, 0.4, 0.8]).reshape(1, 4, 1), 1.0).ravel()
        array([0., 1., 0., 1.])
    """
    sums = np.cumsum(cells / unit, axis=1)
    if np.abs(sums).max(initial=0) > EXACT:
        return np.asarray(np.rint(cells / unit) * unit)
    return np.diff(np.floor(sums + 0.5), axis=1, prepend=0) * unit


def _with_whole_counts(cells: Floats, row: float) -> Floats:
    """Vectors whose sums are numbers of rows, scaled to whole ones."""
    sums = cells.sum(axis=2, keepdims=True)
    wanted = rounded(sums, row)
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = np.rint(cells * np.where(sums == 0, 0.0, wanted / sums))
    scaled = np.where(np.isfinite(scaled), scaled, 0.0)
    scaled[:, :, :1] += wanted - scaled.sum(axis=2, keepdims=True)
    return scaled
