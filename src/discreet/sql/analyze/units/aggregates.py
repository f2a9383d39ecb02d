"""Aggregates over the rows of one unit: COUNT, SUM, AVG, MIN, MAX, BOOL_OR and BOOL_AND.

Each result is a function of the rows of one unit alone, and not of their order: integers are summed exactly,
and numbers with a fraction are scaled to integers first.
"""

from __future__ import annotations

import math
from fractions import Fraction

from sqlglot import exp

from discreet.engines.schema import Type
from discreet.records import dataclass
from discreet.sql import functions as fn
from discreet.sql.algebra.relation import UnitAggregate
from discreet.sql.analyze.aggregates.aggregate import filtered
from discreet.sql.analyze.aggregates.implied_bounds import of_count, of_sum
from discreet.sql.analyze.binding.binder import Binder
from discreet.sql.expressions.clamping import saturated
from discreet.sql.expressions.dialect import SATURATE
from discreet.sql.expressions.expression import Expression, Literal
from discreet.sql.expressions.key_range import range_of_keys
from discreet.sql.expressions.span import Span
from discreet.sql.functions.names import takes_a_number
from discreet.sql.syntax import rewrites

LARGEST = Fraction(2) ** 1023
"""Sums of numbers saturate here: PostgreSQL raises where a product is too large for a double."""


MOST_TOTAL = 2**93
"""No sum of integers of 30 bits over the rows of a unit is larger."""

TRUE_ONES = "(CASE WHEN COUNT({x}){over} > 0 THEN COUNT(NULLIF({x}, 0)){over} END)"
"""How many of some flags are 1: NULL where all are NULL, as COUNT_IF is in DuckDB; a COUNT with FILTER is 0 there."""


def read_unit_aggregate(node: exp.Expr, binder: Binder, rows: int) -> tuple[UnitAggregate, Type, Span]:
    """Read an aggregate over the rows of one unit.

    Args:
        node: the aggregate.
        binder: reads its argument.
        rows: how many rows of a unit are expected to count, from which bounds follow.

    Raises:
        QueryRefused: it is not supported, or its sum would depend on the order of the rows.
    """
    condition: Expression | None = None
    if isinstance(node, exp.Filter):
        condition = binder.condition(node.expression.this)
        node = node.this
    if isinstance(node, exp.Count | exp.CountIf):
        return _count(node, binder, condition, of_count(rows))
    better = rewrites.of_unit_aggregate(node)
    if better is not None:
        raise binder.refuse(node, *better)
    if isinstance(node.this, exp.Distinct | exp.Order) or node.args.get("expressions"):
        raise binder.refuse(node, "An aggregate takes one argument here.", "Write it plainly.")
    if isinstance(node, exp.Min | exp.Max):
        argument = filtered(binder.bind(node.this), condition)
        name = node.key.upper()
        if argument.type is Type.BOOLEAN:  # of which PostgreSQL has no least one
            name = "BOOL_AND" if isinstance(node, exp.Min) else "BOOL_OR"
        return UnitAggregate(f"{name}({{0}})", argument, chosen=True), argument.type, argument.span.null()
    if isinstance(node, exp.LogicalOr | exp.LogicalAnd):
        truth = filtered(binder.condition(node.this), condition)
        name = "BOOL_OR" if isinstance(node, exp.LogicalOr) else "BOOL_AND"
        return UnitAggregate(f"{name}({{0}})", truth), Type.BOOLEAN, truth.span.null()
    if isinstance(node, exp.Sum | exp.Avg):
        total = summable(node, filtered(binder.bind(node.this), condition), binder)
        sql, kind, span = sum_sql(isinstance(node, exp.Avg), total)
        follows = of_sum(total.whole.span, total.step, rows) if isinstance(node, exp.Sum) else None
        return UnitAggregate(summed(sql, ""), total.whole, follows, plain=total.plain), kind, span
    raise binder.refuse(node, f"{node.key.upper()} is not supported per unit.",
                        "Use COUNT, SUM, AVG, MIN, MAX, BOOL_OR or BOOL_AND.")  # fmt: skip


def _count(
    node: exp.Expr, binder: Binder, condition: Expression | None, most: tuple[Fraction, Fraction]
) -> tuple[UnitAggregate, Type, Span]:
    """COUNT in its forms, over the rows of a unit that meet a condition."""
    some, counted = Span(Fraction(0), None, nullable=False), Literal(1, Type.INTEGER)
    spelling = "COUNT({0})"
    if isinstance(node, exp.CountIf):
        flag = fn.call("to_integer", binder.condition(node.this))
        assert flag is not None
        return (
            UnitAggregate(summed(TRUE_ONES, ""), filtered(flag, condition), most),
            Type.INTEGER,
            some.null(),
        )
    distinct = isinstance(node.this, exp.Distinct)
    inner = node.this.expressions[0] if distinct else node.this
    if inner is None or isinstance(inner, exp.Star):
        if condition is None:
            every = Span(Fraction(1), None, nullable=False)
            return UnitAggregate("COUNT(*)", None, most), Type.INTEGER, every
        return UnitAggregate(spelling, filtered(counted, condition), most), Type.INTEGER, some
    argument = binder.bind(inner) if distinct else binder.presence(inner)
    if distinct:
        spelling = "COUNT(DISTINCT {0})"
    return UnitAggregate(spelling, filtered(argument, condition), most), Type.INTEGER, some


@dataclass(frozen=True, slots=True)
class WholeSteps:
    """Values as whole steps, whose sum is exact.

    Attributes:
        whole: how many steps each value is, an integer expression.
        step: the value of one step.
        plain: the value itself, within its bounds, where it need not be a whole number of steps.
    """

    whole: Expression
    step: Fraction = Fraction(1)
    plain: Expression | None = None

    @property
    def args(self) -> tuple[Expression, ...]:
        """The arguments that a spelling of `sum_sql` has places for."""
        return (self.whole,) if self.plain is None else (self.whole, self.plain)


def summable(node: exp.Expr, argument: Expression, binder: Binder) -> WholeSteps:
    """The argument as integers whose exact sum stands for its own."""
    if argument.type is Type.BOOLEAN:
        flag = fn.call("to_integer", argument)
        assert flag is not None
        return WholeSteps(flag)
    if argument.type is Type.INTEGER:
        return WholeSteps(argument)
    if argument.type is not Type.FLOAT:
        raise binder.refuse(node, *takes_a_number(node.key.upper(), node.this, argument.type))
    lo, hi = argument.span.lo, argument.span.hi
    if lo is None or hi is None:
        inner = node.this.sql("duckdb")
        raise binder.refuse(node.this, f"{inner} has no bounds, and a sum of such numbers depends on their order.",
                            "Declare bounds in the policy, or write "
                            f"clamp({inner}, {range_of_keys(argument.span) or '0, 100'}).")  # fmt: skip
    lo, hi = (max(min(end, LARGEST), -LARGEST) for end in (lo, hi))
    reach = max(abs(lo), abs(hi), Fraction(1, 2**500))
    step = Fraction(2) ** (math.ceil(math.log2(reach)) - 30)
    clamped: Expression = fn.clamp(argument, lo, hi) if lo < hi else argument
    scaled = fn.call("multiply", clamped, Literal(float(1 / step), Type.FLOAT))
    assert scaled is not None
    shifted = fn.call("add", scaled, Literal(0.5, Type.FLOAT))
    assert shifted is not None
    whole = fn.call("floor_whole", shifted)
    assert whole is not None
    return WholeSteps(whole, step, clamped)


def summed(sql: str, over: str) -> str:
    """A sum as a template, over rows or over a window."""
    return sql.format(over=over, x="{0}", total="{summed}", plain="{1}")


def sum_sql(mean: bool, steps: WholeSteps) -> tuple[str, Type, Span]:
    """SQL, type and span of a sum or a mean of whole steps.

    The mean of equal values is that value, and so is the sum of a single one: rounded to whole steps it would be a
    little more or less, and whoever has one row would lie above or below their own mean at random.
    """
    step, total = steps.step, "SUM({total}){over}"
    size = f"CAST('{float(step)!r}' AS DOUBLE)"
    lo, hi = (None if end is None else end * step for end in (steps.whole.span.lo, steps.whole.span.hi))
    if mean:
        # Divided first, as the mean fits where a sum of the largest doubles does not; PostgreSQL would raise.
        sql = f"(CAST({total} AS DOUBLE) / NULLIF(COUNT({{x}}){{over}}, 0) * {size})"
        if steps.plain is not None:
            least, greatest = "MIN({plain}){over}", "MAX({plain}){over}"
            sql = f"(CASE WHEN {least} = {greatest} THEN {least} ELSE {sql} END)"
        return sql, Type.FLOAT, Span(lo, hi, True)
    low = Fraction(0) if lo is not None and lo >= 0 else None
    high = Fraction(0) if hi is not None and hi <= 0 else None
    if step == 1:
        return capped(total, "COUNT({x}){over}"), Type.INTEGER, Span(low, high, True)
    most = LARGEST // step
    if most < MOST_TOTAL:
        total = f"CASE WHEN COUNT({{x}}){{over}} > 0 THEN {saturated(total, most)} END"
    sql = f"(CAST(({total}) AS DOUBLE) * {size})"
    if steps.plain is not None:
        sql = f"(CASE WHEN COUNT({{x}}){{over}} = 1 THEN MIN({{plain}}){{over}} ELSE {sql} END)"
    return sql, Type.FLOAT, Span(low, high, True)


def capped(total: str, count: str) -> str:
    """A wide sum that saturates. GREATEST and LEAST pass over NULL, so whether there is anything is asked first."""
    return f"(CASE WHEN {count} > 0 THEN CAST({saturated(total, SATURATE)} AS BIGINT) END)"
