"""The span of a result holds every result of values within the spans of the arguments."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.depth import examples

from discreet.sql.expressions import span as sp
from discreet.sql.expressions.span import Span

Operation = Callable[[Fraction, Fraction], Fraction | None]
PLACES = st.fractions(-50, 50, max_denominator=8)


def _integer_divide(a: Fraction, b: Fraction) -> Fraction | None:
    return Fraction(math.trunc(a / b)) if b else None


def _remainder(a: Fraction, b: Fraction) -> Fraction | None:
    return a - b * math.trunc(a / b) if b else None


OPERATIONS: dict[str, tuple[Callable[[Span, Span], Span], Operation]] = {
    "add": (sp.add, lambda a, b: a + b),
    "subtract": (sp.subtract, lambda a, b: a - b),
    "multiply": (sp.multiply, lambda a, b: a * b),
    "divide": (sp.divide, lambda a, b: a / b if b else None),
    "remainder": (sp.remainder, _remainder),
}


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Span, Fraction]:
    """A span, and a place in it."""
    low, place, high = sorted(draw(st.tuples(PLACES, PLACES, PLACES)))
    return Span(
        draw(st.sampled_from([low, None])), draw(st.sampled_from([high, None])), draw(st.booleans())
    ), place


def outside(span: Span, value: Fraction | None) -> bool:
    """Whether a span lacks a value, or NULL for None."""
    if value is None:
        return not span.nullable
    return (span.lo is not None and value < span.lo) or (span.hi is not None and value > span.hi)


@pytest.mark.parametrize("name", OPERATIONS)
@settings(max_examples=examples(12, 2000))
@given(pairs(), pairs())
def test_a_result_is_within_the_span_of_results(
    name: str, a: tuple[Span, Fraction], b: tuple[Span, Fraction]
) -> None:
    bounds, compute = OPERATIONS[name]
    assert not outside(bounds(a[0], b[0]), compute(a[1], b[1]))


@given(st.integers(-50, 50), st.integers(-9, 9), st.integers(0, 9), st.integers(0, 9))
def test_an_integer_quotient_is_within_its_span(a: int, b: int, below: int, above: int) -> None:
    spans = [Span(Fraction(x - below), Fraction(x + above), False) for x in (a, b)]
    assert not outside(sp.integer_divide(*spans), _integer_divide(Fraction(a), Fraction(b)))


@given(pairs(), pairs())
def test_a_hull_holds_each_of_its_spans(a: tuple[Span, Fraction], b: tuple[Span, Fraction]) -> None:
    both = sp.hull([a[0], b[0]])
    assert not outside(both, a[1])
    assert not outside(both, b[1])
    assert both.nullable == (a[0].nullable or b[0].nullable)


@given(pairs())
def test_one_argument(a: tuple[Span, Fraction]) -> None:
    assert not outside(sp.negate(a[0]), -a[1])
    assert not outside(sp.absolute(a[0]), abs(a[1]))
    assert not outside(sp.truncate(a[0]), Fraction(math.trunc(a[1])))


def test_a_span_that_is_too_narrow_is_found() -> None:
    """The planted fault: a product whose ends are those of the lower corner alone."""
    wide = sp.multiply(Span(Fraction(-2), Fraction(3)), Span(Fraction(-5), Fraction(4)))
    assert (wide.lo, wide.hi) == (Fraction(-15), Fraction(12))
    assert outside(Span(Fraction(-2) * -5, wide.hi), Fraction(3) * -5)
