"""Joins in parentheses, written one after the other where that means the same."""

from __future__ import annotations

from sqlglot import exp

TIED = "tied"
"""The mark of a source without words of a join that stood behind JOIN, not behind a comma."""


def one_after_the_other(node: exp.Select) -> None:
    """Take the parentheses off joins in FROM, as far as no outer join hangs on them.

    The first source may be a group of any joins, as joins are read from the left, and so may one behind a comma, and
    the last one, if it is joined by an inner join. Another group is of inner joins, and is joined by one: then all
    conditions are tied together by AND, wherever they stand, and go into WHERE.

    Example:
        >>> import sqlglot
        >>> query = sqlglot.parse_one("SELECT 1 FROM a JOIN (b JOIN c ON b.x = c.x) ON a.x = b.x", read="duckdb")
        >>> one_after_the_other(query)
        >>> query.sql("duckdb")
        'SELECT 1 FROM a, b, c WHERE a.x = b.x AND b.x = c.x'
    """
    clause = node.args.get("from_")
    if clause is None:
        return
    joins: list[exp.Join] = []
    while _group(clause.this) is not None:
        inner = _group(clause.this)
        assert inner is not None
        joins = list(inner.args.pop("joins", None) or []) + joins
        clause.set("this", inner)
    conditions: list[exp.Expr] = []
    every = [*joins, *(node.args.get("joins") or [])]
    for join in every:
        inner = _group(join.this)
        own = [] if inner is None else list(inner.args.get("joins") or [])
        if inner is None or not all(map(_plain, [join, *own])):
            joins += [join] if join not in joins else []
            if inner is not None and _plain(join) and (_bare(join) or join is every[-1]):
                # A comma binds less than JOIN: FROM a, (b LEFT JOIN c …) is FROM a, b LEFT JOIN c ….
                inner.set("joins", None)
                place = joins.index(join)
                joins[place : place + 1] = [exp.Join(this=inner), *own]
                conditions += [join.args["on"]] if join.args.get("on") is not None else []
            continue
        inner.set("joins", None)
        place = joins.index(join) if join in joins else len(joins)
        conditions += [joined.args["on"] for joined in (join, *own) if joined.args.get("on") is not None]
        comma = _bare(join)
        made = [exp.Join(this=source) for source in (inner, *(joined.this for joined in own))]
        for joined in made[comma:]:
            joined.meta[TIED] = True
        joins[place : place + 1] = made
    if joins != (node.args.get("joins") or []):
        node.set("joins", joins)
    for condition in conditions:
        node.where(condition, copy=False)
    if conditions:
        one_after_the_other(node)


def _group(source: exp.Expr) -> exp.Expr | None:
    """The content of parentheses that hold joins, or nothing but a table, without a name of their own."""
    if not isinstance(source, exp.Subquery) or isinstance(source.this, exp.Query):
        return None
    if any(value for key, value in source.args.items() if key != "this"):
        return None
    return source.this if isinstance(source.this, exp.Table | exp.Subquery) else None


def in_parentheses(source: exp.Expr) -> bool:
    """Whether a source of FROM is a group of joins whose parentheses mean something."""
    group = source.this if isinstance(source, exp.Subquery) else None
    return isinstance(group, exp.Table) and bool(group.args.get("joins"))


def _bare(join: exp.Join) -> bool:
    """Whether a source stands behind a comma."""
    return not any(join.args.get(key) for key in ("on", "kind")) and not join.meta.get(TIED)


def _plain(join: exp.Join) -> bool:
    """Whether a join is an inner one with ON or nothing."""
    kind = str(join.args.get("kind") or "").upper()
    return kind in ("", "INNER", "CROSS") and not any(join.args.get(k) for k in ("side", "method", "using"))
