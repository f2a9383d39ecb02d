"""EXISTS and rows of values over public tables are as in DuckDB, with NULL on either side."""

from __future__ import annotations

import pytest
from benchmarks.corpus.judge import difference
from tests.depth import in_turn
from tests.sql.fuzz import bench

from discreet.errors import QueryRefused
from discreet.sql.analyze.subqueries import public_exists

INSIDE = [
    "SELECT 1 FROM shops WHERE shops.city = t.city AND shop = 'inn'",
    "SELECT shops.shop FROM shops JOIN towns ON shops.city = towns.city WHERE towns.city = t.city AND size > 1",
    "SELECT DISTINCT 1 FROM shops JOIN towns USING (city) WHERE size = t.educ AND state = 'S1'",
    "SELECT 1 FROM shops AS s, towns AS w WHERE s.city = w.city AND w.size = t.educ AND t.city = s.city",
    "SELECT 1 FROM towns WHERE nullif(towns.city, 'B') = t.city AND t.sex = 'M'",
    "SELECT * FROM towns WHERE size > 2",
    "SELECT 1 FROM towns WHERE size > 9",
    "SELECT 1 FROM towns WHERE state = 'S3' AND size = educ",
    "SELECT COUNT(*) FROM towns WHERE size > 9",
]


def same(sql: str) -> bool:
    return difference(bench.answered(sql).values, bench.plain(sql), ()) == ""


# A deep run: each in each.
@pytest.mark.parametrize(
    ("inside", "condition"),
    in_turn(INSIDE, ["EXISTS ({})", "NOT EXISTS ({})", "(x > 20 OR NOT EXISTS ({}))"]),
)
def test_rows_are_those_of_duckdb(inside: str, condition: str) -> None:
    assert same(f"SELECT COUNT(*) AS n FROM t WHERE {condition.format(inside)}")


@pytest.mark.parametrize("condition", ["{} IN ({})", "{} NOT IN ({})", "NOT ({} IN ({}) OR x > 20)"])
@pytest.mark.parametrize(
    ("row", "listed"),
    [
        ("(city, educ)", "SELECT city, size FROM towns"),
        ("(city, sex)", "SELECT city, CASE WHEN city > 'A' THEN 'M' END FROM towns"),
        ("(city, sex, educ)", "SELECT city, 'F', 2 FROM shops JOIN towns USING (city)"),
        ("(city, sex)", "SELECT city, 'M' FROM towns WHERE size > 9"),
    ],
)
def test_rows_of_values_are_those_of_duckdb(row: str, listed: str, condition: str) -> None:
    assert same(f"SELECT COUNT(*) AS n FROM t WHERE {condition.format(row, listed)}")


def test_it_stands_in_filter_and_in_case_too() -> None:
    inside = "EXISTS (SELECT 1 FROM shops WHERE shops.city = t.city AND shop = 'spa')"
    assert same(f"SELECT COUNT(*) FILTER (WHERE {inside}) AS n FROM t")
    assert same(f"SELECT SUM(CASE WHEN {inside} THEN 1 ELSE 0 END) AS n FROM t")


@pytest.mark.parametrize(
    "inside",
    [
        "SELECT 1 FROM towns WHERE size > t.educ",
        "SELECT 1 FROM shops WHERE shops.city = t.city GROUP BY shop HAVING COUNT(*) > 1",
        "SELECT 1 FROM shops WHERE shops.city = t.city LIMIT 0",
        "SELECT COUNT(*) FROM shops WHERE shops.city = t.city",
        "SELECT 1 FROM shops WHERE shops.city = t.city OR t.educ = 1",
        "SELECT 1 FROM towns WHERE t.educ = size + t.educ",
    ],
)
def test_more_than_equalities_is_refused_with_the_fix(inside: str) -> None:
    with pytest.raises(QueryRefused, match="equalities alone") as refused:
        bench.answered(f"SELECT COUNT(*) AS n FROM t WHERE EXISTS ({inside})")
    assert "join the table" in str(refused.value)


def test_rows_that_are_compared_otherwise_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    # Planted fault: which side is which is not told, so that everything is of the rows inside.
    monkeypatch.setattr(public_exists._Inside, "side", lambda *_: "none")
    sql = f"SELECT COUNT(*) AS n FROM t WHERE EXISTS ({INSIDE[0]}) AND educ IS NOT NULL"
    with pytest.raises(QueryRefused):
        same(sql)


def test_as_many_rows_of_values_as_a_condition_can_hold() -> None:
    some = "SELECT city, i FROM towns, range({}) AS r(i)"
    assert same(f"SELECT COUNT(*) AS n FROM t WHERE (city, educ) IN ({some.format(3000)})")
    with pytest.raises(QueryRefused, match="10,000 are allowed"):
        bench.answered(f"SELECT COUNT(*) AS n FROM t WHERE (city, educ) IN ({some.format(3400)})")
    with pytest.raises(QueryRefused, match="different number of values"):
        bench.answered("SELECT COUNT(*) AS n FROM t WHERE (city, educ) IN (SELECT city FROM towns)")


@pytest.mark.parametrize(
    "condition",
    [
        "educ IN (SELECT [size] FROM towns)",
        "[educ] NOT IN (SELECT [size] FROM towns)",
        "(city, educ) IN (SELECT city, {'size': size} FROM towns)",
        "ROW(city, educ) IN (SELECT (city, size) FROM towns)",
        "EXISTS (SELECT 1 FROM towns WHERE [size] = educ)",
    ],
)
def test_lists_and_structs_are_refused(condition: str) -> None:
    with pytest.raises(QueryRefused, match="lists or structs"):
        bench.answered(f"SELECT COUNT(*) AS n FROM t WHERE {condition}")


@pytest.mark.parametrize(
    "condition",
    ["sex IN (SELECT state FROM towns WHERE towns.city = t.city)",
     "EXISTS (SELECT 1 FROM towns WHERE towns.city = t.city UNION SELECT 1 FROM shops)"],
)  # fmt: skip
def test_a_sub_query_that_reads_the_row_around_it_is_refused_for_that(condition: str) -> None:
    with pytest.raises(QueryRefused, match="reads a column of the rows around it"):
        bench.answered(f"SELECT COUNT(*) AS n FROM t WHERE {condition}")
