"""A text that is the name of a column is warned of, in the preview and beside the answer; other texts are not."""

from __future__ import annotations

import pytest
from tests.sql.fuzz import bench


@pytest.mark.parametrize(
    ("condition", "warned"),
    [
        ("'city' = 'Alder'", True), ("'City' IN ('A', 'B')", True), ("note = 'city'", False),
        ("'city' LIKE 'c%'", True), ("'other' = 'A'", False), ("city = 'A'", False), ("note IN ('sex', 'city')", False),
    ],
)  # fmt: skip
def test_a_comparison_of_constants_that_names_a_column(condition: str, warned: bool) -> None:
    session, sql = bench.bench().session, f"SELECT COUNT(*) AS n FROM t WHERE {condition}"
    preview, answer = session.preview(sql, 1).warnings, session.sql(sql, 1).warnings
    for warnings in (preview, answer):
        assert any("single quotes" in one for one in warnings) is warned, warnings


def test_a_count_of_a_text_that_names_the_unit() -> None:
    (warning,) = bench.bench().session.preview("SELECT COUNT(DISTINCT 'id') AS n FROM t", 1).warnings
    assert warning == "'id' in single quotes is a text, and not the column: write \"id\""
