"""Exact counts agree with networkx on four known graphs and on random ones, and widths move by at most one."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pytest

from discreet.graphs import Graph, counts, sparse
from tests.depth import examples
from tests.graphs.invented import known, neighbours, of

FOUR = {
    "club": (34, 78, 45, 10),
    "miserables": (77, 254, 467, 16),
    "families": (15, 20, 3, 2),
    "women": (32, 89, 0, 9),
}


@pytest.mark.parametrize("name", FOUR)
def test_known_graphs_to_the_digit(name: str) -> None:
    theirs, graph = known(name)
    found = graph.size, graph.edges, counts.triangles(graph), counts.common(graph)
    assert found == FOUR[name]
    assert found[2] == sum(nx.triangles(theirs).values()) // 3
    assert graph.size - counts.merges(graph) == nx.number_connected_components(theirs)
    assert counts.stars(graph, 3) == sum(math.comb(degree, 3) for _, degree in theirs.degree())
    assert counts.end_products(graph) == sum(theirs.degree(a) * theirs.degree(b) for a, b in theirs.edges())
    assert counts.at_least(graph, 4).tolist() == [
        sum(d >= at for _, d in theirs.degree()) for at in range(1, 5)
    ]


def test_random_graphs_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparse, "PIECE", 50)
    rng = np.random.default_rng(3)
    for _ in range(examples(20, 500)):
        n = int(rng.integers(1, 40))
        graph = Graph.of(n, *rng.integers(0, n, (2, int(rng.integers(0, 200)))))
        dense = graph.matrix().toarray()
        square = dense @ dense
        assert counts.triangles(graph) == np.trace(square @ dense) // 6
        np.fill_diagonal(square, 0)
        assert counts.common(graph) == square.max()


def test_widths_move_by_at_most_one() -> None:
    for one, other in neighbours(4):
        assert abs(counts.common(one) - counts.common(other)) <= 1
        assert abs(counts.widest(one) - counts.widest(other)) <= 1


def test_a_graph_without_edges_or_vertices() -> None:
    for size in (0, 1, 5):
        graph = of(size, [])
        assert (counts.triangles(graph), counts.common(graph), counts.widest(graph)) == (0, 0, 0)
        assert (counts.stars(graph, 2), counts.end_products(graph), counts.merges(graph)) == (0, 0, 0)
        assert counts.at_least(graph, 3).tolist() == [0, 0, 0]
