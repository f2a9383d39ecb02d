"""Questions of the same rows but for conditions on public keys, such as ranges of days, measured together.

Each group of each question is a set of values of the keys (`places`). The values that are in the same of these sets are
one piece; the pieces are measured, and sums of them, such that the questions have the least error
(`planning.ranges.pieces`), and every answer is a sum of the estimates of its pieces. So ranges that are parts of
another add up to it. Columns without public values, and values that are computed from these, are cut where the
questions compare them (`cuts`), and a unit with several rows is bounded once for all questions (`bounded`).

Privacy: the integers of the finest grouping, by all keys, are moved by one neighbour step as those of any release. The
measured sums are a matrix of non-negative integers times them, whose columns add up to S, so they are moved by at most
S times as much in L1 (`PlannedRelease.times`), and get noise of that scale. The estimates are post-processing. The
texts and the policy alone decide which pieces there are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.engines.schema import Type
from discreet.planning.ranges.pieces import MOST_PIECES, MOST_SUMS, of_table, pieces
from discreet.sql import functions as fn
from discreet.sql.algebra import keys as ks
from discreet.sql.algebra.released import released_tables
from discreet.sql.analyze.release_scope import UnplannedRelease
from discreet.sql.expressions.expression import Column, Expression, Literal
from discreet.sql.expressions.span import Span, Value
from discreet.sql.functions.apply import among
from discreet.sql.measures.all_rows import AllRows
from discreet.sql.plan.measure_choice import ADDED_UP
from discreet.sql.plan.plan import JointWorkload, PlannedRelease
from discreet.sql.plan.strategies import Chosen
from discreet.sql.plan.workloads.axes import LITERAL, MOST_LISTED, listed
from discreet.sql.plan.workloads.bounded import alike, as_asked, more_rows, of_any
from discreet.sql.plan.workloads.cuts import intervals
from discreet.sql.plan.workloads.differing import MOST_COMBINATIONS, Differing, ReleasesApart
from discreet.sql.plan.workloads.pieced import Parted, Pieced
from discreet.sql.plan.workloads.places import base_of, places
from discreet.sql.plan.workloads.together import as_estimated, groups_alike

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

ALONE = 2 * 1.02
"""The variance of a table by itself at the whole epsilon, with as much more as weights in whole units take."""


def ranges_of(
    apart: ReleasesApart, weights: Sequence[Sequence[Fraction]]
) -> Iterator[tuple[JointWorkload, dict[int, PlannedRelease]]]:
    """The workloads of the releases that differ in conditions on public keys, and their tables by number."""
    for group in _alike(apart, weights):
        found = _measured(group)
        if found is not None:
            yield found
            continue
        classes: dict[frozenset[str], list[int]] = {}
        for index in group.numbers:
            classes.setdefault(group.columns(index), []).append(index)
        for numbers in classes.values():
            found = _measured(Differing(apart, numbers)) if len(numbers) < len(group.numbers) else None
            if found is not None:
                yield found


def _alike(apart: ReleasesApart, weights: Sequence[Sequence[Fraction]]) -> list[Differing]:
    """The releases of the same rows but for their conditions, with the same measures."""
    if len(apart.unplanned) < 2 or released_tables(release.rows.relation for release in apart.unplanned):
        return []  # a release that waits for another one has its numbers by itself
    found = groups_alike(
        (index, (_rows(unplanned), chosen.choices, chosen.sets, weights[index]))
        for index, (unplanned, chosen) in enumerate(zip(apart.unplanned, apart.chosen, strict=True))
        if _may(unplanned, chosen, apart.releases[index])
    )
    groups = [Differing(apart, group) for group in found]
    return [group for group in groups if group.differ]


def _may(unplanned: UnplannedRelease, chosen: Chosen, release: PlannedRelease) -> bool:
    return (
        not unplanned.unknown
        and not unplanned.grouping_sets
        and (unplanned.rows.fixed or unplanned.rows.per_unit)
        and all(choice.counts in ADDED_UP for choice in chosen.choices)
        and not any(isinstance(measure, AllRows) for measure in release.measures)
        and all(key.block is None for key in unplanned.keys)
    )


def _rows(unplanned: UnplannedRelease) -> tuple[object, ...]:
    rows = unplanned.rows
    return base_of(rows.relation)[0], rows.per_unit, rows.max_rows, rows.fixed


def _measured(group: Differing) -> tuple[JointWorkload, dict[int, PlannedRelease]] | None:
    """The workload of a group and its tables; None where they are not sums of few pieces."""
    apart, numbers = group.apart, group.numbers
    if len(numbers) < 2 or not group.differ:
        return None
    domain = _domain(group)
    public = [
        index
        for index in numbers
        if all(_readable(group, index, expression) for expression in group.read(index))
    ]
    if len(public) < len(numbers):
        return _measured(Differing(apart, public))
    shown = (*group.shared, *(key for _, key in domain.values()))
    if not 0 < _cells(shown) <= MOST_COMBINATIONS:
        return None
    base = apart.unplanned[group.first]
    rows = replace(base.rows, relation=group.rows)
    unplanned = replace(base, rows=rows, keys=(*group.shared, *(key for key, _ in domain.values())))
    others = len(group.shared)
    built = apart.build(unplanned, group.first, apart.shares[group.first])
    plain = replace(as_asked(built, apart.releases[group.first], others), keys=shown)
    every = frozenset(what for what, (key, _) in domain.items() if key.expression != what)
    series = _cells(unplanned.keys[:others])
    known = {index: _placed(apart.releases[index], plain, every) for index in numbers}
    kept = [index for index in numbers if known[index] is not None]
    if len(kept) < len(numbers):
        return _measured(Differing(apart, kept))
    placed = [own.reshape(series, -1) for own in known.values() if own is not None]
    of, first = _pieces(placed)
    if len(first) > MOST_PIECES:
        return None
    tables = tuple(_sums(own[:, first]) for own in placed)
    if sum(map(len, tables)) > MOST_SUMS:
        return None
    alone = _alone([apart.releases[index] for index in numbers], plain)
    matrix = pieces(len(first), tables, alone)
    least = ALONE * (alone * len(numbers)) ** 2
    if any(matrix.of_sums(of_table(matrix.size, table)).mean() > least for table in tables):
        return None
    parted = Parted(matrix, series, tuple(of.tolist()))
    return _planned(group, unplanned, (parted, [own[:, first] for own in placed]))


def _cells(keys: Sequence[ks.Key]) -> int:
    return math.prod(len(key.values) for key in keys)


def _domain(group: Differing) -> dict[Expression, tuple[ks.Key, ks.Key]]:
    """Of all that is read the key that is counted by, and the same with a value of each group of it.

    A column is cut where it has no list of values, or where the lists have too many combinations. Those that can be
    neither listed nor cut are left out.
    """
    values = group.values
    out: dict[Expression, tuple[ks.Key, ks.Key]] = {}
    for what in group.expressions:
        if isinstance(what, Column) and what in values:
            key = _closed(what, values[what])
            out[what] = key, ks.Key(what, key.values)
        elif (cut := intervals(what, group.all_asked, group.expressions)) is not None:
            out[what] = cut
    for column in sorted(values, key=lambda column: -len(values[column])):
        if _cells((*group.shared, *(key for key, _ in out.values()))) <= MOST_COMBINATIONS:
            break
        if column in out:
            out[column] = intervals(column, group.all_asked, group.expressions) or out[column]
    return out


def _readable(group: Differing, index: int, what: Expression) -> bool:
    """Whether a release reads an expression in such a way that it has groups."""
    if isinstance(what, Column) and what in group.values:
        return True
    return intervals(what, group.asked(index), group.expressions) is not None


def _closed(column: Column, values: tuple[Value | None, ...]) -> ks.Key:
    """A key with the values of a column and NULL, which stands for rows of no listed value, too."""
    if None in values or not (column.span.nullable or listed(column)):
        return ks.Key(column, values)
    if not listed(column):
        return ks.Key(column, (*values, None))
    if len(values) > MOST_LISTED or column.type not in LITERAL:
        return ks.Key(column, values)
    known: list[Expression] = [Literal(value, column.type) for value in values]
    own = fn.case([(among(column, known), column)], Literal(None, column.type))
    return ks.Key(own, (*values, None))


def _alone(releases: Sequence[PlannedRelease], finest: PlannedRelease) -> float:
    """How much less a neighbour moves a release by itself than groups, as where a row is replaced within one group."""
    return min(
        release.sensitivity(measure) / finest.sensitivity(other)
        for release in releases
        for measure, other in zip(release.measures, finest.measures, strict=True)
    )


def _placed(release: PlannedRelease, finest: PlannedRelease, every: frozenset[Expression]) -> Integers | None:
    """The group of a release that each group of the finest one belongs to; None where it is not made of them.

    A group without any, such as of an empty range, would have no noise: its release is measured by itself.
    """
    out: Integers | None = None
    for measure, other in zip(release.measures, finest.measures, strict=True):
        part, before = release.parts[measure.part], finest.parts[other.part]
        if not alike(part, before):
            return None
        found = places(release, part, finest, before, every, among=True)
        if found is None or (out is not None and not np.array_equal(out, found[0])):
            return None
        out = found[0]
    if out is None or len(np.unique(out[out >= 0])) < max(1, release.cells):
        return None
    return out


def _pieces(placed: Sequence[Integers]) -> tuple[Integers, Integers]:
    """The piece of each combination of the differing keys, or -1, and the first combination of each piece."""
    every = np.concatenate(placed)
    used = np.flatnonzero((every >= 0).any(axis=0))
    _, first, piece = np.unique(every[:, used], axis=1, return_index=True, return_inverse=True)
    order = np.argsort(np.argsort(first))  # the pieces in the order of the values
    of = np.full(every.shape[1], -1, np.int64)
    of[used] = order[piece.reshape(-1)]
    return of, used[np.sort(first)]


def _sums(place: Integers) -> tuple[tuple[int, ...], ...]:
    """The sums of pieces that the groups of a table are: each kind once for all series."""
    kinds = {
        tuple(np.flatnonzero(own == group).tolist())
        for own in place
        for group in np.unique(own[own >= 0]).tolist()
    }
    return tuple(sorted(kinds))


def _planned(
    group: Differing, unplanned: UnplannedRelease, how: tuple[Parted, list[Integers]]
) -> tuple[JointWorkload, dict[int, PlannedRelease]]:
    """The workload and its tables, once the pieces are known."""
    parted, placed = how
    apart, numbers, others = group.apart, group.numbers, len(group.shared)
    units = parted.matrix.units
    whole = tuple(
        sum(parts, Fraction(0)) for parts in zip(*(apart.shares[index] for index in numbers), strict=True)
    )
    # The grid has room for the noise of all units, and of all rows of one.
    asked = apart.releases[group.first]
    more = units * max(
        Fraction(1), more_rows(asked, apart.build(unplanned, group.first, apart.shares[group.first]))
    )
    finest = apart.build(unplanned, group.first, tuple(share / more for share in whole))
    finest = replace(as_asked(finest, asked, others), shares=tuple(share * more for share in finest.shares))
    counted = unplanned.rows
    if not counted.fixed:
        counted = of_any(counted, [group.own(index) for index in numbers])
        finest = replace(finest, parts=tuple(replace(part, rows=counted) for part in finest.parts))
    scales = tuple(finest.scale(index) for index in range(len(finest.measures)))
    node = ks.Key(Column("piece", Type.INTEGER, Span()), tuple(range(parted.matrix.nodes)))
    measured = replace(
        finest,
        name=f"{finest.name} pieces",
        keys=(*finest.keys[:others], node),
        times=units,
        of_several=True,
    )
    tables = {}
    for index, own in zip(numbers, placed, strict=True):
        release = apart.releases[index]
        law = Pieced(parted, tuple(own.reshape(-1).tolist()), release.cells, scales)
        parts = tuple(replace(part, among=None if counted.fixed else counted) for part in release.parts)
        tables[index] = as_estimated(replace(release, parts=parts, of_several=True), finest, law)
    names = tuple(apart.releases[index].name for index in numbers)
    sizes = tuple(len(key.values) for key in finest.keys)
    return JointWorkload(finest, sizes, (((), measured),), names, False, pieces=parted), tables
