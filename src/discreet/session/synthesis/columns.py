"""The columns of a private table as axes with public classes: keys, or intervals between bounds.

Each axis is planned as the key of a question, so that the engine reads a column here as it does everywhere.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from discreet.engines.schema import Type
from discreet.errors import InvalidParameter
from discreet.escaping import name as one_line
from discreet.quoting import quote
from discreet.rational import decimal
from discreet.records import dataclass
from discreet.sql.algebra.keys import Key
from discreet.synthetic.axes import Axis

if TYPE_CHECKING:
    from discreet.sql.algebra.catalog import PrivateColumn, PrivateTable
    from discreet.sql.plan.plan import PlannedRelease

BINS: Final = 16
"""How many intervals a column gets where nobody says."""
MOST_BINS: Final = 256
MOST_VALUES: Final = 10_000
"""More keys of one column are not taken."""
MOST_INTEGER: Final = (1 << 63) - 1
_EPOCH: Final = dt.datetime(1970, 1, 1)
_MICROSECOND: Final = dt.timedelta(microseconds=1)


@dataclass(frozen=True)
class Planning:
    """A column that is taken: its axis, the key that groups by it, and the plan of a count by it alone."""

    axis: Axis
    key: Key
    alone: PlannedRelease


def planned_columns(
    table: PrivateTable,
    names: Sequence[str] | None,
    bins: Mapping[str, Any],
    plan: Callable[[str], PlannedRelease],
) -> tuple[list[Planning], dict[str, str]]:
    """The axes of a table, and the columns that are left out with the reason of each.

    Args:
        table: the private one.
        names: of the columns to take; None for all that can be taken.
        bins: the number of intervals of a column, or their ends, by its name.
        plan: plans a question that groups by one key.

    Raises:
        InvalidParameter: there is no such column, one that was named cannot be taken, or bins cannot be read.
    """
    asked = _folded(table, names)
    ends = {_known_column(table, name): value for name, value in bins.items()}
    made, left = [], {}
    for folded, column in table.columns.items():
        if names is not None and folded not in asked:
            continue
        reason, found = _planned(table, column, ends.get(folded), plan)
        if found is not None:
            made.append(found)
        elif names is None:
            left[column.name] = reason
        else:
            raise InvalidParameter(
                f"The column {one_line(column.name)} cannot be taken: {reason}.", "Leave it out."
            )
    _see_bins(ends, made, left)
    if not made:
        raise InvalidParameter(
            "No column can be taken: none has keys or bounds.", "Declare some in the policy."
        )
    return made, left


def _see_bins(ends: Mapping[str, Any], made: Sequence[Planning], left: Mapping[str, str]) -> None:
    """See that bins are only those of columns that are cut into intervals: others would be left out in silence.

    Raises:
        InvalidParameter: there are bins of another column.
    """
    axes = {column.axis.name.lower(): column.axis for column in made}
    told = {name.lower() for name in left}  # the answer says why these are left out
    for folded in ends:
        if folded in told or (folded in axes and axes[folded].edges):
            continue
        why = "its values are its classes" if folded in axes else "it is not among columns"
        raise InvalidParameter(
            f"The column {one_line(folded)} gets no bins: {why}.",
            f"Leave the bins of {one_line(folded)} out.",
        )


def _known_column(table: PrivateTable, name: object) -> str:
    folded = name.lower() if isinstance(name, str) else ""
    if folded not in table.columns:
        raise InvalidParameter(
            f"There is no column {one_line(str(name))}.",
            f"Name some of {', '.join(map(one_line, table.columns))}.",
        )
    return folded


def _folded(table: PrivateTable, names: Sequence[str] | None) -> list[str]:
    if names is not None and (isinstance(names, str) or not isinstance(names, Sequence)):
        raise InvalidParameter("columns is no list of names.", 'Write columns=["age", "county"].')
    found = [_known_column(table, name) for name in names or ()]
    if len(set(found)) < len(found) or names == []:
        raise InvalidParameter("No column is named, or one twice.", "Name each once.")
    return found


def _planned(
    table: PrivateTable, column: PrivateColumn, bins: Any, plan: Callable[[str], PlannedRelease]
) -> tuple[str, Planning | None]:
    """The reason why a column is left out, or the column."""
    if table.unit is not None and column.name == table.unit.name:
        return "it names the privacy unit", None
    span, quoted = column.scan.span, quote(column.name)
    if column.type is Type.OTHER or span.items is not None:
        return "its type has no classes", None
    whole = column.type is Type.INTEGER and span.lo is not None and span.hi is not None
    if whole and not _inside(span.lo, 1) <= _inside(span.hi, -1):  # type: ignore[arg-type]
        return "no whole number of 64 bits lies within its bounds", None
    few = whole and bins is None and span.hi - span.lo < BINS  # type: ignore[operator]
    if span.domain is not None or few:
        if span.domain is not None and len(span.domain) > MOST_VALUES:
            return f"it has more than {MOST_VALUES:,} keys", None
        alone = plan(f"SELECT {quoted}, COUNT(*) AS n FROM {quote(table.name)} GROUP BY 1")
        key = alone.keys[0]
        values = tuple(value for value in key.values if value is not None)
        axis = Axis(column.name, column.type, values=values, nullable=span.nullable)
        own = replace(key, values=(*values, None) if span.nullable else values)
        return "", Planning(axis, own, alone)
    if span.lo is None or span.hi is None or column.type is Type.TEXT:
        return "it has no keys and no bounds", None
    edges = _edges(column, span.lo, span.hi, bins)
    axis = Axis(column.name, column.type, edges=edges, nullable=span.nullable)
    conditions = [
        f"WHEN {quoted} < {_literal(column.type, edge)} THEN {index}"
        for index, edge in enumerate(edges[1:-1])
    ]
    last = f"WHEN {quoted} IS NOT NULL THEN {axis.classes - 1}"
    case = f"CASE {' '.join([*conditions, last])} ELSE {axis.classes} END"
    alone = plan(f"SELECT {case} AS c, COUNT(*) AS n FROM {quote(table.name)} GROUP BY 1")
    # All places are listed, in order, whichever of them the planner found that a CASE can say.
    return "", Planning(axis, replace(alone.keys[0], values=tuple(range(axis.size))), alone)


def _edges(column: PrivateColumn, lo: Fraction, hi: Fraction, bins: Any) -> tuple[float | int, ...]:
    """The ends of the intervals of a column, as `Axis` has them."""
    given = bins if isinstance(bins, Sequence) and not isinstance(bins, str) else None
    if given is None:
        count = BINS if bins is None else bins
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MOST_BINS:
            raise _bad_bins(column)
        inner = [lo + (hi - lo) * index / count for index in range(1, count)]
    else:
        try:
            inner = [end if isinstance(end, Fraction) else decimal(end, "bins") for end in given]
        except InvalidParameter:
            inner = [hi, lo]
        if any(end >= other for end, other in pairwise(inner)) or len(inner) > MOST_BINS:
            raise _bad_bins(column)
        inner = [end for end in inner if lo < end < hi]
    if column.type is Type.FLOAT:
        return tuple(dict.fromkeys(map(float, (lo, *inner, hi))))
    # The units of a span: integers, days, or microseconds; the first and the last value lie in it.
    ends = (_inside(lo, 1), min(_inside(hi, -1) + 1, MOST_INTEGER))
    whole = (ends[0], *map(math.ceil, inner), ends[1])
    return tuple(sorted({min(max(end, whole[0]), whole[-1]) for end in whole}))


def _inside(end: Fraction, way: int) -> int:
    """The first whole number of 64 bits from the least bound on (1), or before the greatest one (-1)."""
    if way > 0:
        return max(math.ceil(end), -MOST_INTEGER - 1)
    return min(math.floor(end), MOST_INTEGER)


def _bad_bins(column: PrivateColumn) -> InvalidParameter:
    return InvalidParameter(
        f"The bins of {one_line(column.name)} cannot be read.",
        f"Give a number from 1 to {MOST_BINS}, or the ends between intervals, in order.",
    )


def _literal(kind: Type, edge: float | int) -> str:
    if kind is Type.DATE:
        return f"DATE '{(_EPOCH + dt.timedelta(days=int(edge))).date().isoformat()}'"
    if kind is Type.TIMESTAMP:
        return f"TIMESTAMP '{(_EPOCH + int(edge) * _MICROSECOND).isoformat(sep=' ')}'"
    return f"CAST({edge!r} AS DOUBLE)" if kind is Type.FLOAT else str(edge)
