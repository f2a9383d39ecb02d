"""A query that fails on Spark leaves nothing of its SQL in the log."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from tests.servers import spark

from discreet.engines.spark import SparkEngine
from discreet.engines.spark import engine as engines
from discreet.engines.spark.quiet import LOGGERS
from discreet.errors import EngineError

SALT = "1234567890123456789"


class Kept(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(self.format(record))


@pytest.fixture
def log() -> Iterator[Kept]:
    spark()
    from pyspark.logger import PySparkLogger

    kept = Kept()
    for name in LOGGERS:
        PySparkLogger.getLogger(name).addHandler(kept)
    yield kept
    for name in LOGGERS:
        PySparkLogger.getLogger(name).removeHandler(kept)


def failing() -> None:
    engine = SparkEngine.open_all([("visits", spark().createDataFrame(pa.table({"a": [1, 2]})))])
    with pytest.raises(EngineError):
        engine.integers(
            f"SELECT count(nosuch) AS n FROM visits WHERE xxhash64(CAST({SALT} AS BIGINT), a) > 0"
        )


def test_nothing_of_the_query_is_logged(log: Kept) -> None:
    failing()
    assert log.said == []


def test_a_query_that_is_logged_is_found(log: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault, which also shows that pyspark logs such queries."""
    monkeypatch.setattr(engines, "quiet", contextlib.nullcontext)
    failing()
    assert any(SALT in said for said in log.said)


def test_the_callers_own_queries_are_logged(log: Kept) -> None:
    failing()
    session: Any = spark()
    with contextlib.suppress(Exception):
        session.sql("SELECT nosuch_of_the_caller").collect()
    assert any("nosuch_of_the_caller" in said for said in log.said)
