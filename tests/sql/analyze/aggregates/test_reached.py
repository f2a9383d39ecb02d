"""A condition tells a bound from the values beyond it where clamping can change which rows it keeps."""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import cache

import pyarrow as pa
import pytest
from tests import inside, shared

import discreet as dp
from discreet.sql.analyze.aggregates.reached import Reached
from discreet.sql.plan.limits import NO_LIMITS
from discreet.sql.plan.planner import plan

LO, HI = 20, 50
NEAR = [-30, 19, 19.5, 20, 20.5, 35, 49, 49.5, 50, 50.5, 51, 60]
STEADY = [
    *(f"age {op} {v}" for op, v in itertools.product(["<", "<=", ">", ">="], NEAR)),
    *(f"{v} {op} age" for op, v in itertools.product(["<", "<=", ">", ">="], [19, 20, 21, 49, 50, 51])),
    *(f"age {op} {v}" for op, v in itertools.product(["=", "<>", "IS DISTINCT FROM", "IN (30,"], [19, 20, 35, 50, 51])),
    *(f"{x} {op} 50" for x, op in itertools.product(["age + 1", "-age + 99", "age // 2 * 2", "2 * age"], ["<", ">="])),
    "age BETWEEN 30 AND 40", "age BETWEEN 40 AND 60", "age BETWEEN 10 AND 40", "NOT age > 60", "NOT age > 40",
    "CASE WHEN age <= 60 THEN true ELSE false END", "CASE WHEN age <= 40 THEN true ELSE false END",
    "greatest(age, 30) < 50", "greatest(age, 60) <= 65", "least(age, 30) < 25", "age::DOUBLE <= 50",
]  # fmt: skip
"""Conditions that are read exactly."""
OTHERS = [
    "age % 10 = 5", "abs(age) <= 30", "age::VARCHAR = '60'", "age::VARCHAR LIKE '6%'", "coalesce(age, 0) <= 10",
    "age <= other", "other > age", "age + other <= 60", "sqrt(age) < 4", "list_contains([30, 60], age)",
    "CASE WHEN age > 30 THEN age ELSE 60 END <= 60", "age % 10 <= other",
]  # fmt: skip


@cache
def session() -> dp.Session:
    ages = pa.table({"id": [1, 2], "age": [31, 47], "other": [1, 2]})
    towns = pa.table({"lower": [30], "upper": [60]})
    tables = {"t": ages, "towns": towns}
    return shared.protect(tables, table="t", public=["towns"], privacy_unit="id", max_rows=2,
                          bounds={"age": (LO, HI)}, budget=9)  # fmt: skip


def told(sql: str) -> bool:
    """Whether a question is read as one with such a condition."""
    planned = plan(sql, inside.catalog_of(session()), Fraction(1), NO_LIMITS)
    reached = Reached()
    return any(reached.selects(part.rows.relation) for release in planned.releases for part in release.parts)


def changes(condition: str) -> bool:
    """Whether clamping changes for some row whether it is kept, as DuckDB finds."""
    kept = f"coalesce({condition}, false)"
    rows = "FROM range(-100, 200) AS a(age), range(-100, 200, 7) AS b(other)"
    clamped = f"SELECT greatest(least(age, {HI}), {LO}) AS age, other, {kept} AS before {rows}"
    with shared.plain() as plain:
        return plain.execute(f"SELECT count(*) FROM ({clamped}) WHERE before <> {kept}").fetchall() != [(0,)]


@pytest.mark.parametrize("condition", [f"{one})" if "(30," in one else one for one in STEADY])
def test_a_comparison_tells_the_bound_just_where_clamping_changes_it(condition: str) -> None:
    assert told(f"SELECT COUNT(*) AS n FROM t WHERE {condition}") == changes(condition)


@pytest.mark.parametrize("condition", OTHERS)
def test_other_conditions_tell_the_bound_wherever_clamping_changes_them(condition: str) -> None:
    assert changes(condition)
    assert told(f"SELECT COUNT(*) AS n FROM t WHERE {condition}")


@pytest.mark.parametrize(("source", "expected"), [
    ("(SELECT age % 10 AS last FROM t) WHERE last = 5", True),
    ("(SELECT age - 20 AS above FROM t) WHERE above <= 40", True),
    ("(SELECT age - 20 AS above FROM t) WHERE above <= 20", False),
    ("(SELECT id, MAX(age) AS m FROM t GROUP BY id) WHERE m <= 60", True),
    ("(SELECT id, MAX(age) AS m FROM t GROUP BY id) WHERE m <= 40", False),
    ("(SELECT id, SUM(age) AS m FROM t GROUP BY id) WHERE m <= 70", True),
    ("(SELECT id, COUNT(age) AS m FROM t GROUP BY id) WHERE m <= 1", False),
    ("(SELECT id, SUM(other) AS m FROM t GROUP BY id) WHERE m <= 60", False),
    ("(SELECT lag(age) OVER (PARTITION BY id ORDER BY other) AS m FROM t) WHERE m <= 40", True),
    ("t JOIN towns ON age <= upper", True),
    ("t JOIN towns ON age <= lower", False),
    ("t WHERE age IS NOT NULL", False),
    ("t WHERE other <= 60", False),
])  # fmt: skip
def test_the_rows_below_are_read_too(source: str, expected: bool) -> None:
    assert told(f"SELECT COUNT(*) AS n FROM {source}") == expected


def test_a_column_is_read_once_however_often_it_is_named() -> None:
    """Each table of WITH names the one before twice: 2^40 readings would take for ever."""
    tables = ", ".join(f"a{n} AS (SELECT least(x + 1, x + 2) AS x, other FROM a{n - 1} WHERE other > {n})"
                       for n in range(1, 41))  # fmt: skip
    assert told(
        f"WITH a0 AS (SELECT age AS x, other FROM t), {tables} SELECT COUNT(*) AS n FROM a40 WHERE x < 99"
    )
