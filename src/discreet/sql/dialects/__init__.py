"""The SQL of each engine: one file, one value.

To support another dialect is to add its file, and its line here.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from discreet.sql.dialects.clickhouse import CLICKHOUSE
from discreet.sql.dialects.duckdb import DUCKDB
from discreet.sql.dialects.postgres import POSTGRES
from discreet.sql.dialects.spark import SPARK
from discreet.sql.expressions.dialect import Dialect

DIALECTS: Mapping[str, Dialect] = MappingProxyType(
    {dialect.name: dialect for dialect in (DUCKDB, POSTGRES, SPARK, CLICKHOUSE)}
)
"""By name, as an engine says it."""


def named(name: str) -> Dialect:
    """The dialect that an engine reads.

    Example:
        >>> named("spark").quote("a`b")
        '`a``b`'
    """
    return DIALECTS[name]
