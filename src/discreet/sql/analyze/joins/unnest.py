"""UNNEST of a list in FROM: a row stands beside each of its items, of which at most so many count as the policy says.

    rows JOIN numbers ON n <= len(items)        each row as often as it has items, at most K times
    SELECT …, items[n] AS item

So it is a join with a public table, of the numbers from 1 to K: a row finds at most K partners, and a unit has at most
K times as many rows behind it as before. That is the L1 bound of a count, and the noise allows for it.

A list that is longer than K is cut before. Which of its items are kept is a function of that row and its unit alone,
and fair: the places of the items in order are hashed with the unit and the whole list, and the least hashes are kept.
So no value is favoured over another, and items that are equal have a place, and a chance, each. Where each row is one
unit, all columns of the row stand in the place of the unit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.engines.schema import Type
from discreet.errors import QueryRefused
from discreet.policy.values import MAX_ITEMS
from discreet.sql import functions as fn
from discreet.sql.algebra import relation as rel
from discreet.sql.algebra.catalog import scan_of
from discreet.sql.algebra.relation import UNIT, PrivateRows
from discreet.sql.analyze.from_clause import FromClause, all_of, inner
from discreet.sql.expressions import expression as ex
from discreet.sql.expressions.expression import Call, Column, Expression, Literal
from discreet.sql.expressions.span import Span

if TYPE_CHECKING:
    from discreet.sql.analyze.joins.joins import Clause

KEPT = (
    "(CASE WHEN len({0}) <= {1} THEN {0} ELSE list_transform([hash(KEYS)], lambda __row: list_transform(list_slice("
    "list_sort(list_transform(list_sort({0}), lambda __item, __place: {{'h': hash(hash(__row, __place)), "
    "'v': __item}})), 1, {1}), lambda __kept: __kept.v))[1] END)"
)
"""The items that are kept of the list {0}, at most {1}, by a hash of some columns and their place.

A lambda has a copy of all that it reads for each item. So the columns, the list itself among them, are hashed once,
outside: else a list of a hundred thousand items would take a hundred thousand copies of it.
"""
NAME = "unnest"
"""The name that DuckDB gives to a table of items, and to its column."""
Refuse = Callable[[exp.Expr, str, str], QueryRefused]


def as_unnest(source: exp.Expr) -> exp.Expr:
    """A source of FROM, where it is UNNEST in one of its other spellings, as the plain one."""
    whole, alias = source, source.args.get("alias")
    while isinstance(source, exp.Lateral | exp.Subquery) and isinstance(
        source.this, exp.Subquery | exp.Unnest
    ):
        source = source.this
    if isinstance(source, exp.Unnest):
        out = source.copy()
        if alias is not None:
            out.set("alias", alias.copy())
        return out
    select = source.this if isinstance(source, exp.Subquery | exp.Lateral) else None
    if not isinstance(select, exp.Select) or {k for k, v in select.args.items() if v} != {"expressions"}:
        return whole
    items = [item.unalias() for item in select.expressions]
    if len(items) != 1 or not isinstance(items[0], exp.Explode):
        return whole
    name = select.expressions[0].alias or NAME
    table = exp.to_identifier(NAME) if alias is None else alias.this
    columns = [] if alias is None else alias.columns
    named = exp.TableAlias(
        this=table.copy(), columns=[c.copy() for c in columns] or [exp.to_identifier(name)]
    )
    return exp.Unnest(expressions=[items[0].this.copy()], alias=named)


def of_rows(source: exp.Expr) -> bool:
    """Whether a source is the items of a list of the rows beside it."""
    return isinstance(source, exp.Unnest) and any(
        expression.find(exp.Column) for expression in source.expressions
    )


def in_from(select: exp.Select, number: int, refuse: Refuse) -> exp.Join | None:
    """The join that a SELECT UNNEST(x) of rows stands for, put into its list as a column; None where there is none."""
    for item in list(select.expressions):
        if isinstance(item, exp.Explode):
            item.replace(exp.alias_(item.copy(), item.sql("duckdb").lower(), quoted=True))
    found = [node for item in select.expressions for node in item.find_all(exp.Explode)]
    asked = [node for node in found if node.parent_select is select]
    if not asked:
        return None
    if any(node != asked[0] for node in asked):
        raise refuse(asked[1], "Two lists of one row have no common order.", "Write each UNNEST in FROM.")
    if select.find(exp.Window):
        raise refuse(asked[0], "UNNEST beside a window function is not supported.", "Write UNNEST in FROM.")
    table = f"__{NAME}_{number}"
    for node in asked:
        node.replace(exp.column(exp.to_identifier(NAME), table=exp.to_identifier(table)))
    alias = exp.TableAlias(this=exp.to_identifier(table), columns=[exp.to_identifier(NAME)])
    return exp.Join(this=exp.Unnest(expressions=[asked[0].this], alias=alias), kind="CROSS")


def join_items(
    left: FromClause, name: str, node: exp.Expr, number: int, clause: Clause, refuse: Refuse
) -> FromClause:
    """Join private rows with the items of one of their lists.

    Args:
        left: the private rows.
        name: of the table of items.
        node: the UNNEST.
        number: of this join.
        clause: the join.
        refuse: makes the refusal of a node, with cause and fix.

    Raises:
        QueryRefused: by `refuse`, nothing bounds the items of a row, or the join has a condition that keeps rows.
    """
    from discreet.sql.analyze.joins.joins import joined, side_by_side
    from discreet.sql.analyze.joins.multiplicity import MOST_ROWS

    always = _see_plain(node, clause, refuse)
    (asked,) = node.expressions
    items = left.binder().value(asked)
    most = _most(items, asked, refuse)
    columns = list(dict.fromkeys(column for table in left.tables.values() for column in table.values()))
    own = tuple((column.name, column) for column in columns)
    listed = Column(f"__items_{number}", items.type, Span(Fraction(0), Fraction(most)))
    place = Column(f"__nth_{number}", Type.INTEGER, Span(Fraction(1), Fraction(most)))
    cap = left.rows.max_rows * most
    loose = left.rows.per_unit and cap > MOST_ROWS
    around = rel.PublicJoin(
        rel.Select(left.rows.relation, (*own, (listed.name, _capped(left.rows, items, most, columns))), None),
        _places(number, place.name, most, asked.sql("duckdb")),
        fn.must("le", place, fn.must("len", listed)),
        clause.outer,
        most,
        loose,
    )
    alias = node.args.get("alias")
    shown = next((column.name.lower() for column in alias.columns), NAME) if alias is not None else NAME
    read = _read(fn.must("nth_item", listed, place), items.span.items or Span())
    item = Column(inner(name, shown), read.type, read.span)
    relation = rel.Select(around, (*own, (item.name, read)), None)
    right = PrivateRows(relation, {shown: item}, (shown,), True, 1)
    both = side_by_side(
        left, FromClause(left.text, right, {name: {shown: item}}, frozenset(), frozenset()), ()
    )
    fixed = left.rows.fixed and not loose
    from_clause = joined(
        both, relation, left.rows.max_rows if loose else cap, fixed, left.held, nullable=set()
    )
    where = None if always else all_of(from_clause.binder().condition(condition) for condition in clause.on)
    return from_clause if where is None else from_clause.filtered(where)


def _see_plain(node: exp.Expr, clause: Clause, refuse: Refuse) -> bool:
    """Refuse joins that UNNEST cannot be part of; whether the join has no condition."""
    if clause.kind or clause.using or clause.keeps or clause.natural or clause.asof:
        raise refuse(
            clause.node,
            "The items of a list are joined with their own row.",
            "Write FROM t, UNNEST(x) AS u(item).",
        )
    always = not clause.on or clause.on == (exp.true(),)
    if clause.outer and not always:
        raise refuse(
            clause.node,
            "LEFT JOIN UNNEST has no other condition.",
            "Write ON TRUE, and the condition in CASE.",
        )
    if len(node.expressions) != 1 or node.args.get("offset"):
        raise refuse(
            clause.node, "UNNEST takes one list, and gives its items alone.", "Write UNNEST(x) AS u(item)."
        )
    return always


def _most(items: Expression, asked: exp.Expr, refuse: Refuse) -> int:
    """How many items of a row count at most."""
    first = f"UNNEST({asked.sql('duckdb')}[1:5])"
    if items.type.item is None:
        raise refuse(asked, "UNNEST takes a list.", "Name a column of lists.")
    if items.span.hi is None:
        fix = f"Write {first} for the first five, or ask the steward to declare max_items of the column."
        raise refuse(asked, "Nothing says how many items of a row may count, and each of them is a row.", fix)
    if items.span.hi > MAX_ITEMS:
        raise refuse(asked, f"At most {MAX_ITEMS:,} items of a row count.", f"Write {first}.")
    return max(1, int(items.span.hi))


def _places(number: int, position: str, most: int, items: str) -> rel.Places:
    import pyarrow as pa

    return rel.Places(
        f"__public_{number}", pa.table({position: pa.array(range(1, most + 1), pa.int64())}), items
    )


def _capped(rows: PrivateRows, items: Expression, most: int, columns: list[Column]) -> Expression:
    """The list, cut to its bound where it can be longer."""
    if isinstance(items, Call) and items.name == "list_value":
        return items
    if isinstance(items, Call) and items.name == "list_slice":
        first, last = (place.span.lo for place in items.args[1:])
        if first is not None and last is not None and last - first < most:
            return items
    told = [Column(UNIT, Type.TEXT, Span()), items] if rows.per_unit else [*columns, items]
    keys = ", ".join(f"{{{2 + index}}}" for index in range(len(told)))
    args = (items, Literal(most, Type.INTEGER), *told)
    return Call("kept_items", {"": KEPT.replace("KEYS", keys)}, args, items.type, items.span)


def _read(item: Expression, span: Span) -> Expression:
    """An item as a column of its type is read: clamped to the bounds, and of the keys, that the policy declares."""
    raw = Column("item", item.type, Span())
    bounds = None if span.lo is None or span.hi is None else (span.lo, span.hi)
    scan = scan_of(raw.name, item.type, bounds, replace(span, nullable=True))
    return ex.replace(scan, {raw: item})
