"""The groups of an expression are what it says of public values, not all that its branches or its type could say."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction

import pyarrow as pa
import pytest
from tests import inside, shared

import discreet as dp
from discreet.sql.algebra import keys as ks
from discreet.sql.algebra import trial
from discreet.sql.plan.planner import plan

DATA = pa.table({"city": ["A"], "educ": [1], "d": [dt.date(2024, 2, 28)], "note": ["x"]})
TOWNS = pa.table({"city": ["A", "B", "C"], "state": ["S1", "S1", "S2"]})


@pytest.fixture
def session() -> dp.Session:
    return opened()


def opened() -> dp.Session:
    columns = {
        "city": {"keys": "towns.city"},
        "educ": {"bounds": (1, 3)},
        "d": {"bounds": (dt.date(2024, 2, 28), dt.date(2024, 3, 1))},
    }
    tables = {"t": {"privacy_unit": "row", "columns": columns}, "towns": {"public": True}}
    return shared.protect({"t": DATA, "towns": TOWNS}, policy=dp.Policy(budget=1, tables=tables))  # type: ignore[arg-type]


def groups(session: dp.Session, sql: str) -> list[object]:
    (release,) = plan(sql, inside.catalog_of(session), Fraction(1)).releases
    return list(ks.table(release.keys)["k0"].to_pylist())


@pytest.mark.parametrize(("key", "expected"), [
    ("dayname(d)", ["Wednesday", "Thursday", "Friday"]),
    ("monthname(d)", ["February", "March"]),
    ("CASE WHEN city IN ('A', 'B') THEN city ELSE 'other' END", ["A", "B", "other"]),
    ("CASE WHEN educ > 3 THEN 'high' WHEN educ > 1 THEN 'middle' ELSE 'low' END", ["middle", "low"]),
    ("CASE WHEN note > 'k' THEN city ELSE 'other' END", ["A", "B", "C", "other", None]),
])  # fmt: skip
def test_branches_that_no_public_value_takes_are_no_groups(
    session: dp.Session, key: str, expected: list[object]
) -> None:
    assert groups(session, f"SELECT {key} AS k, COUNT(*) AS n FROM t GROUP BY 1") == expected


def test_tables_that_an_equality_joins_are_tried_though_their_product_is_large(
    session: dp.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: every row of a public table is thought to meet every row."""
    sql = "SELECT t.city AS k, COUNT(*) AS n FROM t JOIN towns ON t.city = towns.city WHERE state = 'S1' GROUP BY 1"
    monkeypatch.setattr(trial, "MAX_EVALUATED", 8)
    assert groups(session, sql) == ["A", "B"]
    monkeypatch.setattr(trial, "most_alike", lambda data, names: len(data))
    assert groups(opened(), sql) == ["A", "B", "C"]


@pytest.mark.parametrize(
    ("keys", "expected"), [({"b": [False, True]}, [False, True]), ({}, [False, True, None])]
)
def test_null_is_a_group_of_a_boolean_unless_the_policy_lists_its_keys(
    keys: dict[str, list[bool]], expected: list[object]
) -> None:
    table = pa.table({"id": [1, 2], "b": [True, None]})
    with shared.protect(
        table, table="t", privacy_unit="id", max_rows=1, keys=keys, budget=1, ledger=":memory:"
    ) as one:
        assert one.sql("SELECT b, COUNT(*) AS n FROM t GROUP BY b", epsilon=1).to_dict()["b"] == expected
