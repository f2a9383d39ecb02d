"""RIGHT and FULL joins, and public tables in front of private rows, as joins that keep every row with its unit.

    public LEFT JOIN private    the pairs, each of the unit of its private row. A public row without a partner is of
    private RIGHT JOIN public   nobody: no engine counts it, and its keys are groups (`rel.PublicJoin.keeps`).
    private FULL JOIN public    the same, and private rows without a partner stay as well.
    a RIGHT JOIN b              of private tables: b LEFT JOIN a.
    a FULL JOIN b               of private tables: a LEFT JOIN b, and the rows of b without a partner one after the
                                other, each of its own unit.

Privacy: a unit with m rows in a and n in b has at most max(m n, m) rows behind the LEFT JOIN and n behind the other
part, and the caps of both add up, as those of any UNION ALL. Which public rows are groups is public.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from discreet.sql.algebra import relation as rel
from discreet.sql.algebra.relation import PrivateRows
from discreet.sql.analyze.from_clause import FromClause, prefixed
from discreet.sql.analyze.joins.joins import Clause, join_on_unit
from discreet.sql.expressions.expression import Column, Expression, Literal
from discreet.sql.syntax.refusal import refuse


def keeping(
    left: FromClause, name: str, rows: PrivateRows, clause: Clause, elsewhere: list[exp.Expr]
) -> FromClause:
    """A RIGHT or FULL JOIN of private rows with private rows."""
    right = prefixed(left.text, name, rows)
    if name in left.tables:
        raise refuse(
            clause.node.this, left.text, f"Two sources are named {name}.", "Give one another name with AS."
        )
    if not clause.outer:
        return join_on_unit(right, left, replace(clause, outer=True, keeps=False), elsewhere)
    if clause.natural or clause.using:
        unit, theirs = next(iter(left.rows.units), "unit"), next(iter(rows.units), "unit")
        raise refuse(
            clause.node.this,
            left.text,
            "A FULL JOIN USING columns has to put both sides into one column.",
            f"Write ON {next(iter(left.tables))}.{unit} = {name}.{theirs}, and coalesce of both columns.",
        )
    matched = join_on_unit(left, right, replace(clause, keeps=False), elsewhere)
    relation = matched.rows.relation
    assert isinstance(relation, rel.Join)
    alone = rel.Matching(relation.right, relation.left, relation.on, anti=True)
    ours = {c.name: c for table in left.tables.values() for c in table.values()}
    theirs_ = {c.name: c for c in right.rows.columns.values()}
    nothing: dict[str, Expression] = {n: Literal(None, c.type) for n, c in ours.items()}
    both = {**ours, **theirs_}
    parts = (
        rel.Select(relation, tuple(both.items()), None),
        rel.Select(alone, tuple({**both, **nothing}.items()), None),
    )
    nullable = {
        table: {key: Column(c.name, c.type, c.span.null()) for key, c in columns.items()}
        for table, columns in matched.tables.items()
    }
    by_name = {c.name: c for columns in nullable.values() for c in columns.values()}
    whole = replace(
        matched.rows,
        relation=rel.Union(parts),
        columns={key: by_name[c.name] for key, c in matched.rows.columns.items()},
        max_rows=matched.rows.max_rows + rows.max_rows,
        units=frozenset(),
        fixed=matched.rows.fixed and rows.fixed,
    )
    # Neither column of the unit holds it in every row.
    return FromClause(left.text, whole, nullable, matched.ambiguous, frozenset())
