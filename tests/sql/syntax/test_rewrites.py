"""Fixes that are made of the query: padding stays small everywhere, hours are read right, and keywords are found."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest
import sqlglot
from tests import shared

from discreet.errors import QueryRefused
from discreet.session import Session
from discreet.sql.analyze.binding.text_moments import clock_hour
from discreet.sql.syntax import rewrites
from discreet.sql.syntax.parse import parse

LARGE = [
    "SELECT lpad('x', 1000000000, 'y') AS p, COUNT(*) AS n FROM data",
    "SELECT n, lpad('x', n, 'y') AS p FROM (SELECT COUNT(*) AS n FROM data) AS v",
    "SELECT lpad('x', 3, 'y') AS q, lpad('x', 101, 'y') AS p, COUNT(*) AS n FROM data",
    "SELECT lpad('x', 9, lpad('y', 999999, 'z')) AS p, COUNT(*) AS n FROM data",
    "SELECT rpad('x', 9, 'y') AS p, COUNT(*) AS n FROM data",
]


@pytest.fixture
def session() -> Session:
    return shared.protect(pa.table({"a": [1, 2]}), privacy_unit="row", budget=10, bounds={"a": (0, 99)})


@pytest.mark.parametrize("sql", LARGE)
def test_what_could_make_a_text_of_any_length_is_refused(session: Session, sql: str) -> None:
    with pytest.raises(QueryRefused, match="pad is not allowed"):
        session.sql(sql, 1)
    assert session.budget.spent == 0


def test_a_check_that_looks_at_no_width_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rewrites, "_small", lambda node: True)
    for sql in LARGE[:4]:
        parse(sql)


def test_lpad_is_answered_on_rows_and_above_them(session: Session) -> None:
    question = (
        "SELECT lpad(CAST(a AS VARCHAR), 3, '0') AS k, lpad('x', 5) AS p, COUNT(*) AS n FROM data GROUP BY 1"
    )
    rows = session.sql(question, 1).to_arrow().to_pylist()
    assert [row["k"] for row in rows][:2] == ["000", "001"]
    assert rows[0]["p"] == "    x"


def test_the_hour_of_a_clock_is_that_of_the_clock() -> None:
    connection, clock = shared.plain(), clock_hour("x")
    assert clock.startswith("clamp(")
    assert clock.endswith(", 0, 23)")
    plain = f"greatest(least{clock.removeprefix('clamp').removesuffix(', 0, 23)')}, 23), 0)"
    for hour in range(24):
        shown = f"{hour % 12 or 12}:{7 * hour % 60:02d}{'AM' if hour < 12 else 'pm'}"
        ((read,),) = connection.execute(f"SELECT {plain} FROM (SELECT '{shown}' AS x)").fetchall()
        assert read == hour


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("selct 1 AS a", ("selct", "SELECT")),
        ("SELECT 1 AS a\nFORM t", ("FORM", "FROM")),
        ("SELECT a FROM t WHERE a > 1 ODER BY a", ("ODER", "ORDER")),
        ("WTIH q AS (SELECT 1 AS a) SELECT a FROM q", ("WTIH", "WITH")),
    ],
)
def test_a_misspelt_keyword_is_found_and_its_place_shown(text: str, found: tuple[str, str]) -> None:
    with pytest.raises(QueryRefused) as caught:
        parse(text)
    assert caught.value.place == found[0]
    assert f"Did you mean {found[1]}" in caught.value.fix
    parse(text.replace(*found))


@pytest.mark.parametrize("text", ["SELECT (1", "))", "blah blah blah", "SELECT 'x", "SELECT * FROM", "fromm"])
def test_nothing_is_proposed_that_does_not_help(text: str) -> None:
    with pytest.raises(QueryRefused) as caught:
        parse(text)
    assert "Did you mean" not in caught.value.fix


@pytest.mark.parametrize(
    ("item", "cause", "advice"),
    [
        ("mad(a)", "The aggregate mad is not supported.", "QUANTILE_CONT(a, 0.75) - QUANTILE_CONT(a, 0.25)"),
        ("geomean(a)", "The aggregate geomean is not supported.", "EXP(AVG(LN(greatest(a, 1))))"),
        (
            "geometric_mean(a)",
            "The aggregate geometric_mean is not supported.",
            "EXP(AVG(LN(greatest(a, 1))))",
        ),
        ("product(a)", "The aggregate product is not supported.", "SUM(LN(greatest(a, 1)))"),
        ("AVRG(a)", "There is no function avrg.", "AVG(a)"),
    ],
)
@pytest.mark.parametrize("others", ["", ", COUNT(*) AS n"])
def test_an_unknown_aggregate_has_its_own_advice_which_is_answered(
    session: Session, item: str, cause: str, advice: str, others: str
) -> None:
    question = f"SELECT {item} AS v{others} FROM data"
    with pytest.raises(QueryRefused) as caught:
        session.sql(question, 1)
    assert caught.value.cause == cause
    assert advice in caught.value.fix
    assert session.sql(question.replace(item, advice), 1)["v"] is not None


def test_the_entropy_is_computed_from_counts(session: Session) -> None:
    with pytest.raises(QueryRefused) as caught:
        session.sql("SELECT entropy(a) AS e FROM data", 1)
    assert "SELECT a, COUNT(*) AS n … GROUP BY a" in caught.value.fix


# Arrows of JSON ----------------------------------------------------------------------------------------------
READ = {
    "COUNT(p -> 'a')": "COUNT(p -> '$.a')",
    "COUNT(p -> '$.a[1]')": "COUNT(p -> '$.a[1]')",
    "clamp(p -> 'a' -> 'b' ->> 'c', 0, 1)": "CLAMP((p -> '$.a' -> '$.b') ->> '$.c', 0, 1)",
    "COUNT_IF(p -> 'a' ->> 'b' = 'c')": "COUNT_IF(((p -> '$.a') ->> '$.b') = 'c')",
    "COUNT(v.p -> 'a')": "COUNT(v.p -> '$.a')",
}
KEPT = [
    "LIST_TRANSFORM(l, x -> x + 1)",
    "LIST_TRANSFORM(l, x -> 'a' || x)",
    "LIST_TRANSFORM(l, LAMBDA x : 'a')",
]


def read(text: str) -> str:
    statement = sqlglot.parse_one(f"SELECT {text} FROM t", read="duckdb")
    rewrites.read_arrows(statement)
    return statement.sql("duckdb").removeprefix("SELECT ").removesuffix(" FROM t")


@pytest.mark.parametrize("text", READ)
def test_an_arrow_with_a_key_is_a_field(text: str) -> None:
    assert read(text) == READ[text]


@pytest.mark.parametrize("text", KEPT)
def test_a_function_of_a_variable_stays_one(text: str) -> None:
    assert "LAMBDA x :" in read(text)


@pytest.mark.parametrize(("asked", "instead"), [
    ("bool_and(c)", "COUNT_IF(NOT (c)) < 1"),
    ("bool_or(a > 3)", "COUNT_IF(a > 3) > 0"),
    ("every(a > 3)", "COUNT_IF(NOT (a > 3)) < 1"),
    ("bit_or(a)", "COUNT_IF(a & 1 = 1)"),
    ("array_agg(a ORDER BY b)", "COUNT(a)"),
    ("string_agg(s, ',' ORDER BY b)", "COUNT(s)"),
    ("sumIf(a, c)", "SUM(a) FILTER (WHERE c)"),
    ("avgIf(a, b > 1)", "AVG(a) FILTER (WHERE b > 1)"),
])  # fmt: skip
def test_what_a_refused_aggregate_proposes_is_answered(asked: str, instead: str) -> None:
    table = pa.table({"a": [1, 2], "b": [3, 4], "c": [True, False], "s": ["x", "y"]})
    session = shared.protect(table, privacy_unit="row", budget=10, bounds={"a": (0, 9), "b": (0, 9)})
    with pytest.raises(QueryRefused) as refused:
        session.preview(f"SELECT {asked} AS v FROM data", 1)
    assert instead in refused.value.fix
    assert session.preview(f"SELECT {instead} AS v FROM data", 1).epsilon == 1


@pytest.mark.parametrize("test", ["= ANY", "<> ALL"])
@pytest.mark.parametrize("values", ["(1), (2)", "(1), (NULL)", "(NULL)"])
def test_any_and_all_are_in_and_not_in_with_null_too(test: str, values: str) -> None:
    listed = f"SELECT b FROM (VALUES {values}) AS p(b)"
    sql = f"SELECT list(x {test} ({listed}) ORDER BY x) FROM (VALUES (1), (2), (NULL)) AS t(x)"
    written = sqlglot.parse_one(sql, read="duckdb")
    rewrites.quantified(written)
    assert " IN (SELECT" in written.sql("duckdb")
    assert duckdb.execute(sql).fetchall() == duckdb.execute(written.sql("duckdb")).fetchall()


def test_any_within_any_is_in_within_in() -> None:
    inner = "x = ANY (SELECT b FROM p)"
    for sql in (f"SELECT a = ANY (SELECT a FROM t WHERE {inner})", f"SELECT ({inner}) <> ALL (SELECT b)"):
        written = sqlglot.parse_one(sql, read="duckdb")
        rewrites.quantified(written)
        assert written.sql("duckdb").count(" IN (SELECT") == 2
