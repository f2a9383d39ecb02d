"""Refusals teach: each points at its place, and what it proposes is accepted."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from tests import shared
from tests.depth import few

import discreet as dp
from discreet.errors import QueryRefused
from discreet.session import Session

VISITS = pa.table(
    {"who": [1, 1, 2], "age": [30, 30, 64], "cost": [1.0, 2.0, 3.0], "county": ["A", "B", "A"], "note": ["x", "y", "z"],
     "date": pa.array([0, 1, 2], pa.int32()).cast(pa.date32()), "wide": [1.0, 2.0, 3.0], "gender": ["f", "m", "f"],
     "stamp": ["2024-01-01 09:27:00"] * 3, "clock": ["9:27AM", "12:01AM", "12:30PM"],
     "on ward": ["x", "y", "z"]}
)  # fmt: skip
TESTS = pa.table({"who": [1, 2, 3], "result": [1.0, 2.0, 3.0]})
COUNTIES = pa.table({"county": ["A", "B"], "region": ["north", "south"]})


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    bounds = {"age": {"bounds": (0, 99)}, "cost": {"bounds": (0, 500)}, "county": {"keys": ["A", "B"]},
              "gender": {"keys": ["f", "m"]}}  # fmt: skip
    declared: dict[str, Any] = {
        "budget": 1,
        "tables": {
            "visits": {"privacy_unit": "who", "max_rows": 2, "columns": bounds},
            "tests": {"privacy_unit": "who", "max_rows": 2, "columns": {"result": {"bounds": (0, 9)}}},
            "counties": {"public": True},
        },
    }
    policy = dp.Policy(**declared)
    with shared.protect({"visits": VISITS, "tests": TESTS, "counties": COUNTIES}, policy=policy) as opened:
        yield opened


@pytest.fixture(scope="module")
def elsewhere_held(session: Session) -> Iterator[Session]:
    """The same policy over other data, whose budget no refusal may touch."""
    with session.mock(rows=20) as mock:
        yield mock


QUOTED = re.compile(r"(?<!\()\b((?:SELECT (?!list)|PIVOT |UNPIVOT |WITH )[^…;]*?)(?=; |\.$|\. )")
"""Whole statements in the words of a fix."""
HOUR = "clamp(CAST(split_part(clock, ':', 1) AS BIGINT) % 12 + CASE WHEN clock ILIKE '%PM' THEN 12 ELSE 0 END, 0, 23)"
PAD = "lpad(x, 3, '0')"
NOBODY = "counties AS c LEFT JOIN visits AS v ON v.county = c.county GROUP BY c.county"
MISSING = "SELECT c.county, COUNT(*) FILTER (WHERE {0}) AS n FROM " + NOBODY
CASES = [
    ("SELECT arg_max(county, cost) AS c FROM visits", None,
     "SELECT arg_max(county, v) FROM (SELECT county, AVG(cost) AS v",
     "SELECT arg_max(county, v) AS c FROM (SELECT county, AVG(cost) AS v FROM visits GROUP BY county) AS g"),
    ("SELECT * FROM visits LIMIT 5", None, "SELECT COUNT(*)", "SELECT COUNT(*) FROM visits"),
    ("PIVOT visits ON note USING COUNT(*) GROUP BY county", None,
     "PIVOT visits ON note IN ('a', 'b') USING COUNT(*) GROUP BY county",
     "PIVOT visits ON note IN ('a', 'b') USING COUNT(*) GROUP BY county"),
    ("PIVOT visits ON note USING COUNT(*)", None, "SELECT COUNT(*) FILTER (WHERE note = 'a') AS a FROM visits",
     "SELECT COUNT(*) FILTER (WHERE note = 'a') AS a FROM visits"),
    ("SELECT COUNT(*) AS n FROM visits WHERE age > 3 AND NOT age", None, "compare it, as in age <> 0",
     "SELECT COUNT(*) AS n FROM visits WHERE age > 3 AND NOT age <> 0"),
    ("SELECT AVG(CAST(wide AS INTEGER)) AS a FROM visits", None, "AVG(clamp(CAST(wide AS INT), 0, 100))",
     "SELECT AVG(clamp(CAST(wide AS INT), 0, 100)) AS a FROM visits"),
    ("SELECT SUM(CAST(CAST(note AS DOUBLE) AS BIGINT) + 1) AS s FROM visits", None,
     "SUM(clamp(CAST(CAST(note AS DOUBLE) AS BIGINT) + 1, 0, 100))",
     "SELECT SUM(clamp(CAST(CAST(note AS DOUBLE) AS BIGINT) + 1, 0, 100)) AS s FROM visits"),
    ("SELECT CORR(wide, age) AS c FROM visits", "wide", "CORR(clamp(wide, 0, 100), age)",
     "SELECT CORR(clamp(wide, 0, 100), age) AS c FROM visits"),
    ("SELECT CORR(age, wide) AS c FROM visits", "wide", "CORR(age, clamp(wide, 0, 100))",
     "SELECT CORR(age, clamp(wide, 0, 100)) AS c FROM visits"),
    ("SELECT QUANTILE_CONT(wide, 0.5) AS q FROM visits", "wide", "QUANTILE_CONT(clamp(wide, 0, 100), 0.5)",
     "SELECT QUANTILE_CONT(clamp(wide, 0, 100), 0.5) AS q FROM visits"),
    ("SELECT approx_quantile(wide, 0.5) AS q FROM visits", "wide", "APPROX_QUANTILE(clamp(wide, 0, 100), 0.5)",
     "SELECT APPROX_QUANTILE(clamp(wide, 0, 100), 0.5) AS q FROM visits"),
    ("SELECT QUANTILE_CONT(date, 0.5) AS q FROM visits", "date",
     "QUANTILE_CONT(clamp(date, DATE '2000-01-01', DATE '2030-12-31'), 0.5)",
     "SELECT QUANTILE_CONT(clamp(date, DATE '2000-01-01', DATE '2030-12-31'), 0.5) AS q FROM visits"),
    ("SELECT SUM(DISTINCT wide) AS s FROM visits", "wide", "SUM(DISTINCT clamp(wide, 0, 100))",
     "SELECT SUM(DISTINCT clamp(wide, 0, 100)) AS s FROM visits"),
    ("SELECT QUANTILE_CONT(cost, age) AS q FROM visits", "age", "QUANTILE_CONT(cost, 0.9), or MIN(cost) or MAX(cost)",
     "SELECT QUANTILE_CONT(cost, 0.9) AS q, MIN(cost) AS a, MAX(cost) AS b FROM visits"),
    (MISSING.format("age IS NULL"), None, "COUNT(*) FILTER (WHERE age IS NULL AND v.who IS NOT NULL)",
     MISSING.format("age IS NULL AND v.who IS NOT NULL")),
    (f"SELECT c.county, AVG(coalesce(age, 3)) AS n FROM {NOBODY}", None,
     "AVG(COALESCE(age, 3)) FILTER (WHERE v.who IS NOT NULL)",
     f"SELECT c.county, AVG(COALESCE(age, 3)) FILTER (WHERE v.who IS NOT NULL) AS n FROM {NOBODY}"),
    (f"SELECT c.county, COUNT(v.who) AS n FROM {NOBODY.replace('GROUP', 'WHERE v.who IS NULL GROUP')}", None,
     "HAVING COUNT(v.who) < 1", f"SELECT c.county, COUNT(v.who) AS n FROM {NOBODY} HAVING COUNT(v.who) < 1"),
    ("SELECT COUNT(*) AS n FROM visits WHERE (county, age) IN (SELECT county, age FROM visits)", None,
     "FROM visits AS other WHERE other.who = visits.who",
     "SELECT COUNT(*) AS n FROM visits WHERE (county, age) IN (SELECT county, age FROM visits AS other "
     "WHERE other.who = visits.who)"),
    ("SELECT COUNT(*) AS n FROM visits WHERE age NOT IN (SELECT result FROM tests)", None,
     "WHERE tests.who = visits.who",
     "SELECT COUNT(*) AS n FROM visits WHERE age NOT IN (SELECT result FROM tests WHERE tests.who = visits.who)"),
    ("SELECT COUNT(*) AS n FROM visits WHERE EXISTS (SELECT 1 FROM tests)", None, "WHERE tests.who = visits.who",
     "SELECT COUNT(*) AS n FROM visits WHERE EXISTS (SELECT 1 FROM tests WHERE tests.who = visits.who)"),
    ("SELECT COUNT(*) AS n FROM (SELECT DISTINCT ON (county) * FROM visits) AS v", None,
     "QUALIFY row_number() OVER (PARTITION BY who ORDER BY …) = 1",
     "SELECT COUNT(*) AS n FROM (SELECT * FROM visits QUALIFY row_number() OVER (PARTITION BY who ORDER BY date) = 1)"),
    ("SELECT COUNT(*) AS n FROM visits FULL JOIN tests ON visits.age = tests.result", None,
     "ON visits.who = tests.who", "SELECT COUNT(*) AS n FROM visits FULL JOIN tests ON visits.who = tests.who"),
    ("SELECT COUNT(*) AS n FROM (SELECT who FROM visits INTERSECT ALL SELECT who FROM tests) AS v", None,
     "Write INTERSECT", "SELECT COUNT(*) AS n FROM (SELECT who FROM visits INTERSECT SELECT who FROM tests) AS v"),
    ("SELECT COUNT(*) AS n FROM visits WHERE row_number() OVER (PARTITION BY who ORDER BY date) = 1", None, "QUALIFY",
     "SELECT COUNT(*) AS n FROM (SELECT * FROM visits QUALIFY row_number() OVER (PARTITION BY who ORDER BY date) = 1)"),
    ("SELECT MAX(who) AS m FROM visits", "who", "MAX(clamp(who, 0, 100))",
     "SELECT MAX(clamp(who, 0, 100)) AS m FROM visits"),
    ("SELECT AVG(m) AS m FROM (SELECT who, MAX(wide) AS m FROM visits GROUP BY who) AS v", None,
     "AVG(clamp(m, 0, 100))",
     "SELECT AVG(clamp(m, 0, 100)) AS m FROM (SELECT who, MAX(wide) AS m FROM visits GROUP BY who) AS v"),
    ("SELECT percentile(age, 50) AS n FROM visits", "percentile(age, 50)", "QUANTILE_CONT(age, 0.5)",
     "SELECT QUANTILE_CONT(age, 0.5) AS n FROM visits"),
    ("SELECT COUNT(*) AS n FROM visits WHERE age > '30.5'", "age > '30.5'", "without quotes: 30.5",
     "SELECT COUNT(*) AS n FROM visits WHERE age > 30.5"),
    ("SELECT COUNT(*) AS n FROM visits WHERE age IN ('30.5', '31')", None, "numbers without quotes",
     "SELECT COUNT(*) AS n FROM visits WHERE age IN (30, 31)"),
    ("SELECT cont(*) AS n FROM visits", "cont(*)", "COUNT(*)", "SELECT COUNT(*) AS n FROM visits"),
    ("SELECT averge(age) AS a FROM visits", "averge(age)", "AVG(age)", "SELECT AVG(age) AS a FROM visits"),
    ("selct COUNT(*) AS n FROM visits", "selct", "Did you mean SELECT", "SELECT COUNT(*) AS n FROM visits"),
    ("SELECT COUNT(*) AS n FRM visits", "FRM", "Did you mean FROM", "SELECT COUNT(*) AS n FROM visits"),
    ("SELECT county, COUNT(*) AS n\nFROM visits\nGRUOP BY county", "GRUOP", "Did you mean GROUP",
     "SELECT county, COUNT(*) AS n\nFROM visits\nGROUP BY county"),
    ("PIVOT visits ON county USING COUNT(*)", None, "SELECT county, COUNT(*) AS v FROM visits GROUP BY county",
     "SELECT county, COUNT(*) AS v FROM visits GROUP BY county"),
    ("PIVOT visits ON county USING SUM(cost)", None, "SUM(cost) FILTER (WHERE county = …)",
     "SELECT SUM(cost) FILTER (WHERE county = 'A') AS a FROM visits"),
    ("SELECT * FROM visits PIVOT (SUM(cost) FOR county IN ('A', 'B'))", None,
     "SELECT county, SUM(cost) AS v FROM visits GROUP BY county",
     "SELECT county, SUM(cost) AS v FROM visits GROUP BY county"),
    ("SELECT histogram(wide) AS h FROM visits", "histogram(wide)", "Write histogram(wide, ",
     "SELECT histogram(wide, [0, 10, 20]) AS h FROM visits"),
    ("SELECT AVG(cost) AS c FROM (SELECT cost, ntile(4) OVER (ORDER BY cost) AS q FROM visits) AS v WHERE q = 1",
     "ntile(4) OVER (ORDER BY cost)", "QUANTILE_CONT(cost, 0.25)", "SELECT QUANTILE_CONT(cost, 0.25) AS q FROM visits"),
    ("SELECT AVG(cost) AS c FROM (SELECT cost, ntile(4) OVER (PARTITION BY who ORDER BY cost) AS q FROM visits) AS v",
     None, "WHERE cost <= …", "SELECT AVG(cost) AS c FROM visits WHERE cost <= 120"),
    ("SELECT county, any_value(gender) AS g FROM visits GROUP BY county", None, "Add gender to GROUP BY",
     "SELECT county, gender, COUNT(*) AS n FROM visits GROUP BY county, gender"),
    ("SELECT county, first(age) AS a FROM visits GROUP BY county", "first(age)", "MEDIAN(age)",
     "SELECT county, MEDIAN(age) AS a FROM visits GROUP BY county"),
    ("SELECT arg_max(age, cost) AS a FROM visits", None, "MEDIAN(age)", "SELECT MEDIAN(age) AS a FROM visits"),
    ("SELECT gender, COUNT(*) AS n FROM (SELECT who, any_value(gender) AS gender FROM visits GROUP BY who) AS v "
     "GROUP BY gender", None, "MIN(gender)",
     "SELECT gender, COUNT(*) AS n FROM (SELECT who, MIN(gender) AS gender FROM visits GROUP BY who) AS v "
     "GROUP BY gender"),
    ("SELECT AVG(a) AS a FROM (SELECT who, MEDIAN(age) AS a FROM visits GROUP BY who) AS v", None, "AVG(age)",
     "SELECT AVG(a) AS a FROM (SELECT who, AVG(age) AS a FROM visits GROUP BY who) AS v"),
    ("SELECT who, gender, COUNT(*) AS n FROM visits GROUP BY who, gender", None,
     "SELECT gender, COUNT(*) AS n FROM visits GROUP BY gender",
     "SELECT gender, COUNT(*) AS n FROM visits GROUP BY gender"),
    ("SELECT who, SUM(cost) AS c FROM visits GROUP BY who", None, "SELECT SUM(cost) AS c FROM visits",
     "SELECT SUM(cost) AS c FROM visits"),
    ("SELECT who, gender FROM visits GROUP BY who, gender", None,
     "SELECT gender, COUNT(*) AS n FROM visits GROUP BY gender",
     "SELECT gender, COUNT(*) AS n FROM visits GROUP BY gender"),
    ("SELECT hour(stamp) AS h, COUNT(*) AS n FROM visits GROUP BY 1", "hour(stamp)", "HOUR(CAST(stamp AS TIMESTAMP))",
     "SELECT HOUR(CAST(stamp AS TIMESTAMP)) AS h, COUNT(*) AS n FROM visits GROUP BY 1"),
    ("SELECT COUNT(*) AS n FROM visits WHERE date_trunc('month', stamp) = '2024-01-01'", None,
     "DATE_TRUNC('MONTH', CAST(stamp AS TIMESTAMP))",
     "SELECT COUNT(*) AS n FROM visits WHERE DATE_TRUNC('MONTH', CAST(stamp AS TIMESTAMP)) = '2024-01-01'"),
    ("SELECT hour(clock) AS h, COUNT(*) AS n FROM visits GROUP BY 1", "hour(clock)", HOUR,
     f"SELECT {HOUR} AS h, COUNT(*) AS n FROM visits GROUP BY 1"),
    ("SELECT COUNT(*) AS n FROM visits WHERE hour(CAST(clock AS TIME)) = 9", None, HOUR,
     f"SELECT COUNT(*) AS n FROM visits WHERE {HOUR} = 9"),
    ("SELECT COUNT(*) AS n FROM visits WHERE hour(strptime(clock, '%I:%M%p')) = 9", None,
     "CAST(split_part(x, ':', 1) AS BIGINT)",
     "SELECT COUNT(*) AS n FROM visits WHERE CAST(split_part(clock, ':', 1) AS BIGINT) = 9"),
    ("SELECT COUNT(*) AS n FROM visits WHERE rpad(note, 3, 'x') = 'xxx'", None, PAD,
     "SELECT COUNT(*) AS n FROM visits WHERE lpad(note, 3, '0') = '00x'"),
    ("SELECT COUNT(*) AS n FROM visits WHERE repeat(note, 3) = 'xxx'", None, PAD,
     "SELECT lpad(CAST(age AS VARCHAR), 3, '0') AS k, COUNT(*) AS n FROM visits GROUP BY 1"),
    ("SELECT COUNT(*) AS n FROM visits WHERE lpad(note, age, '0') = '00x'", None, PAD,
     "SELECT COUNT(*) AS n FROM visits WHERE lpad(note, 3) = '  x'"),
    ("SELECT lpad(county, 1000000000, 'x') AS k, COUNT(*) AS n FROM visits GROUP BY 1", None, PAD,
     "SELECT lpad(county, 100, 'x') AS k, COUNT(*) AS n FROM visits GROUP BY 1"),
    ("SELECT county FROM visits GROUP BY county", "county", "Add COUNT(*) AS n",
     "SELECT county, COUNT(*) AS n FROM visits GROUP BY county"),
    ("SELECT COUNT(*) AS n FROM visits WHERE age > $1", "$1", "Write the value",
     "SELECT COUNT(*) AS n FROM visits WHERE age > 65"),
    ("SELECT COUNT(*) AS n FROM visits WHERE EXISTS (SELECT 1 FROM counties AS c WHERE c.county > visits.county)",
     None, "EXISTS (SELECT 1 FROM s WHERE s.x = t.x",
     "SELECT COUNT(*) AS n FROM visits WHERE EXISTS (SELECT 1 FROM counties AS c WHERE c.county = visits.county)"),
    ("SELECT STRING_AGG(county) AS all FROM visits", None, "Use COUNT", "SELECT COUNT(county) AS n FROM visits"),
    ("SELECT COUNT(DISTINCT county, age) AS n FROM visits", None, "concat(a, ' ', b)",
     "SELECT COUNT(DISTINCT concat(county, ' ', age)) AS n FROM visits"),
    # refused, the part that is pointed at, what the message proposes, the query that follows it
    ("SELECT AVG(wide) AS w FROM visits", "wide", "AVG(clamp(wide, 0, 100))",
     "SELECT AVG(clamp(wide, 0, 100)) AS w FROM visits"),
    ("SELECT AVG(aeg) AS a FROM visits", "aeg", "age", "SELECT AVG(age) AS a FROM visits"),
    ("SELECT COUNT(*) AS n FROM visit", "visit", "visits", "SELECT COUNT(*) AS n FROM visits"),
    ("SELECT COUNT(*) AS n FROM sales.visits", "sales.visits", "visits", "SELECT COUNT(*) AS n FROM visits"),
    ("SELECT county, age FROM visits GROUP BY county", "age", "AVG(age)",
     "SELECT county, AVG(age) AS age FROM visits GROUP BY county"),
    ("SELECT AVG(cost) AS c FROM visits WHERE date > 'x'", "'x'", "'2024-01-31'",
     "SELECT AVG(cost) AS c FROM visits WHERE date > '2024-01-31'"),
    ("SELECT COUNT(*) AS n FROM visits, tests", "tests", "ON visits.who = tests.who",
     "SELECT COUNT(*) AS n FROM visits JOIN tests ON visits.who = tests.who"),
    ("SELECT COUNT(*) AS n FROM visits JOIN tests ON visits.age = tests.result", "tests", "ON visits.who = tests.who",
     "SELECT COUNT(*) AS n FROM visits JOIN tests ON visits.who = tests.who AND visits.age = tests.result"),
    ("SELECT AVG(c) AS c FROM (SELECT SUM(cost) OVER () AS c FROM visits) AS v", "SUM(cost)", "PARTITION BY who",
     "SELECT AVG(clamp(c, 0, 9)) AS c FROM (SELECT SUM(cost) OVER (PARTITION BY who) AS c FROM visits) AS v"),
    ("SELECT COUNT(*) AS n FROM visits WHERE age", "age", "<> 0", "SELECT COUNT(*) AS n FROM visits WHERE age <> 0"),
    ("SELECT COUNT(*) AS n FROM visits WHERE age > clamp(age, 9, 0)", "clamp(age, 9, 0)", "clamp(x, 0, 100)",
     "SELECT COUNT(*) AS n FROM visits WHERE age > clamp(age, 0, 100)"),
    ("SELECT AVG(cots) AS c FROM visits WHERE COUNT(*) > 1", "COUNT(*) > 1", "HAVING",
     "SELECT AVG(cost) AS c FROM visits HAVING COUNT(*) > 1"),
    ("SELECT STDDEV(DISTINCT cost) AS c FROM visits", "STDDEV(DISTINCT cost)", "DISTINCT",
     "SELECT SUM(cost) AS c FROM visits"),
    ("SELECT COUNT(*) AS n FROM visits GROUP BY floor(wide)", "wide", "bounded",
     "SELECT COUNT(*) AS n FROM visits GROUP BY floor(clamp(wide, 0, 100))"),
    ("SELECT note, COUNT(*) AS n FROM visits GROUP BY note", "note", "CASE",
     "SELECT CASE WHEN note = 'x' THEN 'x' ELSE 'other' END AS note, COUNT(*) AS n FROM visits GROUP BY 1"),
    ("SELECT who, cost FROM visits", "who, cost FROM visits", "SELECT COUNT(*) FROM", "SELECT COUNT(*) FROM visits"),
    ("SELECT COUNT(*) AS n FROM (SELECT * FROM visits LIMIT 3) AS v", "3", "above which it may stand",
     "SELECT COUNT(*) AS n FROM visits LIMIT 3"),
    ("SELECT COUNT(*) AS n FROM (SELECT age FROM visits UNION SELECT age FROM visits) AS v", None, "UNION ALL",
     "SELECT COUNT(*) AS n FROM (SELECT age FROM visits UNION ALL SELECT age FROM visits) AS v"),
    ("SELECT COUNT(*) AS n FROM visits; SELECT 1", None, "one at a time", "SELECT COUNT(*) AS n FROM visits"),
    ("SELECT COUNT(*) AS n FROM read_csv('visits.csv')", "read_csv('visits.csv')", "of the session",
     "SELECT COUNT(*) AS n FROM visits"),
    ("SELECT AVG(note) AS c FROM visits", "AVG(note)",
     "clamp(CAST(note AS DOUBLE), 0, 100)",
     "SELECT AVG(clamp(CAST(note AS DOUBLE), 0, 9)) AS c FROM visits"),
    ("SELECT COUNT(*) AS n FROM visits WHERE note LIKE county", "county", "'%word%'",
     "SELECT COUNT(*) AS n FROM visits WHERE note LIKE '%word%'"),
    ("SELECT COUNT(*) AS n\nFROM visits\nWHERE aeg > 3", "aeg", "age",
     "SELECT COUNT(*) AS n\nFROM visits\nWHERE age > 3"),
    ('SELECT COUNT(*) AS n FROM visits WHERE county = "Alder"', '"Alder"', "in single quotes: 'Alder'",
     "SELECT COUNT(*) AS n FROM visits WHERE county = 'Alder'"),
    ('SELECT COUNT(*) AS n FROM visits WHERE county IN ("age group")', '"age group"', "in single quotes: 'age group'",
     "SELECT COUNT(*) AS n FROM visits WHERE county IN ('age group')"),
    ('SELECT COUNT(*) AS n FROM visits WHERE "Alder" = county', '"Alder"', "in single quotes: 'Alder'",
     "SELECT COUNT(*) AS n FROM visits WHERE 'Alder' = county"),
    ("SELECT CASE WHEN age < 18 THEN \"young\" ELSE 'old' END AS g, COUNT(*) AS n FROM visits GROUP BY g", '"young"',
     "in single quotes: 'young'",
     "SELECT CASE WHEN age < 18 THEN 'young' ELSE 'old' END AS g, COUNT(*) AS n FROM visits GROUP BY g"),
    ('SELECT COUNT(*) AS n FROM visits WHERE "aeg" > 3', '"aeg"', "Did you mean age?",
     "SELECT COUNT(*) AS n FROM visits WHERE age > 3"),
    ("SELECT COUNT(*) AS n FROM visits WHERE gender = female", "female", "in single quotes: 'female'",
     "SELECT COUNT(*) AS n FROM visits WHERE gender = 'female'"),
    ('SELECT COUNT("xyz") AS n FROM visits', '"xyz"', 'stamp, clock, "on ward".',
     'SELECT COUNT("on ward") AS n FROM visits'),
    ('SELECT COUNT("on") AS n FROM visits', '"on"', '"on ward"', 'SELECT COUNT("on ward") AS n FROM visits'),
    ('SELECT COUNT("on war") AS n FROM visits', '"on war"', 'Did you mean "on ward"?',
     'SELECT COUNT("on ward") AS n FROM visits'),
    ("SELECT SUM('age') AS n FROM visits", "SUM('age')", 'stands in double ones: "age"',
     'SELECT SUM("age") AS n FROM visits'),
    ("SELECT COUNT(*) AS n FROM visits WHERE 'age' > 64", "'age' > 64", 'in double ones: "age"',
     'SELECT COUNT(*) AS n FROM visits WHERE "age" > 64'),
    ("SELECT COUNT(*) AS n FROM visits WHERE age > 3 && cost > 3", None, "Write AND",
     "SELECT COUNT(*) AS n FROM visits WHERE age > 3 AND cost > 3"),
    ("SELECT k, COUNT(*) AS n FROM (SELECT who, MAX(length(county)) AS k FROM visits GROUP BY who) GROUP BY k", "k",
     "clamp(k, 1, 10)",
     "SELECT clamp(k, 1, 10) AS k2, COUNT(*) AS n FROM (SELECT who, MAX(length(county)) AS k FROM visits "
     "GROUP BY who) GROUP BY clamp(k, 1, 10)"),
    ("SELECT county, COUNT(*) AS n FROM visits", "county", "COUNT(DISTINCT county)",
     "SELECT COUNT(DISTINCT county), COUNT(*) AS n FROM visits"),
]  # fmt: skip


@pytest.mark.parametrize(("refused", "place", "proposal", "accepted"), CASES)
def test_it_points_at_the_place_and_its_proposal_is_accepted(
    session: Session, refused: str, place: str | None, proposal: str, accepted: str
) -> None:
    with pytest.raises(QueryRefused) as caught:
        session.preview(refused, 1)
    error = caught.value
    shown, carets = error.picture.splitlines()
    assert set(carets) == {" ", "^"}
    assert shown.strip() == refused.splitlines()[error.line - 1].strip()
    start = carets.index("^")
    pointed = shown[start : start + carets.count("^")]
    assert error.place.startswith(pointed)
    if place is not None:
        assert pointed == place
    assert error.cause.endswith(".")
    assert proposal in error.fix
    assert error.fix[0].isupper()
    # following the proposal gives a question that can be asked
    assert session.preview(accepted, 1).epsilon == Fraction(1)
    # and a statement that the fix quotes is answered to the letter
    for quoted in QUOTED.findall(error.fix):
        assert session.preview(quoted, 1).epsilon == Fraction(1)


def test_such_statements_are_found() -> None:
    """Planted: the check above sees the statements of a fix, and leaves patterns and clauses alone."""
    fix = "Write the groups in rows: SELECT c, COUNT(*) AS v FROM t GROUP BY c; or PIVOT t ON c IN (1) USING SUM(x)."
    found = ["SELECT c, COUNT(*) AS v FROM t GROUP BY c", "PIVOT t ON c IN (1) USING SUM(x)"]
    assert QUOTED.findall(fix) == found
    assert not QUOTED.findall("Write x IN (SELECT x FROM t), or SELECT COUNT(*) FROM …, in the SELECT list.")


@pytest.mark.parametrize("sql", few([case[0] for case in CASES], 48))
def test_a_refusal_costs_nothing_and_is_the_same_on_other_data(
    session: Session, elsewhere_held: Session, sql: str
) -> None:
    with pytest.raises(QueryRefused) as elsewhere:
        elsewhere_held.sql(sql, epsilon=1)
    with pytest.raises(QueryRefused) as here:
        session.sql(sql, epsilon=1)
    assert str(here.value) == str(elsewhere.value)
    assert session.budget.spent == 0


def test_a_refusal_whose_place_is_lost_is_seen() -> None:
    """Planted: the check above is worth something only if a message without a picture fails it."""
    with pytest.raises(ValueError, match="not enough values"):
        _, _ = QueryRefused("No.", "Write yes.").picture.splitlines()


def test_roll_ups_take_the_names_of_what_is_selected(session: Session) -> None:
    by_name = session.explain(
        "SELECT age // 10 AS decade, COUNT(*) AS n FROM visits GROUP BY ROLLUP (decade)"
    )
    in_full = session.explain(
        "SELECT age // 10 AS decade, COUNT(*) AS n FROM visits GROUP BY ROLLUP (age // 10)"
    )
    assert repr(by_name) == repr(in_full)
    # A column of that name comes first, as it does in a plain GROUP BY.
    assert "upper" not in repr(
        session.explain("SELECT upper(county) AS county, COUNT(*) AS n FROM visits GROUP BY ROLLUP (county)")
        .root.children[0]
        .facts
    )


def test_a_missing_comma_and_a_missing_quote_are_thought_of(session: Session) -> None:
    for sql, fix in (
        (
            "SELECT county COUNT(*) AS n FROM visits GROUP BY county",
            r"comma before it; .* a text in single ones",
        ),
        (
            "SELECT COUNT(*) FROM visits WHERE county = `A`",
            'Write "A": a name stands in double quotes, a text in single ones',
        ),
    ):
        with pytest.raises(QueryRefused, match=fix):
            session.preview(sql, 1)


def test_dates_are_pointed_at() -> None:
    session = shared.protect(pa.table({"d": [dt.date(2024, 5, 1)]}), privacy_unit="row", budget=1,
                         bounds={"d": (dt.date(2024, 1, 1), dt.date(2024, 12, 31))})  # fmt: skip
    with pytest.raises(QueryRefused, match="STDDEV takes a number, not a date") as caught:
        session.sql("SELECT STDDEV(d) AS m FROM data", epsilon=1)
    better = caught.value.fix.removeprefix("Count days from a date of your choice: ").removesuffix(".")
    session.sql(f"SELECT {better} AS m FROM data", epsilon=1)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT SUM(n) FROM (SELECT *, age AS AGE FROM visits) AS q",
        "SELECT SUM(x) FROM (SELECT age, cost FROM visits) AS q(x, X)",
        "WITH q(x, X) AS (SELECT age, cost FROM visits) SELECT SUM(x) FROM q",
        "WITH q AS (SELECT * FROM visits), Q AS (SELECT * FROM counties) SELECT COUNT(*) FROM q",
    ],
)
def test_names_that_differ_by_case_alone_are_refused(session: Session, sql: str) -> None:
    with pytest.raises(QueryRefused, match=r"Two (columns|tables of WITH) are named"):
        session.preview(sql, epsilon=1)


def test_names_with_dots_are_not_mistaken_for_each_other(session: Session) -> None:
    # Both columns would be x.y.age within: the query was charged, and then failed.
    one, two = '(SELECT who, cost AS "y.age" FROM visits) AS x', '(SELECT who, age FROM visits) AS "x.y"'
    for item in ('x."y.age"', '"x.y".age'):
        sql = f'SELECT SUM({item}) AS s FROM {one} JOIN {two} ON x.who = "x.y".who'
        assert session.mock(50).sql(sql, epsilon=1).columns == ["s"]


def test_no_name_of_ours_is_in_a_proposal(session: Session) -> None:
    sub_query = "(SELECT note FROM visits AS w WHERE w.who = visits.who)"
    sql = f"SELECT COUNT(*) AS n FROM visits WHERE age > 3 OR age IN {sub_query}"
    with pytest.raises(QueryRefused) as refused:
        session.sql(sql, epsilon=0.1)
    assert "__" not in refused.value.cause + refused.value.fix


@pytest.mark.parametrize(("window", "over"), [
    ("AVG(x) OVER (ORDER BY k)", "AVG(AVG(x)) OVER (ORDER BY k)"), ("SUM(x) OVER ()", "SUM(SUM(x)) OVER (ORDER BY k)"),
    ("row_number() OVER (ORDER BY k)", "SUM(COUNT(*)) OVER (ORDER BY k)"),
])  # fmt: skip
def test_a_window_over_people_is_one_over_groups(window: str, over: str) -> None:
    table = pa.table({"k": [1, 2], "x": [1, 2]})
    session = shared.protect(table, privacy_unit="row", bounds={"k": (0, 3), "x": (0, 9)}, budget=1)
    with pytest.raises(QueryRefused) as refused:
        session.preview(f"SELECT k, {window} AS w FROM data", 1)
    assert over.partition(" OVER")[0] + " OVER (ORDER BY …)" in refused.value.fix
    assert session.preview(f"SELECT k, {over} AS w FROM data GROUP BY k", 1).errors["w"]
