"""`payload -> 'a'` as an argument of a function, which the parser takes for a function of a variable `payload`."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB

_OF_JSON = (exp.JSONExtract, exp.JSONExtractScalar, exp.Predicate)
"""The nodes between the arrow and the key behind it: other arrows, and comparisons, which bind less."""


def read_arrows(statement: exp.Expr) -> None:
    """Read each such arrow as the field of a JSON text.

    Example:
        >>> import sqlglot
        >>> query = sqlglot.parse_one("SELECT COUNT(p -> 'a' ->> 'b') FROM t", read="duckdb")
        >>> read_arrows(query)
        >>> query.sql("duckdb")
        "SELECT COUNT((p -> '$.a') ->> '$.b') FROM t"
    """
    for node in list(statement.find_all(exp.Lambda)):
        if len(node.expressions) != 1 or node.args.get("colon"):
            continue
        key = node.this
        while isinstance(key, _OF_JSON):
            key = key.this
        if not isinstance(key, exp.Literal):
            continue
        path = DuckDB().to_json_path(key.copy())
        field = exp.JSONExtract(this=exp.column(node.expressions[0].copy()), expression=path)
        if key is node.this:
            node.replace(field)
        else:
            key.replace(field)
            node.replace(node.this)
