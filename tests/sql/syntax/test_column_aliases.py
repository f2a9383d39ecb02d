"""Names of the SELECT list in WHERE, QUALIFY and later items mean what they mean in DuckDB."""

from __future__ import annotations

import re

import duckdb
import pytest
from benchmarks.corpus.judge import difference, order_of
from tests.depth import few
from tests.sql.fuzz import bench

from discreet.errors import QueryRefused

FIRST = "row_number() OVER (PARTITION BY id ORDER BY x DESC, y, z, note, educ, sex, city, d, flag, ts) AS k"


# A deep run: every statement.
@pytest.mark.parametrize(
    "sql",
    few([
        "SELECT city AS c, COUNT(*) AS n FROM t WHERE c = 'A' GROUP BY c",
        "SELECT educ + 1 AS e, COUNT(*) AS n FROM t WHERE e > 2 GROUP BY e ORDER BY e",
        "SELECT educ + 1 AS e, e * 10 AS f, f - e AS g, COUNT(*) AS n FROM t WHERE g > 18 GROUP BY ALL ORDER BY e",
        "SELECT educ AS e, e AS f, f AS g, sex AS s, s AS h, COUNT(*) AS n FROM t WHERE h > '' AND g > 0 GROUP BY ALL "
        "ORDER BY ALL",
        "SELECT sex AS a, a || city AS b, b || 'x' AS c, COUNT(*) AS n FROM t WHERE c > '' GROUP BY ALL ORDER BY ALL",
        "SELECT educ + 1 AS e, COUNT(*) AS n, n + 1 AS m, m * 2 AS o, AVG(e) AS v FROM t WHERE e > 0 GROUP BY ALL "
        "ORDER BY e",
        "SELECT educ + 1 AS e, e * 10 AS f, COUNT(*) AS n, n + 1 AS m FROM t WHERE f > 20 GROUP BY e ORDER BY e",
        "SELECT sex AS s, COUNT(*) AS n FROM t JOIN towns ON t.city = towns.city WHERE s = 'M' AND size > 1 GROUP BY s",
        "SELECT sex AS s, COUNT(*) AS n FROM t, towns WHERE t.city = towns.city AND s IN ('M') GROUP BY s",
        "SELECT sex AS s, COUNT(*) AS n FROM t WHERE s IN (SELECT 'M') OR s IS NULL GROUP BY s HAVING s > ''",
        "SELECT DISTINCT city AS c FROM t WHERE c < 'C' ORDER BY c",
        "SELECT DISTINCT educ AS e, e * 2 AS f FROM t WHERE f > 2 ORDER BY e",
        f"SELECT COUNT(*) AS n, SUM(educ) AS e FROM (SELECT id, educ, {FIRST} FROM t QUALIFY k = 1) AS v",
        f"SELECT COUNT(*) AS n FROM (SELECT *, {FIRST}, k + 1 AS l, x * 2 AS w FROM t WHERE w > 5 QUALIFY l = 3) AS v",
        "SELECT COUNT(*) AS n FROM (SELECT -educ AS e, COUNT(*) OVER (PARTITION BY id, e) AS k FROM t QUALIFY k > 1)",
        "SELECT COUNT(*) AS n FROM (SELECT DISTINCT id, educ % 2 AS odd FROM t WHERE odd = 1) AS v",
        "SELECT SUM(clamp(m, 0, 90)) AS n FROM (SELECT id, COUNT(*) AS k, k * 2 AS m FROM t WHERE educ > 1 GROUP BY id "
        "HAVING m > 2)",
        "SELECT COUNT(DISTINCT who) AS n FROM (SELECT id AS who, educ AS e FROM t WHERE who > 100 AND e = 2)",
        "WITH v AS (SELECT id, educ * 2 AS e, e + 1 AS f FROM t WHERE f > 3) SELECT f, COUNT(*) AS n FROM v GROUP BY f "
        "ORDER BY f",
        # Within aggregates, and in keys beside columns.
        "SELECT educ AS e, e % 2 AS f, COUNT(*) FILTER (WHERE f = 1) AS n, SUM(e) AS s FROM t WHERE e > 0 GROUP BY ALL "
        "ORDER BY e",
        "SELECT educ % 2 AS e, e + (sex = 'M')::INT AS f, COUNT(*) AS n FROM t WHERE educ > 0 AND sex > '' "
        "GROUP BY ALL HAVING n > 0 ORDER BY ALL",
        'SELECT educ AS "É", "É" * 10 AS "é", "é" + 1 AS g, COUNT(*) AS n FROM t WHERE g > 11 GROUP BY ALL ORDER BY g',
        'SELECT educ AS "É", sex AS "é", COUNT(*) AS n FROM t WHERE "É" > 0 AND sex IN (\'M\', \'F\') '
        'GROUP BY "é", "É" ORDER BY n',
        # A column of FROM comes first, also where two tables have one of the name.
        "SELECT city AS sex, COUNT(*) AS n FROM t WHERE sex = 'M' AND city > '' GROUP BY city ORDER BY 1",
        "SELECT educ + 1 AS educ, COUNT(*) AS n FROM t WHERE educ = 3 GROUP BY 1 HAVING n > 0",
        "SELECT COUNT(*) AS n FROM (SELECT id, educ AS y, y + 1 AS e FROM t WHERE e > 3 AND y > 2) AS v",
    ], 6),
)  # fmt: skip
def test_it_is_the_statement_of_duckdb(sql: str) -> None:
    assert not difference(bench.answered(sql).values, bench.plain(sql), order_of(sql))


@pytest.mark.parametrize(
    ("sql", "cause"),
    [
        ("SELECT e + 1 AS f, educ AS e, COUNT(*) FROM t GROUP BY ALL", "There is no column e."),
        ("SELECT f + 1 AS f, COUNT(*) FROM t GROUP BY ALL", "There is no column f."),
        ("SELECT n + 1 AS n, COUNT(*) FROM t", "There is no column n."),
        ("SELECT m + 1 AS n, n + 1 AS m, COUNT(*) FROM t", "There is no column m."),
        ('SELECT educ AS "É", COUNT(*) FROM t GROUP BY "é"', "There is no column é."),
        ("SELECT COUNT(*) FROM (SELECT e + 1 AS f, educ AS e FROM t)", "There is no column e."),
        ("SELECT educ AS e, COUNT(*) FROM t WHERE t.e > 1 GROUP BY 1", "There is no column e."),
        ("SELECT COUNT(*) AS n FROM t WHERE n > 1", "WHERE is read before the aggregation."),
        ("SELECT COUNT(*) AS n FROM (SELECT row_number() OVER (PARTITION BY id ORDER BY x) AS k FROM t WHERE k > 1)",
         "WHERE is read before the window functions."),
        ("SELECT COUNT(*) AS n FROM (SELECT educ AS e FROM t WHERE (SELECT max(size) FROM towns WHERE size < e) > 1)",
         "This sub-query looks up a value for each private row"),
    ],
)  # fmt: skip
def test_duckdb_refuses_it_too_or_it_is_not_read(sql: str, cause: str) -> None:
    with pytest.raises(QueryRefused, match=re.escape(cause)):
        bench.answered(sql)


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT educ AS e, educ + 1 AS e, COUNT(*) AS n FROM t WHERE e > 3 GROUP BY ALL ORDER BY 1", 1),
        ("SELECT COUNT(*) AS e, -1 AS e, e + 1 AS f FROM t", 1),
        ("SELECT sex, COUNT(*) AS e, -1 AS e FROM t GROUP BY sex HAVING e > 0", 0),
        ("SELECT sex, COUNT(*) AS e, -1 AS e FROM t GROUP BY sex ORDER BY e", 3),
        ("SELECT sex, COUNT(*) AS e, -1 AS e FROM t GROUP BY sex ORDER BY e + 1", 3),
        ("SELECT COUNT(*) AS n FROM (SELECT id, COUNT(*) AS e, -1 AS e FROM t GROUP BY id HAVING e > 0)", 1),
    ],
)
def test_of_two_columns_of_one_name_none_is_meant(sql: str, rows: int) -> None:
    """DuckDB takes the last one, and the answer would show both under other names."""
    assert len(bench.plain(sql)) == rows
    with pytest.raises(QueryRefused, match="Two columns are named e"):
        bench.answered(sql)


def test_two_columns_of_one_name_and_value_are_either() -> None:
    sql = (
        "SELECT sex, COUNT(*) AS e, COUNT(*) AS e FROM t WHERE sex > '' GROUP BY sex HAVING e > 0 ORDER BY e"
    )
    assert bench.answered(sql).values.num_rows == 2


def test_a_column_keeps_the_name_that_it_has_by_others() -> None:
    assert bench.answered("SELECT COUNT(*) AS n, n + 1 FROM t").values.column_names == ["n", "n + 1"]


@pytest.mark.parametrize("value", ["c{0} + c{0}", "c{0} + 1"])
def test_names_that_stand_for_more_and_more_are_refused(value: str) -> None:
    """Sixty that double would fill the memory, and a chain of them would be nested too deeply."""
    names = ", ".join(f"{value.format(at)} AS c{at + 1}" for at in range(60))
    with pytest.raises(QueryRefused, match="stand for very much"):
        bench.answered(f"SELECT COUNT(*) AS n FROM (SELECT educ AS c0, {names} FROM t)")


def test_a_key_that_follows_from_others_makes_no_groups_of_its_own() -> None:
    """Of five values and their squares DuckDB has five groups; all pairs of public values would be more."""
    sql = "SELECT educ AS e, e * e AS f, COUNT(*) AS n FROM t WHERE e > 0 GROUP BY ALL ORDER BY 1"
    assert bench.answered(sql).values.num_rows == 3
    with pytest.raises(duckdb.BinderException):
        bench.plain("SELECT educ AS e, e * e AS f, COUNT(*) AS n FROM t GROUP BY e, f")
