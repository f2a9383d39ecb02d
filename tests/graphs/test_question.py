"""On all pairs of neighbouring graphs of up to five vertices the noise of every statistic is private."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache

import networkx as nx
import numpy as np
import pytest

from discreet.errors import InvalidParameter
from discreet.graphs import Graph, Method, counts, read
from discreet.graphs.question import PRODUCTS, TRIANGLES, WIDTHS, Interval, Statistic, star
from discreet.mechanisms import Climbed, Ladder
from tests.depth import DEEP
from tests.graphs.invented import known, neighbours

STATISTICS = [TRIANGLES, star(2), star(3), PRODUCTS]


@cache
def pairs(size: int) -> list[tuple[Graph, Graph]]:
    return list(neighbours(size))


def states(statistic: Statistic, size: int) -> set[tuple[Climbed, Climbed]]:
    """The value and the width of each pair of neighbours."""
    return _states(statistic.value, WIDTHS[statistic.width], size)


@cache
def _states(
    value: Callable[[Graph], int], width: Callable[[Graph], int], size: int
) -> set[tuple[Climbed, Climbed]]:
    @cache
    def of(graph: Graph) -> Climbed:
        return Climbed(value(graph), width(graph))

    return {(of(one), of(other)) for one, other in pairs(size)}


def worst(statistic: Statistic, size: int, epsilon: Fraction) -> float:
    """The largest logarithm of a ratio of probabilities between neighbours, by epsilon."""
    method = Method("ladder", read("triangles"), size, True, epsilon, 0.95)
    mechanism = Ladder(epsilon, lambda width: method.rung(statistic, width), statistic.most(size))
    found = states(statistic, size)
    laws = {one: np.log(mechanism.probabilities(one)) for pair in found for one in pair}
    return max(float(np.abs(laws[a] - laws[b]).max()) for a, b in found) / float(epsilon)


@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda one: one.name)
def test_ladders_are_private_on_all_small_graphs(statistic: Statistic) -> None:
    for size in (2, 3, 4, *([6] if DEEP else [])):
        assert worst(statistic, size, Fraction(1)) <= 1 + 1e-9
    assert 0.4 < worst(statistic, 5, Fraction(1)) <= 1 + 1e-9


@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda one: one.name)
def test_a_ladder_one_rung_too_low_is_found(statistic: Statistic) -> None:
    low = Statistic(
        statistic.name, statistic.value, statistic.most, statistic.width, lambda x: statistic.rung(x - 1)
    )
    with np.errstate(divide="ignore"):
        assert worst(low, 5, Fraction(1)) > 1 + 1e-9


def test_a_width_that_misses_joined_neighbours_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def apart(graph: Graph) -> int:
        dense = graph.matrix().toarray()
        return int(((dense @ dense) * (1 - dense) * (1 - np.eye(graph.size, dtype=int))).max())

    monkeypatch.setitem(WIDTHS, "common", apart)
    assert worst(TRIANGLES, 5, Fraction(1)) > 1 + 1e-9


def test_an_edge_moves_what_has_no_width_by_one() -> None:
    for one, other in pairs(4):
        assert other.edges - one.edges == 1
        assert 0 <= counts.merges(other) - counts.merges(one) <= 1


@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda one: one.name)
def test_the_global_bound_is_reached_by_no_more_than_it_says(statistic: Statistic) -> None:
    method = Method("global", read("triangles"), 5, True, Fraction(1), 0.95)
    moved = max(statistic.value(other) - statistic.value(one) for one, other in pairs(5))
    assert moved <= method.rung(statistic, 5)
    if statistic is not PRODUCTS:
        assert moved == method.rung(statistic, 5)


@pytest.mark.parametrize("name", ["club", "miserables", "families", "women"])
def test_ratios_without_noise_are_those_of_networkx(name: str) -> None:
    theirs, graph = known(name)
    for asked, right in (
        ("clustering", nx.transitivity(theirs)),
        ("assortativity", nx.degree_assortativity_coefficient(theirs)),
        ("components", nx.number_connected_components(theirs)),
    ):
        question = read(asked)
        exact = {one.name: Interval(*[float(one.value(graph))] * 3) for one in question.statistics}
        found = question.combine(graph.size, exact)
        assert found.value == pytest.approx(right)
        assert found.low == pytest.approx(found.high) == pytest.approx(right)
        wide = {key: Interval(one.value, 0.99 * one.low, 1.01 * one.high) for key, one in exact.items()}
        ends = question.combine(graph.size, wide)
        assert ends.low <= right + 1e-9
        assert right - 1e-9 <= ends.high


def test_ratios_of_nothing_have_no_error_and_the_whole_range() -> None:
    nothing = Interval(0, 0, 0)
    for asked in ("clustering", "assortativity"):
        question = read(asked)
        found = question.combine(3, {one.name: nothing for one in question.statistics})
        assert found.value == 0
        assert found.high == 1
        assert math.isfinite(found.low)


def test_names() -> None:
    assert [one.name for one in read("4-stars").statistics] == ["4-stars"]
    for wrong in ("1-stars", "9-stars", "cliques", ""):
        with pytest.raises(InvalidParameter):
            read(wrong)
