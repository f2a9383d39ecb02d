"""Names of tables with a schema and a catalog in front, which tools write of their own accord.

A session has one set of tables. The schema that every engine puts tables into by default says nothing; any other one is
refused, unless the policy names a table so: then a table of that name somewhere else could be meant.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from sqlglot import exp

from discreet.errors import QueryRefused
from discreet.sql.syntax.looking import no_schema

DEFAULT = frozenset({"main", "public", "default", "dbo"})
"""The schemas that DuckDB, PostgreSQL, Spark and SQL Server use where none is named."""


def drop_schemas(
    query: exp.Expr, known: Collection[str], refuse: Callable[[exp.Expr, str, str], QueryRefused]
) -> None:
    """Give each table its plain name.

    Args:
        query: is changed.
        known: the tables of the session, in lower case.
        refuse: makes the refusal of a schema that is not known.
    """
    named = [node for node in query.find_all(exp.Table, exp.Column) if node.args.get("db") is not None]
    for table in (node for node in named if isinstance(node, exp.Table)):
        schema = table.args["db"]
        if not isinstance(table.this, exp.Identifier):
            continue
        whole = f"{schema.name}.{table.name}"
        if whole.lower() in known and table.args.get("catalog") is None:
            if not table.alias:
                table.set("alias", exp.TableAlias(this=table.this.copy()))
            name = exp.to_identifier(whole, quoted=True)
            name.meta.update(table.this.meta)
            table.set("this", name)
        elif schema.name.lower() not in DEFAULT:
            raise refuse(table, *no_schema(table))
        table.set("db", None)
        table.set("catalog", None)
    for column in (node for node in named if isinstance(node, exp.Column)):
        column.set("db", None)
        column.set("catalog", None)
