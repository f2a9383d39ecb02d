"""DISTINCT ON as the first row of each, by row_number: the same rows, in a form whose intervals are understood."""

from __future__ import annotations

from sqlglot import exp

from discreet.sql.syntax.nodes import has_aggregate


def number_rows(post: exp.Query) -> None:
    """Write each `SELECT DISTINCT ON (k) … ORDER BY o` as `QUALIFY row_number() OVER (PARTITION BY k ORDER BY o) = 1`.

    One that has a QUALIFY of its own, or orders by a window or by ALL, stays.

    Example:
        >>> import sqlglot
        >>> post = sqlglot.parse_one("SELECT DISTINCT ON (g) a AS g, n FROM t ORDER BY g, 2 DESC", read="duckdb")
        >>> number_rows(post)
        >>> print(post.sql("duckdb").partition(" QUALIFY ")[2])
        ROW_NUMBER() OVER (PARTITION BY a ORDER BY a, n DESC) = 1 ORDER BY g, 2 DESC
    """
    for select in list(post.find_all(exp.Select)):
        distinct, order = select.args.get("distinct"), select.args.get("order")
        on = None if distinct is None else distinct.args.get("on")
        if on is None or select.args.get("qualify") is not None:
            continue
        partition = [shown(select, expression) for expression in on_of(on)]
        by = [ordered.copy() for ordered in order.expressions] if order is not None else []
        for ordered in by:
            ordered.set("this", shown(select, ordered.this))
        if any(node.find(exp.Window) or node.name.upper() == "ALL" for node in [*partition, *_bare(by)]):
            continue
        number = exp.Window(this=exp.RowNumber(), partition_by=partition)
        if by:
            number.set("order", exp.Order(expressions=by))
        select.set("distinct", None)
        select.set("qualify", exp.Qualify(this=exp.EQ(this=number, expression=exp.Literal.number(1))))


def first_rows(select: exp.Select) -> exp.Select:
    """DISTINCT ON over private rows, as QUALIFY; others, and those over groups, are returned unchanged.

    Example:
        >>> import sqlglot
        >>> rows = sqlglot.parse_one("SELECT DISTINCT ON (id) id, x FROM t ORDER BY id, d", read="duckdb")
        >>> first_rows(rows).sql("duckdb")
        'SELECT id, x FROM t QUALIFY ROW_NUMBER() OVER (PARTITION BY id ORDER BY id, d) = 1'
    """
    distinct = select.args.get("distinct")
    if distinct is None or distinct.args.get("on") is None or select.args.get("group") is not None:
        return select
    if any(map(has_aggregate, select.expressions)):
        return select
    out = select.copy()
    number_rows(out)
    if out.args.get("qualify") is not None and out.args.get("distinct") is None:
        out.set("order", None)  # it said which row is the first
        return out
    return select


def on_of(on: exp.Expr) -> list[exp.Expr]:
    """The expressions of DISTINCT ON."""
    return list(on.expressions) if isinstance(on, exp.Tuple) else [on.unnest()]


def shown(select: exp.Select, node: exp.Expr) -> exp.Expr:
    """A copy of an expression; of the item of SELECT where it is the name or the place of one."""
    items = {item.alias.lower(): item.unalias() for item in select.expressions if item.alias}
    found: exp.Expr | None = None
    if isinstance(node, exp.Literal) and node.is_int and 0 < int(node.name) <= len(select.expressions):
        found = select.expressions[int(node.name) - 1].unalias()
    elif isinstance(node, exp.Column) and not node.table:
        found = items.get(node.name.lower())
    return (node if found is None else found).copy()


def _bare(order: list[exp.Expr]) -> list[exp.Expr]:
    return [ordered.this for ordered in order]
