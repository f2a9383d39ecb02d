"""Trees are copied and rebuilt as sqlglot would do it, with everything in its place."""

from __future__ import annotations

import pytest
from sqlglot import exp

from discreet.sql.conformance.questions import QUESTIONS
from discreet.sql.syntax.nodes import copied, own_nodes, rebuilt, with_queries
from discreet.sql.syntax.parse import parse

QUERY = (
    "SELECT h, CAST(a AS DOUBLE) AS d, SUM(a) OVER (PARTITION BY u ORDER BY h DESC) FROM t WHERE a IN (1, 2)"
)


def _placed(root: exp.Expr) -> list[tuple[object, ...]]:
    """Everything that is known now of the nodes of a tree, and where each stands."""
    nodes = list(root.walk())
    number = {id(node): at for at, node in enumerate(nodes)}
    return [
        (
            type(node),
            number.get(id(node.parent)),
            node.arg_key,
            node.index,
            {**node.meta},
            [*(node.comments or ())],
        )
        for node in nodes
    ]


@pytest.mark.parametrize("text", [QUERY, *sorted(QUESTIONS, key=len)[-20:]])
def test_a_copy_is_that_of_sqlglot(text: str) -> None:
    query = parse(text)
    mine, theirs = copied(query), query.copy()
    assert mine == theirs == query
    assert mine.sql("duckdb") == query.sql("duckdb")
    assert _placed(mine) == _placed(theirs)


def test_a_copy_shares_no_node_and_no_note() -> None:
    query = parse(QUERY)
    query.add_comments(["a remark"])
    before = query.sql("duckdb"), _placed(query)
    other = copied(query)
    assert not {id(node) for node in query.walk()} & {id(node) for node in other.walk()}
    for node in other.walk():
        node.meta["mine"] = True
        node.add_comments(["another"])
    other.expressions.clear()
    other.args["where"].this.set("this", exp.column("b"))
    assert (query.sql("duckdb"), _placed(query)) == before


def test_a_copy_of_a_part_has_no_parent() -> None:
    query = parse(QUERY)
    part = query.args["where"].this
    assert copied(part).parent is None
    assert part.parent is query.args["where"]


def test_parts_are_changed_but_for_types_and_names() -> None:
    seen: list[exp.Expr] = []

    def change(part: exp.Expr) -> exp.Expr:
        seen.append(part)
        return exp.column("x")

    cast = parse(QUERY).find(exp.Cast)
    assert cast is not None
    out = rebuilt(cast, change)
    assert seen == [cast.this]
    assert out.sql("duckdb") == "CAST(x AS DOUBLE)"
    assert cast.sql("duckdb") == "CAST(a AS DOUBLE)"
    assert out.this.parent is out
    assert out.args["to"].parent is out
    assert cast.args["to"].parent is cast


def test_parts_of_a_list_know_their_places() -> None:
    several = exp.Tuple(expressions=[exp.column("a"), exp.column("b")])
    out = rebuilt(several, lambda part: exp.paren(part.copy()))
    assert out.sql("duckdb") == "((a), (b))"
    assert [(part.parent, part.arg_key, part.index) for part in out.expressions] == [
        (out, "expressions", 0),
        (out, "expressions", 1),
    ]


def test_the_nodes_of_an_expression_come_in_the_order_of_the_text_without_those_of_its_sub_queries() -> None:
    """Whoever refuses one points at the first."""
    query = parse("SELECT a + (SELECT MAX(b) FROM s) * c AS v, d FROM t WHERE EXISTS (SELECT e FROM s)")
    names = [node.name for node in own_nodes(query) if isinstance(node, exp.Column)]
    assert names == ["a", "c", "d"]
    there = [node for node in with_queries(query) if isinstance(node, exp.Column | exp.Query)]
    assert [node.name for node in there if isinstance(node, exp.Column)] == names
    assert (
        sum(isinstance(node, exp.Query) for node in there) == 3
    )  # itself, whose nodes are there, and those within
