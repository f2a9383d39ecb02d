"""The tables of the physical types on each engine."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import cache

import duckdb
from tests import servers
from tests.sql.physical import types
from tests.sql.physical.totality import Bench

from discreet.engines.capabilities import Capabilities
from discreet.engines.clickhouse import capabilities as of_clickhouse
from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.duckdb import capabilities as of_duckdb
from discreet.engines.engine import Engine
from discreet.engines.postgres import capabilities as of_postgres
from discreet.engines.spark import capabilities as of_spark

CAPABILITIES: dict[str, Capabilities] = {
    one.CAPABILITIES.dialect: one.CAPABILITIES for one in (of_duckdb, of_postgres, of_spark, of_clickhouse)
}
FIRST = {"id": "BIGINT", "u": "BIGINT", "n": "BIGINT"}


def null(kind: str, dialect: str = "") -> str:
    """NULL of a type, or the default of a type of ClickHouse that has no NULL."""
    if dialect == "clickhouse" and not kind.startswith(("Nullable(", "LowCardinality(Nullable(")):
        return f"defaultValueOfTypeName('{kind.replace(chr(39), chr(92) + chr(39))}')"
    return f"CAST(NULL AS {kind})"


def _columns(kinds: Mapping[str, Sequence[str]]) -> dict[str, str]:
    return {f"c{at}": kind for at, kind in enumerate(kinds)}


def _rows(kinds: Mapping[str, Sequence[str]], dialect: str = "") -> list[str]:
    """Every value of every type, some columns beginning again; the last row is NULL throughout."""
    size = max(map(len, kinds.values()))
    rows = []
    for row in range(size):
        cast = [f"CAST({values[row % len(values)]} AS {kind})" for kind, values in kinds.items()]
        rows.append([str(row), str(row // 4), str(row % 10), *cast])
    rows.append([str(size), str(size // 4), "0", *(null(kind, dialect) for kind in kinds)])
    return [", ".join(row) for row in rows]


@cache
def on_duckdb() -> Bench:
    """DuckDB, in memory."""
    columns, rows = _columns(types.DUCKDB), _rows(types.DUCKDB)
    return Bench(duckdb_of({**FIRST, **columns}, rows), columns, len(rows))


def duckdb_of(columns: Mapping[str, str], rows: Sequence[str]) -> Engine:
    """A table `t` in a schema of its own."""
    connection, schema = _database(), f"bench_{next(_SCHEMAS)}"
    listed = ", ".join(f"{name} {kind}" for name, kind in columns.items())
    connection.execute(f"CREATE SCHEMA {schema}; CREATE TABLE {schema}.t ({listed})")
    connection.execute(f"INSERT INTO {schema}.t VALUES {', '.join(f'({row})' for row in rows)}")
    return DuckDBEngine.open_all([(f"{schema}.t", connection, {})])


_SCHEMAS = itertools.count()


@cache
def _database() -> duckdb.DuckDBPyConnection:
    """One database of the process: to open another takes as long as some questions."""
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    return connection


@cache
def on_postgres() -> Bench:
    """A PostgreSQL server of its own."""
    columns, rows = _columns(types.POSTGRES), _rows(types.POSTGRES)
    return Bench(postgres_of({**FIRST, **columns}, rows, "physical"), columns, len(rows))


def postgres_of(columns: Mapping[str, str], rows: Sequence[str], schema: str) -> Engine:
    """A table `t` in a schema of its own."""
    from discreet.engines.postgres import PostgresEngine

    url = servers.postgres()
    listed = ", ".join(f"{name} {kind}" for name, kind in columns.items())
    with servers.connect(url) as connection:
        connection.execute(
            f"DROP SCHEMA IF EXISTS {schema} CASCADE; CREATE SCHEMA {schema}; SET search_path = {schema}, public; "
            "CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE DOMAIN small AS int2; CREATE DOMAIN label AS text; "
            f"CREATE TYPE pair AS (a int, b text); CREATE TABLE t ({listed})"
        )
        connection.execute(f"INSERT INTO t VALUES {', '.join(f'({row})' for row in rows)}")
    return PostgresEngine.open_all([("t", f"{url}#{schema}.t")])


@cache
def on_spark() -> Bench:
    """A Spark session of one core."""
    columns, rows = _columns(types.SPARK), _rows(types.SPARK)
    return Bench(spark_of({**FIRST, **columns}, rows), columns, len(rows))


def spark_of(columns: Mapping[str, str], rows: Sequence[str]) -> Engine:
    """A frame of Spark's, called `t`."""
    from discreet.engines.spark import SparkEngine

    # Each SELECT of a union would be analysed by itself, ten times as long, and be a partition of each question.
    values = ", ".join(f"({row})" for row in rows)
    frame = servers.spark().sql(f"SELECT * FROM VALUES {values}").toDF(*columns)
    # As rows and no longer as text, which would be parsed again with each question, and perhaps computed beforehand.
    frame = frame.localCheckpoint()
    return SparkEngine.open_all([("t", frame)])


@cache
def on_clickhouse() -> Bench:
    """The embedded ClickHouse."""
    columns, rows = _columns(types.CLICKHOUSE), _rows(types.CLICKHOUSE, "clickhouse")
    # It takes four times as long for all columns at once as for a few at a time.
    return Bench(clickhouse_of({**FIRST, **columns}, rows, "physical"), columns, len(rows), together=5)


def clickhouse_of(columns: Mapping[str, str], rows: Sequence[str], database: str) -> Engine:
    """A table `t` in a database of its own."""
    from discreet.engines.clickhouse import ClickHouseEngine

    session = servers.clickhouse()
    listed = ", ".join(f"{name} {kind}" for name, kind in columns.items())
    session.query(f"DROP DATABASE IF EXISTS {database}")
    session.query(f"CREATE DATABASE {database}")
    session.query(f"CREATE TABLE {database}.t ({listed}) ENGINE = Memory")
    values = " UNION ALL ".join(f"SELECT {row}" for row in rows)
    session.query(f"INSERT INTO {database}.t {values}")
    return ClickHouseEngine.open_all([(f"{database}.t", session)])
