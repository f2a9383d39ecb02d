"""A query that is asked again gives the same integers as one that is asked for the first time."""

from __future__ import annotations

import datetime as dt
import threading

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.depth import in_turn

from discreet.engines.duckdb import DuckDBEngine, prepared, shape, side_tables, small
from discreet.errors import EngineError

DATA = pa.table({"age": [at % 90 for at in range(300)], "ward": ["abc"[at % 3] for at in range(300)]})
ASKED = (
    "SELECT CAST(k.at AS BIGINT) AS cell, CAST(COUNT(*) AS BIGINT) AS m0 FROM visits AS v JOIN __keys_0 AS k "
    "ON v.ward = k.key0 WHERE v.age < CAST(45 AS BIGINT) GROUP BY ALL"
)


def keys(*words: str, first: int = 0) -> pa.Table:
    return pa.table({"key0": list(words), "at": list(range(first, first + len(words)))})


def counted(engine: DuckDBEngine, table: pa.Table, sql: str = ASKED) -> dict[int, int]:
    found = engine.integers(sql, {"__keys_0": table})
    return dict(zip(found["cell"].to_pylist(), found["m0"].to_pylist(), strict=True))


@pytest.fixture
def engine() -> DuckDBEngine:
    return DuckDBEngine.open({"visits": DATA})


def test_keys_that_change_change_the_answer(engine: DuckDBEngine) -> None:
    total = sum(1 for age in DATA["age"].to_pylist() if age < 45)
    assert sum(counted(engine, keys("a", "b", "c")).values()) == total
    for _ in range(3):
        for _ in range(4):  # as it is, prepared, and from the plan
            assert sum(counted(engine, keys("a", "b", "c")).values()) == total
        assert engine._prepared._made
        assert set(counted(engine, keys("a", "b", "c", first=7))) == {7, 8, 9}
        assert set(counted(engine, keys("c"))) == {0}
        assert set(counted(engine, keys("none", "a"))) == {1}
        assert set(counted(engine, keys("a", "b", "c"))) == {0, 1, 2}


def test_a_stale_key_list_is_found(engine: DuckDBEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: a table that is registered already is taken for the one that is wanted."""

    def take(self: side_tables.SideTables, tables: dict[str, pa.Table]) -> None:
        for name, table in tables.items():
            if name not in self._kept:
                self._connection.register(name, table)
                self._kept[name] = table

    monkeypatch.setattr(side_tables.SideTables, "take", take)
    with pytest.raises(AssertionError):
        test_keys_that_change_change_the_answer(engine)


def test_a_stale_plan_is_found(engine: DuckDBEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: plans outlive the tables that they were made for, as DuckDB lets them."""
    monkeypatch.setattr(prepared.PreparedPlans, "_drop", lambda self: None)
    with pytest.raises(AssertionError):
        test_keys_that_change_change_the_answer(engine)


def test_tables_that_equal_but_have_other_types_are_not_the_same(engine: DuckDBEngine) -> None:
    sql = "SELECT CAST(COUNT(*) AS BIGINT) AS m0 FROM __keys_0 WHERE typeof(key0) = 'INTEGER'"
    for kind, n in ((pa.int32(), 2), (pa.int64(), 0), (pa.int32(), 2), (pa.float64(), 0)) * 2:
        table = pa.table({"key0": pa.array([1, 2], kind)})
        assert engine.integers(sql, {"__keys_0": table}).to_pydict() == {"m0": [n]}


def test_pieces_and_the_probe_leave_no_list_behind(engine: DuckDBEngine) -> None:
    for first in (0, 3):
        table = keys("a", "b", "c", first=first)
        assert set(counted(engine, table)) == {first, first + 1, first + 2}
        assert engine.probe(f"{ASKED} -- {first}", {"__keys_0": table})
        (piece,) = engine.batches(ASKED, {"__keys_0": keys("b", first=9)})
        assert piece["cell"].to_pylist() == [9]
        assert set(counted(engine, table)) == {first, first + 1, first + 2}


def test_large_lists_and_long_queries_are_not_kept(engine: DuckDBEngine) -> None:
    large = keys("a", *(f"w{at}" for at in range(side_tables.MOST_ROWS)))
    long = f"{ASKED} /* {'x' * shape.LONGEST_REMEMBERED_QUERY} */"
    for _ in range(3):
        assert counted(engine, large) == counted(engine, keys("a"))
        assert counted(engine, keys("a"), long) == counted(engine, keys("a"))
    assert not any(len(text) > shape.LONGEST_REMEMBERED_QUERY for text, *_ in engine._prepared._made)


def test_few_plans_are_kept(engine: DuckDBEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepared, "MOST", 2)
    for _ in range(2):
        for most in range(5):
            for _ in range(3):
                sql = f"SELECT CAST(COUNT(*) AS BIGINT) AS n FROM visits WHERE age < {most}"
                wanted = sum(1 for age in DATA["age"].to_pylist() if age < most)
                assert engine.integers(sql).to_pydict() == {"n": [wanted]}
    assert len(engine._prepared._made) == 2
    ((names,),) = engine._connection.execute("SELECT count(*) FROM duckdb_prepared_statements()").fetchall()
    assert names == 2


def test_few_queries_are_remembered(engine: DuckDBEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepared, "MOST_SEEN", 2)
    asked = [f"SELECT CAST(COUNT(*) AS BIGINT) AS n{place} FROM visits" for place in range(4)]
    for sql in asked * 3:
        assert [*engine.integers(sql).to_pydict().values()] == [[len(DATA)]]
    assert len(engine._prepared._seen) == 2


def test_a_file_is_planned_anew_each_time(tmp_path: object) -> None:
    path = f"{tmp_path}/visits.parquet"
    pq.write_table(DATA, path)
    engine = DuckDBEngine.open({"visits": path})
    sql = "SELECT CAST(COUNT(*) AS BIGINT) AS n FROM visits"
    for rows in (300, 100, 300, 0, 7):
        pq.write_table(DATA.slice(0, rows), path)
        for _ in range(3):
            assert engine.integers(sql).to_pydict() == {"n": [rows]}
    assert not engine._prepared._made


def test_a_failure_says_nothing_and_stays_a_failure(engine: DuckDBEngine) -> None:
    sql = "SELECT CAST(CAST(ward AS INTEGER) AS BIGINT) AS n FROM visits"
    for _ in range(4):
        with pytest.raises(EngineError) as caught:
            engine.integers(sql)
        assert "ward" not in str(caught.value)
        assert caught.value.__context__ is None


def test_an_interrupt_reaches_a_plan_that_is_kept(engine: DuckDBEngine) -> None:
    sql = "SELECT CAST(SUM(a.age * b.age + c.age * d.age) AS BIGINT) AS n FROM visits a, visits b, visits c, visits d"
    small = f"{sql} WHERE a.age < 0"
    for _ in range(3):
        engine.integers(f"SELECT CAST(COALESCE(n, 0) AS BIGINT) AS n FROM ({small})")
    engine._prepared._seen[sql,] = prepared._Asked(())  # as if it had been asked
    failed = threading.Event()

    def ask() -> None:
        try:
            engine.integers(sql)
        except EngineError:
            failed.set()

    thread = threading.Thread(target=ask)
    thread.start()
    while not failed.wait(0.05):
        engine.interrupt()
    thread.join()
    assert engine.integers("SELECT CAST(COUNT(*) AS BIGINT) AS n FROM visits").to_pydict() == {"n": [300]}


def test_a_list_that_is_kept_is_seen_by_its_own_query_only(engine: DuckDBEngine) -> None:
    alone = "SELECT CAST(COUNT(*) AS BIGINT) AS n FROM __keys_0"
    for _ in range(4):
        assert engine.integers(alone, {"__keys_0": keys("a")}).to_pydict() == {"n": [1]}
    with pytest.raises(EngineError):
        engine.integers(alone)
    with pytest.raises(EngineError):
        engine.integers(alone, {"__keys_1": keys("a")})


def test_a_list_that_stays_visible_is_found(engine: DuckDBEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: what is kept is seen by every query."""
    monkeypatch.setattr(side_tables.SideTables, "_only", lambda *_: None)
    with pytest.raises(pytest.fail.Exception):
        test_a_list_that_is_kept_is_seen_by_its_own_query_only(engine)


def below(age: int, least: int = 0, ward: str = "a") -> str:
    return (
        f"SELECT CAST(COUNT(*) AS BIGINT) AS n FROM visits WHERE age >= CAST({least} AS BIGINT) AND age < "
        f"CAST({age} AS BIGINT) AND ward = '{ward}' AND 'CAST(7 AS BIGINT)' <> ward"
    )


MOVING = [(9, 0, "a"), (9, 0, "a"), (30, 0, "a"), (-5, 0, "a"), (30, 7, "a"), (30, 7, "b"), (9, 0, "a"),
          (10**17, -(10**17), "a"), (0, 10**17, "b"), (12, 4, "c")]  # fmt: skip


def asked(engine: DuckDBEngine) -> list[int]:
    """Ask with literals that move one after the other, and with others that come back."""
    found = []
    for age, least, ward in MOVING * 2:
        (n,) = engine.integers(below(age, least, ward))["n"].to_pylist()
        rows = zip(DATA["age"].to_pylist(), DATA["ward"].to_pylist(), strict=True)
        assert n == sum(least <= one < age and there == ward for one, there in rows)
        found.append(n)
    return found


def test_one_plan_serves_all_literals_of_a_query(engine: DuckDBEngine) -> None:
    assert len(set(asked(engine))) > 4
    (plan,) = engine._prepared._made.values()
    assert len(plan.given) == 3


def test_literals_of_another_query_are_found(engine: DuckDBEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: a plan is run for the integers that it was made with."""
    monkeypatch.setattr(prepared._Asked, "see", lambda self, values: None)
    with pytest.raises(AssertionError):
        asked(engine)


def test_a_plan_is_not_made_for_all_integers_over_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:

    monkeypatch.setattr(small, "FEW_ROWS", 100)
    engine = DuckDBEngine.open({"visits": DATA})
    asked(engine)
    assert all(not one.given for one in engine._prepared._made.values())


TYPES = {
    "number": ("CAST('{}' AS DOUBLE)", ["45.5", "0.0", "-1e-300", "1e+300", "12.25", "45.5"]),
    "day": ("DATE '{}'", ["1970-02-01", "0001-01-01", "9999-12-31", "1970-01-08", "1970-02-01"]),
    "moment": (
        "TIMESTAMP '{}'",
        ["1970-02-01 00:00:00", "1970-01-08 00:00:00.000001", "0001-01-01 00:00:00"],
    ),
    "word": ("'{}'", ["b", "", "it''s", "CAST($1 AS BIGINT)", "c"]),
}
"""By column, the spelling of a literal, and some literals."""


# A deep run asks each type with each.
@pytest.mark.parametrize(("column", "operator"), in_turn([*TYPES], ["<", "=", ">="]))
def test_literals_of_each_type_mean_in_a_plan_the_same_as_in_the_text(column: str, operator: str) -> None:
    days = [dt.date(1970, 1, 1) + dt.timedelta(days=at) for at in range(60)]
    engine = DuckDBEngine.open(
        {
            "rows": pa.table(
                {
                    "number": [at / 4 for at in range(60)],
                    "day": days,
                    "moment": [dt.datetime(one.year, one.month, one.day) for one in days],
                    "word": [["a", "b", "c", "it's", "", "CAST($1 AS BIGINT)"][at % 6] for at in range(60)],
                }
            )
        }
    )
    spelling, values = TYPES[column]
    for value in values * 2:
        sql = f"SELECT CAST(COUNT(*) AS BIGINT) AS n FROM rows WHERE ({column} {operator} {spelling.format(value)})"
        (plain,) = engine._connection.execute(sql).fetchall()
        assert engine.integers(sql)["n"].to_pylist() == [*plain]
    (plan,) = engine._prepared._made.values()
    assert plan.given == (0,)


def test_a_literal_of_another_type_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: every parameter is an integer."""
    right = shape.with_parameters

    def wrong(query: shape.Literals, given: tuple[int, ...]) -> str:
        return right(query._replace(types=("BIGINT",) * len(query.types)), given)

    monkeypatch.setattr(prepared, "with_parameters", wrong)
    with pytest.raises((AssertionError, EngineError)):
        test_literals_of_each_type_mean_in_a_plan_the_same_as_in_the_text("number", "<")


def test_an_integer_that_must_be_a_literal_stays_one(engine: DuckDBEngine) -> None:
    for at in (1, 2, 1, 3, 4):
        sql = f"SELECT CAST(COUNT(*) AS BIGINT) AS n FROM (SELECT 1 FROM visits LIMIT CAST({at} AS BIGINT))"
        assert engine.integers(sql)["n"].to_pylist() == [at]
