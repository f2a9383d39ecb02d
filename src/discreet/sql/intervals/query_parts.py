"""Parts of a query that hidden columns go through: sides of a UNION ALL, names beside an alias, clauses."""

from __future__ import annotations

from sqlglot import exp


class NoIdentityError(Exception):
    """Nothing tells which row of a draw a row of the answer is."""


def rename_columns(query: exp.Expr, alias: exp.Expr | None) -> None:
    """Give the columns of a query the names that stand beside its alias."""
    names = alias.args.get("columns") if isinstance(alias, exp.TableAlias) else None
    if not names or alias is None:
        return
    inner = inner_query(query)
    while isinstance(inner, exp.SetOperation):
        inner = inner_query(inner.left)
    if not isinstance(inner, exp.Select) or inner.is_star or len(inner.selects) < len(names):
        raise NoIdentityError
    if inner.args.get("order") is not None or inner.args.get("group") is not None:
        # A name of the inner query may be used there.
        used = {column.name.lower() for part in own_clauses(inner) for column in part.find_all(exp.Column)}
        if used & {item.alias_or_name.lower() for item in inner.selects if isinstance(item, exp.Alias)}:
            raise NoIdentityError
    for item, name in zip(list(inner.selects), names, strict=False):
        item.replace(exp.alias_(item.unalias().copy(), name.copy()))
    alias.set("columns", None)


def union_sides(node: exp.Expr) -> list[exp.Select]:
    """The sides of a UNION ALL, however it is nested."""
    top = node
    while isinstance(node, exp.Subquery):
        if any(node.args.get(part) for part in ("with_", "limit", "offset", "joins", "pivots", "sample")):
            raise NoIdentityError
        node = node.this
    if isinstance(node, exp.Select) and not node.is_star:
        return [node]
    if not isinstance(node, exp.Union) or any(node.args.get(part) for part in ("distinct", "by_name", "on")):
        raise NoIdentityError
    if node is not top and any(node.args.get(part) for part in ("with_", "limit", "offset")):
        raise NoIdentityError
    return [*union_sides(node.left), *union_sides(node.right)]


def inner_query(node: exp.Expr) -> exp.Query:
    """The query in sub-query parentheses."""
    while isinstance(node, exp.Subquery):
        node = node.this
    assert isinstance(node, exp.Query)
    return node


def own_clauses(node: exp.Select) -> list[exp.Expr]:
    """The expressions of a SELECT, without its sources."""
    keys = ("expressions", "where", "having", "qualify", "order", "group")
    values = [node.args.get(key) for key in keys]
    listed = [clause for value in values for clause in (value if isinstance(value, list) else [value])]
    return [clause for clause in listed if isinstance(clause, exp.Expr)]


def having_of(node: exp.Select) -> list[exp.Expr]:
    """HAVING of a SELECT, if it has one."""
    having = node.args.get("having")
    return [] if having is None else [having]


def without_parentheses(node: exp.Expr) -> exp.Expr:
    """An expression without parentheses around it."""
    while isinstance(node, exp.Paren):
        node = node.this
    return node
