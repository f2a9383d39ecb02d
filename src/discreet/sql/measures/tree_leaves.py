"""The leaves of a tree of counts: into which pieces the range of an expression is cut, and in which one a row lies."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.engines.schema import Type
from discreet.sql.expressions.clamping import clamped
from discreet.sql.expressions.dialect import Dialect, fill
from discreet.sql.expressions.expression import Expression, spell
from discreet.sql.measures.measure import FINEST, ValueGrid

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def leaf_grid(argument: Expression, most: int) -> ValueGrid:
    """The finest grid with at most so many leaves; an integer has no finer one than the integers."""
    span = argument.span
    assert span.lo is not None
    assert span.hi is not None
    lo, hi, step = float(span.lo), float(span.hi), Fraction(1)
    if argument.type is Type.INTEGER:
        lo = float(math.ceil(span.lo))
        hi = max(lo, float(math.floor(span.hi)))
        reach = Fraction(hi) - Fraction(lo) + 1
    else:
        reach = Fraction(hi) - Fraction(lo)
        if reach:
            step = max(FINEST, Fraction(2) ** math.floor(math.log2(reach) - math.log2(most)))
    while reach / step > most:
        step *= 2
    return ValueGrid(lo, hi, step, max(1, math.ceil(reach / step)))


def roundest(start: Floats, step: float, *, whole: bool) -> Floats:
    """The roundest values of leaves that begin at some numbers: a multiple of as high a power of ten as fits.

    Args:
        start: float64 array (...).
        step: the width of each leaf.
        whole: whether values are integers.
    """
    value = start + (step - 1 if whole else step) / 2
    digits = -math.floor(math.log10(step))
    for shown in (digits, digits - 1):
        round_ = np.round(value, shown)
        value = np.where((round_ >= start) & (round_ < start + step), round_, value)
    return np.asarray(value)


def leaf_sql(argument: Expression, grid: ValueGrid, dialect: Dialect) -> str:
    """The leaf of a row in SQL, from 0 to the number of leaves - 1; NULL where the argument is NULL or NaN.

    The clamp stands here, and relies on no bounds of the expression inferred elsewhere: below the range is the first
    leaf, above it the last one.
    """
    x, last, spelled = "{0}", grid.levels - 1, [spell(argument, dialect)]
    if argument.type is Type.INTEGER and grid.step == 1:
        lo, hi = int(grid.lo), int(grid.hi)
        leaf = f"CAST({x} - ({lo}) AS BIGINT)"
        text = clamped(x, str(lo), str(hi), exact=True, inside=leaf, below="0", above=str(last))
        return fill(text, spelled, dialect)
    x = f"CAST({x} AS DOUBLE)"
    lo_sql, hi_sql = f"CAST('{grid.lo!r}' AS DOUBLE)", f"CAST('{grid.hi!r}' AS DOUBLE)"
    place = f"({x} - {lo_sql}) * CAST('{float(1 / grid.step)!r}' AS DOUBLE)"
    if dialect.underflow_raises and grid.step > 1:
        least = f"CAST('{float(grid.step) / 4!r}' AS DOUBLE)"
        place = f"CASE WHEN abs({x} - {lo_sql}) < {least} THEN 0 ELSE {place} END"
    leaf = dialect.whole.format(f"floor({place})")
    inside = f"LEAST({leaf}, {last})"
    text = clamped(x, lo_sql, hi_sql, exact=False, inside=inside, below="0", above=str(last))
    return fill(text, spelled, dialect)
