"""ClickHouse: what is opened, what queries see of it, and what leaves it. The dialect is for the conformance corpus."""

from __future__ import annotations

import datetime as dt
import importlib.util
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests import servers
from tests.engines.clickhouse.server import serving

import discreet as dp
from discreet.engines.clickhouse import ClickHouseEngine
from discreet.engines.clickhouse import engine as engines
from discreet.engines.clickhouse.lists import listed
from discreet.engines.schema import Type
from discreet.engines.sources import open_source
from discreet.errors import EngineError, PolicyError, SourceError

DAYS = [dt.date(1, 1, 1), dt.date(9999, 12, 31), None, dt.date(2020, 2, 29), dt.date(2020, 2, 29)]
VISITS = pa.table({
    "patient": pa.array([1, 1, 2, 3, None], pa.int64()), "county": ["Kent", "Kent", "Essex", None, "Kent"],
    "age": pa.array([30, 40, 50, 60, 70], pa.int32()), "day": DAYS,
})  # fmt: skip


@pytest.fixture
def session() -> Iterator[Any]:
    servers.load_clickhouse(
        "hospital", {"visits": VISITS, "Other": VISITS.slice(0, 1)}, "MergeTree ORDER BY tuple()"
    )
    found = servers.clickhouse()
    found.query("USE hospital")
    yield found
    found.query("USE default")


@pytest.fixture
def engine(session: Any) -> ClickHouseEngine:
    return ClickHouseEngine.open_all([(None, session)])


def test_all_tables_of_the_current_database_are_there(engine: ClickHouseEngine) -> None:
    assert set(engine.schema()) == {"visits", "Other"}
    assert [c.type for c in engine.schema()["visits"].values()] == [
        Type.INTEGER,
        Type.TEXT,
        Type.INTEGER,
        Type.DATE,
    ]
    assert engine.schema()["visits"]["age"].hi == 2**31 - 1


@pytest.mark.parametrize(
    ("name", "called"), [("hospital.visits", "visits"), ("VISITS", "VISITS"), ("hospital.other", "Other")]
)
def test_one_table_is_found_by_its_name(session: Any, name: str, called: str) -> None:
    assert list(ClickHouseEngine.open_all([(name, session)]).schema()) == [called]


@pytest.mark.parametrize("name", ["nothing", "hospital.nothing", "nowhere.visits"])
def test_a_table_that_is_not_there_is_refused(session: Any, name: str) -> None:
    with pytest.raises(SourceError, match="no such table"):
        ClickHouseEngine.open_all([(name, session)])


def test_a_name_that_may_mean_two_tables_is_refused(session: Any) -> None:
    session.query("CREATE TABLE hospital.Visits (a Int8) ENGINE = Memory")
    with pytest.raises(SourceError, match="may mean"):
        ClickHouseEngine.open_all([("hospital.VISITS", session)])
    assert "a" in ClickHouseEngine.open_all([("hospital.Visits", session)]).schema()["Visits"]


def test_nothing_but_integers_leaves(engine: ClickHouseEngine) -> None:
    assert engine.integers("SELECT toInt64(count()) AS n FROM `visits`").to_pydict() == {"n": [5]}
    for sql in (
        "SELECT `age` + 0.5 AS n FROM `visits`",
        "SELECT CAST(NULL AS Nullable(Int64)) AS n",
        "SELECT 'a' AS n",
    ):
        with pytest.raises(EngineError, match="something other than integers"):
            engine.integers(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT toInt64(throwIf(assumeNotNull(`age`) = 50, 'fifty')) AS n FROM `visits`",
        "SELECT",
        "DROP TABLE hospital.visits",
    ],
)
def test_every_error_is_worded_alike(engine: ClickHouseEngine, sql: str) -> None:
    with pytest.raises(EngineError) as error:
        engine.integers(sql)
    assert "fifty" not in repr(error.value)
    assert error.value.__context__ is None
    assert engine.integers("SELECT toInt64(count()) AS n FROM `visits`").to_pydict() == {"n": [5]}


def test_only_the_chosen_keys_leave(engine: ClickHouseEngine) -> None:
    seen: list[np.ndarray[Any, Any]] = []

    def choose(counts: Any) -> Any:
        seen.append(counts)
        return np.flatnonzero(counts >= 2)

    sql = "SELECT `county` AS k0, toInt64(count()) AS n FROM `visits` GROUP BY k0"
    assert engine.keys(sql, {}, choose).to_pydict() == {"k0": ["Kent"]}
    assert sorted(seen[0].tolist()) == [1, 1, 3]
    assert engine.keys(sql, {}, lambda _: np.arange(0)).num_rows == 0


def test_a_public_table_comes_in_logical_types(engine: ClickHouseEngine) -> None:
    found = engine.public("VISITS")
    assert engine.public("visits", ["age"]).column_names == ["age"]
    assert found.column("day").to_pylist()[:3] == [dt.date(1, 1, 1), dt.date(9999, 12, 31), None]
    assert found.column("county").to_pylist() == VISITS.column("county").to_pylist()
    with pytest.raises(EngineError, match="no table"):
        engine.public("nothing")


def test_the_version_changes_with_the_data(engine: ClickHouseEngine, session: Any) -> None:
    before = engine.version("visits")
    assert engine.version("visits") == before
    session.query("INSERT INTO hospital.visits (patient) VALUES (9)")
    assert engine.version("visits") != before


def test_what_has_gone_is_found_before_the_charge(session: Any) -> None:
    asked = dp.protect(session, table="hospital.visits", privacy_unit="patient", max_rows=2, budget=1)
    assert len(asked.sql("SELECT COUNT(*) AS n FROM visits", epsilon=0.25)) == 1
    spent = asked.budget.spent
    session.query("DROP TABLE hospital.visits")
    with pytest.raises(SourceError, match="cannot be read"):
        asked.sql("SELECT COUNT(*) AS n, AVG(clamp(age, 0, 90)) AS a FROM visits WHERE age > 3", epsilon=0.25)
    assert asked.budget.spent == spent


def test_a_key_list_is_seen_as_it_is(engine: ClickHouseEngine) -> None:
    odd = ["it's", 'a"b', "a\\b", "\t\n", "é\U0001f600", "", None, "`", "{x}"]
    keys = pa.table({
        "t": odd, "i": pa.array([2**63 - 1, -(2**63), *range(7)]),
        "f": pa.array([-0.0, float("inf"), 5e-324] + 6 * [0.1]),
        "d": pa.array([dt.date(1, 1, 1)] * 9), "b": pa.array([True, None] + 7 * [False]),
    })  # fmt: skip
    for table in (keys, keys.slice(0, 0)):
        found = engine._run("SELECT * FROM `keys`", {"keys": table})
        assert found.column("t").to_pylist() == table.column("t").to_pylist()
        assert found.column("i").to_pylist() == table.column("i").to_pylist()
        assert found.column("b").to_pylist() == table.column("b").to_pylist()
    found = engine._run("SELECT * FROM `keys`", {"keys": keys})
    assert [value.hex() for value in found.column("f").to_pylist()[:3]] == [
        "0x0.0p+0",
        "inf",
        "0x0.0000000000001p-1022",
    ]
    assert found.column("d").to_pylist()[0] == -719_162
    assert "arrayJoin" in listed(keys)


def test_a_failure_of_the_callers_own_leaves_no_answer_empty(engine: ClickHouseEngine, session: Any) -> None:
    with pytest.raises(Exception, match="fifty"):
        session.query("SELECT throwIf(number = 5, 'fifty') FROM numbers(9)")
    assert engine.integers("SELECT toInt64(count()) AS n FROM `visits`").to_pydict() == {"n": [5]}


# What queries see of columns ---------------------------------------------------------------------------------


def test_a_text_that_is_none_is_null_and_padding_is_no_text(session: Any) -> None:
    session.query(
        "CREATE TABLE hospital.odd (a String, b FixedString(4), c LowCardinality(String)) ENGINE = Memory"
    )
    session.query("INSERT INTO hospital.odd VALUES ('x', 'ab', 'q'), (unhex('FF'), unhex('FF'), 'r')")
    engine = ClickHouseEngine.open_all([("hospital.odd", session)])
    assert engine.public("odd").to_pydict() == {"a": ["x", None], "b": ["ab", None], "c": ["q", "r"]}


def test_units_are_told_apart_as_they_are_stored(session: Any) -> None:
    session.query("CREATE TABLE hospital.ids (big UInt64, x Float64, n DateTime64(9)) ENGINE = Memory")
    rows = [
        (2**63 + at % 3, "-0.0" if at % 2 else "0.0", f"'2020-01-01 00:00:00.00000000{at % 3}'")
        for at in range(12)
    ]
    session.query("INSERT INTO hospital.ids VALUES " + ", ".join(f"({a}, {b}, {c})" for a, b, c in rows))
    for unit, units in (("big", 3), ("x", 1), ("n", 3)):
        asked = dp.protect(session, table="hospital.ids", privacy_unit=unit, max_rows=1, budget=10**9)
        answer = asked.sql("SELECT COUNT(*) AS n FROM ids", epsilon=500)
        assert answer.to_arrow().column("n").to_pylist() == [units]


def test_an_opaque_column_names_no_unit(session: Any) -> None:
    session.query("CREATE TABLE hospital.o (a Array(Int64), b Int64) ENGINE = Memory")
    with pytest.raises(PolicyError, match="type Array"):
        dp.protect(session, table="hospital.o", privacy_unit="a", max_rows=1, budget=1)


# Ways to it --------------------------------------------------------------------------------------------------


def test_a_url_leads_to_a_server_and_its_table(session: Any) -> None:
    with serving() as (place, asked):
        engine = open_source(f"clickhouse://{place}/hospital#visits")
        assert isinstance(engine, ClickHouseEngine)
        assert engine.place is not None
        assert "127.0.0.1" not in engine.place  # the server says who it is, however its address is spelled
        assert engine.integers("SELECT toInt64(count()) AS n FROM `visits`").to_pydict() == {"n": [5]}
        asked_last = asked[-1]
        assert asked_last[1]["query_id"].startswith("discreet-")
        engine.close()
        with pytest.raises(EngineError):
            engine.integers("SELECT toInt64(1) AS n")


def test_a_server_that_is_not_there_is_refused_without_its_password() -> None:
    if importlib.util.find_spec("clickhouse_connect") is None:
        servers.missing("clickhouse-connect is not installed")
    with pytest.raises(SourceError, match="cannot be reached") as error:
        open_source("clickhouse://me:sesame@127.0.0.1:9/hospital#visits")
    assert "sesame" not in repr(error.value)
    assert error.value.__context__ is None


def test_a_clickhouse_that_keeps_its_settings_is_refused(
    session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "CLAUSE", " SETTINGS no_such_setting = 1")
    with pytest.raises(SourceError, match="does not take the settings"):
        ClickHouseEngine.open_all([("hospital.visits", session)])


def test_tables_of_two_sources_are_not_mixed(session: Any) -> None:
    with pytest.raises(SourceError, match="several ClickHouse sources"):
        ClickHouseEngine.open_all([("a", session), ("b", "clickhouse://127.0.0.1:9")])


def test_zeros_of_both_signs_are_one_group_and_nan_is_none(session: Any) -> None:
    session.query("CREATE TABLE hospital.zeros (id Int64, x Float64) ENGINE = Memory")
    rows = ", ".join(f"({at}, {('-0.0', '0.0', 'nan')[at % 3]})" for at in range(300))
    session.query(f"INSERT INTO hospital.zeros VALUES {rows}")
    budget = dp.Budget(epsilon=10**6, delta=0.5)
    asked = dp.protect(session, table="hospital.zeros", privacy_unit="id", max_rows=1, budget=budget)
    found = asked.sql("SELECT x, COUNT(*) AS n FROM zeros GROUP BY x", epsilon=500, delta=0.01).to_arrow()
    assert [value.hex() for value in found.column("x").to_pylist()] == ["0x0.0p+0"]
    assert found.column("n").to_pylist() == [200]
    distinct = asked.sql("SELECT COUNT(DISTINCT x) AS n FROM zeros", epsilon=500).to_arrow()
    assert distinct.column("n").to_pylist() == [1]


@pytest.mark.parametrize("stored", ["Date", "Date32", "DateTime", "DateTime64(6)"])
def test_days_and_moments_that_nobody_listed_are_groups(session: Any, stored: str) -> None:
    session.query(f"CREATE OR REPLACE TABLE hospital.days (id Int64, x {stored}) ENGINE = Memory")
    session.query("INSERT INTO hospital.days SELECT number, '2020-02-29' FROM numbers(300)")
    budget = dp.Budget(epsilon=10**6, delta=0.5)
    asked = dp.protect(session, table="hospital.days", privacy_unit="id", max_rows=1, budget=budget)
    found = asked.sql(
        "SELECT x, x + INTERVAL 1 DAY AS y, COUNT(*) AS n FROM days GROUP BY 1, 2", epsilon=500, delta=0.01
    )
    row = found.to_arrow().to_pylist()[0]
    assert (str(row["x"])[:10], str(row["y"])[:10], row["n"]) == ("2020-02-29", "2020-03-01", 300)


def test_a_view_whose_outer_join_has_no_null_is_refused_for_what_it_is(session: Any) -> None:
    """Of its columns those of the table on the left can be read."""
    for name in ("one", "two"):
        session.query(f"CREATE TABLE {name} (who Int64, sex String) ENGINE = MergeTree ORDER BY who")
        session.query(f"INSERT INTO {name} VALUES (1, 'a')")
    joined = "SELECT one.who AS who, two.sex AS sex FROM one LEFT JOIN two ON one.who = two.who"
    session.query(f"CREATE VIEW bare AS {joined}")
    session.query(f"CREATE VIEW whole AS {joined} SETTINGS join_use_nulls = 1")
    asked: dict[str, Any] = {"privacy_unit": "who", "max_rows": 1, "budget": 300, "ledger": ":memory:"}
    with dp.protect(session, table="bare", **asked) as opened:
        with pytest.raises(SourceError, match="outer join") as refused:
            opened.sql("SELECT COUNT(sex) AS n FROM bare", epsilon=1)
        assert "join_use_nulls = 1" in refused.value.fix
        assert opened.budget.spent == 0
    with dp.protect(session, table="whole", **asked) as opened:
        assert opened.sql("SELECT COUNT(sex) AS n FROM whole", epsilon=100).to_dict()["n"] == [1]
    assert ClickHouseEngine.open_all([(None, session)]).unreadable("whole") is None
