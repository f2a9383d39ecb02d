"""Statements that are alike share one tree, and a fact about a tree is worked out once."""

from __future__ import annotations

import pytest
from sqlglot import exp

from discreet.sql.syntax import once
from discreet.sql.syntax.parse import parse

UNLIKE = [
    "SELECT a FROM t", "SELECT A FROM t", 'SELECT "a" FROM t', "SELECT 'a' FROM t", "SELECT 1 FROM t",
    "SELECT '1' FROM t", "SELECT a FROM t ORDER BY a", "SELECT a FROM t ORDER BY a DESC", "SELECT a FROM t LIMIT 1",
    "SELECT a FROM t LIMIT 2",
    "SELECT a AS b FROM t", "SELECT a, a FROM t", "SELECT DISTINCT a FROM t", "SELECT (a) FROM t",
    "SELECT a FROM t UNION ALL SELECT a FROM t", "SELECT a FROM t UNION SELECT a FROM t",
    "SELECT SUM(a) OVER (ROWS 1 PRECEDING) FROM t", "SELECT SUM(a) OVER (RANGE 1 PRECEDING) FROM t",
]  # fmt: skip


def test_statements_that_are_not_alike_have_trees_of_their_own() -> None:
    trees = [once.shared(parse(text)) for text in UNLIKE]
    assert len(set(map(id, trees))) == len(UNLIKE)
    again = [once.shared(parse(f"  {text} -- again")) for text in UNLIKE]
    assert all(one is other for one, other in zip(trees, again, strict=True))
    assert [tree.sql("duckdb") for tree in again] == [parse(text).sql("duckdb") for text in UNLIKE]


def test_trees_that_are_only_equal_to_the_parser_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: sqlglot's own equality, which holds many names alike that differ in their case."""
    monkeypatch.setattr(once, "_key", lambda value: value.sql("duckdb").lower())
    with pytest.raises(AssertionError):
        test_statements_that_are_not_alike_have_trees_of_their_own()


def test_a_fact_is_worked_out_once_for_each_tree_and_each_other_thing() -> None:
    asked = []

    @once.once
    def columns(statement: exp.Query, table: str) -> int:
        asked.append(table)
        return len([one for one in statement.find_all(exp.Column) if one.table == table])

    one, two = parse("SELECT t.a, u.b, u.c FROM t, u"), parse("SELECT t.a, u.b, u.c FROM t, u")
    assert [columns(one, "t"), columns(one, "u"), columns(one, "u"), columns(two, "t")] == [1, 2, 2, 1]
    assert asked == ["t", "u", "t"]
    assert [columns(one, table="u"), columns(one, table="t")] == [2, 1]


def test_a_statement_that_cannot_be_hashed_stays_itself() -> None:
    one, two = parse("SELECT a FROM t"), parse("SELECT a FROM t")
    for statement in (one, two):
        statement.selects[0].args["strange"] = {"a": 1}
        assert once.shared(statement) is statement


def test_a_tree_that_has_gone_leaves_no_fact_to_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(once, "MOST", 2)
    text = once.once(lambda statement: statement.sql("duckdb"))
    for at in range(200):  # numbers of trees come again soon
        assert text(parse(f"SELECT {at} FROM t")) == f"SELECT {at} FROM t"
        assert once.shared(parse(f"SELECT {at} FROM t")).sql("duckdb") == f"SELECT {at} FROM t"
    assert len(once._facts) <= 2
    assert len(once._alike) <= 2
