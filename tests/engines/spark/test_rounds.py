"""A statement is repeated until nothing is left to do, and only a number comes back."""

from __future__ import annotations

import pyarrow as pa
import pytest
from tests import servers

from discreet.engines.sources import open_source
from discreet.errors import EngineError


def test_spark_repeats_a_statement_until_nothing_is_left() -> None:
    engine = open_source(servers.spark().createDataFrame([(5,), (2,)], "a int"), "numbers")
    step = "SELECT a - 1 AS a FROM rest WHERE a > 0"
    left = "SELECT COUNT(*) FROM rest WHERE a > 3"
    few = {"more": pa.table({"a": [9, 1]})}
    assert engine.settled("rest", "SELECT a FROM numbers", step, left) == 2
    assert engine.settled("rest", "SELECT a FROM numbers UNION ALL SELECT a FROM more", step, left, few) == 1
    with pytest.raises(EngineError, match="withheld"):
        engine.settled("rest", "SELECT nothing FROM numbers", step, left)
