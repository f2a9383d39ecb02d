"""Covariance, correlation and regression of two bounded expressions, from one family of integers.

Let s in [0, R] and t in [0, R'] be x and y as scaled integers (measures.py), b_0, ..., b_p the Bernstein integers of
degree p of s, and c_0, ..., c_q those of degree q of t: they are non-negative, and sum to R and to R'. Each row where
neither x nor y is NULL adds to its group

    e_ij = b_i c_j // R'    for all (i, j) but (0, 0),    and    e_00 = R - (the sum of the others).

The others are non-negative. Their sum is at most (sum of b_i c_j) / R' = R R' / R' = R, so e_00 is non-negative, too,
and the entries of a row sum to R exactly: one row moves them by R in L1 for all x and y. All products stay below
2^62. Up to rounding, which takes away less than one part in 2^26 of a row, e_ij / R is the product of the two
Bernstein bases, so each mean that is asked for is linear in them: that of x^k y^l for k up to p and l up to q.

A covariance needs p = q = 1: 4 integers. A slope needs the variance of x as well, p = 2: 6. A correlation needs both,
p = q = 2: 9, which hold the slopes of y on x and of x on y: a pair is measured once, in either order of its names.
Families with fewer integers exist (the 6 Bernstein polynomials of degree 2 on a triangle that holds the
square), but there the moments are 4 times as large in the entries, and so is their noise.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from discreet.records import dataclass
from discreet.sql.expressions.dialect import SATURATE, Dialect, divided, total
from discreet.sql.expressions.expression import Expression
from discreet.sql.functions.aggregates import RELATIVE
from discreet.sql.measures import bernstein
from discreet.sql.measures.measure import Moments, ValueGrid, scaled_sql

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class JointMoments:
    """The integers of a pair of expressions.

    Attributes:
        argument: x.
        other: y.
        degrees: p and q.
        grid: how x is scaled; R is its `levels`.
        other_grid: how y is scaled; R' is its `levels`.
        with_null: whether one more entry holds the rows where x or y is NULL, so that all rows are counted.
        part: the number of the part of the release whose rows are measured.
    """

    argument: Expression
    other: Expression
    degrees: tuple[int, int]
    grid: ValueGrid
    other_grid: ValueGrid
    with_null: bool = False
    part: int = 0

    degree = 2

    @property
    def entries(self) -> int:
        """The number of integers per group."""
        return self._body + self.with_null

    @property
    def _body(self) -> int:
        return (self.degrees[0] + 1) * (self.degrees[1] + 1)

    @property
    def row_sensitivity(self) -> int:
        """By how much one row moves the integers of its group, in L1."""
        return self.grid.levels

    @property
    def replacing_sensitivity(self) -> int:
        """By how much one row in the place of another moves them: at both ends of x and y only e_00 or e_pq is R."""
        return (2 if self.entries > 1 else 1) * self.row_sensitivity

    @property
    def name(self) -> str:
        """The name of the measure, for people."""
        return "moments of a pair"

    @property
    def arguments(self) -> tuple[Expression, ...]:
        """Columns that a row must carry."""
        return self.argument, self.other

    def plain(self, quantity: str) -> bool:
        """No quantity of a pair is exactly one of its integers."""
        return False

    def over(self, rename: Callable[[Expression], Expression]) -> JointMoments:
        """The same measure, reading its arguments elsewhere."""
        return dataclasses.replace(self, argument=rename(self.argument), other=rename(self.other))

    def reading(self, rename: Callable[[Expression], Expression]) -> JointMoments:
        """The same measure, reading its arguments where they were computed already."""
        return self.over(rename)

    def weights(self, quantity: str) -> Floats | None:
        """The estimate of a linear quantity as weights of the entries; None when it is not linear."""
        out = np.full(self.entries, 1 / self.row_sensitivity)
        if quantity == "rows":
            return out
        out[self._body :] = 0
        return out if quantity == "pairs" else None

    def row_items(self, name: str, dialect: Dialect) -> list[tuple[str, str]]:
        """Names and SQL of the columns that a row must carry: both scaled integers, or NULL for both."""
        x = scaled_sql(Moments(2, self.argument, self.grid, False), dialect)
        y = scaled_sql(Moments(2, self.other, self.other_grid, False), dialect)
        return [(f"{name}x", f"CASE WHEN ({y}) IS NOT NULL THEN {x} END"),
                (f"{name}y", f"CASE WHEN ({x}) IS NOT NULL THEN {y} END")]  # fmt: skip

    def group_items(self, name: str, dialect: Dialect) -> list[str]:
        """The exact integers of one group in SQL, over the rows of that group; wide, not yet saturated."""
        wide = dialect.wide
        r, bound = self.row_sensitivity, self.other_grid.levels
        b = _bernstein(f"{name}x", r, self.degrees[0], dialect)
        c = _bernstein(f"{name}y", bound, self.degrees[1], dialect)
        sums = [
            total(divided(f"{entry} * {other}", str(bound), dialect), dialect)
            for i, entry in enumerate(b)
            for j, other in enumerate(c)
            if (i, j) != (0, 0)
        ]
        rest = f"{r} * CAST(COUNT({name}x) AS {wide}) - {' - '.join(sums)}"
        null = [f"{r} * CAST(COUNT(*) - COUNT({name}x) AS {wide})"] if self.with_null else []
        return [rest, *sums, *null]

    def invented(self, rows: int) -> Integers:
        """The entries of a group whose pairs are spread evenly over the square: int64 array (entries,)."""
        out = np.zeros(self.entries, dtype=np.int64)
        out[: self._body] = min(rows * self.row_sensitivity // self._body, SATURATE)
        return out

    def relative_variance(self, quantity: str) -> float:
        """Of the noise, as the table of aggregates says."""
        return float(self.entries) if quantity in ("rows", "pairs") else RELATIVE[quantity]

    def range(self, quantity: str) -> tuple[float, float]:
        """The least and the greatest value of a quantity; infinite where there is none."""
        if quantity in ("avgx", "avgy"):
            argument = self.grid if quantity == "avgx" else self.other_grid
            return argument.lo, argument.hi
        return {"corr": (-1.0, 1.0), "r2": (0.0, 1.0)}.get(quantity, (-np.inf, np.inf))

    def estimate(self, quantity: str, noisy: Floats) -> Floats:
        """Estimate a quantity from noisy entries.

        Args:
            quantity: a quantity of a pair, or `rows`.
            noisy: float64 array (..., entries).

        Returns:
            float64 array (...), within the range of the quantity; NaN where the noise drowns it.
        """
        weights = self.weights(quantity)
        if weights is not None:
            return np.asarray(noisy @ weights)
        p, q = self.degrees
        body = noisy[..., : self._body].reshape(*noisy.shape[:-1], p + 1, q + 1)
        total = body.sum(axis=(-1, -2))
        of_x, of_y = body.sum(axis=-1), body.sum(axis=-2)
        with np.errstate(divide="ignore", invalid="ignore"):
            n = np.where(total > 0, total, np.nan)
            u, v = of_x @ np.linspace(0, 1, p + 1) / n, of_y @ np.linspace(0, 1, q + 1) / n
            wide, high = (float(g.step) * g.levels for g in (self.grid, self.other_grid))
            mean_x = self.grid.lo + wide * np.clip(u, 0, 1)
            mean_y = self.other_grid.lo + high * np.clip(v, 0, 1)
            if quantity in ("avgx", "avgy"):
                return np.asarray(mean_x if quantity == "avgx" else mean_y)
            product = (
                np.einsum("...ij,i,j->...", body, np.linspace(0, 1, p + 1), np.linspace(0, 1, q + 1)) / n
            )
            covariance = np.clip(product - u * v, -0.25, 0.25)
            if quantity.startswith("covar"):
                rows = n / self.row_sensitivity
                besides = np.where(rows > 1, rows / (rows - 1), np.nan) if quantity == "covar_samp" else 1.0
                return np.asarray(covariance * wide * high * besides)
            if quantity in ("slope_of_x", "intercept_of_x"):
                slope = covariance / _positive(of_y[..., 2] / n - v * v) * (wide / high)
                return np.asarray(slope if quantity == "slope_of_x" else mean_x - slope * mean_y)
            spread_x = _positive(of_x[..., 2] / n - u * u)
            if quantity in ("slope", "intercept"):
                slope = covariance / spread_x * (high / wide)
                return np.asarray(slope if quantity == "slope" else mean_y - slope * mean_x)
            spread_y = _positive(of_y[..., 2] / n - v * v)
            correlation = np.clip(covariance / np.sqrt(spread_x * spread_y), -1, 1)
            return np.asarray(correlation if quantity == "corr" else correlation**2)


def _positive(variance: Floats) -> Floats:
    """A variance, at most a quarter of the squared range; NaN where the noise left none."""
    return np.where(variance > 0, np.minimum(variance, 0.25), np.nan)


def _bernstein(t: str, r: int, degree: int, dialect: Dialect) -> list[str]:
    """The Bernstein integers of a scaled integer in SQL: non-negative, with sum r."""
    others = bernstein.integers(t, r, degree, dialect)
    return [f"({r} - {' - '.join(others)})", *others]
