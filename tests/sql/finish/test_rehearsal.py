"""Faults of the statement above the noise show before the charge, and are told in words that lead on."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from tests import shared

import discreet as dp
from discreet.errors import QueryRefused


@pytest.fixture(scope="module")
def session() -> Iterator[dp.Session]:
    table = pa.table({"k": ["a", "b"] * 9, "x": list(range(18))})
    policy = {"bounds": {"x": (0, 18)}, "keys": {"k": ["a", "b"]}, "budget": 9}
    with shared.protect({"t": table}, privacy_unit="row", **policy) as made:
        yield made


@pytest.mark.parametrize(("sql", "place", "fix"), [
    ("SELECT k, cout(*) AS n FROM t GROUP BY k", "cout(*)", "Did you mean COUNT(*)?"),
    ("SELECT k, summ(1) AS n FROM t GROUP BY k", "summ(1)", "Did you mean SUM(1)?"),
    ("SELECT n FROM (SELECT k, cout(*) AS n FROM t GROUP BY k)", "cout(*)", "Did you mean COUNT(*)?"),
    ("SELECT k, cunt(*) AS n, AVG(x) AS a FROM t GROUP BY k", "", "Did you mean COUNT?"),
    ("SELECT COUNT(*) AS n, cout(*) AS m FROM t", "", "Did you mean COUNT?"),
    ("SELECT avarage(COUNT(*)) AS n FROM t", "", "Did you mean AVG?"),
    ("SELECT k, bit_count(3) AS z FROM t GROUP BY k", "GROUP BY", "Add COUNT(*) AS n to the SELECT list."),
    ("SELECT k, list_median([1]) AS z FROM t GROUP BY k", "GROUP BY", "Add COUNT(*) AS n to the SELECT list."),
    ("SELECT k FROM t GROUP BY k", "GROUP BY", "Add COUNT(*) AS n to the SELECT list."),
    ("SELECT zzz(COUNT(*)) AS n FROM t", "", "Change the query above its aggregates."),
])  # fmt: skip
def test_a_misspelt_aggregate_is_named(session: dp.Session, sql: str, place: str, fix: str) -> None:
    with pytest.raises(QueryRefused) as refused:
        session.sql(sql, epsilon=1)
    assert refused.value.fix == fix
    assert place in (refused.value.place or "") or place == "GROUP BY"
    assert refused.value.charged is None
    assert session.budget.spent == 0


@pytest.mark.parametrize(
    "item", ["CAST(k AS INTEGER)", "missing", "COUNT(*) + 'a'", "CAST('a' || COUNT(*) AS DATE)"]
)
def test_a_statement_that_fails_on_any_row_costs_nothing(session: dp.Session, item: str) -> None:
    with pytest.raises(QueryRefused):
        session.sql(f"SELECT {item} AS y, COUNT(*) AS n FROM t GROUP BY k", epsilon=1)
    assert session.budget.spent == 0
