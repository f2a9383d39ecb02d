"""Queries over few rows run beside one another, and give the integers of the tables themselves."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.engines.duckdb import DuckDBEngine, lanes, small
from discreet.engines.duckdb.sources.origin import Origin
from discreet.errors import EngineError

SUM = "SELECT CAST(COUNT(*) AS BIGINT) AS n, CAST(COALESCE(SUM(age), 0) AS BIGINT) AS m FROM visits WHERE age < "


def rows(count: int) -> pa.Table:
    return pa.table({"age": pa.array(range(count), pa.int64()), "ward": pa.array(["a"] * count, pa.string())})


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small, "SHORT", 0)


@pytest.fixture(params=["memory", "parquet"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> DuckDBEngine:
    pq.write_table(rows(200), tmp_path / "visits.parquet")
    source = rows(200) if request.param == "memory" else str(tmp_path / "visits.parquet")
    return DuckDBEngine.open({"visits": source})


def asked(engine: DuckDBEngine, below: int) -> dict[str, list[int]]:
    found: dict[str, list[int]] = engine.integers(f"{SUM}CAST({below} AS BIGINT)").to_pydict()
    return found


def see_right(engine: DuckDBEngine, count: int = 200) -> None:
    """Each lane answers each question as if it were alone."""
    for lane in engine._lanes._lanes:
        for below in (150, 7, 0, 1000, 151):
            right, why = min(below, count), list[type[Exception]]()
            with lane.lock:
                found = lane.integers(f"{SUM}CAST({below} AS BIGINT)", {}, ["visits"], why)
            assert found is not None, why
            assert found.to_pydict() == {"n": [right], "m": [right * (right - 1) // 2]}


def test_a_lane_answers_while_the_engine_is_at_work(engine: DuckDBEngine) -> None:
    see_right(engine) if not engine.files else warmed(engine)
    engine.close()


def warmed(engine: DuckDBEngine) -> None:
    """Over a file a query is run on the table itself the first time."""
    for lane in engine._lanes._lanes:
        with lane.lock:
            assert lane.integers(f"{SUM}CAST(3 AS BIGINT)", {}, ["visits"], []) is None
    see_right(engine)


def test_a_file_is_read_anew_on_a_lane(tmp_path: Path) -> None:
    pq.write_table(rows(200), tmp_path / "visits.parquet")
    engine = DuckDBEngine.open({"visits": str(tmp_path / "visits.parquet")})
    warmed(engine)
    for count in (50, 0, 170):
        pq.write_table(rows(count), tmp_path / "visits.parquet")
        see_right(engine, count)
    engine.close()


def test_a_lane_that_sees_other_tables_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: the rows of the first half alone are registered."""
    engine = DuckDBEngine.open({"visits": rows(200)})
    views = lanes.Lane._views

    def half(self: lanes.Lane) -> bool:
        seen = views(self)
        for origin in self._origins.values():
            self._connection.register(origin.relation, origin.keep[0].slice(0, 100))  # type: ignore[attr-defined]
        return seen

    monkeypatch.setattr(lanes.Lane, "_views", half)
    with pytest.raises(AssertionError):
        see_right(engine)
    engine.close()


def test_a_lane_whose_views_are_others_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = DuckDBEngine.open({"visits": rows(200)})
    monkeypatch.setattr(lanes, "make_view", lambda connection, name, origin: {})
    lane = engine._lanes._lanes[0]
    with lane.lock:
        assert lane.integers(f"{SUM}CAST(3 AS BIGINT)", {}, ["visits"], []) is None
        assert lane._sees is False
    assert asked(engine, 5) == {"n": [5], "m": [10]}
    engine.close()


def test_a_view_that_fails_on_a_lane_leaves_the_question_to_the_engine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine = DuckDBEngine.open({"visits": rows(200)})

    def fails(connection: object, name: str, origin: Origin) -> Any:
        raise ValueError

    monkeypatch.setattr(lanes, "make_view", fails)
    started = threading.Barrier(8)

    def ask(at: int) -> dict[str, list[int]]:
        started.wait()
        return asked(engine, at)

    with ThreadPoolExecutor(8) as pool:
        assert [one["n"] for one in pool.map(ask, range(8))] == [[at] for at in range(8)]
    engine.close()


def test_a_closed_engine_has_no_open_lane(engine: DuckDBEngine) -> None:
    engine.close()
    with pytest.raises(EngineError):
        asked(engine, 3)
    with engine._lock, pytest.raises(AssertionError):
        assert engine._lanes.integers(f"{SUM}CAST(3 AS BIGINT)", {}, ["visits"]) is not None


@pytest.mark.parametrize("where", ["memory", "parquet"])
def test_lanes_reach_no_file_and_keep_their_settings(where: str, tmp_path: Path) -> None:
    pq.write_table(rows(9), tmp_path / "visits.parquet")
    pq.write_table(rows(9), tmp_path / "other.parquet")
    source = rows(9) if where == "memory" else str(tmp_path / "visits.parquet")
    engine = DuckDBEngine.open({"visits": source})
    own = "SELECT name, value FROM duckdb_settings() WHERE name NOT LIKE '%progress%'"
    for lane in engine._lanes._lanes:
        for text in (f"FROM '{tmp_path / 'other.parquet'}'", "SET TimeZone = 'Asia/Tokyo'"):
            with pytest.raises(Exception, match=r"disabled|locked|Permission"):
                lane._connection.execute(text)
        assert lane._connection.execute(own).fetchall() == engine._connection.execute(own).fetchall()
    engine.close()


def test_an_interrupted_lane_does_not_ask_again(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = DuckDBEngine.open({"visits": rows(200)})

    def stopped(
        self: lanes.Lane, sql: str, tables: object, names: object, why: list[type[Exception]]
    ) -> None:
        why.append(duckdb.InterruptException)

    monkeypatch.setattr(lanes.Lane, "integers", stopped)
    with engine._lock, pytest.raises(EngineError):
        asked(engine, 3)
    engine.close()
