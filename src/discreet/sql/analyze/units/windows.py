"""Window functions over the rows of one unit; ties of an order are broken by the values."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from sqlglot import exp

from discreet.engines.schema import Type
from discreet.errors import QueryRefused
from discreet.records import dataclass
from discreet.sql.algebra import relation as rel
from discreet.sql.algebra.relation import WindowCall
from discreet.sql.analyze.binding.binder import Binder
from discreet.sql.analyze.from_clause import FromClause
from discreet.sql.analyze.units.aggregates import (
    TRUE_ONES,
    read_unit_aggregate,
    sum_sql,
    summable,
    summed,
)
from discreet.sql.analyze.units.columns import HERE, placed
from discreet.sql.expressions.expression import Column, Expression, Literal
from discreet.sql.expressions.span import Span
from discreet.sql.syntax import rewrites
from discreet.sql.syntax.nodes import rebuilt

Refuse = Callable[[exp.Expr | None, str, str], QueryRefused]


MOST_FRAME = 2**31 - 1
"""Further rows cannot be told apart from all; the number of a row plus this fits 64 bits."""


RANKS = {exp.RowNumber: "row_number", exp.Rank: "rank", exp.DenseRank: "dense_rank"}


SHIFTS = {exp.Lag: "lag", exp.Lead: "lead", exp.FirstValue: "first_value", exp.LastValue: "last_value"}


@dataclass(frozen=True, slots=True)
class Over:
    """The words behind OVER.

    Attributes:
        partition: the expressions that part the rows of a unit, beside the unit.
        order: expressions, each with its direction.
        frame_sql: the frame, or nothing.
        framed: whether a frame is written.
    """

    partition: tuple[Expression, ...]
    order: tuple[tuple[Expression, str], ...]
    frame_sql: str
    framed: bool


def windowed(
    refuse: Refuse, from_clause: FromClause, binder: Binder, items: list[exp.Expr], qualify: exp.Expr | None
) -> tuple[FromClause, list[exp.Expr], exp.Expr | None]:
    """Compute the window functions of a rows scope beside its rows.

    Returns:
        The rows with the windows beside them, and the expressions in which they are columns.
    """
    calls: list[tuple[str, WindowCall]] = []
    columns: dict[str, Column] = {}
    orders: set[object] = set()

    def lift(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Window):
            call, kind, span = _window(refuse, from_clause, binder, node)
            name = next((known for known, other in calls if other == call), f"w{len(calls)}")
            if name not in columns:
                calls.append((name, call))
            columns[name] = Column(f"{HERE}.{name}", kind, span)
            if call.total:
                orders.add((call.partition, call.order))
            return placed(node, name)
        return node if isinstance(node, exp.Query) else rebuilt(node, lift)

    lifted = [item if item.is_star else lift(item) for item in items]
    test = None if qualify is None else exp.Qualify(this=lift(qualify.this))
    if len(orders) > 1:
        # Two orders could number rows that are alike in two ways, and which pair of numbers meets which would
        # be left to the physical order.
        raise refuse(qualify or items[0], "Window functions that number rows need one order between them.",
                     "Put one of the orders into a sub-query.")  # fmt: skip
    relation = rel.Windowed(
        from_clause.rows.relation, tuple((f"{HERE}.{name}", call) for name, call in calls)
    )
    return from_clause.beside(rel.replaced(from_clause.rows, relation), HERE, columns), lifted, test


def _over_groups(function: exp.Expr) -> str:
    """The fix of a window over private rows: one over the groups that are released."""
    twice = "SUM(COUNT(*))"
    if isinstance(function, exp.Avg | exp.Sum):
        twice = f"{function.key.upper()}({rewrites.sql(function)})"
    return f"Group the rows: beside GROUP BY a window is over groups, as in {twice} OVER (ORDER BY …)."


def _window(
    refuse: Refuse, from_clause: FromClause, binder: Binder, node: exp.Window
) -> tuple[WindowCall, Type, Span]:
    if isinstance(node.this, exp.Ntile):
        raise refuse(node, "NTILE numbers a row by the rows of other people.",
                     rewrites.of_ntile(node.args.get("order")))  # fmt: skip
    if not from_clause.rows.per_unit:
        raise refuse(
            node, "A window over rows that are one unit each would mix units.", _over_groups(node.this)
        )
    partition = [binder.bind(p) for p in node.args.get("partition_by") or []]
    rest = tuple(p for p in partition if not (isinstance(p, Column) and p.name in from_clause.held))
    if len(rest) == len(partition):
        unit = next(iter(from_clause.rows.units), "unit")
        raise refuse(node, "A window over private rows must be partitioned by the privacy unit, or it would mix units.",
                     f"Write OVER (PARTITION BY {unit} …).")  # fmt: skip
    if node.args.get("alias") is not None or node.args.get("first") is not None:
        raise refuse(node, "Named windows are not supported over private rows.", "Write the window out.")
    order = []
    for item in node.args["order"].expressions if node.args.get("order") is not None else []:
        words = ("DESC" if item.args.get("desc") else "ASC") + (" NULLS FIRST" if item.args.get("nulls_first") else
                                                               " NULLS LAST")  # fmt: skip
        order.append((binder.bind(item.this), words))
    over = Over(rest, tuple(order), *_frame_sql(refuse, node))
    function = node.this
    for kind, name in RANKS.items():
        if isinstance(function, kind):
            total = name == "row_number"
            call = WindowCall(f"CAST({name}() {{over}} AS BIGINT)", (), rest, over.order, total, "")
            return call, Type.INTEGER, Span(Fraction(1), None, nullable=False)
    for kind, name in SHIFTS.items():
        if isinstance(function, kind):
            return _shifted(refuse, binder, function, name, over)
    if is_window_aggregate(function):
        return _aggregated(refuse, from_clause, binder, function, over)
    raise refuse(function, f"{function.sql('duckdb')} is not supported as a window over private rows.",
                 "Use row_number, rank, lag, lead, first_value, last_value, COUNT, SUM, AVG, MIN or MAX.")  # fmt: skip


def _shifted(
    refuse: Refuse, binder: Binder, function: exp.Expr, name: str, over: Over
) -> tuple[WindowCall, Type, Span]:
    """The value of another row of the unit."""
    argument, places = binder.bind(function.this), ""
    offset = function.args.get("offset")
    if offset is not None:
        bound = binder.bind(offset)
        if not isinstance(bound, Literal) or not isinstance(bound.value, int) or abs(bound.value) > 2**31 - 1:
            raise refuse(offset, "The offset must be a literal.", "Write lag(x, 1).")
        places = f", {bound.value}"
    if function.args.get("default") is not None:
        raise refuse(function, "A default is not supported here.", "Write coalesce(lag(x) OVER (…), 0).")
    # Only a function that looks at a frame has one: not every engine passes over that of lag and lead.
    framed_sql = over.frame_sql if name.endswith("value") else ""
    spelling = f"{name}({{0}}{places}) {{over}}"
    call = WindowCall(spelling, (argument,), over.partition, over.order, True, framed_sql)
    return call, argument.type, argument.span.null()


def _aggregated(
    refuse: Refuse, from_clause: FromClause, binder: Binder, function: exp.Expr, over: Over
) -> tuple[WindowCall, Type, Span]:
    """An aggregate over the rows of the unit that the frame of a window holds."""
    aggregate, kind, span = read_unit_aggregate(function, binder, from_clause.rows.max_rows)
    args: tuple[Expression, ...]
    if isinstance(function, exp.Sum | exp.Avg):
        total = summable(function, binder.bind(function.this), binder)
        sql, kind, span = sum_sql(isinstance(function, exp.Avg), total)
        spelling, args = summed(sql, " {over}"), total.args
    else:
        counted = isinstance(function, exp.CountIf)
        spelling = summed(TRUE_ONES, " {over}") if counted else f"{aggregate.spelling} {{over}}"
        args = () if aggregate.argument is None else (aggregate.argument,)
    if "DISTINCT" in spelling:
        raise refuse(function, "DISTINCT is not supported in a window.", "Group by the unit in a sub-query.")
    call = WindowCall(
        spelling, args, over.partition, over.order, over.framed, over.frame_sql, aggregate.follows
    )
    return call, kind, span.null()


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
