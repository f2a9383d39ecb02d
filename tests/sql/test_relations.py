"""Joins, sub-queries, windows and groupings mean what they mean in DuckDB.

The integers are taken without noise, with max_rows so large that nothing is dropped, and the estimates made of
them must be what DuckDB answers to the same SQL: exactly for counts, within the grid for the rest.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from tests import inside, people, shared
from tests.depth import few

import discreet as dp
from discreet.sql.plan.limits import Limits
from discreet.sql.plan.planner import plan

JOIN = "visits AS v JOIN people AS p ON v.patient = p.id"
STATEMENTS = [
    f"SELECT sex, COUNT(*) AS n, AVG(cost) AS c FROM {JOIN} GROUP BY sex ORDER BY sex",
    f"SELECT COUNT(*) AS n FROM {JOIN} AND v.age < p.height - 100",
    "SELECT COUNT(*) AS n FROM visits AS v, people AS p WHERE p.id = v.patient AND p.sex = 'f'",
    "SELECT COUNT(*) AS n, COUNT(v.age) AS m FROM people AS p LEFT JOIN visits AS v ON v.patient = p.id AND v.age > 90",
    "SELECT COUNT(*) AS n FROM visits AS a JOIN visits AS b ON a.patient = b.patient AND a.age > b.age",
    "SELECT COUNT(*) AS n FROM people AS p SEMI JOIN visits AS v ON v.patient = p.id AND v.age > 90",
    "SELECT COUNT(*) AS n FROM people AS p ANTI JOIN visits AS v ON v.patient = p.id",
    "SELECT COUNT(*) AS n FROM visits WHERE patient IN (SELECT id FROM people WHERE sex = 'f')",
    "SELECT COUNT(*) AS n FROM visits WHERE patient NOT IN (SELECT id FROM people WHERE sex = 'f')",
    "SELECT COUNT(*) AS n FROM people AS p WHERE EXISTS (SELECT 1 FROM visits AS v WHERE patient = p.id AND age > 80)",
    "SELECT COUNT(*) AS n FROM people WHERE NOT EXISTS (SELECT 1 FROM visits WHERE patient = people.id AND age > 80)",
    "SELECT region, COUNT(*) AS n FROM visits JOIN counties USING (county) GROUP BY region ORDER BY region",
    "SELECT coalesce(region, 'none') AS r, COUNT(pop) AS p FROM visits AS v LEFT JOIN counties AS c "
    "ON v.county = c.county AND c.pop > 10 GROUP BY r ORDER BY r",
    "SELECT c.region, COUNT(*) AS n FROM counties AS c JOIN visits AS v ON c.county = v.county GROUP BY 1 ORDER BY 1",
    "SELECT COUNT(*) AS n FROM visits, counties WHERE age > pop",
    "SELECT COUNT(*) AS n FROM visits WHERE county IN (SELECT county FROM counties WHERE region = 'N')",
    "SELECT COUNT(*) AS n FROM visits WHERE age > (SELECT MAX(pop) FROM counties)",
    "WITH old AS (SELECT * FROM visits WHERE age > 60) SELECT county, COUNT(*) AS n FROM old GROUP BY ALL ORDER BY ALL",
    "SELECT COUNT(*) AS n FROM (SELECT patient, age FROM visits UNION ALL SELECT id, height FROM people)",
    "SELECT COUNT(*) AS n FROM (SELECT DISTINCT patient, county FROM visits)",
    "SELECT COUNT(*) AS n FROM (SELECT DISTINCT patient FROM visits WHERE age > 50)",
    "SELECT AVG(clamp(n, 0, 20)) AS a, COUNT(*) AS k FROM (SELECT patient, COUNT(*) AS n FROM visits GROUP BY patient)",
    "SELECT n >= 3 AS often, COUNT(*) AS k FROM (SELECT patient, COUNT(*) AS n FROM visits GROUP BY 1) GROUP BY 1 "
    "ORDER BY 1",
    "SELECT AVG(clamp(t / n, 0, 9000)) AS a FROM (SELECT patient, SUM(cost) AS t, COUNT(*) AS n FROM visits GROUP BY 1 "
    "HAVING COUNT(*) > 1 AND MIN(age) > 10)",
    "SELECT county, AVG(m) AS m FROM (SELECT patient, county, MAX(age) AS m FROM visits GROUP BY patient, county) "
    "GROUP BY county ORDER BY county",
    "SELECT sex, AVG(m) AS m FROM people JOIN (SELECT patient, AVG(cost) AS m FROM visits GROUP BY 1) AS t "
    "ON id = t.patient GROUP BY sex ORDER BY sex",
    "SELECT AVG(clamp(d, 0, 5)) AS d FROM (SELECT patient, COUNT(DISTINCT county) AS d FROM visits GROUP BY patient)",
    "SELECT COUNT(*) AS n, AVG(cost) AS c FROM (SELECT * FROM visits QUALIFY rank() OVER (PARTITION BY patient "
    "ORDER BY day) = 1)",
    "SELECT AVG(clamp(gap, 0, 400)) AS gap FROM (SELECT day - lag(day) OVER (PARTITION BY patient ORDER BY day) AS gap "
    "FROM visits)",
    "SELECT AVG(clamp(t, 0, 20000)) AS t FROM (SELECT SUM(cost) OVER (PARTITION BY patient ORDER BY day) AS t "
    "FROM visits)",
    "SELECT AVG(k) AS k FROM (SELECT clamp(COUNT(*) OVER (PARTITION BY patient, county), 0, 9) AS k FROM visits)",
    "SELECT COUNT(DISTINCT patient) AS p, COUNT(DISTINCT age) AS a, COUNT(*) AS n FROM visits WHERE age > 20",
    "SELECT county, COUNT(DISTINCT patient) AS p FROM visits GROUP BY county ORDER BY county",
    "SELECT COUNT(DISTINCT patient) FILTER (WHERE age > 80) AS p FROM visits",
    "SELECT county, sex, COUNT(*) AS n FROM visits JOIN people ON patient = id GROUP BY ROLLUP (county, sex) "
    "ORDER BY ALL",
    "SELECT county, COUNT(*) AS n, GROUPING(county) AS g FROM visits GROUP BY CUBE (county) ORDER BY ALL",
    "SELECT region, county, SUM(age) AS s FROM visits JOIN counties USING (county) "
    "GROUP BY GROUPING SETS ((region), (county), ()) ORDER BY ALL",
    "WITH a AS (SELECT county, COUNT(*) AS n FROM visits GROUP BY 1), b AS (SELECT county, AVG(age) AS m FROM visits "
    "WHERE age > 50 GROUP BY 1) SELECT a.county, n, m, n / (SELECT SUM(n) FROM a) AS s FROM a JOIN b USING (county) "
    "ORDER BY county",
    "SELECT (SELECT COUNT(*) FROM people) AS p, (SELECT COUNT(*) FROM visits) AS v",
    "SELECT x.* FROM (SELECT month(day) AS m, COUNT(*) AS n FROM visits GROUP BY 1) AS x WHERE m < 4 ORDER BY m",
    "SELECT county, COUNT(*) AS n FROM visits GROUP BY 1 UNION ALL SELECT sex, COUNT(*) FROM people GROUP BY 1 "
    "ORDER BY 1",
]
MACRO = "CREATE OR REPLACE MACRO clamp(x, lo, hi) AS CASE WHEN x < lo THEN lo WHEN x > hi THEN hi ELSE x END"


# A deep run: every relation.
@pytest.mark.parametrize("sql", few(STATEMENTS, 6))
def test_answers_are_those_of_duckdb(sql: str, session: dp.Session, plain: duckdb.DuckDBPyConnection) -> None:
    plain.execute(MACRO)
    expected = plain.execute(sql).fetchall()
    found = inside.without_noise(session, sql)
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        for a, b in zip(ours, theirs, strict=True):
            if isinstance(b, float) or isinstance(a, float):
                assert a == pytest.approx(float(b), rel=1e-5, abs=1e-4)
            else:
                assert a == b


REFUSED = {
    "SELECT COUNT(*) FROM visits AS a JOIN visits AS b ON a.age = b.age": "must be on the privacy unit",
    "SELECT COUNT(*) FROM visits CROSS JOIN people": "must be on the privacy unit",
    "SELECT COUNT(*) FROM counties LEFT JOIN visits USING (county)": "without a partner",
    "SELECT COUNT(*) FROM visits FULL JOIN people ON age = height": "must be on the privacy unit",
    "SELECT COUNT(*) FROM visits WHERE age IN (SELECT height FROM people)": "must compare the privacy units",
    "SELECT COUNT(*) FROM (SELECT DISTINCT ON (county) age FROM visits)": "DISTINCT ON",
    "SELECT COUNT(*) FROM (SELECT age FROM visits UNION SELECT height FROM people)": "merge rows",
    "SELECT COUNT(*) FROM (SELECT age FROM visits UNION ALL SELECT pop FROM counties)": "belong to no unit",
    "SELECT COUNT(*) FROM (SELECT row_number() OVER (PARTITION BY county ORDER BY day) AS r FROM visits)": "mix units",
    "SELECT COUNT(*) FROM (SELECT row_number() OVER (PARTITION BY patient ORDER BY day) AS r, "
    "lag(age) OVER (PARTITION BY patient ORDER BY cost) AS l FROM visits)": "one order",
    "SELECT AVG(n) FROM (SELECT patient, MAX(length(county)) AS n FROM visits GROUP BY patient)": "no bounds",
    "SELECT patient, COUNT(*) FROM visits GROUP BY patient": "rows of a private table",
}


@pytest.mark.parametrize("sql", REFUSED)
def test_what_would_mix_units_is_refused(sql: str, session: dp.Session) -> None:
    with pytest.raises(dp.errors.QueryRefused) as refused:
        plan(sql, inside.catalog_of(session), Fraction(1))
    assert REFUSED[sql] in str(refused.value)
    assert refused.value.fix


def test_a_public_table_that_multiplies_rows_multiplies_the_noise_where_each_row_is_one_unit() -> None:
    many = pa.table({"county": ["A", "A", "B"], "x": [1, 2, 3]})
    declared: dict[str, Any] = {
        "budget": 1,
        "tables": {"visits": {"privacy_unit": "row"}, "many": {"public": True}},
    }
    policy = dp.Policy(**declared)
    session = shared.protect({"visits": people.VISITS, "many": many}, policy=policy)
    sql = "SELECT COUNT(*) AS n FROM visits JOIN many USING (county)"
    (release,) = plan(sql, inside.catalog_of(session), Fraction(1)).releases
    assert release.sensitivity(release.measures[0]) == 2  # a row of county A counts twice
    counties = people.VISITS["county"].to_pylist()
    assert inside.without_noise(session, sql) == [(2 * counties.count("A") + counties.count("B"),)]


def test_limits_of_a_question_change_sensitivity_and_answer(session: dp.Session) -> None:
    sql = "SELECT county, COUNT(*) AS n, COUNT(DISTINCT patient) AS p FROM visits GROUP BY county"
    for rows, groups in ((1, 1), (2, 1), (3, 4)):
        planned = plan(sql, inside.catalog_of(session), Fraction(1), Limits(rows, groups))
        (release,) = planned.releases
        assert [release.sensitivity(m) for m in release.measures] == [groups, rows] or [
            release.sensitivity(m) for m in release.measures
        ] == [rows, groups]
        found = inside.without_noise(session, sql, Limits(rows, groups))
        assert sum(row[1] for row in found) <= rows * people.UNITS
        assert sum(row[2] for row in found) <= groups * people.UNITS
