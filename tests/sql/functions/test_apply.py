"""The bounds of products of products have few digits, however many there are."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet.engines.schema import Type
from discreet.sql.expressions.expression import Column, Expression
from discreet.sql.expressions.span import Span
from discreet.sql.functions import apply


def largest(steps: int, lo: int, hi: int, kind: Type) -> int:
    """The bits of the largest end of a number that is multiplied by itself so often."""
    one: Expression = Column("k", kind, Span(Fraction(lo), Fraction(hi)))
    most = 0
    for _ in range(steps):
        made = apply.call("multiply", one, one)
        assert made is not None
        one = made
        most = max(most, *((end or Fraction(0)).numerator.bit_length() for end in (one.span.lo, one.span.hi)))
    return most


@pytest.mark.parametrize("kind", [Type.INTEGER, Type.FLOAT])
@pytest.mark.parametrize("lo", [-10, 0])
def test_products_of_products_have_bounds_of_few_digits(kind: Type, lo: int) -> None:
    assert 1000 < largest(40, lo, 10, kind) < 2500


def test_bounds_without_a_limit_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apply, "FAR", 10**100_000)
    assert largest(14, 0, 10, Type.FLOAT) > 50_000
