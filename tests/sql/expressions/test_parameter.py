"""A parameter tells its type, and raises on every way to read more."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from discreet.engines.schema import Type
from discreet.sql.dialects.duckdb import DUCKDB
from discreet.sql.expressions.expression import Column, Literal, constant, is_null_literal, spell
from discreet.sql.expressions.parameter import Parameter
from discreet.sql.expressions.span import Span
from discreet.sql.functions import call
from discreet.sql.syntax.parameters.parameter_node import ValueNeededError

PLAIN = Literal(45, Type.INTEGER)
COLUMN = Column("b", Type.FLOAT, Span(Fraction(0), Fraction(9)))


def parameter(place: int = 0) -> Parameter:
    return Parameter(place, Type.INTEGER, PLAIN)


READS: dict[str, Callable[[], object]] = {
    "value": lambda: parameter().value, "least": lambda: parameter().span.lo, "greatest": lambda: parameter().span.hi,
    "domain": lambda: parameter().span.domain, "bounded": lambda: parameter().span.bounded,
    "span": lambda: parameter().span.null(), "spans": lambda: parameter().span == parameter(1).span,
    "span shown": lambda: repr(parameter().span), "another": lambda: parameter() == parameter(1),
    "hash": lambda: hash(parameter()),
    "plain": lambda: parameter() == PLAIN, "plain before": lambda: parameter() == PLAIN,
    "shown": lambda: repr(parameter()),
    "key": lambda: {parameter(): 1}, "member": lambda: parameter() in [PLAIN],
    "written": lambda: spell(parameter(), DUCKDB),
    "above": lambda: call("lt", COLUMN, parameter()) == call("lt", COLUMN, parameter(1)),
    "sum": lambda: call("add", COLUMN, parameter()),
}  # fmt: skip


@pytest.mark.parametrize("read", READS)
def test_a_read_raises(read: str) -> None:
    with pytest.raises(ValueNeededError):
        READS[read]()


def test_its_type_its_place_and_that_it_is_no_null_are_known() -> None:
    literal = parameter()
    assert literal == parameter()
    assert literal != Literal(45, Type.FLOAT)
    assert literal != COLUMN
    assert not literal.span.nullable
    assert not is_null_literal(literal)
    assert constant(literal)
    assert call("lt", COLUMN, literal) == call("lt", COLUMN, parameter())


def halved(literal: Literal) -> Literal:
    whole = literal.value % 2 == 0  # type: ignore[operator]
    half = literal.value / 2  # type: ignore[operator]
    return Literal(int(half), Type.INTEGER) if whole else Literal(half, Type.FLOAT)


def test_a_conversion_is_done_again_and_keeps_its_type() -> None:
    converted = parameter().then(halved)
    assert isinstance(converted, Parameter)
    assert converted.type is Type.FLOAT
    assert converted.of(Literal(7, Type.INTEGER)) == Literal(3.5, Type.FLOAT)
    for other in (Literal(8, Type.INTEGER), Literal(7.0, Type.FLOAT)):
        with pytest.raises(ValueNeededError):
            converted.of(other)
