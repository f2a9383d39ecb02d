"""Reads the aggregate functions of a query: the quantity that each asks for, and of which bounded expression."""

from __future__ import annotations

from collections.abc import Set

from sqlglot import exp

from discreet.engines.schema import Type
from discreet.errors import QueryRefused
from discreet.records import dataclass, field
from discreet.sql import functions as fn
from discreet.sql.analyze.aggregates.distinct_values import as_one_text, as_one_value, counted_groups
from discreet.sql.analyze.aggregates.quantile_syntax import quantile_asked
from discreet.sql.analyze.aggregates.quantiles_of_moments import moment_type, place_of
from discreet.sql.analyze.binding.binder import Binder
from discreet.sql.expressions.expression import Column, Expression, Literal, constant
from discreet.sql.expressions.key_range import range_of_keys
from discreet.sql.expressions.span import Span
from discreet.sql.functions import aggregates as table
from discreet.sql.functions.casts import bounded_by_type
from discreet.sql.functions.names import takes_a_number
from discreet.sql.syntax import rewrites

_ONE_ARGUMENT = ("An aggregate takes one argument, without ORDER BY.", "Write it plainly.")


@dataclass(frozen=True, slots=True)
class RequestedAggregate:
    """An aggregate that a query asks for.

    Attributes:
        quantity: named as in the table of aggregates, or, for a quantile, as in `quantile_syntax`.
        argument: over the rows; None for `rows`, and for `units` unless only some rows are looked at.
        sql: the aggregate in canonical spelling.
        other: the second argument of a quantity of a pair, y, where `argument` is x.
        whole: whether the answer is an integer; None where that follows from the others.
        moment: for a quantile of dates or time stamps, whose argument is their places, the type of these and of the
            answer.
    """

    quantity: str
    argument: Expression | None
    sql: str
    other: Expression | None = None
    whole: bool | None = None
    moment: tuple[Type, Type] | None = field(default=None, compare=False)

    @property
    def always_whole(self) -> bool:
        """Whether the answer is an integer by the quantity and its argument."""
        if table.whole(self.quantity):
            return True
        listed = self.quantity in ("sum", "distinct_sum") or table.is_quantile(self.quantity)
        return listed and self.argument is not None and self.argument.type is Type.INTEGER


def read_aggregate(node: exp.Expr, binder: Binder, units: Set[str], within: Binder) -> RequestedAggregate:
    """Read one aggregate function.

    Args:
        node: the aggregate, perhaps with FILTER.
        binder: reads its arguments.
        units: the columns that hold the privacy unit.
        within: reads an argument that has no bounds again, with the columns clamped to those that follow or WHERE sets.

    Raises:
        QueryRefused: it is not supported, or its argument has no bounds.
    """
    sql = rewrites.sql(node)
    condition: Expression | None = None
    if isinstance(node, exp.Filter):
        condition = binder.condition(node.expression.this)
        node = node.this
    if isinstance(node.this, exp.Distinct):
        if isinstance(node, exp.Sum) and len(node.this.expressions) == 1:
            (inner,) = node.this.expressions
            argument = _number(inner, node, binder, within)
            return RequestedAggregate("distinct_sum", filtered(argument, condition), sql)
        return _distinct(node, binder, units, condition, sql)
    if (sizes := counted_groups(node)) is not None:
        keys, least, most = sizes
        shown = f"COUNT(*) of groups with {table.sizes_in_words(least, most)}"
        return RequestedAggregate(table.of_sizes(least, most), as_one_value(keys, binder), shown)
    _counted_arguments(node, binder)
    asked = quantile_asked(node, binder)
    if asked is not None:
        return _place(asked, node, binder, within, condition, sql)
    line = table.BY_NODE.get(type(node))
    if line is not None and line.family == "pairs":
        y, x = (_number(node.args[key], node, binder, within) for key in ("this", "expression"))
        return RequestedAggregate(line.quantity, filtered(x, condition), sql, filtered(y, condition))
    if isinstance(node, exp.AnonymousAggFunc) and len(node.expressions) == 1:
        line = table.BY_QUANTITY.get(rewrites.called(node))  # the parser has no class for it
        if line is not None:
            return RequestedAggregate(
                line.quantity, filtered(_number(node.expressions[0], node, binder, within), condition), sql
            )
    if isinstance(node.this, exp.Order) or (node.expressions and not isinstance(node, exp.Anonymous)):
        raise binder.refuse(node, *(rewrites.of_aggregate(node) or _ONE_ARGUMENT))
    if isinstance(node, exp.CountIf):
        truth = binder.condition(node.this)
        condition = truth if condition is None else _all_of(condition, truth)
        return _counted(condition, sql)
    if isinstance(node, exp.Count):
        if node.this is None or isinstance(node.this, exp.Star):
            return RequestedAggregate("rows", None, sql) if condition is None else _counted(condition, sql)
        argument = binder.presence(node.this)
        if constant(argument) or not argument.span.nullable:
            return RequestedAggregate("rows", None, sql) if condition is None else _counted(condition, sql)
        return RequestedAggregate("count", filtered(argument, condition), sql)
    if line is None:
        raise binder.refuse(node, *(rewrites.of_aggregate(node) or table.not_supported()))
    if line.quantity == "avg":
        return _place((line.quantity, node.this), node, binder, within, condition, sql)
    return RequestedAggregate(
        line.quantity, filtered(_number(node.this, node, binder, within), condition), sql
    )


def _place(
    asked: tuple[str, exp.Expr],
    node: exp.Expr,
    binder: Binder,
    within: Binder,
    condition: Expression | None,
    sql: str,
) -> RequestedAggregate:
    """A quantity between the least and the greatest value, which dates have as numbers do."""
    quantity, of = asked
    argument = binder.bind(of)
    shown = moment_type(node, argument)
    if shown is None:
        ranked = quantity != "avg"
        number = _number(of, node, binder, within, ranked)
        return RequestedAggregate(quantity, filtered(number, condition), sql)
    place = place_of(argument)
    if not place.span.bounded:
        place = place_of(within.bind(of))
    if not place.span.bounded:
        raise _unbounded(node, of, binder, argument.span, "DATE '2000-01-01', DATE '2030-12-31'", "dates")
    return RequestedAggregate(quantity, filtered(place, condition), sql, moment=(argument.type, shown))


def _counted_arguments(node: exp.Expr, binder: Binder) -> None:
    """Refuse an aggregate of bounded numbers that lacks one of them, or a pair with something beside it."""
    line = table.BY_NODE.get(type(node))
    if line is None or not line.bounded:
        return
    name = line.usages[0].partition("(")[0]
    wanted = ("this", "expression") if line.family == "pairs" else ("this",)
    lacking = any(node.args.get(key) is None for key in wanted)
    beside = line.family == "pairs" and any(
        isinstance(value, exp.Expr) for key, value in node.args.items() if key not in wanted
    )
    if lacking or beside:
        number = "two arguments" if line.family == "pairs" else "one argument"
        raise binder.refuse(node, f"{name} takes {number} here.", f"Write {line.usages[0]}.")


def _number(
    node: exp.Expr, function: exp.Expr, binder: Binder, within: Binder, ranked: bool = False
) -> Expression:
    """Read an argument that must be a bounded number.

    The ends of a wide type are bounds of a quantile, whose error grows with the number of their digits, and none of
    a sum, whose noise grows with the number itself.
    """
    name = rewrites.called(function.this if isinstance(function, exp.WithinGroup) else function).upper()
    argument = binder.bind(node)
    if argument.type is Type.BOOLEAN:
        as_number = fn.call("to_integer", argument)
        assert as_number is not None
        argument = as_number
    if argument.type not in (Type.INTEGER, Type.FLOAT):
        raise binder.refuse(function, *takes_a_number(name, node, argument.type))

    def unbounded() -> bool:
        span = argument.span
        return not span.bounded or (not ranked and span.width >= 2**32 - 1 and bounded_by_type(argument))

    if unbounded():
        argument = within.bind(node)
    if unbounded() or not argument.span.within(-(10**300), 10**300):
        raise _unbounded(function, node, binder, argument.span, "0, 100", "bounds")
    return argument


def _unbounded(
    function: exp.Expr, of: exp.Expr, binder: Binder, span: Span, ends: str, named: str
) -> QueryRefused:
    """The refusal of an argument that has no bounds; its keys have some, which the policy says."""
    known = range_of_keys(span)
    chosen = (
        ", the range of its keys" if known else f" with {named} that you choose without looking at the data"
    )
    return binder.refuse(
        of,
        f"{of.sql('duckdb')} has no bounds, so one person could move the answer without limit.",
        f"Declare bounds in the policy, or write {rewrites.clamped(function, of, known or ends)}{chosen}.",
    )


def _distinct(
    node: exp.Expr, binder: Binder, units: Set[str], condition: Expression | None, sql: str
) -> RequestedAggregate:
    if not isinstance(node, exp.Count) or len(node.this.expressions) != 1:
        raise binder.refuse(node, f"This form of {node.key.upper()}(DISTINCT …) is not supported.",
                            "Leave DISTINCT out, or count one expression, such as concat(a, ' ', b).")  # fmt: skip
    (inner,) = node.this.expressions
    argument = as_one_text(inner, binder) if isinstance(inner, exp.Tuple) else binder.bind(inner)
    if isinstance(argument, Column) and argument.name in units:
        some = None if condition is None else filtered(Literal(1, Type.INTEGER), condition)
        return RequestedAggregate("units", some, sql)
    return RequestedAggregate("distinct", filtered(argument, condition), sql)


def _counted(condition: Expression, sql: str) -> RequestedAggregate:
    indicator = fn.case([(condition, Literal(1, Type.INTEGER))], Literal(None, Type.INTEGER))
    return RequestedAggregate("count", indicator, sql)


def filtered(argument: Expression, condition: Expression | None) -> Expression:
    """The argument where FILTER holds, and NULL elsewhere."""
    return argument if condition is None else fn.case([(condition, argument)], Literal(None, argument.type))


def _all_of(a: Expression, b: Expression) -> Expression:
    both = fn.call("and", a, b)
    assert both is not None
    return both
