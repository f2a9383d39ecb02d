"""Names of tables with a schema and a catalog in front, which tools write of their own accord.

A session has one set of tables. The schema that every engine puts tables into by default says nothing; any other one is
refused, unless the policy names a table so: then a table of that name somewhere else could be meant.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from sqlglot import exp

from discreet.errors import QueryRefused
from discreet.sql.syntax.looking import no_schema
from discreet.sql.syntax.nodes import every

DEFAULT = frozenset({"main", "public", "default", "dbo"})
"""The schemas that DuckDB, PostgreSQL, Spark and SQL Server use where none is named."""
_NAMED = (exp.Table, exp.Subquery, exp.CTE, exp.Column)


def drop_schemas(
    query: exp.Expr, known: Collection[str], refuse: Callable[[exp.Expr, str, str], QueryRefused]
) -> None:
    """Give each table its plain name.

    Args:
        query: is changed.
        known: the tables of the session, in lower case.
        refuse: makes the refusal of a schema that is not known.
    """
    found = [node for node in every(query) if isinstance(node, _NAMED)]
    if not any(node.args.get("db") for node in found):
        return
    sources = {node.alias_or_name.lower() for node in found if not isinstance(node, exp.Column)}
    for node in found:
        schema = node.args.get("db") if isinstance(node, exp.Table | exp.Column) else None
        if schema is None or (isinstance(node, exp.Table) and not isinstance(node.this, exp.Identifier)):
            continue
        if isinstance(node, exp.Column) and node.table.lower() not in sources:
            continue  # a path of fields
        if isinstance(node, exp.Table):
            _plain(node, schema, known, refuse)
        node.set("db", None)
        node.set("catalog", None)


def _plain(
    table: exp.Table,
    schema: exp.Expr,
    known: Collection[str],
    refuse: Callable[[exp.Expr, str, str], QueryRefused],
) -> None:
    """Give a table with a schema that the policy names so its whole name, and refuse any other schema but a default."""
    whole = f"{schema.name}.{table.name}"
    if whole.lower() in known and table.args.get("catalog") is None:
        if not table.alias:
            table.set("alias", exp.TableAlias(this=table.this.copy()))
        named = exp.to_identifier(whole, quoted=True)
        named.meta.update(table.this.meta)
        table.set("this", named)
    elif schema.name.lower() not in DEFAULT:
        raise refuse(table, *no_schema(table, known))
