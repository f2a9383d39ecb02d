"""Questions of the same rows but for conditions on public keys, such as ranges of days, measured together.

Each group of each question is a set of values of the keys (`places`). The values that are in the same of these sets are
one piece; the pieces are measured, and sums of them, such that the questions have the least error
(`planning.ranges.pieces`), and every answer is a sum of the estimates of its pieces. So ranges that are parts of
another add up to it.

Privacy: the integers of the finest grouping, by all keys, are moved by one neighbour step as those of any release. The
measured sums are a matrix of non-negative integers times them, whose columns add up to S, so they are moved by at most
S times as much in L1 (`PlannedRelease.times`), and get noise of that scale. The estimates are post-processing. The
texts and the policy alone decide which pieces there are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.engines.schema import Type
from discreet.planning.ranges.pieces import MOST_PIECES, MOST_SUMS, pieces
from discreet.sql import functions as fn
from discreet.sql.algebra import keys as ks
from discreet.sql.algebra.public_groups import public_groups
from discreet.sql.algebra.relation import Relation, Select
from discreet.sql.algebra.released import released_tables
from discreet.sql.analyze.release_scope import UnplannedRelease
from discreet.sql.expressions.expression import Column, Expression, leaves
from discreet.sql.expressions.span import Span
from discreet.sql.measures.all_rows import AllRows
from discreet.sql.plan.plan import PlannedRelease, Workload
from discreet.sql.plan.strategies import Chosen
from discreet.sql.plan.workloads.pieced import Parted, Pieced
from discreet.sql.plan.workloads.places import base_of, places

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

MOST_CELLS = 1 << 17
"""The most combinations of the keys, which are looked at one by one."""
ADDED_UP = frozenset({"rows", "pairs"})
"""Choices whose integers of a sum of groups are the sums of theirs."""
Build = Callable[[UnplannedRelease, int, tuple[Fraction, ...]], PlannedRelease]


@dataclass(frozen=True)
class Asked:
    """The releases of some questions.

    Attributes:
        unplanned: before their measures are chosen.
        chosen: their measures.
        releases: as they would be measured by themselves.
        shares: the epsilon of their sets of alternatives.
        build: plans a release; its number says which measures it has.
    """

    unplanned: Sequence[UnplannedRelease]
    chosen: Sequence[Chosen]
    releases: Sequence[PlannedRelease]
    shares: Sequence[tuple[Fraction, ...]]
    build: Build

    def conditions(self, index: int) -> list[Expression]:
        """The last conditions of a release."""
        return base_of(self.unplanned[index].rows.relation)[1]


def ranges_of(
    asked: Asked, weights: Sequence[Sequence[Fraction]]
) -> Iterator[tuple[Workload, dict[int, PlannedRelease]]]:
    """The workloads of the releases that differ in conditions on public keys, and their tables by number."""
    for group in _alike(asked, weights):
        found = _measured(asked, group)
        if found is not None:
            yield found
            continue
        classes: dict[frozenset[str], list[int]] = {}
        for index in group:
            classes.setdefault(_read(asked, index, group), []).append(index)
        for own in classes.values():
            found = _measured(asked, own) if len(own) < len(group) else None
            if found is not None:
                yield found


def _alike(asked: Asked, weights: Sequence[Sequence[Fraction]]) -> list[list[int]]:
    """The numbers of releases of the same rows but for their conditions, with the same measures."""
    if released_tables(release.rows.relation for release in asked.unplanned):
        return []  # a release that waits for another one has its numbers by itself
    found: list[list[int]] = []
    for index, (one, chosen) in enumerate(zip(asked.unplanned, asked.chosen, strict=True)):
        if not _may(one, chosen, asked.releases[index]):
            continue
        for group in found:
            other = group[0]
            if (
                _rows(asked.unplanned[other]) == _rows(one)
                and (asked.chosen[other].choices, asked.chosen[other].sets) == (chosen.choices, chosen.sets)
                and weights[other] == weights[index]
            ):
                group.append(index)
                break
        else:
            found.append([index])
    return [group for group in found if len(group) > 1 and _differ(asked, group)]


def _may(one: UnplannedRelease, chosen: Chosen, release: PlannedRelease) -> bool:
    return (
        not one.unknown
        and not one.grouping_sets
        and one.rows.fixed
        and all(choice.counts in ADDED_UP for choice in chosen.choices)
        and not any(isinstance(measure, AllRows) for measure in release.measures)
        and all(key.block is None for key in one.keys)
    )


def _rows(one: UnplannedRelease) -> tuple[object, ...]:
    rows = one.rows
    return base_of(rows.relation)[0], rows.per_unit, rows.max_rows, rows.fixed


def _differ(asked: Asked, group: Sequence[int]) -> bool:
    """Whether some conditions are not those of all."""
    first = asked.conditions(group[0])
    return any(not _same(first, asked.conditions(index)) for index in group[1:])


def _same(one: Sequence[Expression], other: Sequence[Expression]) -> bool:
    return all(a in other for a in one) and all(b in one for b in other)


def _common(asked: Asked, group: Sequence[int]) -> list[Expression]:
    """The conditions of all releases of a group."""
    first, *others = (asked.conditions(index) for index in group)
    return [one for one in first if all(one in own for own in others)]


def _read(asked: Asked, index: int, group: Sequence[int]) -> frozenset[str]:
    """The columns on which a release differs from the others."""
    common = _common(asked, group)
    own = [one for one in asked.conditions(index) if one not in common]
    return frozenset(column.name for one in own for column in leaves(one))


def _measured(asked: Asked, group: Sequence[int]) -> tuple[Workload, dict[int, PlannedRelease]] | None:
    """The workload of a group and its tables; None where they are not sums of few pieces."""
    if len(group) < 2 or not _differ(asked, group):
        return None
    finest = _finest(asked, group)
    if finest is None:
        return None
    unplanned, others = finest
    plain = asked.build(unplanned, group[0], asked.shares[group[0]])
    series = math.prod(len(key.values) for key in unplanned.keys[:others])
    placed = []
    for index in group:
        own = _placed(asked.releases[index], plain)
        if own is None:
            return None
        placed.append(own.reshape(series, -1))
    found = _pieces(placed)
    if found is None:
        return None
    of, first = found
    if len(first) > MOST_PIECES:
        return None
    tables = tuple(_sums(own[:, first]) for own in placed)
    if sum(map(len, tables)) > MOST_SUMS or any(not one for table in tables for one in table):
        return None
    parted = Parted(pieces(len(first), tables), series, tuple(of.tolist()))
    return _planned(asked, group, unplanned, others, (parted, [own[:, first] for own in placed]))


def _finest(asked: Asked, group: Sequence[int]) -> tuple[UnplannedRelease, int] | None:
    """A release by all that the releases of a group differ in, and how many of its first keys all have in common."""
    one = asked.unplanned[group[0]]
    common = _common(asked, group)
    differing = [
        condition for index in group for condition in asked.conditions(index) if condition not in common
    ]
    keys = [asked.unplanned[index].keys for index in group]
    read = {column for condition in differing for column in leaves(condition)}
    shared = [
        key for key in keys[0] if all(key in own for own in keys) and read.isdisjoint(leaves(key.expression))
    ]
    rest = [key.expression for own in keys for key in own if key not in shared]
    columns = sorted(
        {column for each in (*rest, *differing) for column in leaves(each)}, key=lambda column: column.name
    )
    if any(column in leaves(key.expression) for key in shared for column in columns):
        return None
    relation = _where(base_of(one.rows.relation)[0], common)
    found = public_groups(relation, columns)
    values = {block.at[0]: tuple(group[0] for group in block.groups) for block in found if len(block.at) == 1}
    if set(values) != set(range(len(columns))):
        return None
    domain = [ks.Key(column, values[at]) for at, column in enumerate(columns)]
    every = (*shared, *domain)
    if not 0 < math.prod(len(key.values) for key in every) <= MOST_CELLS:
        return None
    rows = replace(one.rows, relation=relation)
    return replace(one, rows=rows, keys=every), len(shared)


def _where(relation: Relation, conditions: Iterable[Expression]) -> Relation:
    """The rows that meet some conditions."""
    met: Expression | None = None
    for one in conditions:
        met = one if met is None else fn.call("and", met, one)
    return relation if met is None else Select(relation, None, met)


def _placed(release: PlannedRelease, finest: PlannedRelease) -> Integers | None:
    """The group of a release that each group of the finest one belongs to; None where it is not made of them."""
    out: Integers | None = None
    for measure, other in zip(release.measures, finest.measures, strict=True):
        part, before = release.parts[measure.part], finest.parts[other.part]
        if part.drops_in_groups or before.drops_in_groups or part.cap != before.cap:
            return None
        found = places(release, part, finest, before)
        if found is None or (out is not None and not np.array_equal(out, found[0])):
            return None
        out = found[0]
    return out


def _pieces(placed: Sequence[Integers]) -> tuple[Integers, Integers] | None:
    """The piece of each combination of the differing keys, or -1, and the first combination of each piece."""
    every = np.concatenate(placed)
    used = np.flatnonzero((every >= 0).any(axis=0))
    if not len(used):
        return None
    _, first, piece = np.unique(every[:, used], axis=1, return_index=True, return_inverse=True)
    order = np.argsort(np.argsort(first))  # the pieces in the order of the values
    of = np.full(every.shape[1], -1, np.int64)
    of[used] = order[piece.reshape(-1)]
    return of, used[np.sort(first)]


def _sums(place: Integers) -> tuple[tuple[int, ...], ...]:
    """The sums of pieces that the groups of a table are: each kind once, whatever its series."""
    kinds = {
        tuple(np.flatnonzero(own == group).tolist())
        for own in place
        for group in np.unique(own[own >= 0]).tolist()
    }
    return tuple(sorted(kinds))


def _planned(
    asked: Asked,
    group: Sequence[int],
    unplanned: UnplannedRelease,
    others: int,
    how: tuple[Parted, list[Integers]],
) -> tuple[Workload, dict[int, PlannedRelease]]:
    """The workload and its tables, once the pieces are known."""
    parted, placed = how
    units = parted.matrix.units
    whole = tuple(
        sum(parts, Fraction(0)) for parts in zip(*(asked.shares[index] for index in group), strict=True)
    )
    # The grid has room for the noise of all units.
    finest = asked.build(unplanned, group[0], tuple(share / units for share in whole))
    finest = replace(finest, shares=tuple(share * units for share in finest.shares))
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
    for index, own in zip(group, placed, strict=True):
        release = asked.releases[index]
        law = Pieced(parted, tuple(own.reshape(-1).tolist()), release.cells, scales)
        inexact = any(law.bits(at) for at in range(len(scales)))
        tables[index] = replace(
            release,
            measures=finest.measures,
            shares=finest.shares,
            aggregates=tuple(
                replace(one, whole=one.whole and not inexact, counts=one.whole) for one in release.aggregates
            ),
            estimated=law,
            of_several=True,
        )
    names = tuple(asked.releases[index].name for index in group)
    sizes = tuple(len(key.values) for key in finest.keys)
    return Workload(finest, sizes, (((), measured),), names, False, pieces=parted), tables
