"""Columns without a list of public values, cut where questions compare them: pay, a temperature, a moment.

A condition that only compares a column with literals does not change between two of these. So the intervals between
them stand for all values, each by one value that lies in it. The ends are literals of the questions: no data is in
them. Each row belongs to one interval, or to NULL, because one CASE decides it.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TypeAlias

from discreet.engines.schema import Type
from discreet.sql import functions as fn
from discreet.sql.algebra import keys as ks
from discreet.sql.algebra.narrowing import MIRRORED
from discreet.sql.expressions.expression import Call, Column, Expression, Literal
from discreet.sql.expressions.span import EPOCH, MICROSECOND, Value, number

CUT = frozenset({Type.INTEGER, Type.FLOAT, Type.DATE, Type.TIMESTAMP})
"""Types that have an order which is the same on all engines."""
BEFORE, BEHIND = 0, 1
SIDES = {"lt": (BEFORE,), "ge": (BEFORE,), "le": (BEHIND,), "gt": (BEHIND,), "eq": (BEFORE, BEHIND)}
SIDES |= dict.fromkeys(("ne", "in", "distinct"), SIDES["eq"])
ANYWHERE: dict[Type, Value] = {
    Type.INTEGER: 0, Type.FLOAT: 0.0, Type.DATE: EPOCH, Type.TIMESTAMP: dt.datetime(EPOCH.year, 1, 1),
}  # fmt: skip
MOST_INTEGER = 2**63 - 1
Place: TypeAlias = "Fraction | float"


@dataclass(frozen=True)
class Cut:
    """A place on the line of a column where some condition changes.

    Attributes:
        value: a literal of a question.
        side: whether the place is before the value or behind it.
    """

    value: Value
    side: int

    @cached_property
    def place(self) -> tuple[Place, int]:
        """Where it lies; -0.0 lies at 0."""
        found = self.value if isinstance(self.value, float) else number(self.value)
        assert found is not None
        return found, self.side


def intervals(column: Column, conditions: Sequence[Expression]) -> tuple[ks.Key, ks.Key] | None:
    """The intervals of a column between which some conditions can change.

    Args:
        column: has no list of values, or a long one.
        conditions: all that are asked of it.

    Returns:
        A key that numbers them, and the column with a value of each; NULL comes last where it may occur. None where
        the column is read in other ways.
    """
    if column.type not in CUT or column.span.listed:
        return None
    found: set[Cut] = set()
    for condition in conditions:
        own = _cuts(column, condition)
        if own is None:
            return None
        found.update(own)
    cuts = _possible(column, {cut.place: cut for cut in found})
    null = (None,) if column.span.nullable else ()
    branches: list[tuple[Expression, Expression]] = []
    for at, cut in enumerate(cuts):
        below = fn.must("lt" if cut.side == BEFORE else "le", column, Literal(cut.value, column.type))
        branches.append((below, Literal(at, Type.INTEGER)))
    known = fn.must("not", fn.must("is_null", column))
    branches.append((known, Literal(len(cuts), Type.INTEGER)))
    numbered = fn.case(branches, Literal(None, Type.INTEGER))
    return ks.Key(numbered, (*range(len(cuts) + 1), *null)), ks.Key(column, (*_shown(column, cuts), *null))


def _cuts(column: Column, condition: Expression) -> list[Cut] | None:
    """Where a condition can change along a column; None where it reads the column in another way."""
    if condition == column:
        return None
    if not isinstance(condition, Call):
        return []
    name, args = condition.name, condition.args
    if name == "is_null" and args == (column,):
        return []
    if column in args and (name in SIDES or name in MIRRORED):
        if args[0] != column:
            name, args = MIRRORED.get(name, ""), args[::-1]
        return list(_compared(name, args[1:])) if _literals(column, args[1:]) and name in SIDES else None
    out: list[Cut] = []
    for arg in args:
        own = _cuts(column, arg)
        if own is None:
            return None
        out += own
    return out


def _literals(column: Column, args: Sequence[Expression]) -> bool:
    """Whether a column is compared with constants of its type that have a place in its order."""
    return all(
        isinstance(arg, Literal)
        and (arg.value is None or arg.type is column.type)
        and not (isinstance(arg.value, float) and math.isnan(arg.value))
        for arg in args
    )


def _compared(name: str, args: Sequence[Expression]) -> Iterator[Cut]:
    for arg in args:
        if isinstance(arg, Literal) and arg.value is not None:  # a comparison with NULL is NULL everywhere
            for side in SIDES[name]:
                yield Cut(arg.value, side)


def _possible(column: Column, cuts: dict[tuple[Place, int], Cut]) -> list[Cut]:
    """The cuts with values on either side, in order."""
    least, most = column.span.lo, column.span.hi
    out: list[Cut] = []
    for place, side in sorted(cuts):
        if least is not None and (place < least or (place == least and side == BEFORE)):
            continue
        if most is not None and (place > most or (place == most and side == BEHIND)):
            continue
        cut = cuts[place, side]
        if out and _between(out[-1], cut) is None:
            continue  # no value lies between the two
        if not out and side == BEFORE and _beside(cut.value, -1) is None:
            continue
        out.append(cut)
    while out and out[-1].side == BEHIND and _beside(out[-1].value, 1) is None:
        out.pop()
    return out


def _shown(column: Column, cuts: Sequence[Cut]) -> list[Value]:
    """A value of each interval."""
    if not cuts:
        return [ANYWHERE[column.type]]
    first, last = cuts[0], cuts[-1]
    found = [first.value if first.side == BEHIND else _beside(first.value, -1)]
    found += [_between(one, other) for one, other in pairwise(cuts)]
    found.append(last.value if last.side == BEFORE else _beside(last.value, 1))
    return [value for value in found if value is not None]  # `_possible` left no interval without one


def _between(one: Cut, other: Cut) -> Value | None:
    """A value that lies between two cuts."""
    if one.side == BEFORE:
        return one.value
    if other.side == BEHIND:
        return other.value
    found = _beside(one.value, 1)
    return None if found is None or Cut(found, 0).place >= other.place else found


def _beside(value: Value, way: int) -> Value | None:
    """The next value of its type, up or down; None at the end of the type."""
    if isinstance(value, float):
        found = math.nextafter(value, way * math.inf)
        return None if found == value else found
    if isinstance(value, int):
        return value + way if abs(value + way) <= MOST_INTEGER else None
    try:
        if isinstance(value, dt.datetime):
            return value + way * MICROSECOND
        return value + dt.timedelta(way) if isinstance(value, dt.date) else None
    except OverflowError:
        return None
