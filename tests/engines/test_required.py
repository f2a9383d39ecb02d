"""Columns that are never NULL: only where the engine itself sees to it is no integer spent on the rows of NULL."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests import inside, servers

import discreet as dp
from discreet.engines.clickhouse import tables

BOUNDS = {"a": (0, 9), "b": (0, 9), "d": (0, 9), "e": (0, 9)}
POSTGRES = """
    DROP TABLE IF EXISTS public.child; DROP TABLE IF EXISTS public.needed CASCADE;
    CREATE TABLE public.needed (a int NOT NULL, b float8 NOT NULL, d numeric NOT NULL, e int);
    INSERT INTO public.needed VALUES (1, 'NaN', 'NaN', NULL);
    CREATE TABLE public.child () INHERITS (public.needed);
    DROP TABLE IF EXISTS public.whole; CREATE TABLE public.whole (a int NOT NULL, b float8, d numeric, e int);
"""


def entries(session: dp.Session, column: str) -> int:
    """How many integers a count of all rows beside an average takes."""
    sql = f"SELECT COUNT(*) AS n, AVG({column}) AS m FROM t"
    (release,) = inside.plan_of(session, sql, Fraction(1)).releases
    (measure,) = release.measures
    return measure.entries


def session(source: object, columns: str = "abde") -> dp.Session:
    bounds = {name: BOUNDS[name] for name in columns}
    given: dict[str, Any] = {"privacy_unit": "row", "budget": 100, "bounds": bounds, "ledger": ":memory:"}
    return dp.protect({"t": source}, **given)


def test_duckdb_sees_to_it_in_tables(tmp_path: Path) -> None:
    connection = duckdb.connect(tmp_path / "d.db")
    connection.execute("CREATE TABLE t (a INT NOT NULL, b DOUBLE NOT NULL, d DECIMAL(9, 2) NOT NULL, e INT)")
    connection.execute("INSERT INTO t VALUES (1, 'NaN', 3, NULL)")
    with dp.protect(connection, table="t", privacy_unit="row", budget=9, bounds=BOUNDS) as opened:
        assert {name: entries(opened, name) for name in BOUNDS} == {"a": 2, "b": 3, "d": 2, "e": 3}
        assert opened.sql("SELECT COUNT(*) AS n, AVG(a) AS m FROM t", 1).columns == ["n", "m"]
    connection.execute("CREATE VIEW v AS SELECT * FROM t")
    with dp.protect(connection, table="v", privacy_unit="row", budget=9, bounds=BOUNDS) as opened:
        (release,) = inside.plan_of(opened, "SELECT COUNT(*), AVG(a) FROM v", Fraction(1)).releases
        assert release.measures[0].entries == 3
    connection.close()


def test_a_file_or_a_frame_is_not_believed(tmp_path: Path) -> None:
    schema = pa.schema([pa.field("a", pa.int64(), nullable=False)])
    rows = pa.table([pa.array([1, 2, None], pa.int64())], schema=schema)  # Arrow takes the lie
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table([pa.array([1, 2, 3], pa.int64())], schema=schema), path)
    for source in (rows, str(path)):
        assert entries(session(source, "a"), "a") == 3


def test_postgresql_sees_to_it_in_ordinary_tables_without_children() -> None:
    place = servers.postgres()
    with servers.connect(place) as connection:
        connection.execute(POSTGRES)
    found = {name: entries(session(f"{place}#whole"), name) for name in BOUNDS}
    assert found == {"a": 2, "b": 3, "d": 3, "e": 3}
    # A child may drop what its parent says, and its rows are among those of the parent.
    assert entries(session(f"{place}#needed"), "a") == 3
    with servers.connect(place) as connection:
        connection.execute("DROP TABLE public.child; DROP TABLE public.needed; DROP TABLE public.whole")


@pytest.mark.parametrize("expression", ["a * 2 + 1", "CASE WHEN a > 3 THEN a ELSE 2 END", "abs(a)"])
def test_total_expressions_of_them_are_never_null_either(expression: str) -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (a INT NOT NULL, e INT)")
    with dp.protect(connection, table="t", privacy_unit="row", budget=9, bounds={"a": (0, 9)}) as opened:
        assert entries(opened, expression) == 2
        assert entries(opened, f"nullif({expression}, 3)") == 3
    connection.close()


def test_the_outer_side_of_a_join_can_be_null() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE s (u INT, a INT NOT NULL)")
    given: dict[str, Any] = {"privacy_unit": "u", "max_rows": 1, "budget": 9, "bounds": {"a": (0, 9)}}
    with dp.protect(connection, table="s", **given) as opened:
        sql = "SELECT COUNT(*), AVG(o.a) FROM s LEFT JOIN (SELECT * FROM s WHERE a > 3) AS o USING (u)"
        (release,) = inside.plan_of(opened, sql, Fraction(1)).releases
        assert release.measures[0].entries == 3
    connection.close()


def test_clickhouse_sees_to_it_by_types() -> None:
    kinds = {"a": "Int32", "b": "Float64", "d": "Decimal(9, 2)", "e": "LowCardinality(Nullable(Int8))"}
    schema = tables._table("here", "t", kinds).schema
    assert [column.required for column in schema.values()] == [True, False, True, False]
