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
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from discreet.engines.schema import Type
from discreet.planning.marginal_shares import strategy
from discreet.planning.marginals import Keys
from discreet.sql import functions as fn
from discreet.sql.algebra import keys as ks
from discreet.sql.algebra.relation import Rows
from discreet.sql.algebra.released import released_tables
from discreet.sql.analyze.release_scope import UnplannedRelease
from discreet.sql.expressions.expression import Expression, Literal, leaves
from discreet.sql.functions.apply import among
from discreet.sql.plan.estimated import Estimated
from discreet.sql.plan.plan import ScopePlan, Workload
from discreet.sql.plan.strategies import Chosen
from discreet.sql.syntax.grouping_sets import number_of

ADDED_UP = frozenset({"rows", "pairs"})
"""Choices whose integers of a total are the sums of those of its parts."""
LITERAL = frozenset({Type.TEXT, Type.INTEGER, Type.BOOLEAN})
"""The types whose listed values are written into the query to tell rows with others apart."""
MOST_LISTED = 1000
"""The most values that are written so."""
MOST_CELLS = 10_000_000
"""The most integers of the finest grouping of a workload, which is held in memory."""
MOST_UNASKED = 1_000_000
"""The most of them where nobody asked for that grouping itself."""


@dataclass(frozen=True)
class _Axes:
    """The keys of a workload.

    Attributes:
        keys: those that run together, by axis.
        of: the axes of each release, in its own order.
        more: which axes have a value more than is shown, the last one, for the rows of no public value.
    """

    keys: tuple[tuple[ks.Key, ...], ...]
    of: tuple[Keys, ...]
    more: Keys = ()

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of values of each axis."""
        return tuple(len(axis[0].values) for axis in self.keys)

    def joined(self, chosen: Keys) -> tuple[ks.Key, ...]:
        """The keys of some axes, one after the other."""
        return tuple(
            replace(key, block=at if len(self.keys[at]) > 1 else None)
            for at in chosen
            for key in self.keys[at]
        )


def groups_of(
    drafts: Sequence[UnplannedRelease], chosen: Sequence[Chosen], weights: Sequence[Sequence[Fraction]]
) -> list[list[int]]:
    """The numbers of the releases that are measured together, by workload."""
    if released_tables(draft.rows.relation for draft in drafts):
        return []  # a release that waits for another one has its numbers by itself
    found: list[list[int]] = []
    for index, (draft, one) in enumerate(zip(drafts, chosen, strict=True)):
        if draft.unknown or not _adds_up(one):
            continue
        for group in found:
            other = group[0]
            if (
                number_of(drafts[other].place) == number_of(draft.place)
                and _rows(drafts[other].rows) == _rows(draft.rows)
                and (chosen[other].choices, chosen[other].sets) == (one.choices, one.sets)
                and weights[other] == weights[index]
            ):
                group.append(index)
                break
        else:
            found.append([index])
    return [group for group in found if len(group) > 1]


def _adds_up(chosen: Chosen) -> bool:
    return all(choice.counts in ADDED_UP for choice in chosen.choices)


def _rows(rows: Rows) -> tuple[object, ...]:
    return rows.relation, rows.per_unit, rows.max_rows, rows.fixed


def together(
    group: Sequence[int],
    drafts: Sequence[UnplannedRelease],
    releases: Sequence[ScopePlan],
    shares: Sequence[tuple[Fraction, ...]],
    build: Callable[[UnplannedRelease, int, tuple[Fraction, ...]], ScopePlan],
) -> tuple[Workload, dict[int, ScopePlan]] | None:
    """The workload of some releases; None where their keys are not apart, or too many.

    Args:
        group: the numbers of the releases.
        drafts: of all releases.
        releases: as they would be measured by themselves.
        shares: the epsilon of their sets of alternatives.
        build: plans a release; its number says which measures it has.

    Returns:
        The workload, and the releases as tables that are estimated, by number.
    """
    axes = _axes([drafts[index].keys for index in group])
    if axes is not None and number_of(drafts[group[0]].place) is None:
        axes = _with_others(axes)
    entries = sum(measure.entries for measure in releases[group[0]].measures)
    if axes is None or 0 in axes.sizes:
        return None
    whole_asked = any(len(own) == len(axes.keys) for own in axes.of)
    if math.prod(axes.sizes) * entries > (MOST_CELLS if whole_asked else MOST_UNASKED):
        return None
    tables = tuple(sorted({tuple(sorted(own)) for own in axes.of}, key=lambda keys: (len(keys), keys)))
    chosen = strategy(axes.sizes, tables)
    whole = tuple(sum(parts, Fraction(0)) for parts in zip(*(shares[index] for index in group), strict=True))
    first = drafts[group[0]]
    every = tuple(range(len(axes.keys)))
    # The least share decides the grid, which all marginals have in common.
    least = min(share for _, share in chosen.shares)
    finest = build(replace(first, keys=axes.joined(every)), group[0], tuple(least * one for one in whole))
    marginals = tuple(
        (keys, _marginal(finest, axes, keys, share / least, number))
        for number, (keys, share) in enumerate(chosen.shares)
    )
    scales = tuple(finest.scale(index) * least for index in range(len(finest.measures)))
    of_tables = {}
    for index, own in zip(group, axes.of, strict=True):
        estimated = Estimated(chosen, own, scales, axes.more)
        inexact = any(estimated.bits(index) for index in range(len(scales)))
        of_tables[index] = replace(
            releases[index],
            measures=finest.measures,
            shares=tuple(share / least for share in finest.shares),
            aggregates=tuple(
                replace(one, whole=one.whole and not inexact) for one in releases[index].aggregates
            ),
            estimated=estimated,
        )
    names = tuple(releases[index].name for index in group)
    return Workload(finest, marginals, names, number_of(first.place) is not None), of_tables


def _marginal(finest: ScopePlan, axes: _Axes, keys: Keys, times: Fraction, number: int) -> ScopePlan:
    """A marginal that is measured: that many times the epsilon of the finest grouping."""
    own = axes.joined(keys)
    read = tuple(key.expression for key in own)
    return replace(
        finest,
        name=f"{finest.name} marginal {number + 1}",
        keys=own,
        parts=tuple(replace(part, keys=read) for part in finest.parts),
        shares=tuple(share * times for share in finest.shares),
    )


def _axes(of_releases: Sequence[tuple[ks.Key, ...]]) -> _Axes | None:
    """The keys of some releases as axes; None where an expression is in two of them."""
    known: dict[tuple[tuple[Expression, tuple[object, ...]], ...], int] = {}
    axes: list[tuple[ks.Key, ...]] = []
    of = []
    for keys in of_releases:
        own = []
        for numbers in ks.axes(keys):
            axis = tuple(keys[index] for index in numbers)
            named = tuple((key.expression, key.values) for key in axis)
            if named not in known:
                known[named] = len(axes)
                axes.append(axis)
            own.append(known[named])
        of.append(tuple(own))
    expressions = [key.expression for axis in axes for key in axis]
    if len(set(expressions)) < len(expressions):
        return None
    return _Axes(tuple(axes), tuple(of))


def _with_others(axes: _Axes) -> _Axes | None:
    """The axes, with one value more where a row may have none of the public ones; None where that cannot be told."""
    keys, more = list(axes.keys), []
    for number, axis in enumerate(axes.keys):
        key = axis[0]
        if all(map(_closed, axis)):
            continue
        if len(axis) > 1:
            return None
        expression = key.expression
        if _listed(expression):
            if len(key.values) > MOST_LISTED or expression.type not in LITERAL:
                return None
            values: list[Expression] = [Literal(value, expression.type) for value in key.values]
            expression = fn.case([(among(expression, values), expression)], Literal(None, expression.type))
        more.append(number)
        keys[number] = (replace(key, expression=expression, values=(*key.values, None)),)
    return replace(axes, keys=tuple(keys), more=tuple(more))


def _closed(key: ks.Key) -> bool:
    """Whether every row has one of the values of a key."""
    return None in key.values or not (key.expression.span.nullable or _listed(key.expression))


def _listed(expression: Expression) -> bool:
    """Whether the policy lists values of a column that an expression reads, so that there may be others."""
    return any(column.span.listed for column in leaves(expression))
