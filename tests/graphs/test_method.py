"""Methods spend their epsilon exactly, say intervals that hold, and the one that errs least is taken."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.errors import InvalidParameter
from discreet.graphs import Graph, Method, predictions, read
from discreet.graphs.question import PRODUCTS, QUESTIONS, TRIANGLES, Statistic, StatisticQuestion, star
from discreet.mechanisms import SmoothLaplace
from discreet.release.draw import Draw, Use
from discreet.release.gate import event_of
from tests.depth import deep
from tests.graphs.invented import known
from tests.graphs.test_question import states

EPSILON = Fraction(3, 7)
TINY = Fraction(1, 10**9)


def answered(method: Method, graph: Graph) -> Any:
    draw = Draw({name: Use(made, "add_remove", 1) for name, made in method.mechanisms.items()})
    noisy = method.draw(graph, draw)
    draw.see_all_drawn()
    return method.interval(noisy)


@pytest.mark.parametrize("asked", [*QUESTIONS, "2-stars", "5-stars"])
@pytest.mark.parametrize("name", ["ladder", "smooth", "smooth-laplace", "global"])
def test_the_shares_add_up_to_epsilon_and_delta(asked: str, name: str) -> None:
    from discreet.accounting import Loss, loss_of

    granted = Fraction(1, 10**6)
    method = Method(name, read(asked), 34, True, EPSILON, 0.95, granted)
    uses = {key: Use(made, "add_remove", 1) for key, made in method.mechanisms.items()}
    assert loss_of(event_of(uses)) == Loss(EPSILON, method.delta)
    assert method.delta == (granted if name == "smooth-laplace" and method.question.widths else 0)


def clamped(middle: int, scale: Fraction, most: int) -> np.ndarray:
    """The law of a value from 0 to `most` with discrete Laplace noise, pulled back to the ends."""
    if not scale:
        return np.asarray(np.eye(most + 1)[middle])
    x = 1 / float(scale)
    far = int(60 * scale) + most + 1
    k = np.arange(-far, far + 1)
    law = np.tanh(x / 2) * np.exp(-np.abs(k - middle) * x)
    return np.asarray(np.bincount(np.clip(k, 0, most), law, most + 1))


def excess(statistic: Statistic, size: int, method: Method, planted: float = 1) -> float:
    """The largest delta of the statistic's noise over all neighbours of so many vertices."""
    made, found = method.mechanisms[statistic.name], 0.0
    assert isinstance(made, SmoothLaplace)
    most = statistic.most(size)
    for pair in states(statistic, size):
        laws = [clamped(one.value, made.scale(one.width) * Fraction(planted), most) for one in pair]
        for p, q in (laws, laws[::-1]):
            found = max(found, float(np.maximum(p - np.exp(float(made.epsilon)) * q, 0).sum()))
    return found


@pytest.mark.parametrize("statistic", [TRIANGLES, star(2), PRODUCTS], ids=lambda one: one.name)
def test_smooth_laplace_noise_has_its_delta_on_all_small_graphs(statistic: Statistic) -> None:
    question = StatisticQuestion(statistic.name, (statistic,), read("triangles").combine)
    for size in (3, 5):
        for granted in (Fraction(1, 100), Fraction(1, 10**6)):
            method = Method("smooth-laplace", question, size, True, Fraction(1), 0.95, granted)
            assert excess(statistic, size, method) <= granted
    assert excess(statistic, 5, method, planted=0.25) > granted  # noise that is too small is found


def test_a_width_that_stands_still_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise of the local sensitivity alone, which tells neighbours apart far out."""
    from discreet.mechanisms.numeric import smooth_laplace

    monkeypatch.setattr(smooth_laplace, "smooth_sensitivity", lambda rung, width, q: Fraction(rung(width)))
    granted = Fraction(1, 10**6)
    method = Method("smooth-laplace", read("triangles"), 5, True, Fraction(1), 0.95, granted)
    assert excess(TRIANGLES, 5, method) > 100 * granted


@pytest.mark.parametrize(
    ("asked", "name"), [("triangles", "ladder"), ("triangles", "global"), ("2-stars", "smooth"),
                        ("clustering", "smooth-laplace"), ("assortativity", "ladder"),
                        # The same methods of the same statistics, otherwise combined.
                        pytest.param("2-stars", "ladder", marks=deep), pytest.param("components", "global", marks=deep),
                        pytest.param("triangles", "smooth-laplace", marks=deep),
                        pytest.param("clustering", "ladder", marks=deep)],
)  # fmt: skip
def test_intervals_cover(asked: str, name: str) -> None:
    """Of 60 at 80 %, at least 26: fewer has a chance below 1e-9. An interval of a third of its width is found."""
    _, graph = known("miserables")
    question = read(asked)
    exact = {one.name: one.value(graph) for one in question.statistics}
    right = question.combine(graph.size, {key: _point(value) for key, value in exact.items()}).value
    method = Method(name, question, graph.size, True, Fraction(4), 0.8, Fraction(1, 10**6))
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
    granted = predictions(read("triangles"), 10**6, True, Fraction(1), 0.95, 500, Fraction(1, 10**6))
    assert granted[0][0].name == "smooth-laplace"
    assert granted[0][1] < 0.6 * made[0][1]
    assert [error for _, error in granted[1:]] == [error for _, error in made]
    # Nobody knows how many neighbours two vertices may share where their number is only said.
    assert [one.name for one, _ in predictions(read("triangles"), 34, False, Fraction(1), 0.95, None)] == [
        "ladder",
        "smooth",
    ]


def test_methods_that_are_none() -> None:
    with pytest.raises(InvalidParameter, match="No method"):
        Method("flow", read("triangles"), 34, True, EPSILON, 0.95).see_possible()
    with pytest.raises(InvalidParameter, match="needs a delta"):
        Method("smooth-laplace", read("triangles"), 34, True, EPSILON, 0.95).see_possible()
    with pytest.raises(InvalidParameter, match="no such noise"):
        predictions(
            read("triangles"),
            34,
            True,
            Fraction(1, 10**5),
            0.95,
            None,
            Fraction(1, 10**9),
            ("smooth-laplace",),
        )
    with pytest.raises(InvalidParameter, match="public set"):
        Method("global", read("triangles"), 34, False, EPSILON, 0.95).see_possible()
    with pytest.raises(InvalidParameter, match="64 bits"):
        Method("global", read("8-stars"), 10**6, True, EPSILON, 0.95).see_possible()


def test_counts_beyond_64_bits_are_answered() -> None:
    hub = Graph.of(10**5, np.zeros(10**5 - 1, np.int64), np.arange(1, 10**5))
    method = Method("ladder", read("8-stars"), 10**5, True, Fraction(2), 0.95)
    assert answered(method, hub).high > 1 << 63
