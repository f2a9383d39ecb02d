"""OVER w with WINDOW w AS (…) is the window that is written out, over public, private and released rows."""

from __future__ import annotations

import pytest
import sqlglot
from benchmarks.corpus.judge import difference
from tests.sql.fuzz import bench

from discreet.errors import QueryRefused
from discreet.sql.syntax import named_windows

SAME = [
    (
        "SELECT educ, COUNT(*) AS n, rank() OVER w AS r, SUM(COUNT(*)) OVER (w ROWS 1 PRECEDING) AS s FROM t "
        "WHERE educ > 0 GROUP BY educ WINDOW w AS (ORDER BY educ)",
        ["educ"],
    ),
    (
        "SELECT SUM(clamp(o, 0, 9)) AS o FROM (SELECT row_number() OVER w AS o FROM t "
        "WINDOW w AS (PARTITION BY id ORDER BY educ)) AS q",
        [],
    ),
    (
        "SELECT educ, lag(COUNT(*)) OVER v AS n FROM t WHERE educ > 0 GROUP BY educ "
        "WINDOW w AS (PARTITION BY educ // 9), v AS (w ORDER BY educ)",
        ["educ"],
    ),
    ("SELECT size, SUM(size) OVER W AS s FROM towns WINDOW w AS (ORDER BY size)", ["size"]),
]


@pytest.mark.parametrize(("sql", "order"), SAME)
def test_it_is_what_duckdb_says(sql: str, order: list[str]) -> None:
    found = bench.answered(f"{sql} ORDER BY ALL")
    assert difference(found.values, bench.plain(f"{sql} ORDER BY ALL"), order) == ""


@pytest.mark.parametrize("clause", ["", "WINDOW w AS (ORDER BY size)"])
def test_an_unknown_name_is_refused(clause: str) -> None:
    with pytest.raises(QueryRefused, match="no window v here") as refused:
        bench.answered(f"SELECT rank() OVER v AS r FROM towns {clause}")
    assert refused.value.fix == "Write OVER (ORDER BY …), or WINDOW v AS (ORDER BY …) behind FROM and WHERE."


def test_a_window_inside_a_sub_query_has_names_of_its_own() -> None:
    sql = "SELECT (SELECT MAX(SUM(size) OVER w) FROM towns WINDOW w AS (ORDER BY size)) AS m FROM towns WINDOW w AS ()"
    query = sqlglot.parse_one(sql.replace("MAX(SUM(size) OVER w)", "SUM(size) OVER w"), read="duckdb")
    named_windows.write_out(query.walk())
    assert "SUM(size) OVER (ORDER BY size)" in query.sql("duckdb")
