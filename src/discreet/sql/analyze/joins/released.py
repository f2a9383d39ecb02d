"""Joins of private rows with released numbers: `FROM visits, (SELECT AVG(cost) AS mean FROM visits) AS m`.

The released side has one row, or is joined on all the columns that it is grouped by, so that a private row finds one
partner at most, for all numbers.
"""

from __future__ import annotations

from sqlglot import exp

from discreet.sql.algebra import relation as rel
from discreet.sql.algebra.relation import PrivateRows
from discreet.sql.analyze.from_clause import FromClause, all_of
from discreet.sql.analyze.joins.joins import Clause, joined, same_columns, shared, side_by_side
from discreet.sql.analyze.joins.multiplicity import compared_columns, reads_new
from discreet.sql.analyze.scope_tree import OVER_GROUPS, Given
from discreet.sql.syntax.refusal import refuse


def join_released(
    left: FromClause, name: str, given: Given, clause: Clause, elsewhere: list[exp.Expr]
) -> FromClause:
    """Join private rows with a table of released numbers.

    Args:
        left: the sources read so far.
        name: of the table in the question.
        given: the table.
        clause: the join.
        elsewhere: the conditions of WHERE; one is added that takes away the groups that have no released row.

    Raises:
        QueryRefused: a row may find several partners, or the join would keep released rows without one.
    """
    if clause.kind or clause.keeps or clause.natural:
        raise refuse(clause.node.this, left.text, "Released numbers are joined with private rows by JOIN or LEFT JOIN.",
                     "Write JOIN … ON, with the private rows first.")  # fmt: skip
    columns = dict(given.columns)
    right = PrivateRows(left.rows.relation, columns, tuple(columns), True, 1)
    both = side_by_side(
        left, FromClause(left.text, right, {name: columns}, frozenset(), frozenset()), clause.using
    )
    binder = both.binder()
    nodes = list(clause.on)
    if not clause.outer:
        nodes += [
            condition
            for condition in elsewhere
            if isinstance(condition, exp.EQ) and reads_new(condition, both, columns)
        ]
    conditions = [binder.condition(node) for node in nodes]
    conditions += [same_columns(clause.node, left, a, b) for a, b in shared(left, columns, clause)]
    internal = {column.name for column in columns.values()}
    if not set(given.table.keys) <= set(compared_columns(conditions, internal)):
        raise refuse(clause.node.this, left.text, "How many rows of this a private row would find is decided by noise.",
                     "Join it on all the columns that it is grouped by; or take one number of it, with LIMIT 1 or an "
                     "aggregate.")  # fmt: skip
    if not clause.outer:
        elsewhere += [_of_groups(name, given, node) for node in nodes if isinstance(node, exp.EQ)][:1]
    relation = rel.PublicJoin(left.rows.relation, given.table, all_of(conditions), clause.outer)
    nullable = {name} if clause.outer else set()
    return joined(both, relation, left.rows.max_rows, left.rows.fixed, left.held, nullable)


def _of_groups(name: str, given: Given, node: exp.EQ) -> exp.Expr:
    """A condition that is true of every row of the join, and of a group where it has a released row."""
    own, other = node.this, node.expression
    if not (own.name.lower() in given.columns and own.table.lower() == name):
        own, other = other, own
    inner = exp.Subquery(
        this=given.query.unnest().copy(), alias=exp.TableAlias(this=exp.to_identifier("listed"))
    )
    key = exp.column(exp.to_identifier(own.name, quoted=True), table="listed")
    listed = exp.Select(expressions=[key])
    listed.set("from_", exp.From(this=inner))
    out = exp.true()
    out.meta[OVER_GROUPS] = exp.In(this=other.copy(), query=exp.Subquery(this=listed))
    return out
