"""The values that a column can have in a branch of a CASE: those that the condition of the branch leaves.

In `CASE WHEN job IN ('cook', 'nurse') THEN job ELSE 'other' END` the first result is one of two literals, so the groups
are public. The column is written as the literals that it can be, or clamped to the bounds that the condition sets:
where the condition holds, nothing is another, and elsewhere the branch is not taken.
"""

from __future__ import annotations

from collections.abc import Iterator

from discreet.engines.schema import Type
from discreet.sql import functions as fn
from discreet.sql.algebra.narrowing import conjuncts, narrowed, rebuilt
from discreet.sql.expressions.expression import Call, Column, Expression, Literal, leaves

MOST_LISTED = 64
"""The most literals that a column is written as."""


def where(condition: Expression, result: Expression) -> Expression:
    """A result where its condition holds. What it asks of an expression as a whole holds of that, as of a column."""
    if isinstance(result, Call) and result.span.domain is None and result in _parts(condition):
        whole = Column("?", result.type, result.span)
        known = where(_with(condition, result, whole), whole)
        return rebuilt(known, {whole.name: result}) if known != whole else result
    free = {leaf.name: leaf for leaf in leaves(result) if leaf.span.domain is None and not leaf.span.bounded}
    if not free:
        return result
    left, _ = narrowed(conjuncts([condition]), free)
    said = {name: _as_known(free[name], column) for name, column in left.items() if column != free[name]}
    return rebuilt(result, {name: known for name, known in said.items() if known is not None})


def _parts(expression: Expression) -> Iterator[Expression]:
    yield expression
    for arg in expression.args if isinstance(expression, Call) else ():
        yield from _parts(arg)


def _with(expression: Expression, part: Expression, other: Expression) -> Expression:
    """An expression with another one in the place of a part."""
    if expression == part:
        return other
    if not isinstance(expression, Call):
        return expression
    args = tuple(_with(arg, part, other) for arg in expression.args)
    return Call(expression.name, expression.spelling, args, expression.type, expression.span)


def _as_known(column: Column, left: Column) -> Expression | None:
    """A column as an expression whose values are known; None where the condition does not bound them."""
    if left.span.domain is not None:
        values = [Literal(value, column.type) for value in left.span.domain]
        if not 0 < len(values) <= MOST_LISTED:
            return None
        if len(values) == 1:
            return values[0]
        tests = [fn.call("eq", column, value) for value in values[:-1]]
        branches = [(test, value) for test, value in zip(tests, values, strict=False) if test is not None]
        return fn.case(list(branches), values[-1]) if len(branches) == len(values) - 1 else None
    lo, hi = left.span.lo, left.span.hi
    if lo is None or hi is None or lo >= hi or column.type not in (Type.INTEGER, Type.FLOAT):
        return None
    known = fn.clamp(column, lo, hi)
    # Neither NULL nor NaN lies between two numbers.
    return Call(known.name, known.spelling, known.args, known.type, known.span.null(False))
