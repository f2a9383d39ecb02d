"""Conditions of WHERE that look up other private rows: each row stays, or goes, by the rows of its own unit.

The engine compares the units of both sides, in addition to all conditions of the sub-query. So a sub-query must compare
the units, or a key on the path to them: then comparing the units as well changes nothing.
"""

from __future__ import annotations

from sqlglot import exp

from discreet.sql.algebra import key_paths
from discreet.sql.algebra import relation as rel
from discreet.sql.algebra.key_paths import links
from discreet.sql.algebra.relation import PrivateRows
from discreet.sql.analyze.from_clause import FromClause
from discreet.sql.analyze.joins.same_units import see_same_units
from discreet.sql.analyze.public_values import waits
from discreet.sql.analyze.scope_tree import Env, PrivateScope, Scopes
from discreet.sql.analyze.subqueries.correlated import BEYOND, Inside, looked_up
from discreet.sql.analyze.subqueries.exists_alone import OF_ROWS, see_it_can_be_false
from discreet.sql.expressions.expression import Column, Expression
from discreet.sql.functions import call

INSIDE = "__inside."
"""Before the names of the columns of a sub-query, so that none is one of the query around it."""


def matched(node: exp.Expr, from_clause: FromClause, around: Scopes, env: Env) -> FromClause | None:
    """The rows for which a condition holds that looks up other private rows; None where it is of another kind.

    Args:
        node: the condition.
        from_clause: the rows.
        around: the statement around them.
        env: the tables of WITH.

    Raises:
        QueryRefused: by `around`, it looks up rows that may be of other units.
    """
    found = _by_unit(node, from_clause, around, env) or _by_key(node, from_clause, around, env)
    found = found or _of_the_same_unit(node, from_clause, around, env)
    if found is None:
        return None
    scope, on, anti, said = found
    rows = from_clause.rows
    if not (rows.per_unit and scope.per_unit):
        raise around.refuse(said, "Rows that are one unit each cannot be looked up in other private rows.",
                            "Declare the column that names the unit in the policy.")  # fmt: skip
    see_same_units(said, around.text, rows, scope)
    return from_clause.over(rel.replaced(rows, rel.Matching(rows.relation, scope.relation, on, anti)))


Match = tuple[PrivateRows, Expression | None, bool, exp.Expr]
"""The other rows, a condition beside being of one unit, whether rows with a match go, and the place for refusals."""


def _bare(node: exp.Expr) -> tuple[exp.Expr, bool]:
    """A condition without NOT and parentheses, and whether there was a NOT."""
    anti = isinstance(node, exp.Not)
    inner = node.this if anti else node
    while isinstance(inner, exp.Paren):
        inner = inner.this
    return inner, anti


def _by_unit(node: exp.Expr, from_clause: FromClause, around: Scopes, env: Env) -> Match | None:
    """Read `unit IN (SELECT unit …)`."""
    inner, anti = _bare(node)
    if not (
        isinstance(inner, exp.In) and inner.args.get("query") is not None and from_clause.is_unit(inner.this)
    ):
        return None
    scope = around.once(inner.args["query"], env)
    if not isinstance(scope, PrivateScope):
        return None
    rows = scope.rows
    if len(rows.names) != 1 or rows.names[0].lower() not in rows.units:
        raise around.refuse(inner.this, "Private rows can be looked up by their privacy unit only.",
                            f"Write {from_clause.unit} IN (SELECT {from_clause.unit} FROM …).")  # fmt: skip
    return rows, None, anti, inner


def _by_key(node: exp.Expr, from_clause: FromClause, around: Scopes, env: Env) -> Match | None:
    """Read `key IN (SELECT key …)`, of a key on the path to the unit."""
    inner, anti = _bare(node)
    query = inner.args.get("query") if isinstance(inner, exp.In) else None
    if query is None or not isinstance(inner.this, exp.Column):
        return None
    bound = from_clause.binder().bind(inner.this)
    if not isinstance(bound, Column) or not any(
        bound.name in link.columns for link in links(from_clause.rows.relation)
    ):
        return None
    scope = around.alone(query, env)
    found = _match_by_key(from_clause, bound, scope.rows) if isinstance(scope, PrivateScope) else None
    return None if found is None else (*found, anti, inner)


def _of_the_same_unit(node: exp.Expr, from_clause: FromClause, around: Scopes, env: Env) -> Match | None:
    """Read EXISTS, IN, ANY and ALL over rows of the same unit."""
    asked = looked_up(node)
    if asked is None:
        return None
    holder = asked.query.args["from_"].this
    if asked.query.args.get("with_"):
        if not waits(asked.query, around, env):
            return None  # it is a list of public values
        raise around.refuse(node, "WITH is not supported in a condition on private rows.",
                            "Write WITH before the first SELECT.")  # fmt: skip
    source = around.source(holder.copy(), env)
    other = next((part for part in BEYOND if asked.query.args.get(part)), None)
    if other == "joins" and waits(asked.query, around, env):
        return None  # read beside the rows
    if asked.outer and not (isinstance(source, PrivateScope) and other is None):
        return None
    if not isinstance(source, PrivateScope):
        if not waits(asked.query, around, env):
            return None  # it is a list of public values
        raise around.refuse(node, "EXISTS over a public table is not supported.",
                            f"Write x IN (SELECT x FROM {holder.alias_or_name}), or join the table.")  # fmt: skip
    if other is not None:
        raise around.refuse(node, f"{other.strip('_').upper()} is not supported in EXISTS over private rows.",
                            f"Write {from_clause.unit} IN (SELECT {from_clause.unit} FROM …).")  # fmt: skip
    see_it_can_be_false(asked.query, around.refuse, OF_ROWS)
    inside = Inside(around.text, source.rows, holder.alias_or_name.lower(), from_clause)
    on = inside.conditions(asked, around.refuse)
    return inside.from_clause.rows, on, asked.anti, node


def _inside(rows: PrivateRows) -> tuple[rel.Select, dict[str, Column]]:
    """The rows of a sub-query with columns of names of their own, and these by the names that the query says."""
    columns = {key: Column(INSIDE + key, c.type, c.span) for key, c in rows.columns.items()}
    items = tuple((INSIDE + key, c) for key, c in rows.columns.items())
    return rel.Select(rows.relation, items, None), columns


def _match_by_key(
    from_clause: FromClause, bound: Expression | None, scope: PrivateRows
) -> tuple[PrivateRows, Expression] | None:
    """The other rows and the condition of `key IN (SELECT key …)`; None where it is no key on the path to the unit."""
    if len(scope.names) != 1 or not isinstance(bound, Column):
        return None
    relation, columns = _inside(scope)
    same = call("eq", bound, columns[scope.names[0].lower()])
    if same is None or not key_paths.between(from_clause.rows.relation, relation).joined([same]):
        return None
    return rel.replaced(scope, relation), same
