"""A PIVOT with ORDER BY behind it is read, and its parts keep their places in the text."""

from __future__ import annotations

import logging

import pytest

from discreet.errors import QueryRefused
from discreet.sql.syntax.parse import parse, spelled
from discreet.sql.syntax.pivot_statement import statements, with_order
from discreet.sql.syntax.refusal import place


@pytest.mark.parametrize("tail", ["ORDER BY y DESC", "LIMIT 3", "ORDER BY y LIMIT 2 OFFSET 1"])
def test_order_and_limit_belong_to_the_answer(tail: str) -> None:
    text = f"PIVOT t ON x IN (1, 2) USING SUM(z) GROUP BY y {tail}"
    assert (
        parse(text).sql("duckdb") == f"SELECT * FROM (PIVOT t ON x IN (1, 2) USING SUM(z) GROUP BY y) {tail}"
    )


def test_its_with_is_that_of_the_statement() -> None:
    text = "WITH t AS (SELECT 1 AS x) PIVOT t ON x ORDER BY 1"
    assert parse(text).sql("duckdb") == "WITH t AS (SELECT 1 AS x) SELECT * FROM (PIVOT t ON x) ORDER BY 1"


def test_a_place_behind_it_is_that_of_the_text() -> None:
    text = "PIVOT t ON x USING SUM(z) GROUP BY y ORDER BY why"
    found = place(parse(text).args["order"].expressions[0], text)
    assert found is not None
    assert text[slice(*found)] == "why"


@pytest.mark.parametrize(
    "text", ["SELECT 1 ORDER BY 1 1", "PIVOT t ON x ORDER", "PIVOT t", "'", "", "PIVOT t ON ) LIMIT 1"]
)
def test_other_texts_are_left_alone(text: str) -> None:
    assert with_order(text) is None


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("PIVOT t ON x > 5 AND y, z IN (1, 2) USING SUM(v)", "PIVOT t ON (x > 5 AND y), z IN (1, 2) USING SUM(v)"),
        ("PIVOT t ON NOT x IN (1) GROUP BY g", "PIVOT t ON (NOT x IN (1)) GROUP BY g"),
        ("PIVOT t ON CASE WHEN x > 5 THEN 'a' END", "PIVOT t ON CASE WHEN x > 5 THEN 'a' END"),
        ("SELECT * FROM (PIVOT t ON F(x = 1, y), y IS NULL) AS s JOIN u ON s.a = u.a AND u.b",
         "SELECT * FROM (PIVOT t ON F(x = 1, y), (y IS NULL)) AS s JOIN u ON s.a = u.a AND u.b"),
        ("PIVOT (PIVOT t ON a < b) ON c <> d", "PIVOT (PIVOT t ON (a < b)) ON (c <> d)"),
    ],
)  # fmt: skip
def test_conditions_behind_on_of_a_pivot_are_read(text: str, read: str) -> None:
    (found,) = statements(text)
    assert found.sql("duckdb") == read


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM t PIVOT(SUM(x) FOR y IN (1, 2)) AS p JOIN u ON p.a = u.a WHERE u.c = 1",
        "SELECT * FROM t PIVOT(SUM(x) FOR y IN (1, 2)) AS p JOIN u ON p.a = u.a LEFT JOIN v ON v.a = u.a",
        'SELECT t."pivot" FROM t JOIN u ON t.a = u.a WHERE u.c > 1',
    ],
)
def test_conditions_behind_on_of_a_join_are_left_alone(text: str) -> None:
    (found,) = statements(text.replace('"', ""))
    assert found.sql("duckdb") == text


@pytest.mark.parametrize(
    ("condition", "read"),
    [
        ("x ISNULL", "x IS NULL"), ("x NOTNULL", "NOT x IS NULL"), ("x ~ 'a'", "REGEXP_MATCHES(x, 'a')"),
        ("x ^@ 'a'", "STARTS_WITH(x, 'a')"), ("x && y", "x && y"), ("x @> y", "x @> y"), ("x <@ y", "x <@ y"),
    ],
)  # fmt: skip
def test_each_spelling_of_a_condition_is_read(condition: str, read: str) -> None:
    (found,) = statements(f"PIVOT t ON {condition} USING COUNT(*)")
    assert found.sql("duckdb") == f"PIVOT t ON ({read}) USING COUNT(*)"


def test_no_log_has_the_text_and_others_keep_their_words(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        statements("GRANT secret TO ana")
        assert caplog.records == []
        logging.getLogger("sqlglot").warning("of somebody else")
    assert [one.getMessage() for one in caplog.records] == ["of somebody else"]


@pytest.mark.parametrize(
    "behind", ["LIMIT 5 QUALIFY x", "OFFSET 1 WINDOW w AS (ORDER BY x)", "ORDER BY d FOR UPDATE"]
)
def test_other_parts_behind_a_pivot_are_refused_in_place_of_dropped(behind: str) -> None:
    assert with_order(f"PIVOT t ON c USING COUNT(*) {behind}") is None
    with pytest.raises(QueryRefused, match="can be read"):
        spelled(f"PIVOT t ON c USING COUNT(*) {behind}")


def test_no_second_statement_hides_behind_a_pivot_with_order(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG), pytest.raises(QueryRefused):
        spelled("PIVOT t ON c USING COUNT(*) ORDER BY d; GRANT secret TO ana")
    assert not caplog.records
