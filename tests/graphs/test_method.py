"""Methods spend their epsilon exactly, say intervals that hold, and the one that errs least is taken."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.errors import InvalidParameter
from discreet.graphs import Graph, Method, predictions, read
from discreet.graphs.question import QUESTIONS
from discreet.release.draw import Draw, Use
from discreet.release.gate import event_of
from tests.graphs.invented import known

EPSILON = Fraction(3, 7)


def answered(method: Method, graph: Graph) -> Any:
    draw = Draw({name: Use(made, "add_remove", 1) for name, made in method.mechanisms.items()})
    noisy = method.draw(graph, draw)
    draw.see_all_drawn()
    return method.interval(noisy)


@pytest.mark.parametrize("asked", [*QUESTIONS, "2-stars", "5-stars"])
@pytest.mark.parametrize("name", ["ladder", "smooth", "global"])
def test_the_shares_add_up_to_epsilon(asked: str, name: str) -> None:
    from discreet.accounting import loss_of

    method = Method(name, read(asked), 34, True, EPSILON, 0.95)
    uses = {key: Use(made, "add_remove", 1) for key, made in method.mechanisms.items()}
    assert loss_of(event_of(uses)).epsilon == EPSILON


@pytest.mark.parametrize(
    ("asked", "name"), [("triangles", "ladder"), ("triangles", "global"), ("2-stars", "ladder"), ("2-stars", "smooth"),
                        ("clustering", "ladder"), ("components", "global"), ("assortativity", "ladder")],
)  # fmt: skip
def test_intervals_cover(asked: str, name: str) -> None:
    """Of 60 at 80 %, at least 26: fewer has a chance below 1e-9. An interval of a third of its width is found."""
    _, graph = known("miserables")
    question = read(asked)
    exact = {one.name: one.value(graph) for one in question.statistics}
    right = question.combine(graph.size, {key: _point(value) for key, value in exact.items()}).value
    method = Method(name, question, graph.size, True, Fraction(4), 0.8)
    found = [answered(method, graph) for _ in range(60)]
    assert sum(one.low <= right <= one.high for one in found) >= 26
    assert all(one.low <= one.value <= one.high for one in found)


def _point(value: int) -> Any:
    from discreet.graphs.question import Interval

    return Interval(*[float(value)] * 3)


def test_the_method_of_least_error_comes_first() -> None:
    made = predictions(read("triangles"), 34, True, Fraction(1), 0.95, None)
    assert [method.name for method, _ in made] == ["global", "ladder", "smooth"]
    made = predictions(read("triangles"), 10**6, True, Fraction(1), 0.95, 500)
    assert [method.name for method, _ in made] == ["ladder", "smooth", "global"]
    assert made[0][1] < made[2][1] / 100
    # Nobody knows how many neighbours two vertices may share where their number is only said.
    assert [one.name for one, _ in predictions(read("triangles"), 34, False, Fraction(1), 0.95, None)] == [
        "ladder",
        "smooth",
    ]


def test_methods_that_are_none() -> None:
    with pytest.raises(InvalidParameter, match="No method"):
        Method("flow", read("triangles"), 34, True, EPSILON, 0.95).see_possible()
    with pytest.raises(InvalidParameter, match="public set"):
        Method("global", read("triangles"), 34, False, EPSILON, 0.95).see_possible()
    with pytest.raises(InvalidParameter, match="64 bits"):
        Method("global", read("8-stars"), 10**6, True, EPSILON, 0.95).see_possible()


def test_counts_beyond_64_bits_are_answered() -> None:
    hub = Graph.of(10**5, np.zeros(10**5 - 1, np.int64), np.arange(1, 10**5))
    method = Method("ladder", read("8-stars"), 10**5, True, Fraction(2), 0.95)
    assert answered(method, hub).high > 1 << 63
