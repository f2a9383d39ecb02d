"""The ways to answer a question, by their predicted errors."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet.errors import InvalidParameter
from discreet.graphs import GraphFacts, GraphQuestion, ways

OPEN = GraphFacts(34, True, "edge", 0)
HIDDEN = GraphFacts(34, False, "vertex", 5)


def asked(count: str, method: str = "", delta: Fraction = Fraction(0)) -> GraphQuestion:
    return GraphQuestion(count, Fraction(1), delta, 0.95, None, 0, method)


def names(count: str, shape: GraphFacts, method: str = "", delta: Fraction = Fraction(0)) -> list[str]:
    found = ways(asked(count, method, delta), shape)
    errors = [error for _, error in found]
    assert errors == sorted(errors)
    return [one.name for one, _ in found]


def test_every_question_has_a_way() -> None:
    assert names("degrees", OPEN) == ["degrees"]
    assert names("edges", OPEN) == ["global"]
    assert names("edges", OPEN, "local") == ["local"]
    assert set(names("triangles", OPEN)) == {"global", "ladder", "smooth"}
    assert "smooth-laplace" in names("triangles", OPEN, delta=Fraction(1, 10**6))
    assert names("degrees", HIDDEN) == ["projection", "flow"]
    assert set(names("edges", HIDDEN)) == {"flow", "projection"}
    assert names("degrees", HIDDEN, "flow") == ["flow"]


def test_only_the_way_that_spends_a_delta_has_one() -> None:
    granted = Fraction(1, 10**6)
    found = {one.name: one.delta for one, _ in ways(asked("triangles", delta=granted), OPEN)}
    assert found == {"smooth-laplace": granted, "ladder": 0, "smooth": 0, "global": 0}
    assert [one.delta for one, _ in ways(asked("edges", delta=granted), OPEN)] == [0]


@pytest.mark.parametrize(
    ("count", "method", "shape"),
    [("degrees", "ladder", OPEN), ("degrees", "global", HIDDEN), ("edges", "ladder", HIDDEN), ("triangles", "", HIDDEN),
     ("triangles", "local", OPEN), ("cliques", "", OPEN), ("triangles", "smooth-laplace", OPEN)],
)  # fmt: skip
def test_what_there_is_not(count: str, method: str, shape: GraphFacts) -> None:
    with pytest.raises(InvalidParameter):
        ways(asked(count, method), shape)
