"""The keys of tables of the same rows as axes: independent ones, and partitions within partitions.

ROLLUP (quarter, month) of one date has a table of quarters and one of months, whose key is the pair of both. Where each
quarter has as many months, in order, the pairs are the combinations of two axes, the quarter and the place in it; the
place alone is nothing that an engine groups by, so it is measured with the quarter only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from discreet.engines.schema import Type
from discreet.planning.marginals import Keys
from discreet.records import dataclass
from discreet.sql import functions as fn
from discreet.sql.algebra import keys as ks
from discreet.sql.expressions.expression import Expression, Literal, leaves
from discreet.sql.functions.apply import among

LITERAL = frozenset({Type.TEXT, Type.INTEGER, Type.BOOLEAN})
"""The types whose listed values are written into the query to tell rows with others apart."""
MOST_LISTED = 1000
"""The most values that are written so."""


@dataclass(frozen=True)
class Axes:
    """The axes of a workload.

    Attributes:
        keys: by axis, those that run together; of an axis within another, the keys of both.
        sizes: the number of values of each axis.
        of: the axes of each release, in its own order.
        within: pairs of an axis and the one before it that it is within.
        more: which axes have a value more than is shown, the last one, for the rows of no public value.
    """

    keys: tuple[tuple[ks.Key, ...], ...]
    sizes: tuple[int, ...]
    of: tuple[Keys, ...]
    within: tuple[tuple[int, int], ...] = ()
    more: Keys = ()

    def joined(self, chosen: Keys) -> tuple[ks.Key, ...]:
        """The keys of some axes, one after the other."""
        held = {outer for inner, outer in self.within if inner in chosen}
        return tuple(
            replace(key, block=axis if len(self.keys[axis]) > 1 else None)
            for axis in chosen
            if axis not in held
            for key in self.keys[axis]
        )


def axes_of(of_releases: Sequence[tuple[ks.Key, ...]]) -> Axes | None:
    """The keys of some releases as axes; None where they overlap in another way than one within the other."""
    known: dict[tuple[tuple[Expression, tuple[object, ...]], ...], int] = {}
    found: list[tuple[ks.Key, ...]] = []
    of: list[list[int]] = []
    for keys in of_releases:
        own: list[int] = []
        for numbers in ks.axes(keys):
            joint = tuple(keys[index] for index in numbers)
            named = tuple((key.expression, key.values) for key in joint)
            if named not in known:
                known[named] = len(found)
                found.append(joint)
            own.append(known[named])
        of.append(own)
    chains = _chains(found)
    if chains is None:
        return None
    places = {axis: place for place, axis in enumerate(axis for chain in chains for axis in chain)}
    sizes, within = [], []
    above: dict[int, Keys] = {}
    for chain in chains:
        before = 1
        for depth, axis in enumerate(chain):
            count = len(found[axis][0].values)
            sizes.append(count // before if before else 0)
            before = count
            above[axis] = tuple(places[link] for link in chain[: depth + 1])
            if depth:
                within.append((places[axis], places[chain[depth - 1]]))
    return Axes(
        tuple(found[axis] for axis in places),
        tuple(sizes),
        tuple(tuple(place for axis in own for place in above[axis]) for own in of),
        tuple(within),
    )


def _chains(axes: Sequence[tuple[ks.Key, ...]]) -> list[list[int]] | None:
    """The axes as chains of which each is within the one before; None where they overlap otherwise."""
    chains: list[list[int]] = []
    for axis in sorted(range(len(axes)), key=lambda number: len(axes[number])):
        own = {key.expression for key in axes[axis]}
        meeting = [
            chain for chain in chains if own & {key.expression for link in chain for key in axes[link]}
        ]
        if not meeting:
            chains.append([axis])
        elif len(meeting) == 1 and _evenly_within(axes[axis], axes[meeting[0][-1]]):
            meeting[0].append(axis)
        else:
            return None
    return chains


def _evenly_within(inner: Sequence[ks.Key], outer: Sequence[ks.Key]) -> bool:
    """Whether each group of the outer keys is as many groups of the inner keys, in the same order."""
    columns = {key.expression: key.values for key in inner}
    if not {key.expression for key in outer} < columns.keys():
        return False
    groups, parts = list(zip(*(key.values for key in outer), strict=True)), len(inner[0].values)
    if not groups or parts % len(groups):
        return False
    times = parts // len(groups)
    held = zip(*(columns[key.expression] for key in outer), strict=True)
    return list(held) == [group for group in groups for _ in range(times)]


def with_others(axes: Axes) -> Axes | None:
    """The axes, with one value more where a row may have none of the public ones; None where that cannot be told."""
    keys, sizes, more = list(axes.keys), list(axes.sizes), []
    for number, axis in enumerate(axes.keys):
        key = axis[0]
        if all(map(closed, axis)):
            continue
        if len(axis) > 1 or axes.within:
            return None
        expression = key.expression
        if listed(expression):
            if None in key.values:
                return None  # NULL is a group then, and cannot stand for the rows of no public value
            if len(key.values) > MOST_LISTED or expression.type not in LITERAL:
                return None
            values: list[Expression] = [Literal(value, expression.type) for value in key.values]
            expression = fn.case([(among(expression, values), expression)], Literal(None, expression.type))
        more.append(number)
        sizes[number] += 1
        keys[number] = (replace(key, expression=expression, values=(*key.values, None)),)
    return replace(axes, keys=tuple(keys), sizes=tuple(sizes), more=tuple(more))


def closed(key: ks.Key) -> bool:
    """Whether every row has one of the values of a key.

    Of a column whose values are listed, rows with others may be there, and an expression of those may be anything.
    """
    return not listed(key.expression) and (None in key.values or not key.expression.span.nullable)


def listed(expression: Expression) -> bool:
    """Whether the policy lists values of a column that an expression reads, so that there may be others."""
    return any(column.span.listed for column in leaves(expression))
