"""ASOF JOIN with a public table: each row finds the one public row that is nearest on one side.

The public table gets a column beside that of the inequality, the next value of it in the same partition, so that
`x >= since` and `x < next` together leave one partner at most. So a unit has as many rows after the join as before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.engines.sandbox import Sandbox
from discreet.errors import QueryRefused
from discreet.sql.algebra.public_data import spelled
from discreet.sql.analyze.from_clause import FromClause
from discreet.sql.analyze.joins.joins import Clause, join_public
from discreet.sql.expressions.dialect import quote

if TYPE_CHECKING:
    import pyarrow as pa

NEXT = "__next"
FIX = "Write ASOF JOIN t ON x >= t.since, with one inequality and equalities beside it."
MIRRORED: dict[type[exp.Expr], type[exp.Binary]] = {
    exp.GTE: exp.LTE,
    exp.GT: exp.LT,
    exp.LTE: exp.GTE,
    exp.LT: exp.GT,
}
BEYOND: dict[type[exp.Expr], type[exp.Binary]] = {
    exp.GTE: exp.LT,
    exp.GT: exp.LTE,
    exp.LTE: exp.GT,
    exp.LT: exp.GTE,
}
"""The comparison with the next value that leaves the rest."""
Refuse = Callable[[exp.Expr, str, str], QueryRefused]


def join_asof(
    left: FromClause, name: str, data: pa.Table, number: int, clause: Clause, refuse: Refuse
) -> FromClause:
    """Join private rows with the nearest rows of a public table.

    Args:
        left: the private rows.
        name: of the public table.
        data: its rows.
        number: of this join.
        clause: the join.
        refuse: makes the refusal of a node, with cause and fix.

    Raises:
        QueryRefused: by `refuse`, it has no inequality with a column of the public table, or several.
    """
    data = spelled(data)  # values that are one beside private rows are one partition
    columns = {column.lower(): column for column in data.column_names}

    def public(node: exp.Expr) -> str | None:
        own = isinstance(node, exp.Column) and node.table.lower() in ("", name)
        return columns.get(node.name.lower()) if own else None

    unequal = [condition for condition in clause.on if type(condition) in MIRRORED]
    equal = [condition for condition in clause.on if isinstance(condition, exp.EQ)]
    if clause.using or len(unequal) != 1 or len(unequal) + len(equal) < len(clause.on):
        raise refuse(clause.node, "An ASOF JOIN has one inequality.", FIX)
    (inequality,) = unequal
    kind: type[exp.Expr] = type(inequality)
    x, since = inequality.this, public(inequality.expression)
    if since is None or (public(x) is not None and x.table.lower() == name):
        x, since, kind = inequality.expression, public(inequality.this), MIRRORED[kind]
    pairs = [(x, since)]
    for pair in equal:
        theirs = public(pair.this)
        own = pair.expression if theirs is not None else pair.this
        pairs.append((own, theirs or public(pair.expression)))
    for own, theirs in pairs:
        if theirs is None or any(public(column) is not None for column in own.find_all(exp.Column)):
            raise refuse(
                clause.node, f"An ASOF JOIN compares private values with columns of {name} alone.", FIX
            )
        left.binder().bind(own)  # which knows no public column: one value, whichever the partner
    assert since is not None
    partition = [theirs for _, theirs in pairs[1:] if theirs is not None]
    nearest = _with_next(data, since, partition, after=kind in (exp.GTE, exp.GT))
    end = exp.column(exp.to_identifier(NEXT, quoted=True), table=exp.to_identifier(name, quoted=True))
    before = BEYOND[kind](this=x.copy(), expression=end)
    open_ended = exp.Is(this=end.copy(), expression=exp.null())
    found = replace(clause, on=(*clause.on, exp.paren(exp.or_(before, open_ended))), asof=False)
    return _without_next(join_public(left, name, nearest, number, found, [], one_of=partition), name)


def _with_next(data: pa.Table, since: str, partition: list[str], after: bool) -> pa.Table:
    """The public rows, one for each value, with the value after it or before it."""
    c, by = quote(since), ", ".join(quote(column) for column in dict.fromkeys(partition))
    over = f"({f'PARTITION BY {by} ' if by else ''}ORDER BY {c}{'' if after else ' DESC'})"
    once = f"PARTITION BY {by + ', ' if by else ''}{c} ORDER BY __at"
    numbered = "SELECT *, row_number() OVER () AS __at FROM public"
    first = f"SELECT * FROM ({numbered}) WHERE {c} IS NOT NULL QUALIFY row_number() OVER ({once}) = 1"
    with Sandbox({"public": data}) as sandbox:
        return sandbox.run(
            f"SELECT * EXCLUDE (__at), lead({c}) OVER {over} AS {NEXT} FROM ({first}) ORDER BY __at"
        )


def _without_next(from_clause: FromClause, name: str) -> FromClause:
    """The FROM clause without the column that the join needed."""
    tables = {
        key: {n: c for n, c in columns.items() if key != name or n != NEXT}
        for key, columns in from_clause.tables.items()
    }
    rows = replace(
        from_clause.rows,
        columns={key: column for key, column in from_clause.rows.columns.items() if key != NEXT},
        names=tuple(name for name in from_clause.rows.names if name != NEXT),
    )
    return FromClause(from_clause.text, rows, tables, from_clause.ambiguous - {NEXT}, from_clause.held)


__all__ = ["join_asof"]
