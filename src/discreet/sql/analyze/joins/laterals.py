"""Sub-queries of FROM that read the row beside them, with LATERAL or, as in DuckDB, without: refused by name.

Above the noise they are SQL like any other. Over private rows an equal statement without them can be written.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from sqlglot import exp

from discreet.errors import QueryRefused
from discreet.sql.algebra.catalog import Catalog
from discreet.sql.analyze.scope_tree import Env, PrivateScope, Refuse, Scope
from discreet.sql.syntax.nodes import has_aggregate

GROUPED = (
    "Group the private rows by the column that the condition compares, and join the groups: JOIN (SELECT k, COUNT(*) "
    "AS n FROM … GROUP BY k) AS x ON x.k = t.k."
)
FIRST = (
    "Join a plain sub-query on the privacy unit, which keeps the first row of each with QUALIFY row_number() OVER "
    "(PARTITION BY … ORDER BY …) = 1."
)
COMPUTED = "Compute it in a sub-query of the table, as in FROM (SELECT *, age + 1 AS b FROM visits) AS v."
JOINED = (
    "Join the public table, with the condition behind ON; ASOF JOIN takes the nearest of its rows, and a sub-query "
    "with GROUP BY one number of each of its groups."
)
LISTED = "Write UNNEST of a list of the row, or join a public table of numbers on a condition."


def see_inner(node: exp.Expr, env: Env, catalog: Catalog, refuse: Refuse) -> None:
    """Refuse LATERAL with a sub-query over private rows."""
    read = node.find_all(exp.Table) if isinstance(node, exp.Lateral) else ()
    for name in (table.name.lower() for table in read):
        if isinstance(env[name], PrivateScope) if name in env else name in catalog.private:
            raise over_private(node, refuse)


def over_private(node: exp.Expr, refuse: Refuse) -> QueryRefused:
    """The refusal of LATERAL with a sub-query over private rows."""
    inner = node.this.unnest() if isinstance(node.this, exp.Subquery) else node.this
    sums = isinstance(inner, exp.Select) and any(map(has_aggregate, inner.selects))
    return refuse(node, "LATERAL over private rows is not supported.", GROUPED if sums else FIRST)


def see_outer(sources: Sequence[exp.Expr], scopes: Sequence[Scope], catalog: Catalog, refuse: Refuse) -> None:
    """Refuse a source that reads the columns of private rows beside it.

    Args:
        sources: of FROM; a list of the row is none of them.
        scopes: of these.
        catalog: the tables.
        refuse: makes refusals.
    """
    private = [(source.alias_or_name.lower(), scope.rows.columns)
               for source, scope in zip(sources, scopes, strict=True) if isinstance(scope, PrivateScope)]  # fmt: skip
    names = {name for name, _ in private}
    columns = {column for _, known in private for column in known}
    for source, scope in zip(sources, scopes, strict=True):
        if isinstance(scope, PrivateScope) or isinstance(source, exp.Unnest):
            continue
        if isinstance(source, exp.Table) and isinstance(source.this, exp.Identifier):
            continue
        if _reads(source, names, columns, catalog):
            raise refuse(source, "This part of FROM reads the private rows beside it, as LATERAL does, which is not "
                         "supported.", _fix(source))  # fmt: skip


def _reads(source: exp.Expr, names: Set[str], columns: Set[str], catalog: Catalog) -> bool:
    """Whether a source has a column of the rows beside it: one with their name, or one that no table within has."""
    tables = [table for table in source.find_all(exp.Table) if isinstance(table.this, exp.Identifier)]
    own = {table.alias_or_name.lower() for table in tables}
    known = [catalog.public.get(table.name.lower()) for table in tables]
    if any(column.table.lower() in names - own for column in source.find_all(exp.Column) if column.table):
        return True
    if any(table is None for table in known) or len(list(source.find_all(exp.Select))) > 1:
        return False
    theirs = {str(name).lower() for table in known if table is not None for name in table.column_names}
    return any(not column.table and column.name.lower() in columns - theirs
               for column in source.find_all(exp.Column))  # fmt: skip


def _fix(source: exp.Expr) -> str:
    if any(isinstance(table.this, exp.Identifier) for table in source.find_all(exp.Table)):
        return JOINED
    inner = source
    while isinstance(inner, exp.Lateral | exp.Subquery):
        inner = inner.this
    return COMPUTED if isinstance(inner, exp.Select) else LISTED
