"""Reads the aggregate functions of a query, and chooses the measures that answer them with the least noise."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from discreet.engines.schema import Type
from discreet.query import functions as fn
from discreet.query.bind import Binder
from discreet.query.expression import Column, Expression, Literal
from discreet.query.measures import Measure, constant, grid_of
from discreet.query.plan import Aggregate


@dataclass(frozen=True, slots=True)
class Request:
    """An aggregate that a query asks for.

    Attributes:
        what: `rows`, `units`, `distinct`, `count`, `sum`, `avg`, `var_pop`, `var_samp`, `stddev_pop` or `stddev_samp`.
        argument: over the rows; None for `rows`, and for `units` unless only some rows are looked at.
        sql: the aggregate in canonical spelling.
    """

    what: str
    argument: Expression | None
    sql: str


NUMERIC: dict[type[exp.Expr], str] = {
    exp.Sum: "sum", exp.Avg: "avg", exp.Variance: "var_samp", exp.VariancePop: "var_pop", exp.Stddev: "stddev_samp",
    exp.StddevSamp: "stddev_samp", exp.StddevPop: "stddev_pop",
}  # fmt: skip
COUNTS = frozenset({"rows", "units", "distinct", "count"})
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
    if isinstance(node.this, exp.Order) or (node.expressions and not isinstance(node, exp.Anonymous)):
        raise binder.refuse(node, "An aggregate takes one argument, without ORDER BY.", "Write it plainly.")
    if isinstance(node, exp.CountIf):
        truth = binder.condition(node.this)
        condition = truth if condition is None else _all_of(condition, truth)
        return _counted(condition, sql)
    if isinstance(node, exp.Count):
        if node.this is None or isinstance(node.this, exp.Star):
            return Request("rows", None, sql) if condition is None else _counted(condition, sql)
        argument = binder.bind(node.this)
        if constant(argument) or not argument.span.nullable:
            return Request("rows", None, sql) if condition is None else _counted(condition, sql)
        return Request("count", _filtered(argument, condition), sql)
    what = NUMERIC.get(type(node))
    name = node.name if isinstance(node, exp.AnonymousAggFunc) else node.key.upper()
    if what is None:
        raise binder.refuse(node, f"The aggregate {name} is not supported.",
                            "Use COUNT, SUM, AVG, VARIANCE or STDDEV.")  # fmt: skip
    argument = binder.bind(node.this)
    if argument.type is Type.BOOLEAN:
        as_number = fn.call("to_integer", argument)
        assert as_number is not None
        argument = as_number
    if argument.type not in (Type.INTEGER, Type.FLOAT):
        raise binder.refuse(node, f"{name} takes a number.", "Convert it with CAST(… AS DOUBLE).")
    if not argument.span.bounded or not argument.span.within(-(10**300), 10**300):
        inner = node.this.sql("duckdb")
        raise binder.refuse(node.this, f"{inner} has no bounds, so one person could move the answer without limit.",
                            f"Declare bounds in the policy, or write {name}(clamp({inner}, 0, 100)) "
                            "with bounds that you choose without looking at the data.")  # fmt: skip
    return Request(what, _filtered(argument, condition), sql)


def _distinct(
    node: exp.Expr, binder: Binder, units: Set[str], condition: Expression | None, sql: str
) -> Request:
    if not isinstance(node, exp.Count) or len(node.this.expressions) != 1:
        raise binder.refuse(node, f"{node.key.upper()}(DISTINCT …) is not supported.",
                            "Leave DISTINCT out, or count one column.")  # fmt: skip
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
            argument count once.
    """

    degree: int
    argument: Expression | None
    with_null: bool
    counts: str = "rows"


def choose(requests: Sequence[Request]) -> tuple[list[Choice], list[int]]:
    """Choose the fewest measures that answer all requests.

    Everything asked of one argument comes from one measure, and the number of all rows comes for free from the
    first measure there is: every further measure would take its share of epsilon from the others.

    Returns:
        The choices, and for each request the number of the choice that answers it.
    """
    wanted: dict[tuple[str, Expression | None], set[str]] = {}
    for request in requests:
        wanted.setdefault(_family(request), set()).add(request.what)
    counting = wanted.pop(("rows", None), set())
    choices: list[Choice] = []
    order: list[tuple[str, Expression | None]] = []
    # Plain measures come first, so that the number of all rows can be had from one of them.
    for family in sorted(wanted, key=lambda f: f[0] != "rows"):
        counts, argument = family
        order.append(family)
        if counts != "rows":
            choices.append(Choice(0, argument, False, counts))
            continue
        degree = max(DEGREE[what] for what in wanted[family])
        with_null = bool(counting) and not choices and argument is not None and argument.span.nullable
        if wanted[family] == {"sum"} and not (counting and not choices):
            degree = -1
        choices.append(Choice(degree, argument, with_null))
    if counting and (not choices or choices[0].counts != "rows"):
        choices.append(Choice(0, None, False))
        order.append(("rows", None))
    free = 0 if ("rows", None) not in order else order.index(("rows", None))
    return choices, [free if r.what == "rows" else order.index(_family(r)) for r in requests]


def _family(request: Request) -> tuple[str, Expression | None]:
    """Requests of one family are answered by one measure."""
    return (request.what if request.what in ("units", "distinct") else "rows", request.argument)


def measure(choice: Choice, contribution: Fraction, part: int) -> Measure:
    """Give a chosen measure its grid.

    Args:
        choice: the measure.
        contribution: rows counted per unit times the unit factor, divided by the epsilon of this measure.
        part: the number of the part that it is taken over.
    """
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
        request.what == "sum" and request.argument is not None and request.argument.type is Type.INTEGER
    )
    what = "rows" if request.what in ("units", "distinct") else request.what
    return Aggregate(at, what, whole, request.sql)
