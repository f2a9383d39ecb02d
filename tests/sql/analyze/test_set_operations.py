"""Sets of units, keys without an aggregate, constants, names that are there twice and literals of another type."""

from __future__ import annotations

from fractions import Fraction

import duckdb
import pytest
from tests import inside
from tests.depth import few

import discreet as dp
from discreet.errors import QueryRefused
from discreet.sql.analyze import set_operations

OLD = "SELECT patient FROM visits WHERE age > 90"
WOMEN = "SELECT id FROM people WHERE sex = 'f'"


def ordered(rows: list[tuple[object, ...]]) -> list[tuple[object, ...]]:
    return sorted(rows, key=lambda row: [str(value) for value in row])


# A deep run: all.
@pytest.mark.parametrize(
    "sql",
    few(
        [
            f"SELECT COUNT(*) FROM ({OLD} {word} {WOMEN}) AS c"
            for word in ("UNION", "INTERSECT", "EXCEPT", "UNION ALL")
        ]
        + [
            f"SELECT COUNT(*) FROM visits WHERE patient IN ({OLD} {word} {WOMEN})"
            for word in ("INTERSECT", "EXCEPT")
        ]
        + [
            f"WITH c AS ({OLD} UNION {WOMEN} EXCEPT SELECT id FROM people WHERE height > 190) "
            "SELECT county, COUNT(*), COUNT(DISTINCT v.patient) FROM visits AS v JOIN c "
            "ON v.patient = c.patient GROUP BY 1",
            "SELECT county, COUNT(*) FROM (SELECT patient, county FROM visits WHERE age < 50 UNION "
            "SELECT patient, county FROM visits WHERE age > 40) AS c GROUP BY county",
            "SELECT county, COUNT(*) FROM (SELECT patient, county FROM visits WHERE age < 50 INTERSECT "
            "SELECT patient, county FROM visits WHERE age > 40) AS c GROUP BY county",
            "SELECT county, COUNT(*) FROM (SELECT patient, county FROM visits EXCEPT "
            "SELECT patient, county FROM visits WHERE age > 40) AS c GROUP BY county",
            "SELECT DISTINCT county FROM visits",
            "SELECT DISTINCT county, age > 50 FROM visits WHERE county < 'C'",
            "SELECT DISTINCT county FROM visits WHERE county = 'A' AND age > 1000 - 1000 ORDER BY county DESC",
            "SELECT COUNT(*) FROM (SELECT DISTINCT county FROM visits WHERE age < 5) AS c",
            "SELECT 'all' AS k, COUNT(*) FROM visits GROUP BY 1",
            "SELECT 'all' AS k, county, 2024 AS year, COUNT(*) FROM visits GROUP BY k, county, year",
            "SELECT COUNT(*) FROM visits GROUP BY ()",
            "SELECT county, COUNT(*), COUNT(*) FROM visits GROUP BY county",
            "SELECT c.county_1, COUNT(*) FROM (SELECT county, county FROM visits) AS c GROUP BY 1",
            "SELECT county, SUM(cost) AS cost FROM visits GROUP BY county HAVING cost > 400000",
            "SELECT county, COUNT(*) AS age FROM visits GROUP BY county HAVING age > 740 ORDER BY age",
            "SELECT upper(county) AS county, COUNT(*) AS n FROM visits GROUP BY visits.county HAVING n > 740",
            "SELECT COUNT(*) FROM (SELECT patient, COUNT(*) AS age FROM visits GROUP BY patient HAVING age > 4) AS p",
            "SELECT COUNT(*) FROM visits WHERE age = '8'",
            "SELECT COUNT(*) FROM visits WHERE age IN ('8', '9') OR cost > '5000.5'",
            "SELECT COUNT(*) FROM visits WHERE age BETWEEN '10' AND '19'",
            "SELECT COUNT(*) FROM visits WHERE (age > 50) = TRUE",
            "SELECT COUNT(*) FROM visits WHERE county SIMILAR TO '[AB]' OR county NOT SIMILAR TO '(A|B|C)+'",
            "SELECT COUNT(*) FROM visits WHERE (age > 50) = 1",
            "SELECT COUNT(*) FROM visits WHERE (age > 50) = 'true'",
            "SELECT CASE age WHEN '8' THEN 'eight' ELSE 'other' END AS k, COUNT(*) FROM visits GROUP BY 1",
        ],
        9,
    ),
)
def test_it_means_what_it_means_in_duckdb(
    session: dp.Session, plain: duckdb.DuckDBPyConnection, sql: str
) -> None:
    got, expected = ordered(inside.without_noise(session, sql)), ordered(plain.execute(sql).fetchall())
    assert len(got) == len(expected)
    for mine, theirs in zip(got, expected, strict=True):
        assert [pytest.approx(v, abs=1e-2) if isinstance(v, float) else v for v in theirs] == list(mine)


@pytest.mark.parametrize(
    ("sql", "instead"),
    [
        ("SELECT COUNT(*) FROM (SELECT age FROM visits INTERSECT SELECT height FROM people) AS c",
         "SELECT COUNT(*) FROM (SELECT patient FROM visits INTERSECT SELECT id FROM people) AS c"),
        (f"SELECT COUNT(*) FROM ({OLD} EXCEPT ALL {WOMEN}) AS c", f"SELECT COUNT(*) FROM ({OLD} EXCEPT {WOMEN}) AS c"),
        (f"SELECT COUNT(*) FROM ({OLD} UNION SELECT pop FROM counties) AS c", ""),
        ("SELECT COUNT(*) FROM visits WHERE age = '8.5'", "SELECT COUNT(*) FROM visits WHERE age = 8.5"),
        ("SELECT COUNT(*) FROM visits WHERE age = 'x'", ""),
        ("SELECT COUNT(*) FROM visits WHERE county = 3", "SELECT COUNT(*) FROM visits WHERE county = '3'"),
    ],
)  # fmt: skip
def test_what_has_no_meaning_is_refused_with_a_fix_that_runs(
    session: dp.Session, sql: str, instead: str
) -> None:
    with pytest.raises(QueryRefused):
        inside.without_noise(session, sql)
    if instead:
        inside.without_noise(session, instead)


def test_names_that_are_there_twice_are_numbered(session: dp.Session) -> None:
    planned = inside.plan_of(
        session, "SELECT county, COUNT(*) AS n, AVG(age) AS n FROM visits GROUP BY county", Fraction(1)
    )
    assert [item.alias_or_name for item in planned.post.selects] == ["county", "n", "n_1"]


def test_a_cohort_that_forgets_to_be_a_set_is_caught(
    session: dp.Session, plain: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(set_operations, "distinct", lambda rows: rows)
    with pytest.raises(AssertionError):
        test_it_means_what_it_means_in_duckdb(
            session, plain, f"SELECT COUNT(*) FROM ({OLD} UNION {WOMEN}) AS c"
        )
