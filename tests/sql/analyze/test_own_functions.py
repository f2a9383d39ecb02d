"""clamp and grid mean the same above releases and over public tables as over private rows; h3_cell is refused."""

from __future__ import annotations

import duckdb
import pytest
import sqlglot
from tests.sql.fuzz import bench

from discreet.errors import QueryRefused
from discreet.sql.analyze.own_functions import write_out

GRIDS = ("grid(y, x, 3)", "grid(x, y, 0.5, 7)", "clamp(y, -3, 4)", "clamp(x, -3.5, 4)")


def over_public(call: str) -> list[object]:
    query = sqlglot.parse_one(f"SELECT {call} AS v FROM t", read="duckdb")
    write_out(query)
    found: list[object] = [row[0] for row in bench.bench().plain.sql(query.sql("duckdb")).fetchall()]
    return found


@pytest.mark.parametrize("call", GRIDS)
def test_public_rows_have_the_values_of_private_ones(call: str) -> None:
    """Each value that a private row has by the engine is counted by the formula, NULL among them."""
    values = over_public(call)
    for value in [*sorted({v for v in values if v is not None}, key=str)[:3], None]:
        literal = "NULL" if value is None else f"'{value}'" if isinstance(value, str) else str(value)
        sql = f"SELECT COUNT(*) AS n FROM t WHERE {call} IS NOT DISTINCT FROM {literal}"
        assert bench.answered(sql).values.to_pydict() == {"n": [values.count(value)]}


def test_they_stand_above_releases_and_in_public_sub_queries() -> None:
    above = "SELECT clamp(COUNT(*), 0, 10) AS n, grid(COUNT(*), 7, 1000) AS g FROM t"
    assert bench.answered(above).values.to_pylist() == [{"n": 10, "g": "1:0"}]
    inside = "SELECT COUNT(*) AS n FROM t WHERE educ IN (SELECT clamp(size, 2, 2) FROM towns)"
    assert (
        bench.answered(inside).values.to_pydict()
        == bench.answered("SELECT COUNT(*) AS n FROM t WHERE educ = 2").values.to_pydict()
    )
    assert bench.answered("SELECT clamp(size, 2, 9) FROM towns LIMIT 1").values.column_names == [
        "CLAMP(size, 2, 9)"
    ]


def test_edges_are_those_of_cells() -> None:
    query = sqlglot.parse_one(
        "SELECT grid(x, -0.0, 2) AS g FROM (VALUES (-0.5), (2.0), (1e300), (NULL)) AS t(x)"
    )
    write_out(query)
    assert duckdb.execute(query.sql("duckdb")).fetchall() == [("-1:0",), ("1:0",), (None,), (None,)]


@pytest.mark.parametrize(("call", "said"), [
    ("h3_cell(COUNT(*), 5, 7)", "over private rows alone"),
    ("grid(COUNT(*))", "another number of arguments than 1"),
])  # fmt: skip
def test_what_cannot_be_computed_there_is_refused_in_our_words(call: str, said: str) -> None:
    with pytest.raises(QueryRefused, match=said) as refused:
        bench.answered(f"SELECT {call} AS v FROM t")
    assert "DuckDB" not in str(refused.value)
