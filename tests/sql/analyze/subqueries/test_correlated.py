"""EXISTS with more conditions, IN, ANY and ALL over the rows of the same unit, as DuckDB has them."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest
from tests import inside, people, shared
from tests.depth import few

import discreet as dp
from discreet.errors import QueryRefused
from discreet.sql import functions as fn
from discreet.sql.analyze.subqueries import correlated

WITH_NULLS = people.VISITS.append_column(
    "grade", pa.array([None if n % 7 == 0 else n % 5 for n in range(len(people.VISITS))])
)
ALL = {**people.TABLES, "visits": WITH_NULLS}
SAME = "WHERE b.patient = a.patient"


@pytest.fixture(scope="module")
def session() -> dp.Session:
    return people.protected(ALL)


@pytest.fixture(scope="module")
def plain() -> duckdb.DuckDBPyConnection:
    return people.plain_duckdb(ALL)


WRITTEN = [
    "EXISTS (SELECT 1 FROM people AS p WHERE p.id = a.patient AND p.height < a.age + 120)",
    "NOT EXISTS (SELECT 1 FROM people WHERE id = a.patient AND height < a.age + 120 AND sex = 'f')",
    f"EXISTS (SELECT * FROM visits AS b {SAME} AND b.day > a.day AND b.county <> a.county)",
    "EXISTS (SELECT 1 FROM visits WHERE visits.patient = a.patient AND visits.age > a.age)",
    "a.age IN (SELECT height - 120 FROM people WHERE id = a.patient)",
    "(a.patient, a.age) IN (SELECT id, height - 120 FROM people)",
    "(a.patient, a.age) NOT IN (SELECT id, height - 120 FROM people)",
    f"a.grade NOT IN (SELECT b.grade FROM visits AS b {SAME} AND b.age > a.age)",
    f"a.grade IN (SELECT b.grade FROM visits AS b {SAME} AND b.age > a.age)",
    f"NOT (a.grade IN (SELECT b.grade FROM visits AS b {SAME} AND b.age > a.age))",
    "(a.patient, a.grade) NOT IN (SELECT patient, grade FROM visits WHERE age > 60)",
    f"a.grade > ALL (SELECT b.grade FROM visits AS b {SAME} AND b.age > a.age)",
    f"a.grade >= ANY (SELECT b.grade FROM visits AS b {SAME} AND b.age > a.age)",
    f"a.grade <> ALL (SELECT b.grade FROM visits AS b {SAME} AND b.age > a.age)",
    f"a.grade = ANY (SELECT b.grade FROM visits AS b {SAME} AND b.age > a.age)",
    f"a.age IN (SELECT b.age FROM visits AS b {SAME} AND b.day <> a.day) AND a.patient IN (SELECT id FROM people)",
]  # fmt: skip


# A deep run: every question.
@pytest.mark.parametrize("where", few(WRITTEN, 5))
def test_it_means_what_it_means_in_duckdb(
    session: dp.Session, plain: duckdb.DuckDBPyConnection, where: str
) -> None:
    for sql in (
        f"SELECT COUNT(*) FROM visits AS a WHERE {where}",
        f"SELECT county, COUNT(*) FROM visits AS a JOIN people AS q ON a.patient = q.id WHERE {where} "
        "AND q.sex = 'f' GROUP BY county ORDER BY county",
    ):
        assert inside.without_noise(session, sql) == plain.execute(sql).fetchall()


@pytest.mark.parametrize(
    ("where", "instead"),
    [
        ("age IN (SELECT height FROM people)", "age IN (SELECT height FROM people WHERE people.id = visits.patient)"),
        ("EXISTS (SELECT 1 FROM people WHERE people.height = visits.age)",
         "EXISTS (SELECT 1 FROM people WHERE people.height = visits.age AND people.id = visits.patient)"),
        ("EXISTS (SELECT 1 FROM counties AS c WHERE c.county > visits.county)",
         "EXISTS (SELECT 1 FROM counties AS c WHERE c.county = visits.county)"),
        ("EXISTS (SELECT id FROM people WHERE id = patient GROUP BY id)",
         "patient IN (SELECT id FROM people GROUP BY id)"),
    ],
)  # fmt: skip
def test_what_looks_at_other_units_is_refused_with_a_fix_that_runs(
    session: dp.Session, where: str, instead: str
) -> None:
    with pytest.raises(QueryRefused):
        inside.without_noise(session, f"SELECT COUNT(*) FROM visits WHERE {where}")
    inside.without_noise(session, f"SELECT COUNT(*) FROM visits WHERE {instead}")


def test_rows_that_are_one_unit_each_are_not_told_to_compare_a_column_that_is_not_there() -> None:
    session = shared.protect(people.VISITS, privacy_unit="row", budget=1)
    with pytest.raises(QueryRefused) as refused:
        session.sql(f"SELECT COUNT(*) AS n FROM data AS a WHERE EXISTS (SELECT 1 FROM data AS b {SAME})", 1)
    assert "Add WHERE" not in refused.value.fix
    assert "privacy_unit" in refused.value.fix
    named = shared.protect(people.VISITS, privacy_unit="patient", max_rows=4, budget=1)
    named.sql(f"SELECT COUNT(*) AS n FROM data AS a WHERE EXISTS (SELECT 1 FROM data AS b {SAME})", 1)


def test_nulls_that_are_passed_over_are_caught(
    session: dp.Session, plain: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(correlated, "_not_true", lambda test: fn.call("not", test))
    with pytest.raises(AssertionError):
        test_it_means_what_it_means_in_duckdb(session, plain, WRITTEN[7])
