"""The engine: what it opens, the types it shows, and that nothing but integers gets out."""

from __future__ import annotations

import contextlib
import datetime as dt
import gc
import os
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.engine import Engine
from discreet.engines.schema import Type, find
from discreet.engines.sources import open_source
from discreet.errors import EngineError, SourceError

FRAME = {"id": [1, 1, 2], "age": [31, None, 62], "name": ["ann", None, "bob"]}
SECRET = "the-secret-value"


@pytest.fixture
def parquet(tmp_path: Path) -> Path:
    path = tmp_path / "visits.parquet"
    pq.write_table(pa.table(FRAME), path)
    return path


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "hospital.db"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE visits AS SELECT * FROM (VALUES (1, 31), (1, NULL), (2, 62)) t(id, age)"
        )
        connection.execute("CREATE VIEW old AS SELECT id FROM visits WHERE age > 60")
        connection.execute("CREATE SCHEMA other; CREATE TABLE other.hidden AS SELECT 1 AS x")
    return path


@pytest.fixture(scope="module")
def visits() -> Iterator[Engine]:
    """One engine for questions that leave it as it was: to start one takes longer than they."""
    with contextlib.closing(open_source(pa.table({**FRAME, "name": [SECRET] * 3}), "visits")) as engine:
        yield engine


def count(engine: Engine, table: str) -> int:
    (n,) = engine.integers(f'SELECT count(*) AS n FROM "{table}"')["n"].to_pylist()
    return int(n)


def refused(work: Callable[[], object]) -> EngineError:
    """Nothing of what the engine said may be left: in the message, the chain, or the printed traceback."""
    with pytest.raises(EngineError) as caught:
        work()
    error = caught.value
    assert error.__cause__ is None
    assert error.__context__ is None
    assert SECRET not in "".join(traceback.format_exception(error)).replace(f'"{SECRET}"', "")
    return error


def test_it_is_an_engine() -> None:
    engine: Engine = DuckDBEngine.open({"t": pa.table(FRAME)})
    assert engine.dialect == "duckdb"
    engine.close()


@pytest.mark.parametrize(
    "make",
    [
        pd.DataFrame,
        pl.DataFrame,
        pa.table,
        pa.RecordBatch.from_pydict,
        lambda values: duckdb.connect().from_arrow(pa.table(values)),
    ],
    ids=["pandas", "polars", "arrow", "batch", "relation"],
)
def test_frames(make: Callable[[object], object]) -> None:
    frame = make(FRAME)
    engine = open_source(frame, types={"id": "integer"})  # which pandas would choose by its values
    assert list(engine.schema()) == ["data"]
    assert list(engine.schema()["data"]) == ["id", "age", "name"]
    assert engine.integers("SELECT count(age) AS n, sum(id)::BIGINT AS s FROM data").to_pylist() == [
        {"n": 2, "s": 4}
    ]
    assert engine.public("data")["name"].to_pylist() == FRAME["name"]
    assert engine.public("data", ["name"]).column_names == ["name"]
    assert list(open_source(frame, "visits").schema()) == ["visits"]


def test_nan_of_pandas_is_null() -> None:
    engine = open_source(pd.DataFrame({"x": [1.5, float("nan")]}))
    assert engine.integers("SELECT count(x) AS n FROM data").to_pylist() == [{"n": 1}]


@pytest.mark.parametrize("prefix", ["", "parquet:"])
def test_parquet_files_folders_and_patterns(tmp_path: Path, parquet: Path, prefix: str) -> None:
    odd = tmp_path / "o'dd [x]*"
    odd.mkdir()
    for part in ("a?.parquet", "b.parquet"):
        pq.write_table(pa.table(FRAME), odd / part)
    assert count(open_source(f"{prefix}{parquet}"), "visits") == 3
    assert count(open_source(parquet, "v"), "v") == 3
    assert count(open_source(f"{prefix}{odd}", "parts"), "parts") == 6
    assert count(open_source(f"{prefix}{odd / 'a?.parquet'}", "part"), "part") == 3
    assert count(open_source(f"{prefix}{tmp_path}/v*.parquet", "some"), "some") == 3


@pytest.mark.parametrize(
    ("name", "table"),
    [("visits.parquet", "visits"), ("my visits.2024.parquet", "my_visits"), ("24.parquet", "t_24")],
)
def test_the_name_of_a_table_is_that_of_its_file(tmp_path: Path, name: str, table: str) -> None:
    pq.write_table(pa.table(FRAME), tmp_path / name)
    assert list(open_source(tmp_path / name).schema()) == [table]


def test_opening_parquet_reads_the_footer_alone(parquet: Path) -> None:
    """Schema and version need no file any more; a query does, and says so without quoting the engine."""
    engine = open_source(parquet)
    parquet.unlink()
    assert list(engine.schema()["visits"]) == ["id", "age", "name"]
    assert engine.version("visits")
    refused(lambda: count(engine, "visits"))


def test_data_pages_are_not_looked_at_when_opening(parquet: Path) -> None:
    whole = parquet.read_bytes()
    footer = int.from_bytes(whole[-8:-4], "little") + 8
    parquet.write_bytes(b"PAR1" + b"\xff" * (len(whole) - footer - 4) + whole[-footer:])
    engine = open_source(parquet)
    assert engine.schema()["visits"]["age"].type is Type.INTEGER
    refused(lambda: engine.integers("SELECT sum(age)::BIGINT AS s FROM visits"))


def test_databases(database: Path) -> None:
    whole = open_source(f"duckdb:{database}")
    assert sorted(whole.schema()) == ["old", "visits"]
    assert (count(whole, "visits"), count(whole, "old")) == (3, 1)
    whole.close()
    assert list(open_source(database, "VISITS").schema()) == ["VISITS"]
    assert list(open_source(f"duckdb:{database}#old").schema()) == ["old"]
    assert count(DuckDBEngine.open({"seen": f"{database}#visits", "old": database}), "seen") == 3


def test_a_database_is_not_written(database: Path) -> None:
    engine = open_source(database)
    refused(
        lambda: engine.integers("WITH x AS (DELETE FROM visits RETURNING id) SELECT count(*) AS n FROM x")
    )
    refused(lambda: engine.integers("DROP TABLE visits"))
    assert count(engine, "visits") == 3


def test_a_view_that_reaches_outside_is_refused_at_opening(tmp_path: Path, parquet: Path) -> None:
    path = tmp_path / "h.db"
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE VIEW outside AS FROM '{parquet}'")
    with pytest.raises(SourceError, match="outside cannot be opened"):
        open_source(path)


def test_an_open_connection_is_used_and_left_as_it_was(database: Path) -> None:
    own = duckdb.connect(str(database))
    before = own.sql("SELECT name, value FROM duckdb_settings()").fetchall()
    engine = open_source(own)
    assert sorted(engine.schema()) == ["old", "visits"]
    assert engine.integers(
        "SELECT (count(*) + coalesce(1 // 0, 0))::BIGINT AS n FROM visits"
    ).to_pylist() == [{"n": 3}]
    assert engine.version("visits") == engine.version("visits") != open_source(own).version("visits")
    engine.close()
    assert own.sql("SELECT name, value FROM duckdb_settings()").fetchall() == before
    assert own.sql("SELECT count(*) FROM visits").fetchall() == [(3,)]
    assert [
        row[0] for row in own.sql("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()
    ] == ["old"]
    with pytest.raises(SourceError, match="together"):
        DuckDBEngine.open({"visits": own, "more": pa.table(FRAME)})


def test_several_sources(parquet: Path, database: Path) -> None:
    engine = open_source({"a": parquet, "visits": database, "c": pl.DataFrame(FRAME)})
    assert engine.integers("SELECT count(*) AS n FROM a, visits, c").to_pylist() == [{"n": 27}]
    assert len({engine.version(table) for table in "ac"}) == 2


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (pl.LazyFrame(FRAME), "collect"),
        ([1, 2], "type list"),
        (None, "type NoneType"),
        ("nothing.parquet", "no Parquet file"),
        ("nothing.csv", "no file"),
        ("nothing.db", "no file"),
        ("nothing.xlsx", "Save its sheet as CSV"),
        ("mysql://host/db", "not supported"),
        ({}, "no source"),
        ({"a": pa.table(FRAME), "A": pa.table(FRAME)}, "Two tables"),
    ],
)
def test_what_cannot_be_opened(source: object, words: str) -> None:
    with pytest.raises(SourceError, match=words) as caught:
        open_source(source)
    assert caught.value.__context__ is None
    assert caught.value.fix


def test_a_file_that_is_something_else(tmp_path: Path) -> None:
    for name in ("x.parquet", "x.db"):
        (tmp_path / name).write_text(SECRET * 100)
        with pytest.raises(SourceError) as caught:
            open_source(tmp_path / name)
        assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_a_database_in_use(database: Path) -> None:
    with duckdb.connect(str(database)), pytest.raises(SourceError, match="pass the open connection"):
        open_source(database)


def test_logical_types() -> None:
    own = duckdb.connect()
    own.execute("SET TimeZone = 'America/New_York'")
    own.execute("""
        CREATE TABLE t AS SELECT 1::UTINYINT AS u8, -1::TINYINT AS i8, 1::UINTEGER AS u32, 1::BIGINT AS i64,
            18446744073709551615::UBIGINT AS u64, 1::HUGEINT AS h, 1.5::DECIMAL(10, 2) AS d, 0.1::FLOAT AS f,
            1.5::DOUBLE AS x, true AS b, 'a'::VARCHAR AS s, 'a'::ENUM('a', '(b)') AS e, uuid() AS u,
            DATE '2024-01-31' AS day, TIMESTAMP '2024-01-31 12:00:00' AS ts,
            TIMESTAMPTZ '2024-01-31 12:00:00+02' AS tz, '2024-01-31'::TIMESTAMP_S AS s1,
            '2024-01-31'::TIMESTAMP_NS AS s9,
            TIME '12:00' AS time, [1] AS l, {'a': 1} AS st, 'a'::BLOB AS bl, '{}'::JSON AS j,
            INTERVAL 1 DAY AS iv
    """)
    kinds = {
        "INTEGER": "u8 i8 u32 i64", "FLOAT": "u64 h d f x", "BOOLEAN": "b", "TEXT": "s e u j", "DATE": "day",
        "TIMESTAMP": "ts tz s1 s9", "INTEGERS": "l", "OTHER": "time st bl iv",
    }  # fmt: skip
    expected = {name: kind for kind, names in kinds.items() for name in names.split()} | {"st.a": "INTEGER"}
    engine = open_source(own)
    schema = engine.schema()["t"]
    assert {name: column.type.name for name, column in schema.items()} == expected
    limits = {name: (schema[name].lo, schema[name].hi) for name in ("u8", "i8", "u32", "i64", "x")}
    assert limits == {
        "u8": (0, 255), "i8": (-128, 127), "u32": (0, 2**32 - 1), "i64": (-(2**63), 2**63 - 1), "x": (None, None),
    }  # fmt: skip
    (row,) = engine.public("t").to_pylist()
    assert row["tz"] == dt.datetime(2024, 1, 31, 10)
    assert isinstance(row["u64"], float)
    assert (row["e"], row["d"]) == ("a", 1.5)
    column = find(schema, "TS")
    assert column is not None
    assert column.name == "ts"


def test_a_collation_does_not_let_a_row_match_two_keys(tmp_path: Path) -> None:
    """Planted fault: the raw table counts each row under both keys, which doubles the sensitivity."""
    path = tmp_path / "c.db"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t (sex VARCHAR COLLATE NOCASE); INSERT INTO t VALUES ('f')")
        raw = connection.sql(
            "SELECT count(*) FROM t JOIN (VALUES ('f'), ('F')) keys(k) ON sex = k"
        ).fetchall()
    assert raw == [(2,)]
    keys = {"keys": pa.table({"k": ["f", "F"]})}
    result = open_source(path).integers("SELECT count(*) AS n FROM t JOIN keys ON sex = k", keys)
    assert result.to_pylist() == [{"n": 1}]


def test_key_tables_are_visible_during_their_query_only() -> None:
    engine = open_source(pa.table(FRAME), "visits")
    keys = {"keys": pa.table({"k": [1, 3]})}
    sql = "SELECT k, count(id) AS n FROM keys LEFT JOIN visits ON id = k GROUP BY k ORDER BY k"
    assert engine.integers(sql, keys).to_pylist() == [{"k": 1, "n": 2}, {"k": 3, "n": 0}]
    refused(lambda: engine.integers(sql))
    assert "hide a table" in str(refused(lambda: engine.integers(sql, {"Visits": keys["keys"]})))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT age AS x FROM visits",
        "SELECT count(*)::INTEGER AS n FROM visits",
        "SELECT count(*)::DOUBLE AS n FROM visits",
        "SELECT sum(age) AS s FROM visits",
        "SELECT name FROM visits",
    ],
)
def test_only_integers_get_out(visits: Engine, sql: str) -> None:
    assert "other than integers" in str(refused(lambda: visits.integers(sql)))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(CAST(name AS INTEGER)) AS n FROM visits",
        "SELECT count(error(name)) AS n FROM visits",
        "SELECT 1 AS n; SELECT 2 AS n",
        "CREATE TABLE x AS SELECT 1 AS n",
        "COPY visits TO '/dev/null'",
        "SET threads = 1",
        "nonsense",
        "",
    ],
)
def test_an_error_tells_nothing(visits: Engine, sql: str) -> None:
    messages = {str(refused(lambda: visits.integers(sql))), str(refused(lambda: visits.integers("nonsense")))}
    assert len(messages) == 1
    assert count(visits, "visits") == 3


def test_the_planted_value_is_what_duckdb_would_have_told() -> None:
    own = duckdb.connect()
    with pytest.raises(duckdb.Error, match=SECRET):
        own.execute(f"SELECT CAST('{SECRET}' AS INTEGER)")


@pytest.mark.parametrize(
    "expression",
    [
        "1 / (x - x)", "x // (x - x)", "x % (x - x)", "ln(x - x)", "ln(-x)", "sqrt(-x)", "1e308 * 10 * x",
        "acos(2 * x)",
    ],
)  # fmt: skip
def test_arithmetic_is_total(visits: Engine, expression: str) -> None:
    for kind in ("BIGINT", "DOUBLE"):
        sql = f"SELECT count({expression}) AS n FROM (SELECT id::{kind} AS x FROM visits)"
        assert visits.integers(sql).num_rows == 1


def test_arithmetic_would_not_be_total() -> None:
    """Planted fault: with DuckDB's own defaults the second and third of these raise."""
    with pytest.raises(duckdb.Error, match="zero"):
        duckdb.connect().execute("SELECT 1 // 0")


@pytest.fixture(scope="module")
def own_file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Engine, Path]]:
    path = tmp_path_factory.mktemp("own") / "visits.parquet"
    pq.write_table(pa.table(FRAME), path)
    with contextlib.closing(open_source(path)) as engine:
        yield engine, path


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) AS n FROM read_csv('{other}')",
        "SELECT count(*) AS n FROM '{other}'",
        "SELECT count(*) AS n FROM read_text('/etc/hostname')",
        "SELECT count(*) AS n FROM glob('/etc/*')",
        "SELECT count(*) AS n FROM 'https://example.com/a.parquet'",
        "SELECT count(*) AS n FROM hidden_variable",
    ],
)
def test_the_connection_reads_its_own_files_only(
    own_file: tuple[Engine, Path], tmp_path: Path, sql: str
) -> None:
    other = tmp_path / "other.parquet"
    pq.write_table(pa.table({"n": [1]}), other)
    hidden_variable = pa.table({"n": [1]})
    engine, path = own_file
    refused(lambda: engine.integers(sql.format(other=other)))
    assert hidden_variable.num_rows == 1
    assert engine.integers(f"SELECT count(*) AS n FROM '{path}'").num_rows == 1


def test_its_settings(parquet: Path) -> None:
    engine = open_source(parquet)
    off = ["enable_external_access", "python_enable_replacements", "autoload_known_extensions", "integer_division",
           "autoinstall_known_extensions", "allow_community_extensions", "preserve_insertion_order",
           "error_on_division_by_zero", "enable_progress_bar"]  # fmt: skip
    on = ["lock_configuration", "ieee_floating_point_ops"]
    for name in off + on:
        sql = f"SELECT (current_setting('{name}')::VARCHAR = 'true')::BIGINT AS x"
        assert engine.integers(sql)["x"].to_pylist() == [int(name in on)], name
    zone = engine.integers("SELECT (current_setting('TimeZone') = 'UTC')::BIGINT AS x")
    assert zone["x"].to_pylist() == [1]


def test_versions_follow_the_files(parquet: Path, database: Path, tmp_path: Path) -> None:
    csv = tmp_path / "c.csv"
    csv.write_text("a\n1\n")
    engine = open_source({"p": parquet, "visits": database, "c": csv})
    before = {table: engine.version(table) for table in ("p", "visits", "c")}
    assert before == {table: engine.version(table.upper()) for table in before}
    for path in (parquet, database, csv):
        os.utime(path, ns=(0, 12345))
    after = {table: engine.version(table) for table in before}
    assert after["p"] != before["p"]
    assert after["visits"] != before["visits"]
    assert after["c"] == before["c"], "a CSV file was imported: what it holds now does not count"
    engine.close()
    assert open_source(csv).version("c") != before["c"]
    refused(lambda: engine.version("none"))


def test_versions_of_frames_are_of_one_opening() -> None:
    frame = pa.table(FRAME)
    one, two = open_source(frame), open_source(frame)
    assert one.version("data") == one.version("data") != two.version("data")


@pytest.fixture
def slow() -> Iterator[Any]:
    engine = open_source(pa.table({"x": range(100_000)}), "t")
    yield engine
    engine.close()


def test_interrupt(slow: DuckDBEngine) -> None:
    errors: list[EngineError] = []

    def work() -> None:
        try:
            slow.integers("SELECT count(*) AS n FROM t a, t b WHERE sin(a.x) * cos(b.x) > 0.5")
        except EngineError as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    while thread.is_alive():
        time.sleep(0.05)
        slow.interrupt()
    assert len(errors) == 1
    assert errors[0].__context__ is None
    assert count(slow, "t") == 100_000, "an interrupt stops one query, not the engine"


def test_a_closed_engine() -> None:
    engine = open_source(pa.table(FRAME))
    engine.close()
    refused(lambda: count(engine, "data"))
    refused(lambda: engine.public("data"))


@pytest.mark.parametrize("end", [DuckDBEngine.close, lambda engine: None], ids=["closed", "forgotten"])
def test_the_folder_for_spilling_is_private_and_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: Callable[[DuckDBEngine], None]
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    engine = DuckDBEngine.open({"data": pa.table(FRAME)})
    (folder,) = tmp_path.iterdir()
    assert folder.stat().st_mode & 0o077 == 0
    end(engine)
    del engine
    if end is not DuckDBEngine.close:
        gc.collect()
    assert not folder.exists()


def test_columns_of_one_name() -> None:
    frame = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "A"])
    schema = open_source(frame).schema()["data"]
    assert len(schema) == len({name.lower() for name in schema}) == 2


def test_schemas_other_than_main(database: Path) -> None:
    """`schema.table` behind #, in a connection, and alone where main is empty; an exact name comes first."""
    assert list(open_source(f"duckdb:{database}#other.hidden").schema()) == ["hidden"]
    assert list(open_source(f"duckdb:{database}#OTHER.Hidden", "visits").schema()) == ["visits"]
    with pytest.raises(SourceError, match=r"no table elsewhere\.hidden"):
        open_source(f"duckdb:{database}#elsewhere.hidden")
    connection = duckdb.connect()
    connection.execute("CREATE SCHEMA ward; CREATE TABLE ward.t AS SELECT 1 AS x")
    assert list(open_source(connection).schema()) == ["t"]
    connection.execute('CREATE TABLE "ward.t" AS SELECT 2 AS y; CREATE TABLE t AS SELECT 3 AS z')
    assert list(open_source(connection, "ward.t").schema()["ward.t"]) == ["y"]
    assert list(open_source(connection).schema()) == ["t", "ward.t"]
    connection.execute('DROP TABLE "ward.t"')
    assert list(open_source(connection, "ward.t").schema()["t"]) == ["x"]
    session = dp.protect(connection, table="ward.t", privacy_unit="row", budget=1)
    assert session.sql("SELECT COUNT(*) AS n FROM t", epsilon=1).columns == ["n"]


def test_nanoseconds_are_cut_off_not_rounded() -> None:
    """The last nanosecond of a day is of that day, before 1970 and at the end of the type, too."""
    own = duckdb.connect()
    own.execute("""
        CREATE TABLE t AS SELECT unnest([TIMESTAMP_NS '2026-01-01 23:59:59.999999999', '1960-01-01 23:59:59.999999500',
            '2262-04-11 23:47:16.854775806', '1960-01-01', NULL]) AS n
    """)
    read = open_source(own).public("t").column("n").to_pylist()
    assert read == [
        dt.datetime(2026, 1, 1, 23, 59, 59, 999999),
        dt.datetime(1960, 1, 1, 23, 59, 59, 999999),
        dt.datetime(2262, 4, 11, 23, 47, 16, 854775),
        dt.datetime(1960, 1, 1),
        None,
    ]
