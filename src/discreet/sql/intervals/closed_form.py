"""Intervals of direct aggregates, in closed form wherever there is one.

An interval is for the noise alone: it covers, with the stated confidence, the value that the same query would
have given without noise. It does not cover the change that clamping, the row limit and dropped keys made before.

Each noisy entry is its true integer plus a Laplace or Gaussian variable of known scale, so a linear quantity (a count,
a sum) errs by a weighted sum of those, whose tail is known (`noise_widths`). A mean is a ratio of two noisy entries:
mean <= c exactly when (1 - c) a - c b <= 0, so the set of all c that a test of that inequality does not reject
has exactly the stated coverage (Fieller 1954), however few rows there are. A quantile is found by a test, too, see
`quantile_tree.QuantileTree.interval`. Variances, covariances and all that is made of them are drawn again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from discreet.mechanisms.laplace_sum.half_width import each as half_width
from discreet.sql.intervals.noise_widths import deviation, half_widths, single
from discreet.sql.intervals.percentiles import percentiles
from discreet.sql.intervals.seeds import row_generator
from discreet.sql.measures.all_rows import AllRows, noise_of
from discreet.sql.measures.moments import JointMoments
from discreet.sql.measures.quantile_tree import QuantileTree
from discreet.sql.measures.ranks import Ranks
from discreet.sql.plan.generic.generic_plan import generic_release
from discreet.sql.plan.plan import Aggregate, PlannedRelease

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

DRAWS = 4000
"""How often noise is drawn again: the 2.5th percentile of 4,000 draws is within 0.25 points of the true one."""
ALONE = 1000
"""How often at least the noise of a group that stands for itself is drawn again, beside however many others."""
STEPS = 1024
"""How many steps the half-widths of a mean are tabulated in."""
FEW = 16
"""Groups of which each is worked out by itself: an operation on arrays costs as much as twenty on numbers."""
MOST_WIDTHS = 64
"""How many half-widths of a plan are kept."""
BEYOND = 4
"""How many draws lie at or beyond each end of an interval at least; with fewer, it would be a matter of luck."""
MOST_DRAWN = 100_000_000
"""The most numbers drawn for one column, where a high confidence needs more draws than usual or groups are many."""
MOST_NUMBERS = 8_000_000
"""The most numbers drawn at a time."""


def linear_half_width(release: PlannedRelease, aggregate: Aggregate, confidence: float) -> float | None:
    """The half-width of the interval of a count or a sum, the same in every group; None for other quantities.

    Rounding to whole numbers afterwards is covered: the half-width of a whole quantity is rounded up.
    """
    # The noise depends on no argument of the question, and a service is asked the same template again and again.
    known: dict[object, float | None] = generic_release(release).memo.setdefault("half-widths", {})
    key = (aggregate.measure, aggregate.quantity, aggregate.whole, confidence)
    found = known.get(key, math.nan)  # another thread may clear it at any time
    if found is not None and math.isnan(found):
        if len(known) >= MOST_WIDTHS:
            known.clear()
        known[key] = found = _half_width(release, aggregate, confidence)
    return found


def _half_width(release: PlannedRelease, aggregate: Aggregate, confidence: float) -> float | None:
    measure = release.measures[aggregate.measure]
    weights = measure.weights(aggregate.quantity)
    if weights is None:
        return None
    if release.law is not None and not release.law.plain:
        width = release.law.half_width(weights, aggregate.measure, confidence)
        return float(np.ceil(width)) if aggregate.whole else width
    weights = noise_of(measure, weights)
    used = tuple(sorted(abs(float(w)) for w in weights if w != 0))
    if not used:
        return 0.0
    if len(used) == 1:
        # One discrete variable: the least whole number of steps with enough mass.
        return used[0] * single(release, aggregate.measure, confidence)
    if release.gaussian(aggregate.measure) is None:
        width = float(release.scale(aggregate.measure)) * _unit_width(used, confidence)
    else:
        own = np.full(len(used), aggregate.measure)
        width = float(half_widths(release, np.array(used), own, confidence))
    return float(np.ceil(width)) if aggregate.whole else width


@lru_cache(maxsize=256)
def _unit_width(weights: tuple[float, ...], confidence: float) -> float:
    """The half-width of a weighted sum of standard Laplace variables."""
    return float(half_width(np.array(weights), confidence))


def closed(release: PlannedRelease, aggregate: Aggregate) -> bool:
    """Whether the interval of an aggregate is a formula of its entries, the same whenever it is made."""
    measure = release.measures[aggregate.measure]
    return measure.weights(aggregate.quantity) is not None or (
        aggregate.quantity == "avg" and measure.degree == 1
    )


def mean_interval(a: Floats, b: Floats, scale: float, confidence: float) -> tuple[Floats, Floats]:
    """The interval of B/(A + B), from a of A and b of B that have independent Laplace noise; see `mean_within`."""
    return mean_within(a, b, scale * _ratio_widths(confidence))


def mean_within(a: Floats, b: Floats, widths: Floats) -> tuple[Floats, Floats]:
    """The interval of B/(A + B), from noisy a of A and b of B: all c with |(1 - c) b - c a| small enough.

    Args:
        a: float64 array (n,), noisy sum of R - t.
        b: float64 array (n,), noisy sum of t.
        widths: float64 array (STEPS + 1,), the half-widths of the noise of (1 - c) b - c a at c = 0, 1/STEPS, …, 1.

    Returns:
        Two float64 arrays (n,) in [0, 1]; the whole of [0, 1] where the noise drowns everything.
    """
    total = a + b
    sure = total > 0
    # At c = 0 and at c = 1 the test looks at b alone and at a alone; a point in between always passes at b / total.
    beyond_low, beyond_high = np.abs(b) > widths[0], np.abs(a) > widths[-1]
    sure &= ~(((b < 0) & beyond_low) | ((a < 0) & beyond_high))
    low, high = np.zeros_like(total), np.ones_like(total)
    for end, crossed in ((low, sure & beyond_low), (high, sure & beyond_high)):
        # Only there does the interval end before the edge.
        if crossed.any():
            end[crossed] = _crossing(b[crossed], total[crossed], widths, end is high)
    return low, high


def _crossing(b: Floats, total: Floats, widths: Floats, upper: bool) -> Floats:
    """Where |b - c total| comes to exceed the half-width, going from b / total to an edge at which it does.

    Args:
        b: float64 array (n,).
        total: float64 array (n,), greater than zero.
        widths: float64 array (STEPS + 1,), the half-widths at c = 0, 1/STEPS, …, 1; straight lines in between.
        upper: whether the edge is 1; else it is 0.
    """
    if len(b) <= FEW:
        return np.array(
            [_crossing_of(*pair, widths, upper) for pair in zip(b.tolist(), total.tolist(), strict=True)]
        )
    sign = -1.0 if upper else 1.0

    def beyond(step: NDArray[np.intp]) -> Floats:
        """By how much the test fails at a step; beyond b / total, on the other side, it never does."""
        return np.asarray(sign * (b - step / STEPS * total) - widths[step])

    place = np.clip(b / total, 0, 1) * STEPS
    inside = (np.minimum(place, STEPS - 1) if upper else np.maximum(np.ceil(place), 1)).astype(np.intp)
    outside = np.full_like(inside, STEPS if upper else 0)
    while (np.abs(outside - inside) > 1).any():
        middle = (inside + outside + upper) // 2  # rounded towards the edge: at neighbours nothing moves
        fails = beyond(middle) > 0
        inside, outside = np.where(fails, inside, middle), np.where(fails, middle, outside)
    # Between two steps both sides are straight lines of c.
    out, into = beyond(outside), beyond(inside)
    return np.asarray((outside + (inside - outside) * (out / (out - into))) / STEPS)


def _crossing_of(b: float, total: float, widths: Floats, upper: bool) -> float:
    """The same of one group, by the same operations in the same order."""
    sign = -1.0 if upper else 1.0
    place = min(max(b / total, 0.0), 1.0) * STEPS
    inside = int(min(place, STEPS - 1)) if upper else max(math.ceil(place), 1)
    outside = STEPS if upper else 0
    while abs(outside - inside) > 1:
        middle = (inside + outside + upper) // 2
        if sign * (b - middle / STEPS * total) - widths.item(middle) > 0:
            outside = middle
        else:
            inside = middle
    out = sign * (b - outside / STEPS * total) - widths.item(outside)
    into = sign * (b - inside / STEPS * total) - widths.item(inside)
    share = out / (out - into) if out != into else math.nan
    return (outside + (inside - outside) * share) / STEPS


@lru_cache(maxsize=64)
def _ratio_widths(confidence: float) -> Floats:
    """Half-widths of (1 - c) L1 - c L2 on a grid of c, for standard Laplace variables."""
    grid = np.linspace(0, 1, STEPS + 1)
    return half_width(np.stack([1 - grid, grid], axis=-1), confidence)


def needed(confidence: float) -> int:
    """How many draws show where an interval ends: some lie at or beyond each end, so that it is no matter of luck.

    Example:
        >>> needed(0.95), needed(0.999)
        (160, 8000)
    """
    return math.ceil(2 * BEYOND / (1 - confidence) - 1e-6)


def draws_for(releases: Sequence[PlannedRelease], least: int = 0) -> int:
    """How often the noise of some releases can be drawn again at once within the limits above.

    Args:
        releases: the plans.
        least: how many draws the confidence needs.
    """
    numbers = sum(release.cells * numbers_of(release) for release in releases)
    for release in releases:
        if release.law is not None:
            numbers += entries_of(release) * release.law.drawn_cells
    return min(max(DRAWS, least), MOST_NUMBERS // max(1, numbers))


def numbers_of(release: PlannedRelease) -> int:
    """How many numbers one group of a release is drawn with."""
    return entries_of(release) + len(release.aggregates)


def entries_of(release: PlannedRelease) -> int:
    """How many of them are noise, which is the same whichever aggregates are made of it."""
    return sum(
        measure.entries for measure in release.measures if not isinstance(measure, QuantileTree | Ranks)
    )


def redraw(
    release: PlannedRelease, measure: int, entries: Floats, draws: int, generator: np.random.Generator
) -> Floats:
    """Noise drawn again around released entries.

    This simulates; it protects nothing, so NumPy's generator will do.

    Args:
        release: the plan.
        measure: which measure the entries belong to.
        entries: float64 array (n, entries).
        draws: how often.
        generator: draws it.

    Returns:
        float64 array (draws, n, entries).
    """
    shape = draws, *entries.shape
    if release.law is not None:
        return release.law.sample_noise(measure, shape, generator) + entries
    noise = (
        generator.laplace(0.0, float(release.scale(measure)), shape)
        if release.gaussian(measure) is None
        else generator.normal(0.0, deviation(release, measure), shape)
    )
    measured = release.measures[measure]
    if isinstance(measured, AllRows):
        noise[..., : measured.noiseless] = 0
    noise += entries
    return noise


def drawn_again(
    release: PlannedRelease,
    measure: int,
    quantities: Sequence[str],
    entries: Floats,
    draws: int,
    generator: np.random.Generator,
) -> list[Floats]:
    """Estimates of some quantities of one measure, with the noise drawn again.

    Args:
        release: the plan.
        measure: which measure the entries belong to.
        quantities: those that are estimated.
        entries: float64 array (n, entries), noisy.
        draws: how often.
        generator: draws it.

    Returns:
        For each quantity a float64 array (draws, n).
    """
    measured = release.measures[measure]
    if isinstance(measured, Ranks):
        return [measured.again(quantity, entries, draws, generator) for quantity in quantities]
    if isinstance(measured, QuantileTree):
        from discreet.sql.intervals.simulated_quantiles import quantiles_again

        return quantiles_again(measured, quantities, entries, float(release.scale(measure)), draws, generator)
    out = [np.empty((draws, len(entries))) for _ in quantities]
    block = max(1, MOST_NUMBERS // (draws * measured.entries))
    for start in range(0, len(entries), block):
        part = slice(start, start + block)
        again = redraw(release, measure, entries[part], draws, generator)
        for quantity, values in zip(quantities, out, strict=True):
            values[:, part] = measured.estimate(quantity, again)
    return out


def drawn_alone(
    release: PlannedRelease, measure: int, quantities: Sequence[str], entries: Floats, draws: int
) -> list[Floats]:
    """The same with draws of each group that follow from its own entries, whichever other groups there are.

    So each group has its interval, but nothing may be made of the draws of several.
    """
    out = [np.empty((draws, len(entries))) for _ in quantities]
    for row in range(len(entries)):
        own = entries[row : row + 1]
        found = drawn_again(release, measure, quantities, own, draws, row_generator(measure, own[0]))
        for values, column in zip(out, found, strict=True):
            values[:, row] = column[:, 0]
    return out


def direct(
    release: PlannedRelease, aggregate: Aggregate, entries: Floats, values: Floats, confidence: float
) -> tuple[Floats, Floats]:
    """The interval of one aggregate in every group.

    Args:
        release: the plan.
        aggregate: which column.
        entries: float64 array (cells, entries) of its measure, noisy.
        values: float64 array (cells,), as estimated from the entries.
        confidence: strictly between 0 and 1.
    """
    width = linear_half_width(release, aggregate, confidence)
    if width is not None:
        return values - width, values + width
    measure = release.measures[aggregate.measure]
    if isinstance(measure, Ranks):
        return measure.interval(aggregate.quantity, entries, confidence)
    scale = float(release.scale(aggregate.measure))
    if isinstance(measure, QuantileTree):
        return measure.interval(aggregate.quantity, entries, scale, confidence)
    if aggregate.quantity == "avg" and measure.degree == 1:
        assert measure.grid is not None
        if isinstance(measure, AllRows):
            from discreet.mechanisms.numeric.laplace import float_half_width

            return measure.mean_interval(entries, float_half_width(scale, 1 - confidence))
        law = None if release.law is None or release.law.plain else release.law
        if law is not None or release.gaussian(aggregate.measure) is not None:
            grid = np.linspace(0, 1, STEPS + 1)
            own, mixed = np.full(2, aggregate.measure), np.stack([1 - grid, grid], axis=-1)
            widths = (
                half_widths(release, mixed, own, confidence)
                if law is None
                else law.half_widths(mixed, own, confidence)
            )
            low, high = mean_within(entries[:, 0], entries[:, 1], widths)
        else:
            low, high = mean_interval(entries[:, 0], entries[:, 1], scale, confidence)
        reach = float(measure.grid.step) * measure.row_sensitivity
        return measure.grid.lo + reach * low, measure.grid.lo + reach * high
    low, high = _by_draws(release, aggregate, entries, confidence)
    if isinstance(measure, JointMoments):
        return np.clip(low, *measure.range(aggregate.quantity)), np.clip(
            high, *measure.range(aggregate.quantity)
        )
    return low, high


def _by_draws(
    release: PlannedRelease, aggregate: Aggregate, entries: Floats, confidence: float
) -> tuple[Floats, Floats]:
    low, high = np.full(len(entries), np.nan), np.full(len(entries), np.nan)
    each = release.measures[aggregate.measure].entries
    # Of a large table fewer, however many of its groups are shown, so that a group has one interval beside any others.
    usual = DRAWS if DRAWS * each * release.cells <= MOST_DRAWN else ALONE
    draws = max(usual, needed(confidence))
    if draws > DRAWS and draws * each * len(entries) > MOST_DRAWN:
        return low, high  # too rare for draws to show
    block = max(1, MOST_NUMBERS // (draws * each))
    for start in range(0, len(entries), block):
        part = slice(start, start + block)
        (values,) = drawn_alone(release, aggregate.measure, [aggregate.quantity], entries[part], draws)
        low[part], high[part] = percentiles(values, confidence)
    return low, high
