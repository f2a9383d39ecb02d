"""Columns without a list of public values, cut where questions compare them: pay, a temperature, a moment, a name.

A condition that only compares a column with literals does not change between two of these. So the intervals between
them stand for all values, each by one value that lies in it. The ends are literals of the questions: no data is in
them. Each row belongs to one interval, or to NULL, because one CASE decides it. Texts are in the order of their code
points, as on all engines.

A value that is computed from columns, such as `pay * 12`, is cut in the same way where conditions compare it with
literals. It has intervals of its own: a row is in one of those of `pay * 12` and in one of those of `pay`, and the
groups by both hold each row once, although many of them are impossible.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TypeAlias

from discreet.engines.schema import Type
from discreet.records import dataclass
from discreet.sql import functions as fn
from discreet.sql.algebra import keys as ks
from discreet.sql.algebra.narrowing import MIRRORED
from discreet.sql.expressions.expression import Call, Column, Expression, Literal
from discreet.sql.expressions.span import EPOCH, MICROSECOND, Value, number

CUT = frozenset({Type.INTEGER, Type.FLOAT, Type.DATE, Type.TIMESTAMP, Type.TEXT})
"""Types that have an order which is the same on all engines."""
BEFORE, BEHIND = 0, 1
SIDES = {"lt": (BEFORE,), "ge": (BEFORE,), "le": (BEHIND,), "gt": (BEHIND,), "eq": (BEFORE, BEHIND)}
SIDES |= dict.fromkeys(("ne", "in", "distinct"), SIDES["eq"])
ANYWHERE: dict[Type, Value] = {
    Type.INTEGER: 0, Type.FLOAT: 0.0, Type.DATE: EPOCH, Type.TIMESTAMP: dt.datetime(EPOCH.year, 1, 1),
    Type.TEXT: "",
}  # fmt: skip
MOST_INTEGER = 2**63 - 1
Place: TypeAlias = "Fraction | float | str"


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
        found = self.value if isinstance(self.value, float | str) else number(self.value)
        assert found is not None
        return found, self.side


def intervals(
    what: Expression, conditions: Sequence[Expression], others: Collection[Expression] = ()
) -> tuple[ks.Key, ks.Key] | None:
    """The intervals of a column, or of a computed value, between which some conditions can change.

    Args:
        what: a column that has no list of values, or a long one; or a value that is computed from such.
        conditions: all that are asked.
        others: computed values that have intervals of their own.

    Returns:
        A key that numbers them, and the expression with a value of each; NULL comes last where it may occur. None
        where the expression is read in other ways.
    """
    if what.type not in CUT or (isinstance(what, Column) and what.span.listed):
        return None
    found: set[Cut] = set()
    for condition in conditions:
        own = cuts_of(what, condition, others)
        if own is None:
            return None
        found.update(own)
    every = {cut.place: cut for cut in found}
    cuts = _possible(what, every)
    null = (None,) if what.span.nullable else ()
    branches: list[tuple[Expression, Expression]] = []
    for index, cut in enumerate(cuts):
        below = fn.must("lt" if cut.side == BEFORE else "le", what, Literal(cut.value, what.type))
        branches.append((below, Literal(index, Type.INTEGER)))
    known = fn.must("not", fn.must("is_null", what))
    branches.append((known, Literal(len(cuts), Type.INTEGER)))
    numbered = fn.case(branches, Literal(None, Type.INTEGER))
    return ks.Key(numbered, (*range(len(cuts) + 1), *null)), ks.Key(what, (*_shown(what, cuts, every), *null))


def compared(condition: Expression) -> Iterator[Expression]:
    """The expressions that a condition reads: those that it compares with constants alone, and columns elsewhere.

    Example:
        >>> from discreet.sql.expressions.span import Span
        >>> pay = Column("pay", Type.INTEGER, Span())
        >>> dear = fn.must("lt", fn.must("add", pay, Literal(2, Type.INTEGER)), Literal(9, Type.INTEGER))
        >>> [type(one).__name__ for test in (dear, fn.must("lt", pay, pay)) for one in compared(test)]
        ['Call', 'Column', 'Column']
    """
    if isinstance(condition, Column):
        yield condition
    elif isinstance(condition, Call):
        subject = _subject(condition)
        if subject is not None:
            yield subject
        else:
            for arg in condition.args:
                yield from compared(arg)


def _subject(condition: Call) -> Expression | None:
    """The expression that a condition compares with constants that have a place in its order; None of others."""
    name, args = condition.name, condition.args
    if name == "is_null":
        return None if isinstance(args[0], Literal) else args[0]
    known = [_constant(arg) for arg in args]
    unknown = [index for index, constant in enumerate(known) if constant is None]
    if len(unknown) != 1 or not (name in SIDES or name in MIRRORED):
        return None
    subject, rest = args[unknown[0]], [constant for constant in known if constant is not None]
    if (unknown[0] and MIRRORED.get(name) not in SIDES) or not _literals(subject, rest):
        return None
    return subject


def _constant(arg: Expression) -> Literal | None:
    """A constant; None of an expression over columns. A day beside moments is its first moment."""
    if isinstance(arg, Literal):
        return arg
    day = arg.args[0] if isinstance(arg, Call) and arg.name == "to_timestamp" else None
    if isinstance(day, Literal) and day.type is Type.DATE and isinstance(day.value, dt.date):
        return Literal(dt.datetime.combine(day.value, dt.time()), Type.TIMESTAMP)
    return None


def cuts_of(what: Expression, condition: Expression, others: Collection[Expression] = ()) -> list[Cut] | None:
    """Where a condition can change along an expression; None where it reads the expression in another way.

    Args:
        what: a column, or a computed value.
        condition: asked.
        others: computed values that have intervals of their own: a condition on them does not change along this one.
    """
    if condition == what:
        return None
    if not isinstance(condition, Call):
        return []
    subject = _subject(condition)
    if subject is not None and (subject == what or subject in others):
        return [] if subject != what or condition.name == "is_null" else list(_compared(condition))
    out: list[Cut] = []
    for arg in condition.args:
        own = cuts_of(what, arg, others)
        if own is None:
            return None
        out += own
    return out


def _literals(subject: Expression, args: Sequence[Literal]) -> bool:
    """Whether constants are of the type of an expression and have a place in its order."""
    return all(
        (arg.value is None or arg.type is subject.type)
        and not (isinstance(arg.value, float) and math.isnan(arg.value))
        for arg in args
    )


def _compared(condition: Call) -> Iterator[Cut]:
    known = [_constant(arg) for arg in condition.args]
    name = condition.name if known[0] is None else MIRRORED[condition.name]
    for arg in known:
        if arg is not None and arg.value is not None:  # a comparison with NULL is NULL everywhere
            for side in SIDES[name]:
                yield Cut(arg.value, side)


def _possible(column: Expression, cuts: dict[tuple[Place, int], Cut]) -> list[Cut]:
    """The cuts with values on either side, in order."""
    out: list[Cut] = []
    for place, side in sorted(cuts):
        if _beyond(column, place, side):
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


def _beyond(column: Expression, place: Place, side: int) -> int:
    """Whether all values lie behind a cut (-1), or before it (1); 0 where they may lie on either side."""
    if isinstance(place, str):  # texts have no bounds
        return 0
    least, most = column.span.lo, column.span.hi
    if least is not None and (place < least or (place == least and side == BEFORE)):
        return -1
    return int(most is not None and (place > most or (place == most and side == BEHIND)))


def _shown(column: Expression, cuts: Sequence[Cut], every: dict[tuple[Place, int], Cut]) -> list[Value]:
    """A value of each interval.

    Args:
        column: a column, or a computed value.
        cuts: with values on either side.
        every: these, and those beyond all values, on the right side of which a value has to lie as well.
    """
    if not cuts:
        for place, side in sorted(every, reverse=True):
            if _beyond(column, place, side) < 0 and (value := _behind(every[place, side])) is not None:
                return [value]
        for place, side in sorted(every):
            if _beyond(column, place, side) > 0 and (value := _before(every[place, side])) is not None:
                return [value]
        return [ANYWHERE[column.type]]
    first, last = cuts[0], cuts[-1]
    found = [_before(first)]
    found += [_between(before, behind) for before, behind in pairwise(cuts)]
    found.append(_behind(last))
    return [value for value in found if value is not None]  # `_possible` left no interval without one


def _before(cut: Cut) -> Value | None:
    """The last value before a cut."""
    return cut.value if cut.side == BEHIND else _beside(cut.value, -1)


def _behind(cut: Cut) -> Value | None:
    """The first value behind a cut."""
    return cut.value if cut.side == BEFORE else _beside(cut.value, 1)


def _between(cut: Cut, other: Cut) -> Value | None:
    """A value that lies between two cuts."""
    if cut.side == BEFORE:
        return cut.value
    if other.side == BEHIND:
        return other.value
    found = _beside(cut.value, 1)
    return None if found is None or Cut(found, 0).place >= other.place else found


def _beside(value: Value, way: int) -> Value | None:
    """The next value of its type, up or down; None at the end of the type. Below a text it is the empty one."""
    if isinstance(value, str):
        return value + "\0" if way > 0 else "" if value else None
    if isinstance(value, float):
        found = math.nextafter(value, way * math.inf)
        return None if found == value else found
    if isinstance(value, int):
        return value + way if abs(value + way) <= MOST_INTEGER else None
    try:
        if isinstance(value, dt.datetime):
            return value + way * MICROSECOND
        return value + dt.timedelta(way)
    except OverflowError:
        return None
