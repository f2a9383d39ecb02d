"""Aggregates that are written as several others: lists of quantiles, the most frequent value, and histograms.

`QUANTILE_CONT(x, [0.1, 0.9])` is the list of two quantiles, read off one tree. `histogram(x)` is a map from each public
value of x to the count of its rows, `histogram(x, [10, 20])` one from the upper end of each bin, `mode(x)` the value
with the greatest noisy count, or NULL where none is above zero. The counts exclude each other, so that all of them
cost as much as one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from discreet.engines.schema import Type
from discreet.sql.algebra.public_groups import public_groups
from discreet.sql.algebra.relation import Relation
from discreet.sql.analyze.aggregates.quantile_syntax import several_quantiles
from discreet.sql.analyze.binding.binder import Binder
from discreet.sql.expressions.expression import Expression
from discreet.sql.expressions.span import number
from discreet.sql.syntax import rewrites
from discreet.sql.syntax.nodes import literal_of

if TYPE_CHECKING:
    import pyarrow as pa

NO_VALUE = "The condition leaves no value of {} that can have rows."
MOST_BINS = 256
"""The most counts that one histogram is made of."""
HISTOGRAMS = ("histogram", "histogram_exact")


class Expansion:
    """Writes such aggregates over the rows of one release.

    Args:
        relation: its rows.
        binder: reads expressions over them.
        evaluate: the rows of a query of constants.
    """

    def __init__(self, relation: Relation, binder: Binder, evaluate: Callable[[exp.Query], pa.Table]) -> None:
        self._relation = relation
        self._binder = binder
        self._evaluate = evaluate

    def of(self, node: exp.Expr) -> exp.Expr | None:
        """The same in aggregates that are answered by themselves; None where it is one of those.

        Raises:
            QueryRefused: its values or bins are not public.
        """
        condition = node.expression.this if isinstance(node, exp.Filter) else None
        inner = node.this if isinstance(node, exp.Filter) else node
        quantiles = several_quantiles(inner)
        if quantiles is not None:
            if len(quantiles) > MOST_BINS:
                raise self._binder.refuse(node, f"It asks for {len(quantiles):,} quantiles; at most {MOST_BINS} are "
                                          "answered at once.", "List fewer of them.")  # fmt: skip
            return exp.Array(expressions=[_where(quantile, condition) for quantile in quantiles])
        name = rewrites.called(inner)
        arguments = (
            [inner.this, *inner.expressions] if isinstance(inner.this, exp.Expr) else inner.expressions
        )
        if name == "mode" and len(arguments) == 1 and not isinstance(arguments[0], exp.Order | exp.Distinct):
            keys = self._values(inner, arguments[0])
            counts = [_where(_count(), _is(arguments[0], key), condition) for key in keys]
            return _most_frequent(self._shown(arguments[0], keys), exp.Array(expressions=counts))
        if name in HISTOGRAMS and 1 <= len(arguments) <= 2:
            return self._histogram(inner, name, arguments, condition)
        return None

    def _histogram(
        self, node: exp.Expr, name: str, arguments: Sequence[exp.Expr], condition: exp.Expr | None
    ) -> exp.Expr:
        x = arguments[0]
        if len(arguments) == 1:
            keys = self._values(node, x)
            tests = [_is(x, key) for key in keys]
        else:
            keys = self._bins(node, x, arguments[1])
            tests = _between(x, keys) if name == "histogram" else [_is(x, key) for key in keys]
            rest = _above(x, keys[-1]) if name == "histogram" else _none_of(x, keys)
            if name != "histogram" or not self._ends_by(node, x, arguments[1]):
                tests.append(rest)
                keys = [*keys, self._others(node, x)]
        counts = [_where(_count(), test, condition) for test in tests]
        return exp.Map(keys=exp.Array(expressions=self._shown(x, keys)), values=exp.Array(expressions=counts))

    def _shown(self, x: exp.Expr, keys: Sequence[exp.Expr]) -> list[exp.Expr]:
        """Keys in the type of their expression: DuckDB reads 0.5 as a decimal number."""
        as_double = self._binder.bind(x).type is Type.FLOAT
        return [exp.cast(key.copy(), "DOUBLE") if as_double else key.copy() for key in keys]

    def _values(self, node: exp.Expr, x: exp.Expr) -> list[exp.Expr]:
        """The public values of an expression that rows can have, in order."""
        bound = self._binder.bind(x)
        found = next(iter(public_groups(self._relation, [bound])), None)
        name, shown = rewrites.called(node), rewrites.sql(x)
        if found is None:
            raise self._binder.refuse(node, f"The values of {shown} are not public, and {name} would show them.",
                                      self._fix(name, x, bound))  # fmt: skip
        values = sorted(group[0] for group in found.groups if group[0] is not None)
        if not values:
            raise self._binder.refuse(
                node, NO_VALUE.format(shown), "Leave out the condition, or this column."
            )
        self._see_few(node, len(values))
        return [literal_of(value) for value in values]

    def _fix(self, name: str, x: exp.Expr, bound: Expression) -> str:
        shown, (lo, hi) = rewrites.sql(x), (bound.span.lo, bound.span.hi)
        if bound.type in (Type.INTEGER, Type.FLOAT) and (lo is None or hi is None) and name != "mode":
            return f"Write histogram({shown}, [10, 20, 30]), in bins of your choice."
        if bound.type not in (Type.INTEGER, Type.FLOAT) or lo is None or hi is None:
            return "Declare its keys in the policy, or group by a CASE of it that names the values."
        if name == "mode":
            return f"Write mode(floor({shown})), the most frequent whole number, or MEDIAN({shown})."
        bins = f"equi_width_bins({float(lo):g}, {float(hi):g}, 10, false)"
        return f"Write histogram({shown}, {bins}), or bins of your choice."

    def _bins(self, node: exp.Expr, x: exp.Expr, bins: exp.Expr) -> list[exp.Expr]:
        """The upper ends of bins, or the values that are looked for: constants of the query, in order."""
        values = sorted({v for v in self._constants(node, bins) if v is not None})
        if not values:
            raise self._binder.refuse(
                node, "There is no bin.", f"Write histogram({rewrites.sql(x)}, [10, 20, 30])."
            )
        self._see_few(node, len(values))
        return [literal_of(value) for value in values]

    def _constants(self, node: exp.Expr, bins: exp.Expr) -> list[Any]:
        if next(bins.find_all(exp.Column, exp.Query), None) is None:
            found = self._evaluate(exp.select(exp.alias_(bins.copy(), "bins"))).column("bins").to_pylist()[0]
            if isinstance(found, list):
                return found
        raise self._binder.refuse(bins, "The bins of a histogram are a list of constants.",
                                  f"Write histogram({rewrites.sql(_argument(node))}, [10, 20, 30]).")  # fmt: skip

    def _see_few(self, node: exp.Expr, bins: int) -> None:
        if not 0 < bins <= MOST_BINS:
            x = rewrites.sql(_argument(node))
            raise self._binder.refuse(node, f"It would have {bins:,} counts; from 1 to {MOST_BINS} are made.",
                                      f"Write SELECT {x}, COUNT(*) AS n … GROUP BY {x}.")  # fmt: skip

    def _ends_by(self, node: exp.Expr, x: exp.Expr, bins: exp.Expr) -> bool:
        """Whether no value lies beyond the last bin, by the bounds of the column and the text alone."""
        most = self._binder.bind(x).span.hi
        last = number(max(v for v in self._constants(node, bins) if v is not None))
        return most is not None and last is not None and most <= last

    def _others(self, node: exp.Expr, x: exp.Expr) -> exp.Expr:
        """The name that DuckDB gives to the rows of no bin."""
        kind = self._binder.bind(x).type
        if kind is Type.FLOAT:
            return exp.cast(exp.Literal.string("inf"), "DOUBLE")
        if kind is Type.INTEGER:
            return exp.Literal.number(2**63 - 1)
        if kind is Type.TEXT:
            return exp.Literal.string("")
        raise self._binder.refuse(node, "The last bin must reach to the upper bound here.",
                                  f"Add an end to the bins that no value of {rewrites.sql(x)} passes.")  # fmt: skip


def _argument(node: exp.Expr) -> exp.Expr:
    """The first argument of an aggregate."""
    found: exp.Expr = node.this if isinstance(node.this, exp.Expr) else node.expressions[0]
    return found


def _count() -> exp.Expr:
    return exp.Count(this=exp.Star())


def _where(aggregate: exp.Expr, *conditions: exp.Expr | None) -> exp.Expr:
    tests = [condition.copy() for condition in conditions if condition is not None]
    if not tests:
        return aggregate
    return exp.Filter(this=aggregate, expression=exp.Where(this=exp.and_(*tests)))


def _is(x: exp.Expr, key: exp.Expr) -> exp.Expr:
    return exp.EQ(this=x.copy(), expression=key.copy())


def _above(x: exp.Expr, end: exp.Expr) -> exp.Expr:
    return exp.GT(this=x.copy(), expression=end.copy())


def _between(x: exp.Expr, ends: Sequence[exp.Expr]) -> list[exp.Expr]:
    """Conditions that x lies in each of the bins with these upper ends, which belong to them."""
    up_to = [exp.LTE(this=x.copy(), expression=end.copy()) for end in ends]
    above = [_above(x, end) for end in ends]
    return [up_to[0], *(exp.and_(a, b) for a, b in zip(above, up_to[1:], strict=False))]


def _none_of(x: exp.Expr, keys: Sequence[exp.Expr]) -> exp.Expr:
    found = exp.In(this=x.copy(), expressions=[key.copy() for key in keys])
    return exp.Not(this=exp.paren(found))


def _most_frequent(keys: Sequence[exp.Expr], counts: exp.Expr) -> exp.Expr:
    """The key of the greatest count, the first of several; NULL where none is above zero."""
    most = exp.Anonymous(this="list_max", expressions=[counts])
    position = exp.Anonymous(this="list_position", expressions=[counts.copy(), most])
    found = exp.Anonymous(this="list_extract", expressions=[exp.Array(expressions=list(keys)), position])
    some = exp.GT(this=most.copy(), expression=exp.Literal.number(0))
    return exp.Case(ifs=[exp.If(this=some, true=found)])
