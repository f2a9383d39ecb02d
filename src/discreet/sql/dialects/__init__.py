"""The SQL of each engine: one file, one value.

To support another dialect is to add its file, and its line here.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from discreet.imports import load

if TYPE_CHECKING:
    from discreet.sql.expressions.dialect import Dialect

DIALECTS = ("duckdb", "postgres", "spark", "clickhouse")
"""The names, as an engine says them. A file of this name has the dialect in capitals, and is loaded for its engine."""


@cache
def named(name: str) -> Dialect:
    """The dialect that an engine reads.

    Example:
        >>> named("spark").quote("a`b")
        '`a``b`'
    """
    dialect: Dialect = getattr(load(f"discreet.sql.dialects.{name}"), name.upper())
    return dialect
