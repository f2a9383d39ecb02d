"""A marked literal is written as its mark, equals itself alone, and raises on every way to read more."""

from __future__ import annotations

import pytest

from discreet.engines.schema import Type
from discreet.sql.dialects.duckdb import DUCKDB
from discreet.sql.expressions.expression import Literal, spell
from discreet.sql.expressions.marked import EDGE, MarkedLiteral
from discreet.sql.expressions.unread import UnreadLiteral
from discreet.sql.syntax.alike.blanks import ValueNeededError


def marked(place: int, marks: list[UnreadLiteral]) -> MarkedLiteral:
    return MarkedLiteral.of_blank(UnreadLiteral(place, Type.INTEGER, Literal(45, Type.INTEGER)), marks)


def doubled(literal: Literal) -> Literal:
    return Literal(2 * int(str(literal.value)), literal.type)


def test_each_literal_has_a_mark_of_its_own_and_the_same_one_the_same() -> None:
    marks: list[UnreadLiteral] = []
    first, second = marked(0, marks), marked(1, marks)
    written = [spell(one, DUCKDB) for one in (first, second, first, marked(0, marks), first.then(doubled))]
    assert written == [f"{EDGE}{number}{EDGE}" for number in (0, 1, 0, 0, 2)]
    assert [mark.of(Literal(7, Type.INTEGER)).value for mark in marks] == [7, 7, 14]


def test_it_equals_itself_alone() -> None:
    marks: list[UnreadLiteral] = []
    first = marked(0, marks)
    assert first == marked(0, marks)
    assert len({first, marked(0, marks), marked(1, marks), first.then(doubled)}) == 3
    assert first != Literal(45, Type.INTEGER)
    assert first.then(doubled) != first


@pytest.mark.parametrize("read", ["value", "lo", "hi", "domain"])
def test_a_read_raises(read: str) -> None:
    literal = marked(0, [])
    with pytest.raises(ValueNeededError):
        getattr(literal if read == "value" else literal.span, read)
