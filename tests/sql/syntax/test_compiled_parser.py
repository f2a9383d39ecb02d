"""sqlglot's compiled part, which others may have installed, lets no class of ours stand below one of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.generator import Generator
from sqlglot.parser import Parser
from sqlglot.tokens import Tokenizer
from tests import shared

from discreet.sql.plan.generic import generic_reading
from discreet.sql.syntax.parameters.parameter_node import ParameterNode

ROWS = pa.table({"p": [1, 2, 3, 4], "age": [10, 20, 30, 40]})


def below(kind: type[object]) -> Iterator[type[object]]:
    one: type[object]
    for one in kind.__subclasses__():
        yield one
        yield from below(one)


def ours() -> set[type]:
    kinds = (exp.Expr, Parser, Generator, Tokenizer, Dialect)
    return {one for kind in kinds for one in below(kind) if one.__module__.startswith("discreet.")}


def test_parameters_alone_stand_below_a_class_of_sqlglot() -> None:
    assert ours() == {ParameterNode}


def test_another_class_is_seen() -> None:
    made = type("Made", (exp.Literal,), {"__module__": "discreet.made"})
    try:
        assert made in ours()
    finally:
        made.__module__ = "tests.made"


def test_questions_are_answered_without_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def refused(*_: object) -> ParameterNode:
        tried.append(True)
        raise TypeError("interpreted classes cannot inherit from compiled")

    monkeypatch.setattr(generic_reading, "parameter_node", refused)
    session = shared.protect(ROWS, table="t", privacy_unit="p", max_rows=1, budget=10_000)
    for age, count in ((15, 3), (25, 2), (35, 1)):
        answer = session.sql(f"SELECT COUNT(*) AS n FROM t WHERE age > {age}", epsilon=1000)
        assert answer.to_dict()["n"] == [count]
    assert tried
