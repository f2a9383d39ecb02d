"""Lists, maps and structs of noisy numbers: each number has an interval of its own, and the ends are nested likewise.

The statement gets a hidden column for each number that such a column holds, behind the others. They have intervals as
any column has, each by itself or all together, and go back into the lists of ends.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from sqlglot import exp

from discreet import arrow
from discreet.release.noisy_schema import key_number
from discreet.sql.finish.answered import AnswerColumns
from discreet.sql.intervals.lazy import LazyMapping
from discreet.sql.syntax.once import once
from discreet.sql.syntax.parse import output_name

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Interval = tuple[Floats, Floats]

_OF_ANY_SIZE: Final = (exp.Query, exp.Comprehension)
NUMBER: Final = "__number_"
"""The prefix of the names of hidden columns."""


class Spread(NamedTuple):
    """A statement that shows the numbers of its nested columns one by one, too.

    Attributes:
        post: the statement with the hidden columns last.
        columns: their names, in the order of the numbers, by the name of the nested column.
    """

    post: exp.Query
    columns: Mapping[str, tuple[str, ...]]


@once
def spread(post: exp.Query) -> Spread | None:
    """Show the numbers of nested columns one by one; None where a statement has none whose size it says.

    Example:
        >>> from discreet.sql.syntax.parse import parse
        >>> spread(parse("SELECT [a, b] AS v FROM t")).post.sql("duckdb")
        'SELECT [a, b] AS v, a AS __number_0, b AS __number_1 FROM t'
    """
    if not isinstance(post, exp.Select):
        return None
    own = {item.alias_or_name: parts for item in post.selects if (parts := _numbers(item, post))}
    if not own:
        return None
    out, columns = post.copy(), {}
    assert isinstance(out, exp.Select)
    for name, parts in own.items():
        first = len(out.selects) - len(post.selects)
        columns[name] = tuple(f"{NUMBER}{first + index}" for index in range(len(parts)))
        for hidden, part in zip(columns[name], parts, strict=True):
            out.append("expressions", exp.alias_(part.copy(), hidden))
    return Spread(out, columns)


def gathered(answered: AnswerColumns, several: Spread) -> AnswerColumns:
    """The answer without the hidden columns of the numbers in its lists, which have the ends of those."""
    hidden = [name for names in several.columns.values() for name in names]
    own = together(answered.values, answered.intervals, answered.without, several)
    none = {
        name
        for name, numbers in several.columns.items()
        if name not in own and {*numbers} & {*answered.without}
    }
    without = (*(name for name in answered.without if name not in {*hidden, *several.columns}), *none)
    return AnswerColumns(answered.values.drop_columns(hidden), own, without)


def noise_in(post: exp.Query, name: str) -> bool:
    """Whether noise may be in a column of a statement: it may in all that is no expression of keys alone."""
    item = next((expression for expression in post.selects if expression.alias_or_name == name), None)
    return item is None or not all(
        isinstance(node, exp.Column) and key_number(node.name) is not None
        for node in item.find_all(exp.Column, exp.Query)
    )


def together(
    values: pa.Table, intervals: Mapping[str, Interval], without: Collection[str], found: Spread
) -> Mapping[str, Interval]:
    """The intervals of an answer by its own columns: of nested ones float64 arrays (rows, numbers).

    Args:
        values: the answer, with the hidden columns.
        intervals: of its columns.
        without: the noisy columns that have none.
        found: the hidden columns.
    """
    hidden = {name for names in found.columns.values() for name in names}
    makers = {name: partial(intervals.__getitem__, name) for name in intervals if name not in hidden}
    for name, names in found.columns.items():
        if any(column in intervals for column in names):
            makers[name] = partial(_stacked, values, intervals, without, names)
    return LazyMapping(makers)


def _stacked(
    values: pa.Table, intervals: Mapping[str, Interval], without: Collection[str], names: Sequence[str]
) -> Interval:
    """The ends of some columns beside each other; a number that no noise is in is both of its ends."""
    ends = []
    for name in names:
        if name in intervals:
            ends.append(intervals[name])
        elif name not in without and arrow.is_number(values, name):
            ends.append((arrow.floats(values.column(name)),) * 2)
        else:
            ends.append((np.full(len(values), np.nan),) * 2)
    low, high = (np.stack(columns, axis=1) for columns in zip(*ends, strict=True))
    return low, high


def _numbers(item: exp.Expr, select: exp.Select) -> list[exp.Expr]:
    """The numbers that an item of a SELECT list holds one by one; none where it is not nested or has any size."""
    whole = item.unalias().unnest()
    written = _written(whole)
    if written is not None:
        return written
    if type(whole) is not exp.Column:
        return []
    made = _made_of(whole, select, ())
    if made is None:
        return []
    listed = exp.Anonymous(this="map_values", expressions=[whole]) if isinstance(made, exp.Map) else whole
    if isinstance(made, exp.Struct):
        names = [exp.Literal.string(field.this.name) for field in made.expressions]
        return [exp.Anonymous(this="struct_extract", expressions=[whole, name]) for name in names]
    return [
        exp.Bracket(this=listed.copy(), expressions=[exp.Literal.number(place)], offset=1)
        for place in range(1, len(_written(made) or []) + 1)
    ]


def _written(whole: exp.Expr) -> list[exp.Expr] | None:
    """The numbers of a list, a map or a struct that is written out; None of anything else."""
    if isinstance(whole, exp.Map) and isinstance(whole.args.get("values"), exp.Array):
        whole = whole.args["values"]
    if isinstance(whole, exp.Struct):
        fields = whole.expressions
        return [f.expression for f in fields] if all(isinstance(f, exp.PropertyEQ) for f in fields) else None
    if not isinstance(whole, exp.Array) or any(
        isinstance(value, _OF_ANY_SIZE) for value in whole.expressions
    ):
        return None
    return list(whole.expressions)


def _made_of(column: exp.Column, select: exp.Select, known: tuple[exp.CTE, ...]) -> exp.Expr | None:
    """The list, map or struct that a column of a sub-query or a CTE was written as; None where there is no one."""
    clause = select.args.get("with_")
    known = (*known, *(clause.expressions if clause is not None else ()))
    from_ = select.args.get("from_")
    holders = ([from_] if from_ is not None else []) + (select.args.get("joins") or [])
    for source in (holder.this for holder in holders):
        if column.table and column.table.lower() != source.alias_or_name.lower():
            continue
        inner: exp.Expr | None = source.this if isinstance(source, exp.Subquery) else None
        if isinstance(source, exp.Table):
            inner = next(
                (cte.this for cte in reversed(known) if cte.alias.lower() == source.name.lower()), None
            )
        renamed = source.args.get("alias") is not None and source.args["alias"].args.get("columns")
        if not isinstance(inner, exp.Select) or renamed:
            continue
        for item in inner.selects:
            if output_name(item).lower() != column.name.lower():
                continue
            whole = item.unalias().unnest()
            if _written(whole) is not None:
                return whole
            return _made_of(whole, inner, known) if type(whole) is exp.Column else None
    return None
