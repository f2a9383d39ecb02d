"""The ends of intervals have the form of their values."""

from __future__ import annotations

from fractions import Fraction

import pyarrow as pa
from tests.sql.fuzz import bench


def test_the_ends_are_nested_as_the_values_are() -> None:
    dates = bench.answered(
        "SELECT [MIN(d), MAX(d)] AS v, histogram(educ) AS h, [city] AS k FROM t GROUP BY city",
        epsilon=Fraction(1),
    )
    assert dates.ends(0)["v"].type == pa.list_(dates.values["v"].type.value_type)
    assert dates.ends(1)["h"].type == pa.map_(dates.values["h"].type.key_type, pa.float64())
    for value, low, high in zip(
        *(column.to_pylist() for column in (dates.values["h"], *(dates.ends(e)["h"] for e in (0, 1)))),
        strict=True,
    ):
        assert [key for key, _ in value] == [key for key, _ in low] == [key for key, _ in high]
        assert all(a < b < c for (_, a), (_, b), (_, c) in zip(low, value, high, strict=True))
    assert "k" not in dates.without  # no noise is in a list of keys
