"""Each engine reads a quoted name unchanged."""

from __future__ import annotations

from functools import cache

import duckdb
import pytest
import sqlglot
from sqlglot import exp

from discreet.quoting import quote, quote_for_clickhouse, quote_for_spark

ODD = ["a", "SELECT", 'a "b"', "a`b", "``", '""', "a\\\\b", "é ü", "'", "a.b; --"]


@cache
def opened() -> duckdb.DuckDBPyConnection:
    """One for all names."""
    return duckdb.connect()


@pytest.mark.parametrize("name", ODD)
def test_a_quoted_name_is_read_unchanged(name: str) -> None:
    found = opened().execute(f"SELECT 1 AS {quote(name)}")
    assert [column[0] for column in found.description or ()] == [name]
    for dialect, quoted in (
        ("duckdb", quote(name)), ("postgres", quote(name)), ("spark", quote_for_spark(name)),
        ("clickhouse", quote_for_clickhouse(name)),
    ):  # fmt: skip
        (alias,) = sqlglot.parse_one(f"SELECT 1 AS {quoted}", read=dialect).find_all(exp.Alias)
        assert alias.alias == name
