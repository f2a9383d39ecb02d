"""Series: tables whose groups are ordered, and whose running totals or moving sums are asked for.

The sums that are measured, each group and smooth windows of several widths, are chosen by predicted error from the
question and the key list alone (`planning.ranges.search`). The groups are estimated by least squares, and everything
above them is made of these estimates: a running total is the sum of its days, exactly.

Privacy: the integers of the groups are moved by one neighbour step as those of any release. The measured sums are a
matrix of non-negative integers times them, whose columns add up to `WHOLE_WEIGHT`, so they are moved by at most that
many times as much in L1 (`PlannedRelease.times`), and get noise of that scale. The estimates are post-processing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from discreet.engines.schema import Type
from discreet.planning.ranges.factors import WHOLE_WEIGHT, Factors, error, single
from discreet.planning.ranges.families import RangeFamily
from discreet.planning.ranges.search import factors
from discreet.sql.algebra import keys as ks
from discreet.sql.algebra.released import released_tables
from discreet.sql.analyze.release_scope import UnplannedRelease
from discreet.sql.expressions.expression import Column
from discreet.sql.expressions.span import Span
from discreet.sql.measures.all_rows import AllRows
from discreet.sql.plan.measure_choice import ADDED_UP
from discreet.sql.plan.plan import JointWorkload, PlannedRelease
from discreet.sql.plan.strategies import Chosen
from discreet.sql.plan.workloads.series_law import SeriesLaw
from discreet.sql.plan.workloads.windows import FamiliesByKey

MOST_INTEGERS = 4_000_000
"""The most integers of a table that is estimated so, which is held in memory."""


def series_of(
    unplanned: UnplannedRelease,
    chosen: Chosen,
    release: PlannedRelease,
    found: FamiliesByKey,
    shares: tuple[Fraction, ...],
    build: Callable[[tuple[Fraction, ...]], PlannedRelease],
) -> tuple[JointWorkload, PlannedRelease] | None:
    """The workload of a table with sums along a key, and the table; None where its groups are better measured alone.

    Args:
        unplanned: the release.
        chosen: its measures.
        release: as it would be measured by itself.
        found: the sums that are asked for, by key.
        shares: the epsilon of its sets of alternatives.
        build: plans it with other shares.
    """
    if not found or unplanned.unknown or released_tables([unplanned.rows.relation]):
        return None
    if any(choice.counts not in ADDED_UP for choice in chosen.choices):
        return None
    if any(isinstance(measure, AllRows) for measure in release.measures):
        return None
    axes = ks.axes(release.keys)
    sizes = tuple(len(release.keys[axis[0]].values) for axis in axes)
    best = _best(axes, sizes, found)
    entries = sum(measure.entries for measure in release.measures)
    if best is None or release.cells * entries > MOST_INTEGERS:
        return None
    axis, families, matrix = best
    # The grid has room for the noise of all units.
    finest = build(tuple(share / WHOLE_WEIGHT for share in shares))
    finest = replace(finest, shares=release.shares)
    order = _order(release.keys[axes[axis][0]].values)
    scales = tuple(finest.scale(index) for index in range(len(finest.measures)))
    law = SeriesLaw(matrix, families, sizes, axis, order, scales)
    table = replace(
        finest,
        aggregates=tuple(
            replace(aggregate, whole=False, counts=aggregate.whole) for aggregate in finest.aggregates
        ),
        estimated=law,
    )
    others = tuple(key for index, key in enumerate(release.keys) if index not in axes[axis])
    nodes = ks.Key(Column("window", Type.INTEGER, Span()), tuple(range(matrix.nodes)))
    measured = replace(finest, name=f"{finest.name} windows", keys=(*others, nodes), times=WHOLE_WEIGHT)
    return JointWorkload(finest, sizes, (((), measured),), (release.name,), False, law), table


def _best(
    axes: list[tuple[int, ...]], sizes: tuple[int, ...], found: FamiliesByKey
) -> tuple[int, tuple[RangeFamily, ...], Factors] | None:
    """The axis with the largest gain, its families and its matrix."""
    best: tuple[float, tuple[int, tuple[RangeFamily, ...], Factors] | None] = (1.0, None)
    for key, families in found:
        if (key,) not in axes:
            continue  # a key that runs beside others is no order of the groups
        axis = axes.index((key,))
        matrix = factors(sizes[axis], families)
        if matrix is not None:
            gain = error(matrix, families) / error(single(sizes[axis]), families)
            best = min(best, (gain, (axis, families, matrix)), key=lambda option: option[0])
    return best[1]


def _order(values: tuple[Any, ...]) -> tuple[int, ...]:
    """The places of some values, least first and NULL last."""
    return tuple(
        sorted(
            range(len(values)),
            key=lambda index: (values[index] is None, index if values[index] is None else values[index]),
        )
    )
