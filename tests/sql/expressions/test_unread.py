"""A literal that was left blank tells its type, and raises on every way to read more."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from discreet.engines.schema import Type
from discreet.sql.dialects.duckdb import DUCKDB
from discreet.sql.expressions.expression import Column, Literal, constant, is_null_literal, spell
from discreet.sql.expressions.span import Span
from discreet.sql.expressions.unread import UnreadLiteral
from discreet.sql.functions import call
from discreet.sql.syntax.alike.blanks import ValueNeededError

PLAIN = Literal(45, Type.INTEGER)
COLUMN = Column("b", Type.FLOAT, Span(Fraction(0), Fraction(9)))


def unread(place: int = 0) -> UnreadLiteral:
    return UnreadLiteral(place, Type.INTEGER, PLAIN)


READS: dict[str, Callable[[], object]] = {
    "value": lambda: unread().value, "least": lambda: unread().span.lo, "greatest": lambda: unread().span.hi,
    "domain": lambda: unread().span.domain, "bounded": lambda: unread().span.bounded,
    "span": lambda: unread().span.null(), "spans": lambda: unread().span == unread(1).span,
    "span shown": lambda: repr(unread().span), "another": lambda: unread() == unread(1), "hash": lambda: hash(unread()),
    "plain": lambda: unread() == PLAIN, "plain before": lambda: unread() == PLAIN, "shown": lambda: repr(unread()),
    "key": lambda: {unread(): 1}, "member": lambda: unread() in [PLAIN], "written": lambda: spell(unread(), DUCKDB),
    "above": lambda: call("lt", COLUMN, unread()) == call("lt", COLUMN, unread(1)),
    "sum": lambda: call("add", COLUMN, unread()),
}  # fmt: skip


@pytest.mark.parametrize("read", READS)
def test_a_read_raises(read: str) -> None:
    with pytest.raises(ValueNeededError):
        READS[read]()


def test_its_type_its_place_and_that_it_is_no_null_are_known() -> None:
    literal = unread()
    assert literal == unread()
    assert literal != Literal(45, Type.FLOAT)
    assert literal != COLUMN
    assert not literal.span.nullable
    assert not is_null_literal(literal)
    assert constant(literal)
    assert call("lt", COLUMN, literal) == call("lt", COLUMN, unread())


def halved(literal: Literal) -> Literal:
    whole = literal.value % 2 == 0  # type: ignore[operator]
    half = literal.value / 2  # type: ignore[operator]
    return Literal(int(half), Type.INTEGER) if whole else Literal(half, Type.FLOAT)


def test_a_conversion_is_done_again_and_keeps_its_type() -> None:
    converted = unread().then(halved)
    assert isinstance(converted, UnreadLiteral)
    assert converted.type is Type.FLOAT
    assert converted.of(Literal(7, Type.INTEGER)) == Literal(3.5, Type.FLOAT)
    for other in (Literal(8, Type.INTEGER), Literal(7.0, Type.FLOAT)):
        with pytest.raises(ValueNeededError):
            converted.of(other)
