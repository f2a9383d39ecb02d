"""Fields of composite types and structs on other engines: the same columns, with the same names, read as safely."""

from __future__ import annotations

from pathlib import Path

import psycopg
from tests import inside, servers

import discreet as dp
from discreet.engines.engine import Engine
from discreet.engines.postgres import PostgresEngine
from discreet.engines.schema import Type
from discreet.engines.spark import SparkEngine

SUM = "SELECT CAST(COALESCE(SUM({0}), 0) AS BIGINT) AS s, COUNT({1}) AS n FROM {2}"
TYPES = {"home": Type.OTHER, "home.geo": Type.OTHER, "home.geo.zip": Type.INTEGER, "home.town": Type.TEXT}


def seen(engine: Engine) -> dict[str, Type]:
    return {name: column.type for name, column in engine.schema()["t"].items() if name.startswith("home")}


def test_composite_types_of_postgresql(tmp_path: Path) -> None:
    url = servers.postgres()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "DROP SCHEMA IF EXISTS paths CASCADE; CREATE SCHEMA paths; SET search_path = paths"
        )
        connection.execute(
            "CREATE TYPE place AS (zip integer, size numeric); CREATE TYPE home AS (town text, geo place)"
        )
        connection.execute("CREATE TABLE t (id bigint, home home)")
        connection.execute(
            "INSERT INTO t VALUES (1, ('Ely', (7, 'NaN'))), (1, ('Ware', (8, 1e400))), (2, (NULL, NULL)), (3, NULL)"
        )
    engine = PostgresEngine.open_all([("t", f"{url}#paths.t")])
    assert seen(engine) == {**TYPES, "home.geo.size": Type.FLOAT}
    found = engine.integers(SUM.format('"home.geo.zip"', '"home.town"', '"t"'))
    assert found.to_pylist() == [{"s": 15, "n": 2}]
    assert engine.integers(SUM.format('"home.geo.zip"', '"home.geo.size"', '"t"')).num_rows == 1
    engine.close()
    columns = {"home.town": {"keys": ["Ely", "Ware"]}, "home.geo.zip": {"bounds": [0, 7]}}
    tables = {"t": {"privacy_unit": "id", "max_rows": 2, "columns": columns}}
    policy = dp.Policy(budget=1000, tables=tables)  # type: ignore[arg-type]
    with dp.protect(f"{url}#paths.t", policy=policy, ledger=str(tmp_path / "ledger.db")) as asked:
        sql = "SELECT home.town, SUM((home).geo.zip) AS s FROM t GROUP BY home.town"
        assert len(asked.sql(sql, epsilon=1)) == 2
        assert "home.geo.zip" in inside.catalog_of(asked).private["t"].columns


def test_structs_of_spark() -> None:
    session = servers.spark()
    frame = session.sql(
        "SELECT 1 AS id, named_struct('town', 'Ely', 'geo', named_struct('zip', 7)) AS home UNION ALL "
        "SELECT 2, named_struct('town', NULL, 'geo', NULL) UNION ALL SELECT 3, NULL"
    )
    engine = SparkEngine.open_all([("t", frame)])
    assert seen(engine) == TYPES
    found = engine.integers(SUM.format("`home.geo.zip`", "`home.town`", "t"))
    assert found.to_pylist() == [{"s": 7, "n": 1}]
    engine.close()
