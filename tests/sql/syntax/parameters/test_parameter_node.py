"""A parameter in a tree tells its kind and its place, and raises on every way to read more."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlglot import exp

from discreet.sql.syntax.once import _key
from discreet.sql.syntax.parameters.parameter_node import ParameterNode, ValueNeededError, parameter_node

NUMBER = exp.Literal(this="45", is_string=False)
READS: dict[str, Callable[[ParameterNode], object]] = {
    "name": lambda one: one.name, "this": lambda one: one.this, "text": lambda one: one.text("this"),
    "output name": lambda one: one.output_name, "value": lambda one: one.to_py(), "is_int": lambda one: one.is_int,
    "alias": lambda one: one.alias_or_name, "equal": lambda one: one == NUMBER, "equals": lambda one: one == NUMBER,
    "hash": hash, "hash above": lambda one: hash(above(one)), "equal above": lambda one: above(one) == above(one),
    "key above": lambda one: _key(above(one)), "name above": lambda one: exp.Paren(this=one).name, "shown": repr,
    "str": lambda one: str(one.args["this"]), "compared": lambda one: one.args["this"] == "45",
    "stripped": lambda one: one.args["this"].strip(), "empty": lambda one: not one.args["this"],
    "format": lambda one: f"{one.args['this']}", "within": lambda one: "4" in one.args["this"],
    "repr above": lambda one: repr(above(one)),
}  # fmt: skip


def above(one: exp.Expr) -> exp.Expr:
    return exp.select("a").from_("t").where(exp.LT(this=exp.column("b"), expression=one.copy()))


@pytest.mark.parametrize("read", READS)
def test_a_read_raises(read: str) -> None:
    with pytest.raises(ValueNeededError):
        READS[read](parameter_node(0, NUMBER))


def test_it_is_not_written() -> None:
    one = parameter_node(0, NUMBER)
    for tree in (one, above(one)):
        with pytest.raises((ValueNeededError, ValueError)):
            tree.sql("duckdb")


def test_a_copy_is_the_same_parameter() -> None:
    one = parameter_node(3, NUMBER)
    copied = above(one).find(ParameterNode)
    assert copied is not None
    assert copied.parameter is one.parameter
    assert copied.parameter.place == 3
    assert not copied.is_string


def test_a_parameter_that_is_told_as_an_empty_text_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: a text that is none is empty, as it is in the class of the parser."""
    monkeypatch.delattr(ParameterNode, "name")
    monkeypatch.delattr(ParameterNode, "text")
    with pytest.raises(pytest.fail.Exception):
        test_a_read_raises("name")
