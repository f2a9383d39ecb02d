"""Numbers beside their intervals: as many digits as the interval says, and never an interval that is too narrow."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest
from tests import shared

from discreet.release.shown import with_interval


@pytest.mark.parametrize(
    ("value", "low", "high", "words"),
    [
        (25_000.0, 25_000.0, 25_000.00049, "25,000.00 ± 0.01"),
        (25_000.0, 24_999.99951, 25_000.0, "25,000.00 ± 0.01"),
        (100.0, 100.0, 100.0024, "100.000 ± 0.003"),
        (0.5, 0.5, 0.5 + 2**-30, "0.500000 ± 0.000001"),
        (1.0, 1.0, 1.3, "1.00 [1.00, 1.30]"),
        (0.0, 0.0, 0.00031, "0.00000 [0.00000, 0.00031]"),  # clipped at its bound: nothing else is known of it
        (45.1234567, 45.1234536, 45.1234598, "45.1234567 ± 0.0000031"),
        (25_000.0, 25_000.0, 25_000.0, "25,000.00 ± 0"),
        (7, 7, 8, "7 [7, 8]"),
    ],
)  # fmt: skip
def test_digits_follow_the_interval_and_no_grid_that_is_finer_than_six_digits(
    value: float, low: float, high: float, words: str
) -> None:
    assert with_interval(value, low, high) == words


def test_a_number_that_is_missing_is_explained() -> None:
    table = pa.table({"x": [1, 2, 3]})
    with shared.protect(table, privacy_unit="row", bounds={"x": (0, 9)}, budget=400) as session:
        counted = session.sql("SELECT COUNT(*) AS n FROM data", epsilon=100)
    missing = pa.table({"n": pa.array([None], pa.int64())})
    assert "- is no value (NULL), as where" in repr(replace(counted, values=missing))
    assert "- is no value" not in repr(counted)


def test_a_histogram_has_its_name_at_the_left_and_no_rule_as_long_as_itself() -> None:
    table = pa.table({"x": [1, 2, 3]})
    with shared.protect(table, privacy_unit="row", bounds={"x": (0, 99)}, budget=400) as session:
        head, rule, cell, *_ = repr(session.sql("SELECT histogram(x) AS h FROM data", epsilon=1)).splitlines()
    assert head == "h"
    assert len(cell) > 5 * len(rule)
