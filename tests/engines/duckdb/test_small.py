"""Queries over small tables of files give the integers of the tables themselves, whatever these hold by then."""

from __future__ import annotations

import threading
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.engines.duckdb import DuckDBEngine, small
from discreet.engines.duckdb import engine as engines
from discreet.engines.duckdb.shape import literals_of
from discreet.errors import EngineError

AGES = "SELECT CAST(COUNT(age) AS BIGINT) AS n, CAST(COALESCE(SUM(age), 0) AS BIGINT) AS m FROM visits"
WIDE = """SELECT i::BIGINT AS i, (i * 1.5)::DOUBLE AS d, 'w' || i % 3 AS t, i % 2 = 0 AS b,
    DATE '2020-01-01' + i::INTEGER AS day,
    TIMESTAMP '2020-01-01' + INTERVAL (i) HOUR AS moment, (i / 7)::DECIMAL(9, 2) AS c, [i, i + 1] AS l, {'at': i} AS s,
    nullif(i, 3)::TINYINT AS none, CASE WHEN i % 5 = 0 THEN 'nan'::DOUBLE ELSE i END AS x FROM range(50) AS r(i)"""
READ = {
    "i": "SUM(i)", "d": "SUM(CAST(d AS BIGINT))", "t": "SUM(hash(t) % 1000)", "b": "COUNT(*) FILTER (b)",
    "day": "SUM(hash(day) % 1000)", "moment": "SUM(hash(moment) % 1000)", "c": "SUM(CAST(c * 100 AS BIGINT))",
    "l": "SUM(len(l))", "s.at": "SUM(hash(s.at) % 1000)", "none": "COUNT(none)", "x": "COUNT(*) FILTER (isnan(x))",
}  # fmt: skip


def write(path: Path, rows: int) -> None:
    other = pa.array(["x"] * rows, pa.string())
    pq.write_table(pa.table({"age": pa.array(range(rows), pa.int64()), "other": other}), path)


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small, "SHORT", 0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write(tmp_path / "visits.parquet", 300)
    return tmp_path / "visits.parquet"


def small_of(engine: DuckDBEngine) -> small.Small:
    assert engine._small is not None
    return engine._small


def see_present(engine: DuckDBEngine, path: Path) -> None:
    """Ask about a file that changes, with the plan of the same query."""
    for rows in (300, 300, 100, 300, 0, 7):
        write(path, rows)
        for _ in range(3):
            assert engine.integers(AGES).to_pydict() == {"n": [rows], "m": [rows * (rows - 1) // 2]}


def test_a_plan_reads_the_file_each_time_and_keeps_no_row(path: Path) -> None:
    engine = DuckDBEngine.open({"visits": str(path)})
    see_present(engine, path)
    second = small_of(engine)._second
    assert second is not None
    assert len(second[2]._made) == 1
    assert all(one.rows is not None and not len(one.rows.now) for one in small_of(engine)._known.values())


def test_rows_that_are_kept_are_found(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: a table that was read once is not read again."""
    take = small._QueryRows.take
    monkeypatch.setattr(small._QueryRows, "leave", lambda self: None)
    monkeypatch.setattr(
        small._QueryRows, "take", lambda self, read: None if len(self.now) else take(self, read)
    )
    with pytest.raises(AssertionError):
        see_present(DuckDBEngine.open({"visits": str(path)}), path)


@pytest.mark.parametrize("kind", ["parquet", "csv", "duckdb"])
def test_every_type_gives_the_integers_of_the_table_itself(kind: str, tmp_path: Path) -> None:
    file = tmp_path / f"wide.{kind}"
    with duckdb.connect(str(file) if kind == "duckdb" else ":memory:") as made:
        made.execute(f"CREATE TABLE wide AS {WIDE}")
        if kind != "duckdb":
            made.execute(f"COPY wide TO '{file}'")
    engine = DuckDBEngine.open({"wide": str(file)})
    columns = {name.lower() for name in engine.schema()["wide"]}
    read = [sql for name, sql in READ.items() if kind != "csv" or name == "t"]
    assert {name.partition(".")[0] for name in READ} <= {name.partition(".")[0] for name in columns}
    asked = ", ".join(f"CAST({sql} AS BIGINT) AS m{at}" for at, sql in enumerate(read))
    sql = (
        f"SELECT {asked}, CAST(SUM(hash(t, t) % 1000) AS BIGINT) AS h FROM temp.main.\"wide\" WHERE t < 'w2'"
    )
    found = [engine.integers(sql) for _ in range(3)]
    assert small_of(engine)._known["wide"].rows is not None
    engine._small = None  # type: ignore[misc]
    assert [one.to_pydict() for one in found] == [engine.integers(sql).to_pydict()] * 3


def test_a_type_that_does_not_come_through_is_read_from_the_table(tmp_path: Path) -> None:
    with duckdb.connect() as made:
        made.execute(f"COPY (SELECT uuid() AS u, 7 AS age) TO '{tmp_path}/visits.parquet'")
    engine = DuckDBEngine.open({"visits": f"{tmp_path}/visits.parquet"})
    for _ in range(3):
        assert engine.integers(AGES).to_pydict() == {"n": [1], "m": [7]}
    assert small_of(engine)._known["visits"].rows is None


@pytest.mark.parametrize(("bound", "value"), [("FEW_ROWS", 100), ("FEW_BYTES", 1000)])
def test_a_table_is_small_or_large_at_each_version(
    bound: str, value: int, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(small, bound, value)
    engine = DuckDBEngine.open({"visits": str(path)})
    for rows in (300, 50, 300):
        write(path, rows)
        for _ in range(2):
            assert engine.integers(AGES)["n"].to_pylist() == [rows]
        assert (small_of(engine)._known["visits"].rows is None) == (rows == 300)


class Told:
    """A connection that notes the texts of its relations."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.connection = connection
        self.texts: list[str] = []

    def sql(self, text: str) -> duckdb.DuckDBPyRelation:
        self.texts.append(text)
        return self.connection.sql(text)


def test_a_limit_stands_until_a_version_is_known_to_be_small(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A limit takes as long as all the rest of reading a small table; a large one is let go of without it, too."""
    engine = DuckDBEngine.open({"visits": str(path)})
    told = Told(small_of(engine).connection)
    monkeypatch.setattr(small_of(engine), "connection", told)

    def limits(asked: int) -> list[bool]:
        told.texts.clear()
        for _ in range(asked):
            engine.integers(AGES)
        return ["LIMIT" in text for text in told.texts if "SELECT" in text]

    # The first time that it is asked, the table itself is; the fourth time it is read in the same way as the third.
    assert limits(4) == [True, False]
    write(path, 301)
    assert limits(2) == [True, False]
    monkeypatch.setattr(small, "FEW_ROWS", 100)  # as if it had grown, and kept its version
    assert engine.integers(AGES)["n"].to_pylist() == [301]
    assert small_of(engine)._known["visits"].rows is None


def test_a_query_that_is_stopped_is_not_begun_anew(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine, again = DuckDBEngine.open({"visits": str(path)}), threading.Event()
    slow = ("SELECT CAST(SUM(a.age * b.age + c.age * d.age) AS BIGINT) AS n FROM visits a, visits b, visits c, "
            "visits d WHERE a.age < CAST({} AS BIGINT)")  # fmt: skip
    for least in (0, -1):
        engine.integers(f"SELECT CAST(COALESCE(n, 0) AS BIGINT) AS n FROM ({slow.format(least)})")
    small_of(engine)._asked.add(literals_of(slow.format(999)).pieces)  # as if it had been asked
    monkeypatch.setattr(engines, "run_quietly", lambda *_, **__: again.set())
    failed = threading.Event()

    def ask() -> None:
        with pytest.raises(EngineError):
            engine.integers(slow.format(999))
        failed.set()

    thread = threading.Thread(target=ask)
    thread.start()
    while not failed.wait(0.05):
        engine.interrupt()
    thread.join()
    assert not again.is_set()


def test_a_query_that_is_short_or_asked_once_needs_no_database(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = DuckDBEngine.open({"visits": str(path)})
    engine.integers(AGES)
    monkeypatch.setattr(small, "SHORT", 400)
    for _ in range(3):
        engine.integers(AGES)
    assert small_of(engine)._second is None


def test_nothing_is_read_from_files_there(path: Path) -> None:
    engine = DuckDBEngine.open({"visits": str(path)})
    for _ in range(2):
        engine.integers(AGES)
    second = small_of(engine)._second
    assert second is not None
    with pytest.raises(duckdb.Error):
        second[0].execute(f"SELECT * FROM read_parquet('{path}')")
    engine.close()
    with pytest.raises(EngineError):
        engine.integers(AGES)


def test_a_table_is_read_anew_by_a_way_that_is_kept(path: Path) -> None:
    """And a caller that asks for ever other columns fills no memory with such ways."""
    engine = DuckDBEngine.open({"visits": str(path)})
    kept = small_of(engine)
    for _ in range(3):
        engine.integers(AGES)
    read_by = kept._known["visits"].read_by
    (before,) = (one for sql, one in read_by.items() if "LIMIT" not in sql)
    first = before.to_arrow_table()
    engine.integers(AGES)
    assert before in read_by.values()
    assert before.to_arrow_table() == first
    for number in range(2 * small.MOST_READ_BY):
        kept._known["visits"].relation(kept.connection, f"SELECT {number}")
    assert len(read_by) <= small.MOST_READ_BY
