"""EXISTS over public tables, as membership in a list of public values.

    EXISTS (SELECT … FROM p WHERE p.a = t.x AND p.b = t.y AND p.c > 1)
    ((t.x, t.y) IN (SELECT p.a, p.b FROM p WHERE p.c > 1 AND p.a IS NOT NULL AND p.b IS NOT NULL)) IS TRUE

Without a column of the rows around it, it is the same for all of them: whether the sub-query has a row.

Privacy: the list is public, and whether a row is in it depends on that row alone.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp

from discreet.records import dataclass
from discreet.sql.analyze.scope_tree import Env, Scopes
from discreet.sql.syntax.nodes import conjunct_nodes, has_aggregate, has_window

BEYOND = ("group", "having", "limit", "offset", "qualify", "with_", "windows", "laterals")
"""Parts of a sub-query that decide which rows it has by more than its conditions."""


@dataclass(frozen=True)
class _Inside:
    """The sources of the sub-query: their names, and their columns; None where these are not known."""

    names: Collection[str]
    columns: Collection[str] | None

    def side(self, node: exp.Expr) -> str:
        """Whether an expression is of the rows `inside`, `outside`, or `both`; `none` without columns."""
        found = {self._inside(column) for column in node.find_all(exp.Column)}
        if not found:
            return "none"
        if len(found) > 1 or None in found:
            return "both"
        return "inside" if True in found else "outside"

    def _inside(self, column: exp.Column) -> bool | None:
        if column.table:
            return column.table.lower() in self.names
        return None if self.columns is None else column.name.lower() in self.columns


def membership(node: exp.Exists, around: Scopes, env: Env) -> exp.Expr:
    """The same condition without EXISTS; its sub-queries are public.

    Raises:
        QueryRefused: by `around`, the sub-query compares with the rows around it by more than equalities.
    """
    query = node.this.unnest() if isinstance(node.this, exp.Subquery) else node.this
    if not isinstance(query, exp.Select) or query.args.get("from_") is None or query.args.get("with_"):
        see_alone(query, around, env)
        return _any_row(node)
    query = query.copy()
    sources = [query.args["from_"].this, *(join.this for join in query.args.get("joins") or [])]
    columns = [around.columns_of(source, env) for source in sources]
    known = None if None in columns else {name.lower() for some in columns for name in some or ()}
    inside = _Inside({source.alias_or_name.lower() for source in sources}, known)
    where = query.args.get("where")
    conditions = list(conjunct_nodes(None if where is None else where.this))
    tied = [condition for condition in conditions if inside.side(condition) not in ("inside", "none")]
    rest = [part for key, part in query.args.items() if isinstance(part, exp.Expr) and key != "where"]
    rest += query.args.get("joins") or []
    if not tied and all(inside.side(part) in ("inside", "none") for part in rest):
        return _any_row(node)
    alone = [condition.copy() for condition in tied if inside.side(condition) == "outside"]
    pairs = [_pair(condition, inside) for condition in tied if inside.side(condition) != "outside"]
    other = any(query.args.get(part) for part in BEYOND)
    other |= any(has_aggregate(expression) or has_window(expression) for expression in query.expressions)
    other |= any(inside.side(join) == "both" for join in query.args.get("joins") or [])
    if other or not pairs or None in pairs:
        raise around.refuse(node, "EXISTS over public tables compares with the rows around it by equalities alone.",
                            "Write EXISTS (SELECT 1 FROM s WHERE s.x = t.x AND …), or join the table.")  # fmt: skip
    both = [pair for pair in pairs if pair is not None]
    query.set("expressions", [own for _, own in both])
    query.set("distinct", None)
    kept = [condition for condition in conditions if condition not in tied]
    kept += [exp.Not(this=exp.Is(this=exp.paren(own), expression=exp.null())) for _, own in both]
    query.set("where", exp.Where(this=exp.and_(*kept)))
    outer = both[0][0] if len(both) == 1 else exp.Tuple(expressions=[out for out, _ in both])
    found = exp.and_(*alone, exp.In(this=outer, query=exp.Subquery(this=query)))
    return exp.paren(exp.Is(this=exp.paren(found), expression=exp.true()))


def see_alone(query: exp.Expr, around: Scopes, env: Env) -> None:
    """Refuse a public sub-query that names a column of the rows around it by their table.

    Raises:
        QueryRefused: by `around`, it does.
    """
    sources = {source.alias_or_name.lower() for source in query.find_all(exp.Table, exp.Subquery, exp.CTE)}
    own = {cte.alias_or_name.lower() for cte in query.find_all(exp.CTE)}
    for table in query.find_all(exp.Table):
        if table.name.lower() in own:
            continue
        columns = around.columns_of(table, env)
        if columns is None:
            return  # a column may be a struct, whose fields are written as columns are
        sources |= {name.lower() for name in columns}
    for column in query.find_all(exp.Column):
        if column.table and column.table.lower() not in sources:
            raise around.refuse(
                column, "This sub-query over public tables reads a column of the rows around it.",
                "Write EXISTS (SELECT 1 FROM s WHERE s.x = t.x AND …) without UNION, or join the table.",
            )  # fmt: skip


def _pair(node: exp.Expr, inside: _Inside) -> tuple[exp.Expr, exp.Expr] | None:
    """The two sides of an equality, that of the rows around it first; None where it is none."""
    node = node.unnest()
    if not isinstance(node, exp.EQ):
        return None
    sides = {inside.side(side): side.copy() for side in (node.this, node.expression)}
    return (sides["outside"], sides["inside"]) if set(sides) == {"outside", "inside"} else None


def _any_row(node: exp.Exists) -> exp.Expr:
    """Whether a sub-query has a row, as one value."""
    asked = exp.Select(expressions=[exp.Exists(this=node.this.copy())])
    return exp.EQ(this=exp.Subquery(this=asked), expression=exp.true())
