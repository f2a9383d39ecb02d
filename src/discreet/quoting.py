"""Names in SQL, quoted so that an engine reads them unchanged."""

from __future__ import annotations


def quote(name: str) -> str:
    """A name as standard SQL writes it, and so DuckDB and PostgreSQL.

    Example:
        >>> print(quote('a "b" c'))
        "a ""b"" c"
    """
    return '"' + name.replace('"', '""') + '"'


def quote_for_spark(name: str) -> str:
    """The same for Spark.

    Example:
        >>> print(quote_for_spark("a`b"))
        `a``b`
    """
    return "`" + name.replace("`", "``") + "`"


def quote_for_clickhouse(name: str) -> str:
    r"""The same for ClickHouse, which reads escapes in names.

    Example:
        >>> print(quote_for_clickhouse("a`b"))
        `a\`b`
    """
    return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"
