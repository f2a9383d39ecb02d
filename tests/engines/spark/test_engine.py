"""Spark: what it opens, that the caller's session stays as it is, that it is quiet, and that it can be stopped."""

from __future__ import annotations

import datetime as dt
import threading
import time
import traceback
import warnings
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from tests import servers

import discreet as dp
from discreet.engines.schema import Type
from discreet.engines.sources import open_source
from discreet.engines.spark import SparkEngine
from discreet.engines.spark import engine as spark_engine
from discreet.engines.spark.capabilities import CAPABILITIES
from discreet.errors import EngineError, QueryRefused, SourceError

SECRET = "the-secret-value"
FRAME = pa.table(
    {
        "id": [1, 1, 2], "age": pa.array([31, None, 62], pa.int8()), "name": ["ann", None, SECRET],
        "day": [dt.date(2024, 1, 1)] * 3, "seen": pa.array([dt.datetime(2024, 1, 1)] * 3, pa.timestamp("us")),
        "list": [[1], [2], [3]],
    }
)  # fmt: skip

EXCLUDED = "spark.sql.optimizer.excludedRules"
OVER_ROWS = "SELECT COUNT(*) AS n FROM (SELECT x + 1 AS x FROM t) AS u WHERE x > 1"


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Spark warns of the versions of others."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.fixture
def session() -> Any:
    return servers.spark()


def test_a_frame_and_its_logical_types(session: Any) -> None:
    engine = open_source(session.createDataFrame(FRAME), "visits")
    assert isinstance(engine, SparkEngine)
    schema = engine.schema()["visits"]
    assert [schema[name].type for name in FRAME.column_names] == [
        Type.INTEGER, Type.INTEGER, Type.TEXT, Type.DATE, Type.TIMESTAMP, Type.OTHER,
    ]  # fmt: skip
    assert (schema["age"].lo, schema["age"].hi) == (-128, 127)
    assert engine.integers("SELECT COUNT(age) AS n FROM visits").to_pydict() == {"n": [2]}
    assert engine.public("visits").column("seen").to_pylist() == [dt.datetime(2024, 1, 1)] * 3
    assert engine.public("visits", ["seen"]).column_names == ["seen"]


def tables(session: Any) -> set[str]:
    """The names of the tables and views of a session."""
    return {row["tableName"] for row in session.sql("SHOW TABLES").collect()}


def test_a_question_by_unit_and_the_session_is_left_as_it_was(
    session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {
        key: session.conf.get(key, None) for key in ("spark.sql.ansi.enabled", "spark.sql.session.timeZone")
    }
    others = tables(session)  # of other tests of this process
    session.createDataFrame(FRAME).createOrReplaceTempView("visits")
    options: dict[str, Any] = {"privacy_unit": "id", "max_rows": 2, "bounds": {"age": (0, 120)}, "budget": 90}
    with dp.protect(session, table="visits", **options) as protected:
        release = protected.sql("SELECT COUNT(*) AS n, AVG(age) AS age FROM visits", epsilon=40)
        # Noise of scale 1/20: a false alarm needs one of exp(-40).
        assert abs(release.values.column("n").to_pylist()[0] - 3) <= 2
        meet = "SELECT COUNT(*) AS n FROM visits WHERE regexp_extract(name, '^(.*)-(.*)x', 1) = 'a'"
        with pytest.raises(QueryRefused, match="could hold the question up"):
            protected.sql(meet, epsilon=1)
        assert protected.budget.spent == 40
        protected.preview(
            meet.replace("extract(name, '^(.*)-(.*)x', 1) = 'a'", "matches(name, '^(ab|c)*-.*x')"), 1
        )
        # The planted fault: without the check nobody refuses it, and the dialect has no SQL for it.
        monkeypatch.setattr("discreet.sql.lower.capabilities.possible", lambda *_: True)
        with pytest.raises(AssertionError):
            protected.preview(meet, 1)
    assert before == {key: session.conf.get(key, None) for key in before}
    assert tables(session) == others | {"visits"}
    session.catalog.dropTempView("visits")
    with pytest.raises(SourceError):
        open_source("spark:nothing_of_that_name")


def test_groups_that_nobody_listed(session: Any) -> None:
    engine = open_source(session.createDataFrame(FRAME), "visits")
    sql = "SELECT id AS k0, COUNT(*) AS n FROM visits GROUP BY id"
    keys = engine.keys(sql, {}, lambda counts: counts.argsort()[::-1][:1])
    assert keys.to_pydict() == {"k0": [1]}


def test_joins_without_a_condition_are_answered_wherever_the_caller_forbids_them(session: Any) -> None:
    session.conf.set("spark.sql.crossJoin.enabled", "false")
    try:
        engine = SparkEngine.open_all([("t", session.range(3))])
        assert engine.probe("SELECT COUNT(*) AS n FROM t CROSS JOIN t AS o")
    finally:
        session.conf.unset("spark.sql.crossJoin.enabled")


def local(session: Any) -> SparkEngine:
    """A table that is held on this machine, of which a row cannot be read."""
    rows = session.sql("SELECT * FROM VALUES (1, 'a'), (2, 'b') AS v(id, c)")
    engine = open_source(rows.selectExpr("id", "IF(c = 'b', CAST(raise_error(c) AS INT), 1) AS x"), "t")
    assert isinstance(engine, SparkEngine)
    return engine


def test_a_probe_reads_no_row_of_a_table_on_this_machine(session: Any) -> None:
    session.conf.set(EXCLUDED, "org.apache.spark.sql.catalyst.optimizer.PruneFilters")
    try:
        engine = local(session)
    finally:
        session.conf.unset(EXCLUDED)
    assert engine.probe(OVER_ROWS)
    assert not engine.probe(OVER_ROWS.replace("x", "y"))
    with pytest.raises(EngineError):
        engine.integers(OVER_ROWS)


def test_a_probe_that_reads_rows_is_found(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_engine, "_READS_ROWS", "")
    assert not local(session).probe(OVER_ROWS)


def texts_with_bytes(session: Any) -> Any:
    """A table of which one row has bytes that are no text, under two collations."""
    text = "IF(id = 4, CAST(X'61FF' AS STRING), 'k')"
    return session.sql(f"SELECT id, {text} AS c, {text} COLLATE UTF8_LCASE AS d FROM range(9)")


def test_bytes_that_are_no_text_are_null(session: Any) -> None:
    engine = open_source(texts_with_bytes(session), "t")
    for column in ("c", "d"):
        sql = f"SELECT {column} AS k0, COUNT(*) AS n FROM t GROUP BY {column}"
        keys = engine.keys(sql, {}, lambda counts: counts.argsort())
        assert keys.to_pydict() == {"k0": [None, "k"]}


def test_bytes_that_are_read_as_a_text_are_found(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: one row whose group cannot be shown."""
    monkeypatch.setattr(
        spark_engine, "_column", lambda name, sql, kind: (sql, CAPABILITIES.column(name, kind))
    )
    engine = open_source(texts_with_bytes(session).drop("d"), "t")
    with pytest.raises(UnicodeDecodeError):
        engine.keys("SELECT c AS k0, COUNT(*) AS n FROM t GROUP BY c", {}, lambda c: c.argsort()).to_pydict()


def test_nothing_that_spark_says_gets_out(session: Any) -> None:
    engine = open_source(session.createDataFrame(FRAME), "visits")
    for sql in (
        "SELECT name FROM visits",
        "SELECT raise_error(name) AS n FROM visits",
        "SELECT nothing FROM visits",
    ):
        with pytest.raises(EngineError) as caught:
            engine.integers(sql)
        assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_a_query_is_cancelled_on_the_cluster(session: Any) -> None:
    engine = open_source(session.range(10**6).selectExpr("id"), "many")
    failed: list[EngineError] = []

    def ask() -> None:
        try:
            engine.integers("SELECT COUNT(*) AS n FROM many a CROSS JOIN many b WHERE (a.id * b.id) % 7 = 3")
        except EngineError as error:
            failed.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    tracker = session.sparkContext.statusTracker()
    while not tracker.getActiveJobsIds():
        time.sleep(0.05)
    engine.interrupt()
    thread.join(timeout=60)
    assert len(failed) == 1
    engine.close()
    with pytest.raises(EngineError):
        engine.integers("SELECT CAST(1 AS BIGINT) AS n")
