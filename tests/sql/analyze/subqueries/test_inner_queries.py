"""Sub-queries in expressions over private rows mean what they mean in DuckDB, when no noise is drawn."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from benchmarks.corpus.judge import difference, order_of, silence
from tests import inside, shared
from tests.depth import few
from tests.people import DECLARED, TABLES
from tests.sql.fuzz import bench

import discreet as dp
from discreet.errors import QueryRefused
from discreet.sql.algebra import released
from discreet.sql.analyze.subqueries import inner_queries
from discreet.sql.analyze.subqueries.released_tables import at_most_one_row

EPSILON = 1000
MEAN = "(SELECT AVG(cost) FROM visits)"
WRITTEN = [
    f"SELECT COUNT(*) AS n FROM visits WHERE cost > {MEAN}",
    f"SELECT county, COUNT(*) AS n FROM visits WHERE cost > {MEAN} GROUP BY county ORDER BY county",
    f"SELECT COUNT(*) FILTER (WHERE cost > {MEAN}) AS n, COUNT(*) AS m FROM visits",
    f"SELECT SUM(CASE WHEN cost > 2 * {MEAN} THEN age ELSE 0 END) AS s FROM visits",
    f"SELECT AVG(abs(cost - {MEAN})) AS spread FROM visits",
    f"SELECT cost > {MEAN} AS dear, COUNT(*) AS n FROM visits WHERE cost IS NOT NULL GROUP BY 1 HAVING COUNT(*) > 3",
    f"SELECT county, COUNT(*) AS n FROM visits GROUP BY county HAVING AVG(cost) > {MEAN} ORDER BY county",
    f"SELECT COUNT(*) AS n FROM (SELECT * FROM visits WHERE cost > {MEAN}) AS v WHERE age > 30",
    "WITH m AS (SELECT AVG(age) AS a, STDDEV(age) AS d FROM visits) SELECT COUNT(*) AS n FROM visits "
    "WHERE age > (SELECT a FROM m) + (SELECT d FROM m)",
    f"SELECT COUNT(*) AS n FROM visits WHERE cost > (SELECT AVG(cost) FROM visits WHERE cost > {MEAN})",
    "SELECT county, COUNT(*) AS n FROM visits WHERE county IN (SELECT county FROM visits GROUP BY county "
    "ORDER BY COUNT(*) DESC, county LIMIT 1) GROUP BY county",
    "SELECT county, COUNT(*) AS n FROM visits WHERE county NOT IN (SELECT county FROM visits GROUP BY county "
    "HAVING COUNT(*) > 3) GROUP BY county ORDER BY county",
    "SELECT COUNT(*) AS n FROM visits WHERE age > 50 OR county = (SELECT county FROM visits GROUP BY county "
    "ORDER BY COUNT(*) DESC, county LIMIT 1)",
    "SELECT COUNT(*) AS n FROM visits AS a WHERE cost > (SELECT AVG(cost) FROM visits AS b WHERE b.county = a.county)",
    "SELECT SUM(age - (SELECT AVG(age) FROM visits AS b WHERE b.county = a.county)) AS z FROM visits AS a",
    "SELECT COUNT(*) AS n FROM visits, (SELECT AVG(cost) AS mean FROM visits) AS m WHERE cost > mean",
    "SELECT v.county, COUNT(*) AS n FROM visits AS v JOIN (SELECT county, COUNT(*) AS c FROM visits GROUP BY county "
    "ORDER BY c DESC, county LIMIT 1) AS top ON v.county = top.county GROUP BY v.county",
    "SELECT COUNT(*) AS n FROM visits AS v JOIN (SELECT county, AVG(cost) AS c FROM visits GROUP BY county) AS m "
    "USING (county) WHERE cost > c",
    # of the same unit, for which nothing is released
    "SELECT COUNT(*) AS n FROM visits AS a WHERE age > "
    "(SELECT AVG(age) FROM visits AS b WHERE b.patient = a.patient)",
    "SELECT SUM(age - (SELECT MIN(age) FROM visits AS b WHERE b.patient = a.patient AND b.county = a.county)) AS s "
    "FROM visits AS a",
    "SELECT COUNT(*) AS n FROM people AS p WHERE (SELECT COUNT(*) FROM visits WHERE patient = p.id) > 1",
    "SELECT AVG(clamp(2 * (SELECT COUNT(*) FROM visits WHERE patient = p.id AND age > 60), 0, 10)) AS n "
    "FROM people AS p",
    "SELECT COUNT(*) AS n FROM visits WHERE age > 50 OR patient IN (SELECT id FROM people WHERE sex = 'f')",
    "SELECT COUNT(*) FILTER (WHERE patient IN (SELECT id FROM people WHERE sex = 'f')) AS n FROM visits",
    "SELECT COUNT(*) FILTER (WHERE patient NOT IN (SELECT id FROM people WHERE sex = 'f')) AS n FROM visits",
    "SELECT SUM(CASE WHEN EXISTS (SELECT 1 FROM people WHERE id = a.patient AND sex = 'm') THEN 1 ELSE 0 END) AS n "
    "FROM visits AS a",
    "SELECT COUNT(*) AS n, AVG(m) AS m FROM (SELECT patient, AVG(age) AS m FROM visits GROUP BY patient "
    "HAVING AVG(age) > (SELECT AVG(age) FROM visits)) AS p",
    "SELECT AVG(n) AS n FROM (SELECT patient, COUNT(*) AS n FROM visits GROUP BY patient) AS p "
    "WHERE n >= (SELECT AVG(n) FROM (SELECT patient, COUNT(*) AS n FROM visits GROUP BY patient) AS q)",
]  # fmt: skip


@pytest.fixture(scope="module")
def session() -> dp.Session:
    return shared.protect(TABLES, policy=dp.Policy(**{**DECLARED, "budget": 10**7}))


@pytest.fixture(scope="module")
def plain() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute(
        "CREATE MACRO clamp(x, lo, hi) AS CASE WHEN x < lo THEN lo WHEN x > hi THEN hi ELSE x END"
    )
    for name, table in TABLES.items():
        connection.register(name, table)
    return connection


def differs(session: dp.Session, plain: duckdb.DuckDBPyConnection, sql: str) -> str:
    """How an answer without noise differs from that of DuckDB; empty where it does not."""
    with silence():
        ours = session.sql(sql, EPSILON)
    return difference(ours.values, plain.sql(sql).to_arrow_table(), order_of(sql))


# A deep run: every question.
@pytest.mark.parametrize("sql", few(WRITTEN, 4))
def test_it_means_what_it_means_in_duckdb(
    session: dp.Session, plain: duckdb.DuckDBPyConnection, sql: str
) -> None:
    assert differs(session, plain, sql) == ""


@pytest.mark.parametrize(("sql", "words"), [
    ("SELECT COUNT(*) FROM visits WHERE cost > (SELECT AVG(cost) FROM visits GROUP BY county)", "more than one row"),
    ("SELECT COUNT(*) FROM visits WHERE cost > (SELECT cost FROM visits)", "rows of a private table"),
    ("SELECT COUNT(*) FROM visits WHERE cost > (SELECT AVG(cost), MAX(cost) FROM visits)", "not a single value"),
    ("SELECT COUNT(*) FROM visits AS v, (SELECT county, COUNT(*) AS n FROM visits GROUP BY county) AS c WHERE n > 3",
     "decided by noise"),
    ("SELECT COUNT(*) FROM visits AS v RIGHT JOIN (SELECT AVG(cost) AS m FROM visits) AS c ON cost > m",
     "JOIN or LEFT"),
    ("SELECT COUNT(*) FROM visits AS a WHERE age > 50 OR EXISTS (SELECT 1 FROM people WHERE height < a.age)",
     "columns equal"),
    ("SELECT COUNT(*) FROM visits WHERE age > 50 OR age IN (SELECT height FROM people)", "privacy unit"),
])  # fmt: skip
def test_what_could_repeat_rows_or_mix_units_is_refused(session: dp.Session, sql: str, words: str) -> None:
    with pytest.raises(QueryRefused, match=words):
        session.sql(sql, epsilon=1)


def test_conditions_on_keys_alone_take_groups_and_leave_their_intervals(session: dp.Session) -> None:
    sql = "SELECT county, COUNT(*) AS n FROM visits WHERE county IN (SELECT county FROM visits GROUP BY county " \
        "ORDER BY COUNT(*) DESC LIMIT 1) GROUP BY county"  # fmt: skip
    answer = session.sql(sql, epsilon=1)
    assert len(answer) == 1
    assert answer.low["n"].to_pylist() != [None]
    assert not any(released.released_tables([part.rows.relation]) for one in
                   inside.plan_of(session, sql, Fraction(1)).releases for part in one.parts)  # fmt: skip


def test_a_number_of_compared_rows_has_no_interval_and_says_why(session: dp.Session) -> None:
    answer = session.sql(WRITTEN[2], epsilon=1)
    assert answer.low["m"].to_pylist() != [None]
    assert answer.without == ("n",)
    assert any(f"compared with {MEAN} = " in warning for warning in answer.warnings)
    assert any("n: of rows that a released number decided" in note for note in answer.notes)
    preview = session.preview(WRITTEN[2], epsilon=1)
    assert "m" in preview.errors
    assert "n" not in preview.errors
    assert any(MEAN in warning for warning in preview.warnings)
    assert MEAN in repr(session.explain(WRITTEN[0]))
    assert len(session.mock().sql(WRITTEN[1], epsilon=1)) == len(session.sql(WRITTEN[1], epsilon=1))


def test_a_list_that_passes_over_null_is_caught(
    session: dp.Session, plain: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without(self: Any, rows: Any, on: Any) -> Any:
        found = met(self, rows, on)
        return found.this.this  # the planted fault: NOT is lost

    met = inner_queries.InnerQueries._met
    monkeypatch.setattr(inner_queries.InnerQueries, "_met", without)
    fresh = shared.protect(TABLES, policy=dp.Policy(**{**DECLARED, "budget": 10**7}))
    with pytest.raises(AssertionError):
        test_it_means_what_it_means_in_duckdb(fresh, plain, WRITTEN[22])


def test_one_row_is_proved_from_the_text() -> None:
    from sqlglot import parse_one

    for sql, single in {
        "SELECT MAX(a0) FROM r": True, "SELECT a0 FROM r LIMIT 1": True, "SELECT a0 FROM r": False,
        "SELECT MAX(a0) FROM r GROUP BY k0": False, "SELECT unnest([1, 2])": False, "SELECT 1": True,
        "WITH m AS (SELECT MAX(a0) AS a FROM r) SELECT a FROM m": True, "SELECT a0 FROM r LIMIT 2": False,
        "SELECT a FROM (SELECT MAX(a0) AS a FROM r) AS q, r": False, "SELECT 1 UNION ALL SELECT 2": False,
    }.items():  # fmt: skip
        assert at_most_one_row(parse_one(sql, read="duckdb"), []) is single, sql


BIG = 2**53
LONG = pa.table({"x": [float(BIG), 3.0], "k": [BIG, BIG + 1]})


@pytest.fixture(scope="module")
def long_numbers() -> Iterator[dp.Session]:
    bounds = {"x": {"bounds": (0, BIG + 1)}, "k": {"bounds": (BIG, BIG + 1)}}
    declared: dict[str, Any] = {"budget": 10**6, "tables": {"t": {"privacy_unit": "row", "columns": bounds}}}
    policy = dp.Policy(**declared)
    with shared.protect({"t": LONG}, policy=policy) as session:
        yield session


def test_a_row_is_in_a_list_once_though_two_of_its_numbers_are_one_fraction(long_numbers: dp.Session) -> None:
    with silence():
        found = long_numbers.sql(
            "SELECT COUNT(*) AS n FROM t WHERE x IN (SELECT k FROM t GROUP BY k HAVING COUNT(*) > -9)", 1000
        )
    assert found["n"] == [1]


def test_a_look_up_by_numbers_of_which_two_are_one_fraction_is_refused(long_numbers: dp.Session) -> None:
    sql = "SELECT COUNT(*) AS n FROM t WHERE 2 > (SELECT COUNT(*) FROM t AS s WHERE s.k = t.x)"
    with pytest.raises(QueryRefused, match="one and the same fraction"):
        long_numbers.preview(sql, 1)
    assert long_numbers.preview(sql.replace("s.k = t.x", "s.k = t.k"), 1).epsilon == 1


NULLS = pa.table({
    "id": [1, 1, 2, 2, 3, 4, 4, 5], "c": ["a", None, "a", "b", None, "a", "b", "a"], "n": [9, 9, 9, 1, 1, 9, 9, 1],
})  # fmt: skip


@pytest.mark.parametrize("sql", [
    "SELECT COUNT(*) AS m FROM t AS v WHERE n = 5 OR c NOT IN (SELECT c FROM t AS w WHERE w.id = v.id AND w.n > 5)",
    "SELECT COUNT(*) AS m FROM t AS v WHERE NOT (n = 5 OR c IN (SELECT c FROM t AS w WHERE w.id = v.id AND w.n < 5))",
    "SELECT COUNT(*) FILTER (WHERE (c IN (SELECT c FROM t AS w WHERE w.id = v.id AND w.n = v.n)) IS NULL) AS m "
    "FROM t AS v",
    "SELECT COUNT(*) AS m FROM t AS v WHERE n = 1 OR id NOT IN (SELECT id FROM t AS w WHERE w.c = v.c AND w.n < 5)",
])  # fmt: skip
def test_a_list_with_null_is_unknown_where_it_is_so_in_duckdb(sql: str) -> None:
    declared: dict[str, Any] = {"budget": 10**6, "tables": {"t": {"privacy_unit": "id", "max_rows": 2}}}
    policy = dp.Policy(**declared)
    connection = shared.plain()
    connection.register("t", NULLS)
    with shared.protect({"t": NULLS}, policy=policy) as session:
        assert differs(session, connection, sql) == ""


@pytest.mark.parametrize("sql", [
    "SELECT COUNT(*) AS n FROM t WHERE EXISTS (SELECT 1 FROM s JOIN towns ON towns.size = s.p WHERE s.id = t.id)",
    "SELECT COUNT(*) AS n FROM t WHERE NOT EXISTS (SELECT * FROM towns, s WHERE towns.size = s.p AND s.id = t.id)",
    "SELECT COUNT(*) AS n FROM t WHERE educ = 1 OR EXISTS (SELECT 1 FROM s, towns WHERE size = p AND s.id = t.id)",
    "SELECT COUNT(*) AS n FROM t WHERE EXISTS (SELECT 1 FROM s JOIN towns ON towns.city = t.city WHERE s.id = t.id)",
    "SELECT COUNT(*) AS n FROM t WHERE EXISTS (SELECT 1 FROM s JOIN t u ON u.id = s.id WHERE u.id = t.id AND u.y > 3)",
])  # fmt: skip
def test_exists_may_join_tables(sql: str) -> None:
    assert difference(bench.answered(sql).values, bench.plain(sql), ()) == ""
