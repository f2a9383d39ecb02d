"""Which answers are made block by block."""

from __future__ import annotations

from fractions import Fraction

import pyarrow as pa
import pytest
from tests import inside

import discreet as dp
from discreet.sql.finish import many_groups

ROWS = pa.table({"u": [1, 2, 3], "k": [0, 1, 1], "x": [0.5, 1.0, 1.5]})
BY_KEY = "SELECT k, COUNT(*) AS n FROM data GROUP BY k"
ABOVE = "SELECT k, COUNT(*) AS n FROM data WHERE x > (SELECT AVG(x) FROM data) GROUP BY k"


@pytest.mark.parametrize(
    ("sql", "most", "expected"), [(BY_KEY, 1, True), (BY_KEY, 2, False), (ABOVE, 1, False)]
)
def test_many_known_groups_that_wait_for_nothing(
    sql: str, most: int, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(many_groups, "IN_MEMORY", most)
    with dp.protect(
        ROWS, privacy_unit="u", max_rows=1, bounds={"x": (0, 2)}, keys={"k": [0, 1]}, budget=9
    ) as session:
        assert many_groups.streams(inside.plan_of(session, sql, Fraction(1))) is expected
