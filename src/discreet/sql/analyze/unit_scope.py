"""Per-unit scopes: GROUP BY the privacy unit, and window functions over the rows of one unit.

What is computed here is a function of the rows of one unit alone, in whatever order they lie: integers are
summed exactly, numbers with a fraction are scaled to integers first, and ties of an order are broken by the values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from sqlglot import exp

from discreet.engines.schema import Type
from discreet.errors import QueryRefused
from discreet.policy.naming import twins
from discreet.sql import functions as fn
from discreet.sql.algebra import relation as rel
from discreet.sql.algebra.relation import Rows, UnitAggregate, WindowCall
from discreet.sql.analyze.aggregates import filtered
from discreet.sql.analyze.binder import Binder
from discreet.sql.analyze.from_clause import Frame
from discreet.sql.analyze.implied_bounds import of_count, of_sum
from discreet.sql.expressions.expression import Column, Expression, Literal
from discreet.sql.expressions.span import Span
from discreet.sql.functions.names import takes_a_number
from discreet.sql.syntax import rewrites
from discreet.sql.syntax.nodes import has_aggregate, is_aggregate, own_nodes, unaliased
from discreet.sql.syntax.parse import output_name

Refuse = Callable[[exp.Expr | None, str, str], QueryRefused]
HERE = "__per_unit"
"""The table name of what was computed per unit, in rewritten expressions."""
SATURATE = 2**62
LARGEST = Fraction(2) ** 1023
"""Sums of numbers saturate here: PostgreSQL raises where a product is too large for a double."""
MOST_TOTAL = 2**93
"""No sum of integers of 30 bits over the rows of a unit is larger."""
MOST_FRAME = 2**31 - 1
"""Further rows cannot be told apart from all; the number of a row plus this fits 64 bits."""
RANKS = {exp.RowNumber: "row_number", exp.Rank: "rank", exp.DenseRank: "dense_rank"}
SHIFTS = {exp.Lag: "lag", exp.Lead: "lead", exp.FirstValue: "first_value", exp.LastValue: "last_value"}


class UnitScope:
    """Reads one SELECT … GROUP BY unit [, keys]."""

    def __init__(
        self, refuse: Refuse, node: exp.Select, frame: Frame, binder: Binder, group_nodes: list[exp.Expr]
    ) -> None:
        self.refuse = refuse
        self.node = node
        self.frame = frame
        self.binder = binder
        self.keys = [binder.bind(n) for n in group_nodes]
        self.columns: dict[str, Column] = {
            f"k{at}": Column(f"k{at}", key.type, key.span) for at, key in enumerate(self.keys)
        }
        self.aggregates: list[tuple[str, UnitAggregate]] = []

    def rows(self) -> Rows:
        """One row for each unit and group."""
        for part in ("limit", "offset", "qualify", "distinct"):
            if self.node.args.get(part) is not None:
                raise self.refuse(self.node.args[part], f"{part.upper()} is not supported beside GROUP BY the unit.",
                                  "Put a sub-query around it.")  # fmt: skip
        lifted = []
        for item in self.node.expressions:
            if item.is_star:
                raise self.refuse(item, "* cannot stand beside GROUP BY.", "Name the columns.")
            lifted.append((output_name(item), self._lift(unaliased(item))))
        same = twins(name for name, _ in lifted)
        if same:
            raise self.refuse(self.node.expressions[0], f"Two columns are named {same[-1]}.",
                              "Give one of them another name with AS.")  # fmt: skip
        having = self.node.args.get("having")
        test = None if having is None else self._lift(having.this)
        outer = Binder(self.binder.text, lambda column: self.columns[column.name])
        items = [(name, outer.bind(node)) for name, node in lifted]
        where = None if test is None else outer.condition(test)
        rows, held = self.frame.rows, self.frame.held
        keys = tuple((f"k{at}", key) for at, key in enumerate(self.keys))
        alone = all(isinstance(key, Column) and key.name in held for key in self.keys)
        grouped = Rows(
            rel.PerUnit(rows.relation, keys, tuple(self.aggregates)),
            self.columns,
            tuple(self.columns),
            True,
            1 if alone else rows.max_rows,
            frozenset(n for n, key in keys if isinstance(key, Column) and key.name in held),
            alone or rows.fixed,
        )
        return rel.select(grouped, items, where)

    def _lift(self, node: exp.Expr) -> exp.Expr:
        if is_aggregate(node):
            aggregate, kind, span = read_unit_aggregate(node, self.binder, self.frame.rows.max_rows)
            name = f"g{len(self.aggregates)}"
            self.aggregates.append((name, aggregate))
            self.columns[name] = Column(name, kind, span)
            return _placed(node, name)
        if isinstance(node, exp.Window | exp.Query):
            raise self.refuse(
                node, "This cannot stand beside GROUP BY the unit.", "Put a sub-query around it."
            )
        key = self._as_key(node)
        if key is not None:
            return _placed(node, f"k{key}")
        if isinstance(node, exp.Column):
            self.binder.bind(node)
            raise self.refuse(node, f"{node.sql('duckdb')} is neither grouped by nor inside an aggregate.",
                              f"Add it to GROUP BY, or write for instance MAX({node.name}).")  # fmt: skip
        return _copied(node, self._lift)

    def _as_key(self, node: exp.Expr) -> int | None:
        if has_aggregate(node) or not any(isinstance(n, exp.Column) for n in own_nodes(node)):
            return None
        try:
            bound = self.binder.bind(node)
        except QueryRefused:
            return None
        return self.keys.index(bound) if bound in self.keys else None


def _placed(node: exp.Expr, name: str) -> exp.Column:
    """A column that stands for something computed, and remembers its place in the query."""
    column = exp.column(name, table=HERE)
    first = next((n.meta for n in node.walk() if "start" in n.meta), None)
    if first is not None:
        column.this.meta.update(first)
    return column


def _copied(node: exp.Expr, f: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    out = node.copy()
    for name, value in node.args.items():
        if isinstance(value, list):
            out.set(name, [f(v) if isinstance(v, exp.Expr) else v for v in value])
        elif isinstance(value, exp.Expr) and not isinstance(value, exp.DataType | exp.Identifier | exp.Var):
            out.set(name, f(value))
    return out


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
    some, many = Span(Fraction(0), None, nullable=False), of_count(rows)
    if isinstance(node, exp.CountIf):
        one = fn.case([(binder.condition(node.this), Literal(1, Type.INTEGER))], Literal(None, Type.INTEGER))
        return UnitAggregate("COUNT({0})", filtered(one, condition), many), Type.INTEGER, some
    if isinstance(node, exp.Count):
        distinct = isinstance(node.this, exp.Distinct)
        inner = node.this.expressions[0] if distinct else node.this
        if inner is None or isinstance(inner, exp.Star):
            if condition is None:
                return (
                    UnitAggregate("COUNT(*)", None, many),
                    Type.INTEGER,
                    Span(Fraction(1), None, nullable=False),
                )
            return (
                UnitAggregate("COUNT({0})", filtered(Literal(1, Type.INTEGER), condition), many),
                Type.INTEGER,
                some,
            )
        sql = "COUNT(DISTINCT {0})" if distinct else "COUNT({0})"
        argument = binder.bind(inner) if distinct else binder.presence(inner)
        return UnitAggregate(sql, filtered(argument, condition), many), Type.INTEGER, some
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
        return UnitAggregate(f"{name}({{0}})", argument), argument.type, argument.span.null()
    if isinstance(node, exp.LogicalOr | exp.LogicalAnd):
        truth = filtered(binder.condition(node.this), condition)
        name = "BOOL_OR" if isinstance(node, exp.LogicalOr) else "BOOL_AND"
        return UnitAggregate(f"{name}({{0}})", truth), Type.BOOLEAN, truth.span.null()
    if isinstance(node, exp.Sum | exp.Avg):
        argument, step = _summable(node, filtered(binder.bind(node.this), condition), binder)
        sql, kind, span = _sum_sql(isinstance(node, exp.Avg), argument, step)
        follows = of_sum(argument.span, step, rows) if isinstance(node, exp.Sum) else None
        return UnitAggregate(_summed(sql, ""), argument, follows), kind, span
    raise binder.refuse(node, f"{node.key.upper()} is not supported per unit.",
                        "Use COUNT, SUM, AVG, MIN, MAX, BOOL_OR or BOOL_AND.")  # fmt: skip


def _summable(node: exp.Expr, argument: Expression, binder: Binder) -> tuple[Expression, Fraction]:
    """An integer expression whose exact sum stands for that of the argument, and the value of one step of it."""
    if argument.type is Type.BOOLEAN:
        flag = fn.call("to_integer", argument)
        assert flag is not None
        return flag, Fraction(1)
    if argument.type is Type.INTEGER:
        return argument, Fraction(1)
    if argument.type is not Type.FLOAT:
        raise binder.refuse(node, *takes_a_number(node.key.upper(), node.this, argument.type))
    lo, hi = argument.span.lo, argument.span.hi
    if lo is None or hi is None:
        inner = node.this.sql("duckdb")
        raise binder.refuse(node.this, f"{inner} has no bounds, and a sum of such numbers depends on their order.",
                            f"Declare bounds in the policy, or write clamp({inner}, 0, 100).")  # fmt: skip
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
    return whole, step


def _summed(sql: str, over: str) -> str:
    return sql.format(over=over, x="{0}", total="{summed}")


def _sum_sql(mean: bool, argument: Expression, step: Fraction) -> tuple[str, Type, Span]:
    total = "SUM({total}){over}"
    size = f"CAST('{float(step)!r}' AS DOUBLE)"
    lo, hi = (None if end is None else end * step for end in (argument.span.lo, argument.span.hi))
    if mean:
        # Divided first, as the mean fits where a sum of the largest doubles does not; PostgreSQL would raise.
        sql = f"(CAST({total} AS DOUBLE) / NULLIF(COUNT({{x}}){{over}}, 0) * {size})"
        return sql, Type.FLOAT, Span(lo, hi, True)
    low = Fraction(0) if lo is not None and lo >= 0 else None
    high = Fraction(0) if hi is not None and hi <= 0 else None
    if step == 1:
        return capped(total, "COUNT({x}){over}"), Type.INTEGER, Span(low, high, True)
    most = LARGEST // step
    if most < MOST_TOTAL:
        within = f"GREATEST(LEAST({total}, {most}), -{most})"
        total = f"CASE WHEN COUNT({{x}}){{over}} > 0 THEN {within} END"
    return f"(CAST(({total}) AS DOUBLE) * {size})", Type.FLOAT, Span(low, high, True)


def capped(total: str, count: str) -> str:
    """A wide sum that saturates. GREATEST and LEAST pass over NULL, so whether there is anything is asked first."""
    return (
        f"(CASE WHEN {count} > 0 THEN CAST(GREATEST(LEAST({total}, {SATURATE}), -{SATURATE}) AS BIGINT) END)"
    )


# Window functions ---------------------------------------------------------------------------------------------


def windowed(
    refuse: Refuse, frame: Frame, binder: Binder, items: list[exp.Expr], qualify: exp.Expr | None
) -> tuple[Frame, list[exp.Expr], exp.Expr | None]:
    """Compute the window functions of a rows scope beside its rows.

    Returns:
        The rows with the windows beside them, and the expressions in which they are columns.
    """
    calls: list[tuple[str, WindowCall]] = []
    columns: dict[str, Column] = {}
    orders: set[object] = set()

    def lift(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Window):
            call, kind, span = _window(refuse, frame, binder, node)
            name = f"w{len(calls)}"
            calls.append((name, call))
            columns[name] = Column(f"{HERE}.{name}", kind, span)
            if call.total:
                orders.add((call.partition, call.order))
            return _placed(node, name)
        return node if isinstance(node, exp.Query) else _copied(node, lift)

    lifted = [item if item.is_star else lift(item) for item in items]
    test = None if qualify is None else exp.Qualify(this=lift(qualify.this))
    if len(orders) > 1:
        # Two orders could number rows that are alike in two ways, and which pair of numbers meets which would
        # be left to the physical order.
        raise refuse(qualify or items[0], "Window functions that number rows need one order between them.",
                     "Put one of the orders into a sub-query.")  # fmt: skip
    relation = rel.Windowed(frame.rows.relation, tuple((f"{HERE}.{name}", call) for name, call in calls))
    return frame.beside(rel.replaced(frame.rows, relation), HERE, columns), lifted, test


def _window(refuse: Refuse, frame: Frame, binder: Binder, node: exp.Window) -> tuple[WindowCall, Type, Span]:
    if isinstance(node.this, exp.Ntile):
        raise refuse(node, "NTILE numbers a row by the rows of other people.",
                     rewrites.of_ntile(node.args.get("order")))  # fmt: skip
    if not frame.rows.per_unit:
        raise refuse(node, "A window over rows that are one unit each would mix units.", "Remove it.")
    partition = [binder.bind(p) for p in node.args.get("partition_by") or []]
    rest = tuple(p for p in partition if not (isinstance(p, Column) and p.name in frame.held))
    if len(rest) == len(partition):
        unit = next(iter(frame.rows.units), "unit")
        raise refuse(node, "A window over private rows must be partitioned by the privacy unit, or it would mix units.",
                     f"Write OVER (PARTITION BY {unit} …).")  # fmt: skip
    if node.args.get("alias") is not None or node.args.get("first") is not None:
        raise refuse(node, "Named windows are not supported over private rows.", "Write the window out.")
    order = []
    for item in node.args["order"].expressions if node.args.get("order") is not None else []:
        words = ("DESC" if item.args.get("desc") else "ASC") + (" NULLS FIRST" if item.args.get("nulls_first") else
                                                               " NULLS LAST")  # fmt: skip
        order.append((binder.bind(item.this), words))
    frame_sql, framed = _frame_sql(refuse, node)
    function = node.this
    for kind, name in RANKS.items():
        if isinstance(function, kind):
            total = name == "row_number"
            call = WindowCall(f"CAST({name}() {{over}} AS BIGINT)", (), rest, tuple(order), total, "")
            return call, Type.INTEGER, Span(Fraction(1), None, nullable=False)
    for kind, name in SHIFTS.items():
        if isinstance(function, kind):
            args, places = [binder.bind(function.this)], ""
            offset = function.args.get("offset")
            if offset is not None:
                bound = binder.bind(offset)
                if (
                    not isinstance(bound, Literal)
                    or not isinstance(bound.value, int)
                    or abs(bound.value) > 2**31 - 1
                ):
                    raise refuse(offset, "The offset must be a literal.", "Write lag(x, 1).")
                places = f", {bound.value}"
            if function.args.get("default") is not None:
                raise refuse(
                    function, "A default is not supported here.", "Write coalesce(lag(x) OVER (…), 0)."
                )
            # Only what looks at a frame has one: not every engine passes over that of lag and lead.
            framed_sql = frame_sql if name.endswith("value") else ""
            spelling = f"{name}({{0}}{places}) {{over}}"
            call = WindowCall(spelling, tuple(args), rest, tuple(order), True, framed_sql)
            return call, args[0].type, args[0].span.null()
    if is_window_aggregate(function):
        aggregate, kind_, span = read_unit_aggregate(function, binder, frame.rows.max_rows)
        if isinstance(function, exp.Sum | exp.Avg):
            argument, step = _summable(function, binder.bind(function.this), binder)
            sql, kind_, span = _sum_sql(isinstance(function, exp.Avg), argument, step)
            spelling, args_ = _summed(sql, " {over}"), [argument]
        else:
            spelling = f"{aggregate.spelling} {{over}}"
            args_ = [] if aggregate.argument is None else [aggregate.argument]
        if "DISTINCT" in spelling:
            raise refuse(
                function, "DISTINCT is not supported in a window.", "Group by the unit in a sub-query."
            )
        call = WindowCall(spelling, tuple(args_), rest, tuple(order), framed, frame_sql, aggregate.follows)
        return call, kind_, span.null()
    raise refuse(function, f"{function.sql('duckdb')} is not supported as a window over private rows.",
                 "Use row_number, rank, lag, lead, first_value, last_value, COUNT, SUM, AVG, MIN or MAX.")  # fmt: skip


def is_window_aggregate(node: exp.Expr) -> bool:
    """Whether a window computes one of the aggregates that exist per unit."""
    return isinstance(node, exp.Count | exp.CountIf | exp.Sum | exp.Avg | exp.Min | exp.Max)


def _frame_sql(refuse: Refuse, node: exp.Window) -> tuple[str, bool]:
    spec = node.args.get("spec")
    if spec is None:
        return "", False
    if str(spec.args.get("kind") or "").upper() != "ROWS" or spec.args.get("exclude") is not None:
        raise refuse(node, "Only ROWS frames are supported over private rows.", "Write ROWS BETWEEN … AND ….")

    def edge(which: str, side: str) -> str:
        value = spec.args.get(which)
        if isinstance(value, str):
            word = value.upper()
            if word in ("UNBOUNDED", "CURRENT ROW"):
                return f"{word} {side}".strip() if word == "UNBOUNDED" else word
        if isinstance(value, exp.Literal) and not value.is_string and value.name.isdigit():
            return f"{min(int(value.name), MOST_FRAME)} {side}"
        raise refuse(
            node,
            "The frame must be written with literals.",
            "Write ROWS BETWEEN 2 PRECEDING AND CURRENT ROW.",
        )

    start = edge("start", str(spec.args.get("start_side") or "PRECEDING").upper())
    end = (
        "CURRENT ROW"
        if spec.args.get("end") is None
        else edge("end", str(spec.args.get("end_side") or "").upper())
    )
    return f"ROWS BETWEEN {start} AND {end}", True
