"""EXISTS around a sub-query that always has one row is refused, as nobody means it. No chance of a false alarm."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from tests import shared

import discreet as dp
from discreet.errors import QueryRefused

BY_K = "SELECT k, COUNT(*) AS n FROM t GROUP BY k"


@pytest.fixture(scope="module")
def session() -> Iterator[dp.Session]:
    tables = {
        "t": pa.table({"k": ["a", "b"] * 9, "x": list(range(18))}),
        "p": pa.table({"k": ["a"], "w": [1]}),
    }
    policy = {"bounds": {"x": (0, 18)}, "keys": {"k": ["a", "b"]}, "budget": 1000}
    with shared.protect(tables, table="t", public=["p"], privacy_unit="row", **policy) as made:
        yield made


@pytest.mark.parametrize(("sql", "cause"), [
    ("SELECT EXISTS (SELECT 1 FROM t WHERE x > 90) AS e", "returns rows of a private table"),
    ("SELECT EXISTS (SELECT COUNT(*) FROM t WHERE x > 90) AS e", "is always true"),
    ("SELECT EXISTS (SELECT SUM(x) + 1 AS s FROM t ORDER BY s) AS e", "is always true"),
    (f"{BY_K} HAVING EXISTS (SELECT COUNT(*) FROM t WHERE x > 90)", "is always true"),
    (f"SELECT k FROM ({BY_K}) WHERE NOT EXISTS (SELECT AVG(x) FROM t)", "is always true"),
    (f"SELECT k FROM ({BY_K}) AS c WHERE EXISTS (WITH q AS (SELECT 1) SELECT COUNT(*) FROM t)", "is always true"),
])  # fmt: skip
def test_it_is_refused_and_the_fix_works(session: dp.Session, sql: str, cause: str) -> None:
    spent = session.budget.spent
    with pytest.raises(QueryRefused, match=cause) as refused:
        session.sql(sql, epsilon=1)
    assert session.budget.spent == spent
    assert "(SELECT COUNT(*) FROM t WHERE ...) > 0" in refused.value.fix
    mended = "SELECT (SELECT COUNT(*) FROM t WHERE x > 15) > 0 AS e"
    assert session.sql(mended, epsilon=20).to_dict()["e"] == [True]


@pytest.mark.parametrize("sql", [
    f"SELECT EXISTS ({BY_K} HAVING COUNT(*) > 5) AS e",
    "SELECT EXISTS (SELECT COUNT(*) FROM t HAVING COUNT(*) > 5) AS e",
    f"SELECT k FROM ({BY_K}) AS c WHERE EXISTS (SELECT 1 FROM p WHERE p.k = c.k)",
    "SELECT COUNT(*) AS n FROM t WHERE EXISTS (SELECT MAX(w) FROM p)",
    f"SELECT EXISTS (SELECT k FROM ({BY_K}) WHERE n > 5) AS e",
    f"SELECT EXISTS (SELECT UNNEST(LIST(n)) FROM ({BY_K}) WHERE n > 5000) AS e",
    "SELECT COUNT(*) AS n FROM t WHERE EXISTS (SELECT COUNT(*) FROM p)",
])  # fmt: skip
def test_one_that_can_be_false_is_answered(session: dp.Session, sql: str) -> None:
    assert len(session.sql(sql, epsilon=1))


PEOPLE = {
    "t": pa.table({"id": list(range(300)), "x": [row % 9 for row in range(300)]}),
    "u": pa.table({"id": list(range(300)), "y": [row % 100 for row in range(300)]}),
}
OF_ONE = "(SELECT {} FROM u WHERE u.id = t.id AND u.y > 90)"


@pytest.mark.parametrize("where", [
    "EXISTS {0}", "NOT EXISTS {0}", "x < 5 OR EXISTS {0}", "CASE WHEN EXISTS {0} THEN x > 3 ELSE FALSE END",
])  # fmt: skip
@pytest.mark.parametrize("item", ["COUNT(*)", "MAX(y)", "SUM(y) + 1"])
def test_an_aggregate_of_rows_of_the_same_unit_is_refused(where: str, item: str) -> None:
    """It was read as a row: DuckDB says yes of everybody."""
    units = {"t": {"privacy_unit": "id", "max_rows": 1}, "u": {"privacy_unit": "id", "max_rows": 1}}
    declared: dict[str, Any] = {"tables": units, "budget": 100}
    with shared.protect(PEOPLE, policy=dp.Policy(**declared)) as session:
        question = "SELECT COUNT(*) AS n FROM t WHERE " + where
        with pytest.raises(QueryRefused, match="is always true") as refused:
            session.sql(question.format(OF_ONE.format(item)), epsilon=1)
        assert "EXISTS (SELECT 1 FROM ...)" in refused.value.fix
        assert len(session.sql(question.format(OF_ONE.format("1")), epsilon=1))


def test_rows_that_are_returned_otherwise_are_to_be_aggregated(session: dp.Session) -> None:
    with pytest.raises(QueryRefused, match="Aggregate them in it"):
        session.sql("SELECT (SELECT x FROM t) AS y", epsilon=1)
