"""A numbered parameter is written as its number, equals itself alone, and raises on every way to read more."""

from __future__ import annotations

import pytest

from discreet.engines.schema import Type
from discreet.sql.dialects.duckdb import DUCKDB
from discreet.sql.expressions.expression import Literal, spell
from discreet.sql.expressions.numbered_parameter import EDGE, NumberedParameter
from discreet.sql.expressions.parameter import Parameter
from discreet.sql.syntax.parameters.parameter_node import ValueNeededError


def numbered(place: int, written: list[Parameter]) -> NumberedParameter:
    return NumberedParameter.of_parameter(Parameter(place, Type.INTEGER, Literal(45, Type.INTEGER)), written)


def doubled(literal: Literal) -> Literal:
    return Literal(2 * int(str(literal.value)), literal.type)


def test_each_parameter_has_a_number_of_its_own_and_the_same_one_the_same() -> None:
    written: list[Parameter] = []
    first, second = numbered(0, written), numbered(1, written)
    texts = [spell(one, DUCKDB) for one in (first, second, first, numbered(0, written), first.then(doubled))]
    assert texts == [f"{EDGE}{number}{EDGE}" for number in (0, 1, 0, 0, 2)]
    assert [parameter.of(Literal(7, Type.INTEGER)).value for parameter in written] == [7, 7, 14]


def test_it_equals_itself_alone() -> None:
    written: list[Parameter] = []
    first = numbered(0, written)
    assert first == numbered(0, written)
    assert len({first, numbered(0, written), numbered(1, written), first.then(doubled)}) == 3
    assert first != Literal(45, Type.INTEGER)
    assert first.then(doubled) != first


@pytest.mark.parametrize("read", ["value", "lo", "hi", "domain"])
def test_a_read_raises(read: str) -> None:
    literal = numbered(0, [])
    with pytest.raises(ValueNeededError):
        getattr(literal if read == "value" else literal.span, read)
