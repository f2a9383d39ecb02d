"""A statement is repeated until nothing is left to do, and only a number comes back."""

from __future__ import annotations

import pytest
from tests import servers

from discreet.engines.sources import open_source
from discreet.engines.spark import SparkEngine
from discreet.errors import EngineError


def test_spark_repeats_a_statement_until_nothing_is_left() -> None:
    engine = open_source(servers.spark().createDataFrame([(5,), (2,)], "a int"), "numbers")
    assert isinstance(engine, SparkEngine)
    step = "SELECT a - 1 AS a FROM rest WHERE a > 0"
    left = "SELECT COUNT(*) FROM rest WHERE a > 3"
    assert engine.settled("rest", "SELECT a FROM numbers", step, left) == 2
    with pytest.raises(EngineError, match="withheld"):
        engine.settled("rest", "SELECT nothing FROM numbers", step, left)
