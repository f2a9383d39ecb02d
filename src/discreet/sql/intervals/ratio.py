"""Intervals of ratios of counts and sums, by inverting a test: right however near to zero the divisor is.

For noisy N and D of true n and d, the ratio is r = n/d exactly when n - r d = 0. N - r D errs by a weighted sum of
Laplace or Gaussian variables of known scales, so the set of all r with |N - r D| <= w(r), w(r) being the half-width of
that sum, holds the true ratio with exactly the stated confidence (Fieller 1954). Where D could be noise alone the set
reaches infinity, and there is no interval.

With r = tan(t) both sides are divided by the length of (1, r): |cos(t) N - sin(t) D| <= W(t). W depends on the angle
alone and is tabulated; N and D are divided by their own noise first, so that the angles that matter lie apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from sqlglot import exp

from discreet.records import dataclass
from discreet.release.noisy_schema import aggregate_number
from discreet.sql.intervals.noise_widths import deviation, half_widths
from discreet.sql.lower.run import GroupSelection, NoisyIntegers, blocks
from discreet.sql.measures.all_rows import noise_of
from discreet.sql.measures.measure import columns
from discreet.sql.plan.plan import PlannedRelease

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Interval = tuple[Floats, Floats]

STEPS = 1024
"""How many angles the half-widths are tabulated at."""
HALVINGS = 60
"""How often the place of an end is halved: as fine as a double."""


@dataclass(frozen=True)
class LinearCombination:
    """A sum of aggregates of one noisy table, each times a constant.

    Attributes:
        terms: the number of an aggregate and its factor.
    """

    terms: tuple[tuple[int, float], ...]

    def times(self, factor: float) -> LinearCombination:
        """The same, that many times."""
        return LinearCombination(tuple((index, own * factor) for index, own in self.terms))


@dataclass(frozen=True)
class Ratio:
    """A quotient of two such sums."""

    top: LinearCombination
    bottom: LinearCombination


def ratio_in(node: exp.Expr, table: str) -> Ratio | None:
    """The ratio that an expression is; None where it is anything else."""
    node = _plain(node)
    if isinstance(node, exp.Mul):
        for side, other in ((node.this, node.expression), (node.expression, node.this)):
            factor, inner = _constant(side), ratio_in(other, table)
            if factor is not None and inner is not None:
                return Ratio(inner.top.times(factor), inner.bottom)
    if not isinstance(node, exp.Div):
        return None
    divisor = _constant(node.expression)
    inner = None if divisor is None else ratio_in(node.this, table)
    if inner is not None and divisor:
        return Ratio(inner.top.times(1 / divisor), inner.bottom)
    top, bottom = _linear(node.this, table), _linear(node.expression, table)
    return None if top is None or bottom is None else Ratio(top, bottom)


def _plain(node: exp.Expr) -> exp.Expr:
    """An expression without parentheses, casts to a double, and NULLIF of zero, which say nothing of its size."""
    double = type(node) is exp.Cast and node.to.this is exp.DType.DOUBLE
    known = isinstance(node, exp.Nullif) and _constant(node.expression) == 0
    return _plain(node.this) if isinstance(node, exp.Paren) or double or known else node


def _constant(node: exp.Expr) -> float | None:
    node = _plain(node)
    if isinstance(node, exp.Neg):
        inner = _constant(node.this)
        return None if inner is None else -inner
    if isinstance(node, exp.Literal) and not node.is_string:
        try:
            return float(node.name)
        except ValueError:
            return None
    return None


def _linear(node: exp.Expr, table: str) -> LinearCombination | None:
    node = _plain(node)
    if isinstance(node, exp.Column):
        number = aggregate_number(node.name)
        return LinearCombination(((number, 1.0),)) if node.table == table and number is not None else None
    if isinstance(node, exp.Neg):
        inner = _linear(node.this, table)
        return None if inner is None else inner.times(-1.0)
    if isinstance(node, exp.Mul):
        for side, other in ((node.this, node.expression), (node.expression, node.this)):
            factor, inner = _constant(side), _linear(other, table)
            if factor and inner is not None:
                return inner.times(factor)
        return None
    if isinstance(node, exp.Add | exp.Sub):
        left, right = _linear(node.this, table), _linear(node.expression, table)
        if left is None or right is None:
            return None
        return LinearCombination(left.terms + right.times(-1.0 if isinstance(node, exp.Sub) else 1.0).terms)
    return None


def weights(release: PlannedRelease, sum_: LinearCombination) -> Floats | None:
    """A sum of aggregates as one of the integers of a group: float64 array (integers,); None where it is not linear."""
    out = np.zeros(sum(measure.entries for measure in release.measures))
    for index, factor in sum_.terms:
        aggregate = release.aggregates[index]
        own = release.measures[aggregate.measure].weights(aggregate.quantity)
        if own is None:
            return None
        out[release.entries[aggregate.measure]] += factor * own
    return out


def noise_weights(release: PlannedRelease, sum_: Floats) -> Floats:
    """The weights that the noise of each integer has in such a sum: float64 array (integers,)."""
    places = zip(release.measures, columns(release.measures), strict=True)
    return np.concatenate([noise_of(measure, sum_[place]) for measure, place in places])


def ratio_ends(
    noisy: NoisyIntegers, ratio: Ratio, groups: GroupSelection, confidence: float
) -> Interval | None:
    """The interval of a ratio in some groups, float64 arrays (groups,); None where it is not one of linear quantities.

    Args:
        noisy: the noisy integers.
        ratio: of their aggregates.
        groups: the ones that are wanted.
        confidence: strictly between 0 and 1.
    """
    release = noisy.plan
    top, bottom = weights(release, ratio.top), weights(release, ratio.bottom)
    if top is None or bottom is None or not top.any() or not bottom.any():
        return None
    scales = np.concatenate(
        [np.full(m.entries, deviation(release, index)) for index, m in enumerate(release.measures)]
    )
    moving = [noise_weights(release, each) for each in (top, bottom)]
    own = [float(np.sqrt(np.sum((weights * scales) ** 2))) for weights in moving]
    if not all(own):
        return None
    angles = np.linspace(-np.pi / 2, np.pi / 2, STEPS + 1)
    unit = np.stack([moving[0] * scales / own[0], moving[1] * scales / own[1]])
    mixed = np.abs(np.cos(angles)[:, np.newaxis] * unit[0] - np.sin(angles)[:, np.newaxis] * unit[1])
    used = (mixed > 0).any(axis=0)
    widths = _widths(release, mixed / scales, used, confidence)
    count = len(noisy.entries[groups, :0])
    low, high = np.empty(count), np.empty(count)
    for place, here in blocks(groups, len(noisy.entries), 1 << 12):
        entries = noisy.all(here)
        ends = angle_ends(entries @ top / own[0], entries @ bottom / own[1], angles, widths)
        low[place], high[place] = (end * own[0] / own[1] for end in ends)
    return low, high


def _widths(release: PlannedRelease, mixed: Floats, used: NDArray[np.bool_], confidence: float) -> Floats:
    """The half-widths of weighted sums of the integers of a group: float64 (sums,) from (sums, integers)."""
    measures = np.repeat(np.arange(len(release.measures)), [m.entries for m in release.measures])
    if release.law is not None and not release.law.plain:
        return release.law.half_widths(mixed, measures, confidence)
    return half_widths(release, mixed[:, used], measures[used], confidence)


def angle_ends(n: Floats, d: Floats, angles: Floats, widths: Floats) -> Interval:
    """The least and the greatest ratio that passes the test, around n / d.

    Args:
        n: float64 array (groups,), in units of its noise.
        d: float64 array (groups,), in units of its noise.
        angles: float64 array (steps + 1,), from -pi/2 to pi/2.
        widths: float64 array (steps + 1,), the half-width at each.

    Returns:
        Low and high ends; infinite where the divisor could be zero.
    """
    sign = np.where(d < 0, -1.0, 1.0)
    n, d = n * sign, d * sign
    bounded = d > widths[-1]
    middle = np.arctan2(n, np.where(d == 0, 1.0, d))
    fails = np.abs(np.outer(n, np.cos(angles)) - np.outer(d, np.sin(angles))) > widths
    steps = np.arange(len(angles))
    place = np.searchsorted(angles, middle)
    below = np.where(fails & (steps < place[:, np.newaxis]), steps, 0).max(axis=1)
    above = np.where(fails & (steps >= place[:, np.newaxis]), steps, len(angles) - 1).min(axis=1)
    out = []
    for outside in (angles[below], angles[above]):
        inside = middle.copy()
        outside = outside.copy()
        for _ in range(HALVINGS):
            half = (inside + outside) / 2
            beyond = np.abs(n * np.cos(half) - d * np.sin(half)) > np.interp(half, angles, widths)
            inside, outside = np.where(beyond, inside, half), np.where(beyond, half, outside)
        out.append(np.tan(outside))
    low, high = np.where(bounded, out[0], -np.inf), np.where(bounded, out[1], np.inf)
    return low, high


def ratio_intervals(
    items: Mapping[str, exp.Expr], noisy: NoisyIntegers, cells: GroupSelection, confidence: float
) -> dict[str, Interval]:
    """The intervals of those columns that are ratios of counts and sums of their group.

    Args:
        items: the expressions of columns by name, over a noisy table.
        noisy: its noisy integers.
        cells: the groups that are shown.
        confidence: of the intervals.
    """
    out = {}
    for name, item in items.items():
        ratio = ratio_in(item, noisy.plan.name)
        ends = None if ratio is None else ratio_ends(noisy, ratio, cells, confidence)
        if ends is not None:
            out[name] = ends
    return out
