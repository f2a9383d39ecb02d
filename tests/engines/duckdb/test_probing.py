"""Whether a query could be run is seen beside a query that runs, and as it was when the two waited for each other."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as TooLate
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.duckdb.probing import Probing
from discreet.engines.schema import Type
from discreet.errors import EngineError

LONG = "SELECT count(*) AS n FROM t a, t b, t c WHERE sin(a.x) * cos(b.x) * sin(c.x) > 0.5"
ASKED = "SELECT count(*) AS n FROM t WHERE x > {} AND x IN (SELECT key0 FROM __keys_0)"
KEYS = {"__keys_0": pa.table({"key0": [1, 2]})}
KINDS = ("parquet", "duckdb", "guest", "frame", "csv")


def rows(count: int = 100_000) -> pa.Table:
    return pa.table({"x": pa.array(range(count), pa.int64())})


def opened(kind: str, folder: Path) -> DuckDBEngine:
    sources: dict[str, Any] = {"frame": rows(), "parquet": folder / "t.parquet", "csv": folder / "t.csv"}
    pq.write_table(rows(), sources["parquet"])
    sources["csv"].write_text("x\n" + "\n".join(map(str, range(100_000))))
    if kind in sources:
        return DuckDBEngine.open({"t": sources[kind]}, {"t": {"x": Type.INTEGER}})
    guest = duckdb.connect(":memory:" if kind == "guest" else str(folder / "t.duckdb"))
    guest.execute("CREATE TABLE t AS SELECT range AS x FROM range(100000)")
    if kind == "guest":
        return DuckDBEngine.open({"t": guest})
    guest.close()
    return DuckDBEngine.open({"t": f"duckdb:{folder / 't.duckdb'}"})


@contextmanager
def at_work(engine: DuckDBEngine) -> Iterator[ThreadPoolExecutor]:
    """While a query runs that would take days, with threads that others may use."""
    with ThreadPoolExecutor() as pool:
        long = pool.submit(engine.integers, LONG)
        try:
            while not engine._lock.locked():
                time.sleep(0.01)
            yield pool
            assert not long.done()
        finally:
            while not long.done():
                engine._connection.interrupt()
                time.sleep(0.05)
            assert isinstance(long.exception(), EngineError)


@pytest.mark.parametrize("kind", KINDS)
def test_nobody_waits_for_the_query_of_somebody_else(kind: str, tmp_path: Path) -> None:
    engine = opened(kind, tmp_path)
    with at_work(engine) as pool:
        for least in ("1", "x + 1", "'a'::BIGINT", "nothing"):
            right = least != "nothing"
            assert pool.submit(engine.probe, ASKED.format(least), KEYS).result(30) is right
            assert pool.submit(engine.version, "t").result(30)
    engine.close()
    assert not engine.probe(ASKED.format(2), KEYS), "its connection is closed as well"


def test_nor_where_a_file_is_read_from_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = opened("parquet", tmp_path)
    with at_work(engine) as pool:
        monkeypatch.setattr(type(engine._copies), "none", False)
        assert pool.submit(engine.probe, ASKED.format(1), KEYS).result(30)
    engine.close()


def test_one_who_waits_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: the lock is that of the queries."""
    engine = opened("parquet", tmp_path)
    with at_work(engine) as pool, monkeypatch.context() as planted:
        planted.setattr(engine._probing, "_lock", engine._lock)
        waiting = pool.submit(engine.probe, ASKED.format(1), KEYS)
        with pytest.raises(TooLate):
            waiting.result(1)
    assert waiting.result(30)
    engine.close()


OTHERS = {
    "gone": None,
    "other name": pa.table({"y": [1]}),
    "other type": pa.table({"x": ["a"]}),
}


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("first", [True, False], ids=["asked before", "never asked"])
def test_a_file_that_changed_is_found(first: bool, other: str, tmp_path: Path) -> None:
    engine = opened("parquet", tmp_path)
    path, table = tmp_path / "t.parquet", OTHERS[other]
    assert not first or engine.probe(ASKED.format(1), KEYS)
    for _ in range(2):
        path.unlink() if table is None else pq.write_table(table, path)
        for least in (1, "x + 1"):
            assert not engine.probe(ASKED.format(least), KEYS)
        pq.write_table(pa.table({"x": [5, 6], "more": ["a", "b"]}), path)
        for least in (1, "x + 1"):
            assert engine.probe(ASKED.format(least), KEYS)
    assert engine.integers("SELECT count(x) AS n FROM t").to_pydict() == {"n": [2]}
    engine.close()


@pytest.mark.parametrize("change", ["DROP TABLE t", "ALTER TABLE t ALTER x TYPE VARCHAR"])
@pytest.mark.parametrize("first", [True, False], ids=["asked before", "never asked"])
def test_a_table_of_the_caller_that_changed_is_found(first: bool, change: str) -> None:
    guest = duckdb.connect()
    guest.execute("CREATE TABLE t AS SELECT range AS x FROM range(9)")
    engine = DuckDBEngine.open({"t": guest})
    assert not first or engine.probe(ASKED.format(1), KEYS)
    guest.execute(change)
    assert not engine.probe(ASKED.format(1), KEYS)
    guest.execute("CREATE OR REPLACE TABLE t AS SELECT range AS x FROM range(9)")
    assert engine.probe(ASKED.format(1), KEYS)
    engine.close()
    assert guest.execute("SELECT count(*) FROM t").fetchall() == [(9,)], "the connection of the caller stays"


def test_a_change_that_is_passed_over_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault."""
    monkeypatch.setattr(Probing, "_same", lambda self, name: name in self._made or self._make(name))
    monkeypatch.setattr("discreet.engines.duckdb.probing.binds", lambda *_: True)
    with pytest.raises(AssertionError):
        test_a_file_that_changed_is_found(True, "other type", tmp_path)


@pytest.mark.parametrize("kind", ["parquet", "frame"])
def test_it_reaches_no_file_and_keeps_its_settings(kind: str, tmp_path: Path) -> None:
    engine = opened(kind, tmp_path)
    pq.write_table(rows(1), tmp_path / "other.parquet")
    assert not engine.probe(f"SELECT count(*) AS n FROM '{tmp_path / 'other.parquet'}'")
    own = "SELECT name, value FROM duckdb_settings() WHERE name <> 'temp_directory' ORDER BY name"
    aside = engine._probing._connection
    assert aside.execute(own).fetchall() == engine._connection.execute(own).fetchall()
    with pytest.raises(duckdb.Error):
        aside.execute("SET threads = 2")
    engine.close()


def test_many_ask_at_once(tmp_path: Path) -> None:
    engine = opened("parquet", tmp_path)
    start = threading.Barrier(8)

    def ask(number: int) -> bool:
        start.wait()
        return all(engine.probe(ASKED.format(f"x + {number} + {at}"), KEYS) for at in range(10))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(8)))
    engine.close()
