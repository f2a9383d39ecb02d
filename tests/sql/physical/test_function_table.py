"""Every line of the function table over columns of every physical type, with the worst values of each.

There is no chance of a false alarm: what is asked is whether the compiled SQL runs. Power: the planted fault below is
found by the same check. In each run DuckDB is asked every line over one of its twelve tables, PostgreSQL over
one of its eight: each table is asked each twelfth or eighth line, and the next one those after them. A deep run asks
every line over every type, of Spark too, which takes ten minutes.
"""

from __future__ import annotations

from dataclasses import replace
from unittest import mock

import pytest
from tests.depth import DEEP
from tests.sql.physical import corpora

from discreet.sql import functions as fn
from discreet.sql.dialects.postgres import POSTGRES
from discreet.sql.functions import numbers
from discreet.sql.lower import compile as compiling


@pytest.mark.parametrize("number", range(corpora.count("duckdb")))
def test_every_line_is_total_on_duckdb(number: int) -> None:
    assert corpora.faults(corpora.engine("duckdb", number), 1 if DEEP else 12, number) == []


@pytest.mark.parametrize("number", range(corpora.count("postgres")))
def test_every_line_is_total_on_postgres(number: int) -> None:
    assert corpora.faults(corpora.engine("postgres", number), 1 if DEEP else 8, number) == []


@pytest.mark.parametrize("number", range(corpora.count("spark")) if DEEP else [2])
def test_lines_are_total_on_spark(number: int) -> None:
    assert corpora.faults(corpora.engine("spark", number), 1 if DEEP else 80) == []


@pytest.mark.parametrize("number", range(corpora.count("clickhouse")) if DEEP else [2])
def test_lines_are_total_on_clickhouse(number: int) -> None:
    assert corpora.faults(corpora.engine("clickhouse", number), 1 if DEEP else 12) == []


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "spark", "clickhouse"])
def test_every_readable_type_stands_in_some_table(dialect: str) -> None:
    schemas = corpora._by_logical(dialect)
    assert all(schemas[kind] for kind in corpora.LETTERS)
    assert corpora.count(dialect) == max(map(len, schemas.values()))


def test_an_operator_that_raises_is_found() -> None:
    """PostgreSQL raises where a sum of doubles is too large, and DuckDB where one of integers is."""
    (line,) = [line for line in fn.TABLE["add"] if line.gives.name == "FLOAT"]
    own = {**POSTGRES.functions, "add": {"ff": line.spelling[""]}}
    with mock.patch.object(compiling, "named", return_value=replace(POSTGRES, functions=own)):
        found = corpora.faults(corpora.engine("postgres", 7), only="add,")
    assert any(fault.startswith("add, a + b") for fault in found)
    with mock.patch.object(numbers, "OVERFLOW", frozenset()):
        found = corpora.faults(corpora.engine("duckdb", 3), only="negate,")
    assert any(fault.startswith("negate, -a") for fault in found)
