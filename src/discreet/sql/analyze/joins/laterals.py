"""Sub-queries of FROM that read the row beside them, with LATERAL or, as in DuckDB, without: refused by name.

Above the noise they are SQL like any other. Over private rows an equal statement without them can be written.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence, Set

from sqlglot import exp

from discreet.errors import QueryRefused
from discreet.sql.algebra.catalog import Catalog
from discreet.sql.analyze.scope_tree import Env, PrivateScope, Refuse
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
TOGETHER = (
    "Put it and the tables that it reads into one sub-query, in which it may stand: FROM (SELECT * FROM days AS d, "
    "LATERAL (…) AS l) AS d JOIN visits AS v ON …."
)
LOOKED_UP = (
    "Join the public table, as in FROM visits AS v LEFT JOIN days AS d ON d.day = v.day, and use its columns."
)
LISTED = "Write UNNEST of a list of the row, or join a public table of numbers on a condition."
_MISSING = re.compile(r'Binder Error: Referenced column "?(.+?)"? (?:was )?not found')
"""How DuckDB names the first column that no table has."""


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


def of_outer(
    error: QueryRefused, source: exp.Expr, beside: Mapping[str, Collection[str]], refuse: Refuse
) -> QueryRefused:
    """The refusal of a source that could not be read alone: it names LATERAL where columns beside it were missing.

    A source that can be read alone has all its columns, so that no statement with an answer comes here.

    Args:
        error: the refusal of the source by itself.
        source: of FROM.
        beside: the sources of private rows by name, each with its columns, all in lower case.
        refuse: makes refusals.
    """
    inner = list(source.find_all(exp.Table, exp.TableAlias))
    own = {node.alias_or_name.lower() if isinstance(node, exp.Table) else node.name.lower() for node in inner}
    named = {column.table.lower() for column in source.find_all(exp.Column)} & set(beside) - own
    missing = _MISSING.search(error.cause)
    theirs = {column for columns in beside.values() for column in columns}
    if not named and (missing is None or missing[1].lower() not in theirs):
        return error
    return _beside(source, refuse)


def _beside(source: exp.Expr, refuse: Refuse) -> QueryRefused:
    return refuse(source, "This part of FROM reads the private rows beside it, as LATERAL does, which is not "
                  "supported.", _fix(source))  # fmt: skip


def see_around(node: exp.Expr, catalog: Catalog, refuse: Refuse) -> None:
    """Refuse a public part of a question that DuckDB refused by itself where it reads the tables around it.

    Args:
        node: the part, in its place in the question.
        catalog: the tables.
        refuse: makes refusals.
    """
    own = {inner.alias_or_name.lower() for inner in node.find_all(exp.Table, exp.Subquery)}
    theirs = {name for inner in node.find_all(exp.Table) for name in _columns(inner, catalog)}
    selects: list[exp.Select] = []
    while (select := (selects[-1] if selects else node).find_ancestor(exp.Select)) is not None:
        selects.append(select)
    holders = [holder for select in selects
               for holder in (select.args.get("from_"), *(select.args.get("joins") or [])) if holder]  # fmt: skip
    beside = [holder.this for holder in holders if holder.this is not node]

    def reads(sources: Sequence[exp.Expr]) -> bool:
        names = {source.alias_or_name.lower() for source in sources} - own
        columns = {name for source in sources for name in _columns(source, catalog)} - theirs
        return any(column.table.lower() in names if column.table else column.name.lower() in columns
                   for column in node.find_all(exp.Column))  # fmt: skip

    if not reads(beside):
        return
    if isinstance(node.parent, exp.Join | exp.From):
        private = [source for source in beside
                   if any(table.name.lower() in catalog.private for table in source.find_all(exp.Table))]  # fmt: skip
        if reads(private):
            raise _beside(node, refuse)
        raise refuse(node, "This part of FROM reads a table beside it, as LATERAL does, which is not supported beside "
                     "private rows.", TOGETHER)  # fmt: skip
    raise refuse(
        node, "This sub-query looks up a value for each private row, which is not supported.", LOOKED_UP
    )


def _columns(source: exp.Expr, catalog: Catalog) -> Set[str]:
    """The names of the columns of a table or a sub-query, in lower case; none of anything else."""
    inner = source.unnest()
    if isinstance(inner, exp.Query):
        return {name.lower() for name in inner.named_selects}
    if not isinstance(source, exp.Table):
        return frozenset()
    private, public = catalog.private.get(source.name.lower()), catalog.public.get(source.name.lower())
    known = private.columns if private is not None else () if public is None else public.column_names
    return {str(name).lower() for name in known}


def _fix(source: exp.Expr) -> str:
    if any(isinstance(table.this, exp.Identifier) for table in source.find_all(exp.Table)):
        return JOINED
    inner = source
    while isinstance(inner, exp.Lateral | exp.Subquery):
        inner = inner.this
    return COMPUTED if isinstance(inner, exp.Select) else LISTED
