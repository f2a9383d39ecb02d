"""Reports of pairs estimate edges and triangles without bias: their expectations over all reports are exact."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import InvalidParameter
from discreet.graphs import Graph, LocalEdges, Reported, counts, pairs
from discreet.mechanisms import RandomizedResponse
from discreet.release.draw import Draw, Use
from tests.graphs.invented import known, neighbours, of

SIZE, EPSILON = 4, Fraction(1)


def expected(graph: Graph) -> tuple[float, float]:
    """Over all 64 ways to report six pairs, by their probabilities."""
    every = [(low, high) for high in range(SIZE) for low in range(high)]
    truth = 1 / (1 + np.exp(-float(EPSILON)))
    joined = set(zip(graph.low.tolist(), graph.high.tolist(), strict=True))
    edges = triangles = 0.0
    for said in itertools.product([False, True], repeat=len(every)):
        weight = 1.0
        for (low, high), one in zip(every, said, strict=True):
            weight *= truth if one == ((low, high) in joined) else 1 - truth
        made = Reported(SIZE, EPSILON, np.array(said, np.int64))
        edges, triangles = edges + weight * made.edges(), triangles + weight * made.triangles()
    return edges, triangles


@pytest.mark.parametrize("joined", [[], [(0, 1), (1, 2), (0, 2)], [(0, 1), (1, 2), (0, 2), (2, 3), (1, 3)]])
def test_estimates_have_no_bias(joined: list[tuple[int, int]]) -> None:
    graph = of(SIZE, joined)
    assert expected(graph) == pytest.approx((graph.edges, counts.triangles(graph)))


def test_raw_counts_are_biased(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RandomizedResponse, "lie", 0.0)
    monkeypatch.setattr(RandomizedResponse, "truth", 1.0)
    assert expected(of(SIZE, []))[0] > 1


def test_the_pairs_are_those_of_the_graph() -> None:
    _, club = known("club")
    assert Reported(34, Fraction(30), pairs(club, 34)).triangles() == pytest.approx(45, abs=0.1)
    assert pairs(club, 3).tolist() == [1, 1, 1]
    assert pairs(of(0, []), 5).sum() == 0


def test_the_error_of_edges_holds() -> None:
    """At a confidence of 1 - 1e-10: false alarms are below 1e-9 for all nine."""
    _, club = known("club")
    for epsilon in (1, 4, 20):
        asked = LocalEdges(34, True, Fraction(epsilon), 1 - 1e-10)
        for _ in range(3):
            draw = Draw({"edges": Use(asked.mechanisms["edges"], "add_remove", asked.size)})
            made = asked.draw(club, draw)
            draw.see_all_drawn()
            assert abs(made.edges() - 78) <= made.error(1 - 1e-10) == asked.predicted(0)
            found = asked.columns(made)["edges"][0]
            assert 0 <= found.low <= 78 <= found.high <= 561


def test_an_edge_is_in_one_report() -> None:
    for one, other in neighbours(4):
        assert np.abs(pairs(one, 4) - pairs(other, 4)).sum() == 1


def test_too_many_vertices() -> None:
    with pytest.raises(InvalidParameter, match="vertices"):
        LocalEdges(5000, True, EPSILON, 0.95).see_possible()
    with pytest.raises(InvalidParameter, match="public set"):
        LocalEdges(50, False, EPSILON, 0.95).see_possible()
