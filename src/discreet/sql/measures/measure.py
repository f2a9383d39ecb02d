"""Measures: the integers that are summed per group, by how much one row can move them, and their estimates.

A bounded expression x in [lo, hi] is scaled to t = floor((x - lo)/g + 1/2), an integer in [0, R] with g a power
of two. Each row then adds to its group the vector

    degree 0    (1,)                           how many rows
    degree 1    (R - t, t)                     and their average and sum
    degree 2    (R - b1 - b2, b1, b2)          and their variance, with b2 = t*t // R, b1 = 2t(R - t) // R
    degree 3    (b0, b1, b2, b3)               and their skewness
    degree 4    (b0, b1, b2, b3, b4)           and their kurtosis

which is the Bernstein basis in integers (`bernstein`): its entries are non-negative and sum to R exactly, so one row
moves the whole vector by exactly R in L1. A row where x is NULL adds nothing, or R to one more entry when all rows are
counted too; again R in all. So count, sum, mean, variance and the others of one expression are a single Laplace release
with the sensitivity of a count.

A sum that is asked for alone adds t = floor(x/g + 1/2) and moves it by at most M, the larger |t| of lo and hi.

One unit has at most max_rows rows, each in one group, so it moves the vector of all groups by at most
max_rows * R when it is added or removed. When it is replaced by another, its rows and those of the other are taken in
pairs, or alone where one has more: max_rows pairs at most. A pair moves the integers by the distance of two rows:

    rows in different groups                 twice R (or M): one vector goes, another one comes elsewhere
    rows in one group, or one of them in no group
        a count                              1
        a count of values with so many rows  2: each of two values may come or go
        a sum asked for alone                max(T, 0) - min(S, 0), where T and S are the integers of hi and lo
        degrees 1 to 4, or one more entry    2 R: vectors that are not negative, of sum R, are no farther apart, and
                                             t = 0 and t = R, or a NULL, are as far

So a release without groups, of a count or a sum, has no more noise than when a unit is added or removed; `all_rows`
goes further where the number of rows is public.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

import numpy as np

from discreet.engines.schema import Type
from discreet.records import dataclass
from discreet.sql.expressions.canonical import canonical
from discreet.sql.expressions.clamping import clamped
from discreet.sql.expressions.dialect import SATURATE, Dialect, fill, total
from discreet.sql.expressions.expression import Expression, spell
from discreet.sql.functions.aggregates import RELATIVE, sizes_in_words
from discreet.sql.measures import bernstein
from discreet.sql.measures.group_sizes import between
from discreet.sql.measures.shape import SHAPES, shape

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

GRID_BITS = 30
"""R is at most 2^30, so that t*t and 2t(R - t) fit 64 bits on every engine."""
SCALE_BITS = 56
"""The largest scale of noise, which leaves seven bits before a 64-bit integer saturates."""
FINEST = Fraction(1, 2**1000)
"""The least step: its inverse is still a double."""


@dataclass(frozen=True, slots=True)
class ValueGrid:
    """The integers that a bounded expression is scaled to.

    Attributes:
        lo: least value, and that of t = 0 but for a sum asked for alone.
        hi: greatest value.
        step: g, a power of two.
        levels: R; for a sum asked for alone, M.
    """

    lo: float
    hi: float
    step: Fraction
    levels: int


@dataclass(frozen=True, slots=True)
class Moments:
    """One family of integers per group.

    Attributes:
        degree: 0 to 4 as above; -1 for a sum asked for alone.
        argument: the expression; None when every row counts.
        grid: how the argument is scaled; None for degree 0.
        with_null: whether one more entry holds the rows where the argument is NULL, so that all rows are counted.
        part: the number of the part of the release whose rows are measured.
        distinct: for degree 0 and a sum asked for alone, whether equal values of the argument count once. One row more
            or fewer changes the set of values of its group by at most one, so the sensitivity is that of a count, or M.
        sizes: for a count of distinct values, NULL among them, the least and greatest number of rows of a value that
            counts. One row more or fewer changes the rows of one value, so that the count moves by at most 1. A row in
            the place of another changes those of two values, and each may come or go: the count moves by at most 2.
    """

    degree: int
    argument: Expression | None
    grid: ValueGrid | None
    with_null: bool
    part: int = 0
    distinct: bool = False
    sizes: tuple[int, int | None] | None = None

    @property
    def entries(self) -> int:
        """The number of integers per group."""
        return (1 if self.degree < 0 else self.degree + 1) + self.with_null

    @property
    def row_sensitivity(self) -> int:
        """By how much one row moves the integers of its group, in L1."""
        return 1 if self.grid is None else self.grid.levels

    @property
    def replacing_sensitivity(self) -> int:
        """By how much one row in the place of another, or of none, moves the integers of their group, in L1."""
        if self.grid is None:
            return 2 if self.sizes is not None else 1 + self.with_null
        least, most = _span(self.grid, self.degree)
        if self.degree < 0:
            return max(1, max(most, 0) - min(least, 0))
        return 2 * self.row_sensitivity if self.with_null or most > least else self.row_sensitivity

    @property
    def span(self) -> tuple[int, int] | None:
        """The least and the greatest integer that a row carries; None where it carries no integer of ours."""
        if self.argument is None or self.distinct:
            return None
        return (1, 1) if self.grid is None else _span(self.grid, self.degree)

    @property
    def name(self) -> str:
        """The name of the measure, for people."""
        if self.sizes is not None:
            return f"count of values with {sizes_in_words(*self.sizes)}"
        if self.distinct:
            return "count of distinct values" if self.degree == 0 else "sum of distinct values"
        return {
            -1: "sum", 0: "count", 1: "count, sum and mean", 2: "count, sum, mean and variance",
            3: "count, sum, mean, variance and skewness", 4: "count, sum and four moments",
        }[self.degree]  # fmt: skip

    @property
    def arguments(self) -> tuple[Expression, ...]:
        """Columns that a row must carry."""
        return () if self.argument is None else (self.argument,)

    def plain(self, quantity: str) -> bool:
        """Whether a quantity is exactly the one integer of a group."""
        return self.entries == 1 and self.grid is None and quantity in ("rows", "count")

    def over(self, rename: Callable[[Expression], Expression]) -> Moments:
        """The same measure, reading its argument elsewhere; only where it is clamped here anyway."""
        if self.grid is None or self.argument is None:
            return self
        return replace(self, argument=rename(self.argument))

    def reading(self, rename: Callable[[Expression], Expression]) -> Moments:
        """The same measure, reading its argument where it was computed already."""
        return self if self.argument is None else replace(self, argument=rename(self.argument))

    def row_items(self, name: str, dialect: Dialect) -> list[tuple[str, str]]:
        """Names and SQL of the columns that a row must carry for this measure."""
        if self.argument is None:
            return []
        if self.distinct and self.degree == 0:
            return [(name, spell(canonical(self.argument), dialect))]
        if self.degree == 0:
            return [(name, f"CASE WHEN {spell(self.argument, dialect)} IS NOT NULL THEN 1 END")]
        return [(name, scaled_sql(self, dialect))]

    def group_items(self, name: str, dialect: Dialect) -> list[str]:
        """The exact integers of one group in SQL, over the rows of that group; wide, not yet saturated."""
        wide = dialect.wide
        n, r = f"CAST(COUNT({name}) AS {wide})", self.row_sensitivity
        null = [f"{r} * CAST(COUNT(*) - COUNT({name}) AS {wide})"] if self.with_null else []
        if self.argument is None:
            return ["COUNT(*)"]
        if self.distinct and self.degree < 0:
            return [f"COALESCE(SUM(DISTINCT CAST({name} AS {wide})), 0)"]
        if self.sizes is not None:
            some = between(f"{name}_rows", *self.sizes)
            of_null = f"COALESCE(MAX(CASE WHEN {name} IS NULL AND {some} THEN 1 ELSE 0 END), 0)"
            return [f"COUNT(DISTINCT CASE WHEN {some} THEN {name} END) + {of_null}"]
        if self.distinct:
            return [f"COUNT(DISTINCT {name})"]
        if self.degree == 0:
            return [f"COUNT({name})", *null]
        if self.degree < 0:
            return [total(name, dialect)]
        if self.degree == 1:
            return [f"{r} * {n} - {total(name, dialect)}", total(name, dialect), *null]
        sums = [total(integer, dialect) for integer in bernstein.integers(name, r, self.degree, dialect)]
        return [f"{r} * {n} - {' - '.join(sums)}", *sums, *null]

    def estimate(self, quantity: str, noisy: Floats) -> Floats:
        """Estimate a quantity from noisy entries.

        Args:
            quantity: a quantity of one argument, as the table of aggregates names it.
            noisy: float64 array (..., entries).

        Returns:
            float64 array (...); NaN where the noisy entries hold no row to speak of.
        """
        weights = self.weights(quantity)
        if weights is not None:
            return np.asarray(noisy @ weights)
        assert self.grid is not None
        body = noisy[..., : self.degree + 1]
        lo, width = self.grid.lo, float(self.grid.step) * self.row_sensitivity
        total = body.sum(axis=-1)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            usable = total > 0
            mean = np.where(usable, (body @ _places(self.degree)) / total, np.nan)
            if quantity == "avg":
                return lo + width * np.clip(mean, 0, 1)
            if quantity in SHAPES:
                return shape(quantity, body, self.row_sensitivity)
            n = total / self.row_sensitivity
            square = body @ bernstein.power(self.degree, 2) / total
            variance = np.clip(square - mean * mean, 0, 0.25) * width * width
            if quantity.endswith("samp"):
                variance = np.where(n > 1, variance * n / (n - 1), np.nan)
            variance = np.where(usable, variance, np.nan)
        return np.sqrt(variance) if quantity.startswith("stddev") else variance

    def invented(self, rows: int) -> Integers:
        """The entries of a group whose values are spread evenly over their bounds: int64 array (entries,)."""
        body = self.entries - self.with_null
        out = np.zeros(self.entries, dtype=np.int64)
        out[:body] = min(rows * self.row_sensitivity // body, SATURATE)
        if self.degree < 0 and self.grid is not None:  # the sum itself, not its distance from the lower bound
            middle = (Fraction(self.grid.lo) + Fraction(self.grid.hi)) / 2
            out[0] = min(max(round(rows * middle / self.grid.step), -SATURATE), SATURATE)
        return out

    def relative_variance(self, quantity: str) -> float:
        """The variance of the noise of a quantity for one row, relative to the size of the quantity.

        For a sensitivity over epsilon of 1 and values spread evenly, as the table of aggregates says; of a count, and
        of a sum that comes with a mean, as many times more as they have entries.
        """
        if quantity in ("rows", "count"):
            return float(self.entries)
        if quantity == "sum" and self.degree > 0:
            assert self.argument is not None
            span = self.argument.span
            assert span.lo is not None
            assert span.hi is not None
            places = [span.lo + span.width * k / self.degree for k in range(self.degree + 1)]
            reach = max(abs(span.lo), abs(span.hi)) or Fraction(1)
            return float(sum(4 * place * place for place in places) / reach**2)
        return RELATIVE[quantity]

    def weights(self, quantity: str) -> Floats | None:
        """The estimate of a linear quantity as weights of the entries; None when it is not linear.

        Args:
            quantity: `rows` (every row), `count` (rows where the argument is not NULL) or `sum`.
        """
        if quantity not in ("rows", "count") and (quantity != "sum" or self.grid is None):
            return None
        lo, step = (0.0, 0.0) if self.grid is None else (self.grid.lo, float(self.grid.step))
        return _weights(
            quantity, self.degree, self.with_null, self.row_sensitivity, (lo, step, math.copysign(1, lo))
        )


@lru_cache(maxsize=256)
def _weights(
    quantity: str, degree: int, with_null: bool, row_sensitivity: int, scaled: tuple[float, float, float]
) -> Floats:
    """The weights of a quantity, not to be changed; `scaled` is lo and g of the grid, and the sign of lo."""
    lo, step, _ = scaled
    entries = (1 if degree < 0 else degree + 1) + with_null
    w = np.zeros(entries)
    body = slice(0, entries - with_null)
    if quantity == "rows":
        w[:] = 1 / row_sensitivity
    elif quantity == "count":
        w[body] = 1 / row_sensitivity
    elif degree < 0:
        w[0] = step
    else:
        # sum x = lo n + g sum t, and sum t = (b1/2 + b2) in the basis of degree 2
        w[body] = lo / row_sensitivity + step * _places(degree)
    w.setflags(write=False)
    return w


@lru_cache(maxsize=8)
def _places(degree: int) -> Floats:
    """0, 1/degree, …, 1, not to be changed."""
    found = np.linspace(0, 1, degree + 1)
    found.setflags(write=False)
    return found


def grid_of(argument: Expression, degree: int, contribution: Fraction) -> ValueGrid:
    """The finest grid whose noise stays within 2^56.

    Args:
        argument: a bounded numeric expression.
        degree: of the measure.
        contribution: max_rows times the unit factor, divided by the epsilon of this measure.
    """
    span = argument.span
    assert span.lo is not None
    assert span.hi is not None
    # The least power of two that is no smaller: exactly, as it may be beyond all floats.
    above = (math.ceil(contribution) - 1).bit_length()
    bits = max(1, min(GRID_BITS, SCALE_BITS - above))
    lo, hi = float(span.lo), float(span.hi)
    if argument.type is Type.INTEGER:
        lo = float(math.ceil(span.lo))
        hi = max(lo, float(math.floor(span.hi)))  # integers only: the clamp in SQL is at integers, too
    reach = Fraction(max(abs(lo), abs(hi))) if degree < 0 else Fraction(hi) - Fraction(lo)
    if argument.type is Type.INTEGER and degree < 2 and reach < 2**bits:
        # Integers are their own grid; nothing is rounded.
        return ValueGrid(lo, hi, Fraction(1), max(1, int(reach)))
    # the least power of two with reach / step <= 2^bits
    step = Fraction(2) ** (math.ceil(math.log2(reach)) - bits) if reach else Fraction(1)
    while reach / step > 2**bits:
        step *= 2
    step = max(step, FINEST)
    grid = ValueGrid(lo, hi, step, 1)
    if degree < 0:
        return replace(grid, levels=max(1, abs(scaled(grid, lo, 0.0)), abs(scaled(grid, hi, 0.0))))
    return replace(grid, levels=max(1, scaled(grid, hi, lo)))


def scaled_sql(measure: Moments, dialect: Dialect) -> str:
    """The integer t of a row in SQL: 0 <= t <= R (or |t| <= M), NULL where the argument is NULL or NaN.

    The clamp stands here, and relies on no bounds of the expression inferred elsewhere; this is the line that the
    sensitivity rests on. The first branch holds for values in [lo, hi] only, there x - lo, the product with a power
    of two, the sum with 1/2 and floor are monotone also in floating point, and they give R for x = hi.
    """
    assert measure.argument is not None
    assert measure.grid is not None
    x, grid = "{0}", measure.grid
    base = 0.0 if measure.degree < 0 else grid.lo
    least, most = _span(grid, measure.degree)
    exact = measure.argument.type is Type.INTEGER and grid.step == 1
    if exact:
        lo, hi = str(int(grid.lo)), str(int(grid.hi))
        t = x if base == 0 else f"({x} - ({int(base)}))"
    else:
        x = f"CAST({x} AS DOUBLE)"
        lo, hi = f"CAST('{grid.lo!r}' AS DOUBLE)", f"CAST('{grid.hi!r}' AS DOUBLE)"
        shifted = x if base == 0 else f"({x} - CAST('{base!r}' AS DOUBLE))"
        scaled_ = f"{shifted} * CAST('{float(1 / grid.step)!r}' AS DOUBLE)"
        if dialect.underflow_raises and grid.step > 1:
            least_ = f"CAST('{float(grid.step) / 4!r}' AS DOUBLE)"
            scaled_ = f"CASE WHEN abs({shifted}) < {least_} THEN 0 ELSE {scaled_} END"
        t = dialect.whole.format(f"floor({scaled_} + CAST('0.5' AS DOUBLE))")
    text = clamped(x, lo, hi, exact=exact, inside=t, below=str(least), above=str(most))
    return fill(text, [spell(measure.argument, dialect)], dialect)


def _span(grid: ValueGrid, degree: int) -> tuple[int, int]:
    base = 0.0 if degree < 0 else grid.lo
    return scaled(grid, grid.lo, base), scaled(grid, grid.hi, base)


def scaled(grid: ValueGrid, x: float, base: float) -> int:
    """The integer of a value in [lo, hi], by the same operations in the same order as in SQL."""
    return math.floor((x - base) * float(1 / grid.step) + 0.5)


class Entries(Protocol):
    """Anything with a number of integers per group."""

    @property
    def entries(self) -> int:
        """The number of integers per group."""


def columns(measures: Sequence[Entries]) -> list[slice]:
    """Where each measure's entries stand in the row of integers of a group."""
    out, start = [], 0
    for measure in measures:
        out.append(slice(start, start + measure.entries))
        start += measure.entries
    return out
