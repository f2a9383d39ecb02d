"""Workloads: releases that aggregate the same rows by different keys are measured together.

Which of their marginals are measured, and with which shares of the epsilon of all of them, is chosen by predicted error
(`planning.marginal_shares`); every table is estimated from all that is measured (`planning.marginals`).

The sets of one GROUP BY with GROUPING SETS, ROLLUP or CUBE are tables of one set of rows: a row whose values are not
all among the public ones is in none of them, so that every total is the sum of its parts. Branches of a statement that
each have their own GROUP BY count all rows of their groups. There a key has one value more where a row may have none of
the public ones (`others`); it counts in the totals, and is not shown.

Privacy: the integers of the finest grouping are moved by one neighbour step as those of any release. A marginal sums
them over some keys, so it is moved by at most as much in L1, and costs its share of epsilon like any release. The
estimates are post-processing. Sizes of domains alone decide the strategy: they follow from the text and the policy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction

from discreet.planning.marginal_shares import strategy
from discreet.planning.marginals import Keys
from discreet.sql.algebra.relation import PrivateRows
from discreet.sql.algebra.released import released_tables
from discreet.sql.analyze.release_scope import UnplannedRelease
from discreet.sql.measures.all_rows import AllRows
from discreet.sql.plan.measure_choice import ADDED_UP
from discreet.sql.plan.plan import JointWorkload, PlannedRelease
from discreet.sql.plan.strategies import Chosen
from discreet.sql.plan.workloads.axes import Axes, axes_of, with_others
from discreet.sql.plan.workloads.estimated import Estimated
from discreet.sql.plan.workloads.pieced import Pieced

MOST_MARGINAL_CELLS = 10_000_000
"""The most integers of the finest grouping of a workload, which is held in memory."""
MOST_UNASKED = 1_000_000
"""The most of them where nobody asked for that grouping itself."""


def groups_of(
    unplanned: Sequence[UnplannedRelease], chosen: Sequence[Chosen], weights: Sequence[Sequence[Fraction]]
) -> list[list[int]]:
    """The numbers of the releases that are measured together, by workload."""
    if released_tables(release.rows.relation for release in unplanned):
        return []  # a release that waits for another one has its numbers by itself
    return groups_alike(
        (
            index,
            (release.grouping_sets, _rows(release.rows), selection.choices, selection.sets, weights[index]),
        )
        for index, (release, selection) in enumerate(zip(unplanned, chosen, strict=True))
        if not release.unknown and _adds_up(selection)
    )


def groups_alike(numbered: Iterable[tuple[int, tuple[object, ...]]]) -> list[list[int]]:
    """The numbers of things that have equal properties, where there are several.

    Example:
        >>> groups_alike([(0, ("a", [1])), (1, ("b", [1])), (2, ("a", [1]))])
        [[0, 2]]
    """
    found: list[tuple[tuple[object, ...], list[int]]] = []
    for index, own in numbered:
        for other, group in found:
            if own == other:
                group.append(index)
                break
        else:
            found.append((own, [index]))
    return [group for _, group in found if len(group) > 1]


def _adds_up(chosen: Chosen) -> bool:
    return all(choice.counts in ADDED_UP for choice in chosen.choices)


def _rows(rows: PrivateRows) -> tuple[object, ...]:
    return rows.relation, rows.per_unit, rows.max_rows, rows.fixed


def together(
    group: Sequence[int],
    unplanned: Sequence[UnplannedRelease],
    releases: Sequence[PlannedRelease],
    shares: Sequence[tuple[Fraction, ...]],
    build: Callable[[UnplannedRelease, int, tuple[Fraction, ...]], PlannedRelease],
) -> tuple[JointWorkload, dict[int, PlannedRelease]] | None:
    """The workload of some releases; None where their keys overlap, or are too many.

    Args:
        group: the numbers of the releases.
        unplanned: of all releases.
        releases: as they would be measured by themselves.
        shares: the epsilon of their sets of alternatives.
        build: plans a release; its number says which measures it has.

    Returns:
        The workload, and the releases as tables that are estimated, by number.
    """
    axes = axes_of([unplanned[index].keys for index in group])
    if axes is not None and not unplanned[group[0]].grouping_sets:
        axes = with_others(axes)
    entries = sum(measure.entries for measure in releases[group[0]].measures)
    if axes is None or 0 in axes.sizes:
        return None
    whole_asked = any(len(own) == len(axes.sizes) for own in axes.of)
    if math.prod(axes.sizes) * entries > (MOST_MARGINAL_CELLS if whole_asked else MOST_UNASKED):
        return None
    tables = tuple(sorted({tuple(sorted(own)) for own in axes.of}, key=lambda keys: (len(keys), keys)))
    chosen = strategy(axes.sizes, tables, within=axes.within)
    whole = tuple(sum(parts, Fraction(0)) for parts in zip(*(shares[index] for index in group), strict=True))
    first = unplanned[group[0]]
    every = tuple(range(len(axes.sizes)))
    # The least share decides the grid, which all marginals have in common.
    least = min(share for _, share in chosen.shares)
    finest = build(replace(first, keys=axes.joined(every)), group[0], tuple(least * share for share in whole))
    if any(isinstance(measure, AllRows) for measure in finest.measures):
        return None  # of a public number of rows, in which there is no noise to be shared
    marginals = tuple(
        (keys, _marginal(finest, axes, keys, share / least, number))
        for number, (keys, share) in enumerate(chosen.shares)
    )
    scales = tuple(finest.scale(index) * least for index in range(len(finest.measures)))
    of_tables = {}
    for index, own in zip(group, axes.of, strict=True):
        of_tables[index] = as_estimated(
            replace(releases[index], of_several=not finest.one_group),
            replace(finest, shares=tuple(share / least for share in finest.shares)),
            Estimated(chosen, own, scales, axes.more),
        )
    names = tuple(releases[index].name for index in group)
    return JointWorkload(finest, axes.sizes, marginals, names, bool(first.grouping_sets)), of_tables


def as_estimated(release: PlannedRelease, finest: PlannedRelease, law: Estimated | Pieced) -> PlannedRelease:
    """A release as a table that is estimated from the measures of the finest grouping, by a law of its noise."""
    inexact = any(law.bits(index) for index in range(len(finest.measures)))
    return replace(
        release,
        measures=finest.measures,
        shares=finest.shares,
        aggregates=tuple(
            replace(aggregate, whole=aggregate.whole and not inexact, counts=aggregate.whole)
            for aggregate in release.aggregates
        ),
        estimated=law,
    )


def _marginal(finest: PlannedRelease, axes: Axes, keys: Keys, times: Fraction, number: int) -> PlannedRelease:
    """A marginal that is measured: that many times the epsilon of the finest grouping."""
    own = axes.joined(keys)
    read = tuple(key.expression for key in own)
    return replace(
        finest,
        name=f"{finest.name} marginal {number + 1}",
        keys=own,
        parts=tuple(replace(part, keys=read) for part in finest.parts),
        shares=tuple(share * times for share in finest.shares),
        of_several=not finest.one_group,
    )
