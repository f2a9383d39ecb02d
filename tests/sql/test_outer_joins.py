"""Public tables in front of private rows, RIGHT, FULL and NATURAL joins, parentheses and schemas, as in DuckDB."""

from __future__ import annotations

import datetime as dt
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from tests import inside, people, shared

import discreet as dp
from discreet.errors import QueryRefused
from discreet.sql.analyze.aggregates import unmatched_rows

DAYS = pa.table({"day": [dt.date(2023, 12, 25) + dt.timedelta(at) for at in range(400)]})
AGES = pa.table(
    {"low": [0, 50, 90, 110], "high": [49, 89, 99, 120], "name": ["young", "old", "very", "none"]}
)
ALL = {**people.TABLES, "days": DAYS, "ages": AGES}
FEW = pa.table({"county": ["A", "B", "X"], "pop": [1, 2, 3]})


@pytest.fixture(scope="module")
def session() -> dp.Session:
    tables = {
        **people.DECLARED["tables"],
        "days": {"public": True},
        "ages": {"public": True},
        "few": {"public": True},
    }
    return shared.protect({**ALL, "few": FEW}, policy=dp.Policy(**{**people.DECLARED, "tables": tables}))


@pytest.fixture(scope="module")
def plain() -> duckdb.DuckDBPyConnection:
    return people.plain_duckdb({**ALL, "few": FEW})


def same(session: dp.Session, plain: duckdb.DuckDBPyConnection, sql: str) -> None:
    def ordered(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        return sorted(rows, key=lambda row: [str(value) for value in row])

    expected = ordered(plain.execute(sql).fetchall())
    got = ordered(inside.without_noise(session, sql))
    assert [len(row) for row in got] == [len(row) for row in expected]
    for mine, theirs in zip(got, expected, strict=True):
        for a, b in zip(mine, theirs, strict=True):
            assert a == (pytest.approx(float(b), abs=2e-3) if isinstance(b, int | float) else b), (
                mine,
                theirs,
            )


PARTLY = "visits AS v LEFT JOIN (SELECT * FROM few WHERE county < 'X') AS f ON v.county = f.county"
JOINS = [
    "SELECT d.day, COUNT(v.patient) AS n FROM days AS d LEFT JOIN visits AS v ON v.day = d.day GROUP BY d.day",
    "SELECT d.day, COUNT(*) AS n FROM days AS d LEFT JOIN visits AS v ON v.day = d.day GROUP BY d.day",
    "SELECT d.day, COUNT(*) AS n FROM visits AS v RIGHT JOIN days AS d ON v.day = d.day GROUP BY d.day",
    "SELECT day, COUNT(patient) AS n FROM days LEFT JOIN visits USING (day) GROUP BY day",
    "SELECT day, COUNT(patient) AS n FROM days NATURAL LEFT JOIN visits GROUP BY day",
    "SELECT month(d.day) AS m, COUNT(v.age) AS n, coalesce(SUM(v.cost), 0) AS c FROM days AS d "
    "LEFT JOIN visits AS v ON v.day = d.day AND v.age > 60 GROUP BY 1",
    "SELECT d.day, COUNT(v.patient) AS n FROM days AS d LEFT JOIN visits AS v ON v.day = d.day "
    "WHERE d.day < DATE '2024-01-10' GROUP BY d.day",
    "SELECT f.county, COUNT(*) AS n FROM few AS f LEFT JOIN visits AS v ON v.county = f.county GROUP BY 1",
    "SELECT f.county, COUNT(*) AS n FROM few AS f LEFT JOIN visits AS v ON v.county = f.county "
    "WHERE v.age >= 0 AND f.county < 'X' GROUP BY 1",
    "SELECT f.county, COUNT(*) FILTER (WHERE v.age > 40) AS n, SUM(CASE WHEN v.age > 40 THEN 1 ELSE 0 END) AS m "
    "FROM few AS f LEFT JOIN visits AS v ON v.county = f.county GROUP BY 1",
    "SELECT a.name, f.county, COUNT(v.patient) AS n FROM ages AS a CROSS JOIN few AS f LEFT JOIN visits AS v "
    "ON v.county = f.county AND v.age BETWEEN a.low AND a.high GROUP BY ALL",
    "SELECT a.name, c.region, COUNT(v.patient) AS n FROM ages AS a, counties AS c LEFT JOIN visits AS v "
    "ON v.county = c.county AND v.age BETWEEN a.low AND a.high GROUP BY ALL",
    "SELECT county, COUNT(patient) AS n, COUNT(DISTINCT patient) AS p FROM (SELECT f.county, v.patient "
    "FROM few AS f LEFT JOIN visits AS v ON v.county = f.county) AS j GROUP BY county",
    "SELECT f.county, p.sex, COUNT(*) AS n FROM few AS f LEFT JOIN visits AS v ON v.county = f.county "
    "JOIN people AS p ON p.id = v.patient WHERE f.county < 'X' GROUP BY ALL",
    "WITH RECURSIVE m(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM m WHERE i < 14) "
    "SELECT m.i, COUNT(v.patient) AS n FROM m LEFT JOIN visits AS v ON month(v.day) = m.i GROUP BY m.i",
    "SELECT g.i, COUNT(v.patient) AS n FROM generate_series(1, 14) AS g(i) "
    "LEFT JOIN visits AS v ON month(v.day) = g.i GROUP BY g.i",
    "SELECT sex, COUNT(*) AS n, COUNT(cost) AS c FROM visits RIGHT JOIN people ON patient = id GROUP BY sex",
    "SELECT COUNT(*) AS n, COUNT(cost) AS c, COUNT(height) AS h FROM (SELECT * FROM visits WHERE age > 80) AS v "
    "FULL JOIN (SELECT * FROM people WHERE sex = 'f') AS p ON v.patient = p.id",
    "SELECT county, COUNT(*) AS n, SUM(height) AS h FROM (SELECT * FROM visits WHERE age > 80) AS v FULL JOIN "
    "(SELECT * FROM people WHERE sex = 'f') AS p ON v.patient = p.id AND v.age > p.height - 90 "
    "WHERE county IS NOT NULL GROUP BY county",
    "SELECT v.age // 10 AS k, COUNT(v.patient) AS n FROM few AS f LEFT JOIN visits AS v ON v.county = f.county "
    "WHERE v.age BETWEEN 60 AND 69 GROUP BY 1",
    "SELECT month(v.day) AS m, round(v.age, -2) AS k, COUNT(v.age) AS n FROM few AS f LEFT JOIN visits AS v "
    "ON v.county = f.county WHERE v.age < 40 AND v.day >= DATE '2024-01-01' GROUP BY ALL",
    "SELECT coalesce(month(v.day), 13) AS m, COUNT(v.age) AS n FROM few AS f LEFT JOIN visits AS v "
    "ON v.county = f.county GROUP BY 1",
    "SELECT region, COUNT(*) AS n FROM visits NATURAL JOIN counties GROUP BY region",
    "SELECT COUNT(*) AS n FROM (visits JOIN people ON patient = id)",
    "SELECT region, sex, COUNT(*) AS n FROM visits JOIN (people JOIN counties ON pop > 0) "
    "ON patient = id AND visits.county = counties.county GROUP BY ALL",
    "SELECT region, COUNT(*) AS n FROM (visits JOIN people ON patient = id) JOIN counties USING (county) "
    "GROUP BY 1",
    "SELECT COUNT(*) AS n FROM main.visits",
    "SELECT main.visits.county, COUNT(*) AS n FROM main.visits GROUP BY 1",
    "SELECT region, COUNT(*) AS n FROM main.visits JOIN main.counties AS c ON c.county = visits.county GROUP BY 1",
    "SELECT county, pop FROM main.counties",
    f"SELECT f.pop, COUNT(*) AS n FROM {PARTLY} GROUP BY f.pop",
    f"SELECT f.county, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM {PARTLY} GROUP BY 1",
    f"SELECT f.county, sex, COUNT(*) AS n, SUM(v.cost) AS c FROM {PARTLY} JOIN people ON v.patient = id GROUP BY ALL",
    f"SELECT pop, COUNT(*) AS n FROM (SELECT patient, f.pop FROM {PARTLY} GROUP BY patient, f.pop) AS g GROUP BY pop",
    f"SELECT coalesce(f.pop, 0) AS k, COUNT(*) AS n FROM {PARTLY} GROUP BY k",
    f"SELECT f.pop, COUNT(*) AS n FROM {PARTLY} "
    + " ".join(f"LEFT JOIN few AS f{i} ON v.county = f{i}.county" for i in range(5))
    + " GROUP BY f.pop",
]


@pytest.mark.parametrize("sql", JOINS)
def test_joins_mean_what_they_mean_in_duckdb(
    session: dp.Session, plain: duckdb.DuckDBPyConnection, sql: str
) -> None:
    same(session, plain, sql)


@pytest.mark.parametrize(
    ("sql", "instead"),
    [
        ("SELECT region, COUNT(*) AS n FROM counties LEFT JOIN visits ON visits.county = counties.county GROUP BY 1",
         "SELECT region, COUNT(visits.patient) AS n FROM counties LEFT JOIN visits "
         "ON visits.county = counties.county GROUP BY 1"),
        ("SELECT name, SUM(pop) AS n FROM ages LEFT JOIN visits ON age BETWEEN low AND high JOIN counties "
         "ON counties.pop > 0 GROUP BY 1",
         "SELECT name, SUM(pop) FILTER (WHERE visits.patient IS NOT NULL) AS n FROM ages LEFT JOIN visits "
         "ON age BETWEEN low AND high JOIN counties ON counties.pop > 0 GROUP BY 1"),
        ("SELECT f.county, COUNT(*) AS n FROM few AS f LEFT JOIN visits AS v ON v.county = f.county "
         "WHERE v.patient IS NULL OR v.age > 5 GROUP BY 1", ""),
        ("SELECT f.county, COUNT(v.age) AS n FROM few AS f LEFT JOIN visits AS v ON v.county = f.county "
         "WHERE v.patient IS NULL GROUP BY 1",
         "SELECT f.county, COUNT(v.age) AS n FROM few AS f LEFT JOIN visits AS v ON v.county = f.county "
         "GROUP BY 1 HAVING COUNT(v.patient) < 1"),
        ("SELECT COUNT(*) AS n FROM visits FULL JOIN people USING (patient)", ""),
        ("SELECT COUNT(*) AS n FROM sales.visits", "SELECT COUNT(*) AS n FROM visits"),
        ("SELECT COUNT(*) AS n FROM visits LEFT JOIN (people JOIN counties ON TRUE) ON patient = id", ""),
        ("SELECT COUNT(*) AS n FROM visits ASOF JOIN people ON patient = id", ""),
    ],
)  # fmt: skip
def test_what_would_count_nobody_is_refused_with_a_fix_that_runs(
    session: dp.Session, sql: str, instead: str
) -> None:
    with pytest.raises(QueryRefused):
        inside.without_noise(session, sql)
    if instead:
        inside.without_noise(session, instead)


def test_a_check_that_lets_everything_pass_is_caught(
    session: dp.Session, plain: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unmatched_rows.UnmatchedRows, "answered", lambda self, request, column, *rest: column)
    with pytest.raises(AssertionError):
        same(
            session, plain, "SELECT f.county, COUNT(*) AS n FROM few AS f LEFT JOIN visits AS v "
            "ON v.county = f.county GROUP BY 1"
        )  # fmt: skip


def test_whether_rows_may_lack_a_partner_is_told_from_public_values(session: dp.Session) -> None:
    """Refusals, prices and shapes know no row: the group is there where the text and the policy leave it."""
    expected = {"TRUE": 3, "v.county = 'A'": 1, "f.county IS NOT NULL": 2, "f.county IS NULL": 1}
    for where, groups in expected.items():
        question = f"SELECT f.county, COUNT(*) AS n FROM {PARTLY} WHERE {where} GROUP BY f.county"
        assert session.preview(question, epsilon=1).groups == groups
