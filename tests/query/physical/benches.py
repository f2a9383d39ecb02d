"""The tables of the physical types on each engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import duckdb
from tests import servers
from tests.query.physical import types
from tests.query.physical.totality import Bench

from discreet.engines.duckdb import DuckDBEngine


def _columns(kinds: Mapping[str, Sequence[str]]) -> dict[str, str]:
    return {f"c{at}": kind for at, kind in enumerate(kinds)}


def _rows(kinds: Mapping[str, Sequence[str]]) -> list[str]:
    """Every value of every type, some columns beginning again; the last row is NULL throughout."""
    size = max(map(len, kinds.values()))
    rows = []
    for row in range(size):
        cast = [f"CAST({values[row % len(values)]} AS {kind})" for kind, values in kinds.items()]
        rows.append([str(row), str(row // 4), str(row % 10), *cast])
    rows.append([str(size), str(size // 4), "0", *("NULL" for _ in kinds)])
    return [", ".join(row) for row in rows]


@cache
def on_duckdb() -> Bench:
    """DuckDB, in memory."""
    connection = duckdb.connect()
    columns = _columns(types.DUCKDB)
    listed = ", ".join(f"{name} {kind}" for name, kind in columns.items())
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute(f"CREATE TABLE t (id BIGINT, u BIGINT, n BIGINT, {listed})")
    rows = _rows(types.DUCKDB)
    connection.execute(f"INSERT INTO t VALUES {', '.join(f'({row})' for row in rows)}")
    return Bench(DuckDBEngine.open({"t": connection}), columns, len(rows))


@cache
def on_postgres() -> Bench:
    """A PostgreSQL server of its own."""
    from discreet.engines.postgres import PostgresEngine

    url = servers.postgres()
    columns = _columns(types.POSTGRES)
    listed = ", ".join(f"{name} {kind}" for name, kind in columns.items())
    rows = _rows(types.POSTGRES)
    with servers.connect(url) as connection:
        connection.execute(
            "DROP SCHEMA IF EXISTS physical CASCADE; CREATE SCHEMA physical; SET search_path = physical, public; "
            "CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE DOMAIN small AS int2; CREATE DOMAIN label AS text; "
            "CREATE TYPE pair AS (a int, b text); "
            f"CREATE TABLE t (id bigint, u bigint, n bigint, {listed})"
        )
        connection.execute(f"INSERT INTO t VALUES {', '.join(f'({row})' for row in rows)}")
    return Bench(PostgresEngine.open_all([("t", f"{url}#physical.t")]), columns, len(rows))


@cache
def on_spark() -> Bench:
    """A Spark session of one core."""
    from discreet.engines.spark import SparkEngine

    session = servers.spark()
    columns = _columns(types.SPARK)
    names = ["id", "u", "n", *columns]
    plain = _rows(types.SPARK)
    kinds = ["BIGINT", "BIGINT", "BIGINT", *types.SPARK]
    values = " UNION ALL ".join(f"SELECT {row}" for row in plain[:-1])
    nothing = ", ".join([*plain[-1].split(", ")[:3], *(f"CAST(NULL AS {kind})" for kind in kinds[3:])])
    frame = session.sql(f"{values} UNION ALL SELECT {nothing}").toDF(*names)
    return Bench(SparkEngine.open_all([("t", frame)]), columns, len(plain))
