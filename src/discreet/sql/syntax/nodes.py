"""Small questions about parsed SQL that several scopes ask."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final, TypeVar

from sqlglot import exp

from discreet.sql.syntax.once import once

T = TypeVar("T")
Node = TypeVar("Node", bound=exp.Expr)
KEPT: Final = (exp.DataType, exp.Identifier, exp.Var)
"""Types and names, which compute nothing."""


def copied(node: Node) -> Node:
    """A copy of a tree, in half the time of `copy`; its nodes have the same notes beside them.

    Example:
        >>> import sqlglot
        >>> query = sqlglot.parse_one("SELECT a FROM t WHERE a < 5")
        >>> copied(query) == query, copied(query).find(exp.Column) is query.find(exp.Column)
        (True, False)
    """
    out: Node = rebuilt(node, copied, ())
    return out


def rebuilt(node: Node, change: Callable[[Any], exp.Expr], kept: tuple[type[exp.Expr], ...] = KEPT) -> Node:
    """A node with something else in the place of each of its parts.

    Args:
        node: stays unchanged.
        change: gives the part that takes the place of one.
        kept: the kinds of parts that are copied instead, where they are not in a list.
    """
    out = node.__class__()
    if node.comments is not None:
        out.comments = list(node.comments)
    if node._meta is not None:
        out._meta = dict(node._meta)
    for name, value in node.args.items():
        if isinstance(value, exp.Expr):
            part = out.args[name] = copied(value) if isinstance(value, kept) else change(value)
            part.parent, part.arg_key, part.index = out, name, None
        elif isinstance(value, list):
            several = out.args[name] = [
                change(child) if isinstance(child, exp.Expr) else child for child in value
            ]
            for index, part in enumerate(several):
                if isinstance(part, exp.Expr):
                    part.parent, part.arg_key, part.index = out, name, index
        else:
            out.args[name] = value
    return out


def parts(node: exp.Expr) -> list[exp.Expr]:
    """The nodes that stand in a node itself."""
    out: list[exp.Expr] = []
    for value in node.args.values():
        if isinstance(value, exp.Expr):
            out.append(value)
        elif isinstance(value, list):
            out += [child for child in value if isinstance(child, exp.Expr)]
    return out


def every(node: exp.Expr) -> list[exp.Expr]:
    """A node and all nodes inside it, level by level: those of `walk`, in half the time.

    Example:
        >>> import sqlglot
        >>> query = sqlglot.parse_one("SELECT a + 1 FROM t WHERE a < 5")
        >>> every(query) == list(query.walk())
        True
    """
    out = [node]
    for inner in out:
        out += parts(inner)
    return out


def holds(node: exp.Expr, *kinds: type[exp.Expr]) -> bool:
    """Whether a node is of one of some kinds, or has one inside it."""
    return any(isinstance(inner, kinds) for inner in every(node))


def literal_of(value: Any) -> exp.Expr:
    """A public value as SQL. `exp.convert` writes the year 999 with three digits where the C library does.

    Example:
        >>> literal_of(dt.date(999, 1, 2)).sql("duckdb"), literal_of([dt.date(1, 1, 1)]).sql("duckdb")
        ("CAST('0999-01-02' AS DATE)", "[CAST('0001-01-01' AS DATE)]")
    """
    if isinstance(value, list):
        return exp.Array(expressions=[literal_of(item) for item in value])
    if isinstance(value, dict):
        return exp.Map(keys=literal_of(list(value)), values=literal_of(list(value.values())))
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return exp.DateStrToDate(this=exp.Literal.string(value.isoformat()))
    return exp.convert(value)


def unaliased(item: exp.Expr) -> exp.Expr:
    """An item of a SELECT list without its alias."""
    return item.this if isinstance(item, exp.Alias) else item


def path_of(column: exp.Column) -> list[str]:
    """The parts of the name of a column in lower case: its table, if it is named, and the fields that lead to it."""
    return [part.name.lower() for part in column.parts]


def is_aggregate(node: exp.Expr) -> bool:
    """Whether a node aggregates the rows of its own scope, not the groups in a window."""
    if not isinstance(node, exp.AggFunc):
        return isinstance(node, _AROUND_ALL) and isinstance(node.this, exp.AggFunc | exp.WithinGroup)
    if isinstance(node, WINDOW_ONLY):
        return False
    parent = node.parent
    while isinstance(parent, exp.Filter | exp.IgnoreNulls | exp.RespectNulls):
        parent = parent.parent
    return not (isinstance(parent, exp.Window) and _is_function_of(parent, node))


_AROUND_ALL = (exp.Filter, exp.WithinGroup)
WINDOW_ONLY = (exp.RowNumber, exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue, exp.NthValue)


def _is_function_of(window: exp.Window, node: exp.Expr) -> bool:
    this = window.this
    while isinstance(this, exp.Filter | exp.IgnoreNulls | exp.RespectNulls):
        this = this.this
    return this is node


def own_nodes(node: exp.Expr) -> list[exp.Expr]:
    """The nodes of an expression, without those of the sub-queries in it."""
    out: list[exp.Expr] = []
    open_ = [node]
    while open_:
        out.append(inner := open_.pop())
        open_ += [part for part in reversed(parts(inner)) if not isinstance(part, exp.Query)]
    return out


def with_queries(node: exp.Expr) -> list[exp.Expr]:
    """The nodes of an expression and the sub-queries in it, but not the nodes inside those."""
    out: list[exp.Expr] = []
    open_ = [node]
    while open_:
        out.append(inner := open_.pop())
        if inner is node or not isinstance(inner, exp.Query):
            open_ += reversed(parts(inner))
    return out


def any_of(conditions: Sequence[exp.Expr]) -> exp.Expr:
    """Conditions tied by OR, so that many of them are not nested deeply."""
    if len(conditions) < 3:
        return exp.or_(*conditions)
    half = len(conditions) // 2
    return exp.or_(any_of(conditions[:half]), any_of(conditions[half:]))


def has_aggregate(node: exp.Expr) -> bool:
    """Whether an expression aggregates the rows of its own scope."""
    return any(is_aggregate(n) for n in own_nodes(node))


def reads_rows(node: exp.Expr) -> bool:
    """Whether an expression reads columns of single rows, without aggregates, windows or a sub-query around it."""
    if isinstance(node, exp.Literal) or not holds(node, exp.Column):
        return False
    return not any(is_aggregate(n) or isinstance(n, exp.Query | exp.Window) for n in own_nodes(node))


def has_window(node: exp.Expr) -> bool:
    """Whether an expression has a window function of its own scope."""
    return any(isinstance(n, exp.Window) for n in own_nodes(node))


def shown_as(post: exp.Query, table: str, column: str) -> list[str]:
    """The names of the output columns, of the statement or of a CTE, that a column of a noisy table stands in."""
    found = [
        item.alias_or_name
        for select in post.find_all(exp.Select)
        for item in select.expressions
        if any(c.name == column and c.table == table for c in item.find_all(exp.Column))
    ]
    return list(dict.fromkeys(found))


def conjunct_nodes(node: exp.Expr | None) -> list[exp.Expr]:
    """The conditions that AND ties together."""
    if node is None:
        return []
    if isinstance(node, exp.And):
        return conjunct_nodes(node.this) + conjunct_nodes(node.expression)
    return conjunct_nodes(node.this) if isinstance(node, exp.Paren) else [node]


def used(public: Mapping[str, T], post: exp.Query) -> dict[str, T]:
    """The public tables that a statement reads."""
    names = tables_of(post)
    return {name: table for name, table in public.items() if name in names}


@once
def tables_of(post: exp.Query) -> frozenset[str]:
    """The names, in lower case, of the tables that a statement reads; for one that nobody changes."""
    return tables_in(post)


def has_only(node: exp.Expr, parts: Collection[str]) -> bool:
    """Whether a node has no arguments but these, by sqlglot's names."""
    return all(key in parts for key, value in node.args.items() if value)


def tables_in(node: exp.Expr) -> frozenset[str]:
    """The names, in lower case, of the tables that stand in a tree."""
    return frozenset(table.name.lower() for table in every(node) if isinstance(table, exp.Table))
