"""Reads the aggregate functions of a query, and chooses the measures that answer them with the least noise."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from sqlglot import exp

from discreet.engines.schema import Type
from discreet.sql import functions as fn
from discreet.sql.analyze.binder import Binder
from discreet.sql.analyze.quantile_syntax import quantile_asked
from discreet.sql.expressions.expression import Column, Expression, Literal
from discreet.sql.functions.names import takes_a_number
from discreet.sql.measures.measure import Measure, constant, grid_of
from discreet.sql.measures.moments import DEGREES, Joint
from discreet.sql.measures.quantile_tree import is_quantile, tree_for
from discreet.sql.plan.plan import Aggregate, AnyMeasure


@dataclass(frozen=True, slots=True)
class Request:
    """An aggregate that a query asks for.

    Attributes:
        what: `rows`, `units`, `distinct`, `count`, `sum`, `avg`, `var_pop`, `var_samp`, `stddev_pop`, `stddev_samp`,
            a quantile as `quantiles` names it, or a quantity of a pair as `moments` names it.
        argument: over the rows; None for `rows`, and for `units` unless only some rows are looked at.
        sql: the aggregate in canonical spelling.
        other: the second argument of a quantity of a pair, y, where `argument` is x.
    """

    what: str
    argument: Expression | None
    sql: str
    other: Expression | None = None


NUMERIC: dict[type[exp.Expr], str] = {
    exp.Sum: "sum", exp.Avg: "avg", exp.Variance: "var_samp", exp.VariancePop: "var_pop", exp.Stddev: "stddev_samp",
    exp.StddevSamp: "stddev_samp", exp.StddevPop: "stddev_pop",
}  # fmt: skip
PAIRS: dict[type[exp.Expr], str] = {
    exp.CovarPop: "covar_pop", exp.CovarSamp: "covar_samp", exp.Corr: "corr", exp.RegrSlope: "slope",
    exp.RegrIntercept: "intercept", exp.RegrCount: "pairs", exp.RegrAvgx: "avgx", exp.RegrAvgy: "avgy",
    exp.RegrR2: "r2",
}  # fmt: skip
"""Of two arguments, y before x."""
COUNTS = frozenset({"rows", "units", "distinct", "count", "pairs"})
DEGREE = {
    "rows": 0,
    "count": 0,
    "sum": 1,
    "avg": 1,
    "var_pop": 2,
    "var_samp": 2,
    "stddev_pop": 2,
    "stddev_samp": 2,
}


def read_aggregate(node: exp.Expr, binder: Binder, units: Set[str]) -> Request:
    """Read one aggregate function.

    Args:
        node: the aggregate, perhaps with FILTER.
        binder: reads its arguments.
        units: the columns that hold the privacy unit.

    Raises:
        QueryRefused: it is not supported, or its argument has no bounds.
    """
    sql = node.sql("duckdb", comments=False)
    condition: Expression | None = None
    if isinstance(node, exp.Filter):
        condition = binder.condition(node.expression.this)
        node = node.this
    if isinstance(node.this, exp.Distinct):
        return _distinct(node, binder, units, condition, sql)
    what = quantile_asked(node, binder)
    if what is not None:
        return Request(what[0], _filtered(_number(what[1], node, binder), condition), sql)
    pair = PAIRS.get(type(node))
    if pair is not None:
        y, x = (_number(node.args[key], node, binder) for key in ("this", "expression"))
        return Request(pair, _filtered(x, condition), sql, y)
    if isinstance(node.this, exp.Order) or (node.expressions and not isinstance(node, exp.Anonymous)):
        raise binder.refuse(node, "An aggregate takes one argument, without ORDER BY.", "Write it plainly.")
    if isinstance(node, exp.CountIf):
        truth = binder.condition(node.this)
        condition = truth if condition is None else _all_of(condition, truth)
        return _counted(condition, sql)
    if isinstance(node, exp.Count):
        if node.this is None or isinstance(node.this, exp.Star):
            return Request("rows", None, sql) if condition is None else _counted(condition, sql)
        argument = binder.presence(node.this)
        if constant(argument) or not argument.span.nullable:
            return Request("rows", None, sql) if condition is None else _counted(condition, sql)
        return Request("count", _filtered(argument, condition), sql)
    name = NUMERIC.get(type(node))
    if name is None:
        raise binder.refuse(node, "This aggregate is not supported.",
                            "Use COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE_CONT, MIN, MAX, COVAR_POP, CORR "
                            "or REGR_SLOPE.")  # fmt: skip
    return Request(name, _filtered(_number(node.this, node, binder), condition), sql)


def _number(node: exp.Expr, function: exp.Expr, binder: Binder) -> Expression:
    """Read an argument that must be a bounded number."""
    name = function.name if isinstance(function, exp.AnonymousAggFunc) else function.key.upper()
    argument = binder.bind(node)
    if argument.type is Type.BOOLEAN:
        as_number = fn.call("to_integer", argument)
        assert as_number is not None
        argument = as_number
    if argument.type not in (Type.INTEGER, Type.FLOAT):
        raise binder.refuse(function, *takes_a_number(name, node, argument.type))
    if not argument.span.bounded or not argument.span.within(-(10**300), 10**300):
        inner = node.sql("duckdb")
        raise binder.refuse(node, f"{inner} has no bounds, so one person could move the answer without limit.",
                            f"Declare bounds in the policy, or write {name}(clamp({inner}, 0, 100)) "
                            "with bounds that you choose without looking at the data.")  # fmt: skip
    return argument


def _distinct(
    node: exp.Expr, binder: Binder, units: Set[str], condition: Expression | None, sql: str
) -> Request:
    if not isinstance(node, exp.Count) or len(node.this.expressions) != 1:
        raise binder.refuse(node, f"This form of {node.key.upper()}(DISTINCT …) is not supported.",
                            "Leave DISTINCT out, or count one expression, such as concat(a, ' ', b).")  # fmt: skip
    argument = binder.bind(node.this.expressions[0])
    if isinstance(argument, Column) and argument.name in units:
        some = None if condition is None else _filtered(Literal(1, Type.INTEGER), condition)
        return Request("units", some, sql)
    return Request("distinct", _filtered(argument, condition), sql)


def _counted(condition: Expression, sql: str) -> Request:
    one = fn.case([(condition, Literal(1, Type.INTEGER))], Literal(None, Type.INTEGER))
    return Request("count", one, sql)


def _filtered(argument: Expression, condition: Expression | None) -> Expression:
    return argument if condition is None else fn.case([(condition, argument)], Literal(None, argument.type))


def _all_of(a: Expression, b: Expression) -> Expression:
    both = fn.call("and", a, b)
    assert both is not None
    return both


@dataclass(frozen=True, slots=True)
class Choice:
    """Which measure answers which request, before grids and epsilon are known.

    Attributes:
        degree: of the measure.
        argument: of the measure.
        with_null: whether all rows are counted too.
        counts: `rows`; `units` when units are counted, each once in a group; `distinct` when equal values of the
            argument count once; `tree` for quantiles; `pairs` for what is asked of two arguments.
        other: the second argument of a pair.
        degree_other: of the measure, in the second argument.
    """

    degree: int
    argument: Expression | None
    with_null: bool
    counts: str = "rows"
    other: Expression | None = None
    degree_other: int = 0


def choose(requests: Sequence[Request]) -> tuple[list[Choice], list[int]]:
    """Choose the fewest measures that answer all requests.

    Everything asked of one argument comes from one measure, and the number of all rows comes for free from the
    first measure there is: every further measure would take its share of epsilon from the others.

    Returns:
        The choices, and for each request the number of the choice that answers it.
    """
    wanted: dict[Family, set[str]] = {}
    for request in requests:
        wanted.setdefault(_family(request), set()).add(request.what)
    counting = wanted.pop(ALL_ROWS, set())
    choices: list[Choice] = []
    order: list[Family] = []
    # Plain measures come first, so that the number of all rows can be had from one of them.
    for family in sorted(
        wanted, key=lambda f: ("rows", "pairs").index(f[0]) if f[0] in ("rows", "pairs") else 2
    ):
        counts, argument, other = family
        order.append(family)
        with_null = bool(counting) and not choices and (_nullable(argument) or _nullable(other))
        if counts == "pairs":
            p, q = (max(DEGREES[what][axis] for what in wanted[family]) for axis in (0, 1))
            choices.append(Choice(p, argument, with_null, counts, other, q))
            continue
        if counts != "rows":
            choices.append(Choice(0, argument, False, counts))
            continue
        degree = max(DEGREE[what] for what in wanted[family])
        if wanted[family] == {"sum"} and not (counting and not choices):
            degree = -1
        choices.append(Choice(degree, argument, with_null))
    if counting and (not choices or choices[0].counts not in ("rows", "pairs")):
        choices.append(Choice(0, None, False))
        order.append(ALL_ROWS)
    free = 0 if ALL_ROWS not in order else order.index(ALL_ROWS)
    return choices, [free if r.what == "rows" else order.index(_family(r)) for r in requests]


def _nullable(argument: Expression | None) -> bool:
    return argument is not None and argument.span.nullable


Family: TypeAlias = tuple[str, Expression | None, Expression | None]
ALL_ROWS: Family = ("rows", None, None)


def _family(request: Request) -> Family:
    """Requests of one family are answered by one measure."""
    kind = "rows"
    if request.what in ("units", "distinct"):
        kind = request.what
    elif is_quantile(request.what):
        kind = "tree"
    elif request.other is not None:
        kind = "pairs"
    return kind, request.argument, request.other


def measure(choice: Choice, contribution: Fraction, part: int, cells: int) -> AnyMeasure:
    """Give a chosen measure its grid.

    Args:
        choice: the measure.
        contribution: rows counted per unit times the unit factor, divided by the epsilon of this measure.
        part: the number of the part that it is taken over.
        cells: the number of groups.

    Raises:
        QueryRefused: there are too many groups for quantiles.
    """
    if choice.counts == "tree":
        assert choice.argument is not None
        return tree_for(choice.argument, cells, part)
    if choice.counts == "pairs":
        assert choice.argument is not None
        assert choice.other is not None
        x, y = (grid_of(argument, 2, contribution) for argument in (choice.argument, choice.other))
        degrees = choice.degree, choice.degree_other
        return Joint(choice.argument, choice.other, degrees, x, y, choice.with_null, part)
    if choice.counts == "units":
        return Measure(0, None, None, False, part)
    grid = None
    if choice.degree != 0:
        assert choice.argument is not None
        grid = grid_of(choice.argument, choice.degree, contribution)
    return Measure(choice.degree, choice.argument, grid, choice.with_null, part, choice.counts == "distinct")


def aggregate(request: Request, at: int) -> Aggregate:
    """The column of the noisy table that answers a request."""
    whole = request.what in COUNTS or (
        (request.what == "sum" or is_quantile(request.what))
        and request.argument is not None
        and request.argument.type is Type.INTEGER
    )
    what = "rows" if request.what in ("units", "distinct") else request.what
    return Aggregate(at, what, whole, request.sql)
