"""Exact counts agree with networkx on four known graphs and on random ones, and widths move by at most one."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pytest

from discreet.graphs import Graph, counts, sparse
from discreet.mechanisms import Ladder, SmoothCauchy, SmoothLaplace
from tests.depth import examples
from tests.graphs.invented import every_graph, known, neighbours, of

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
    assert counts.local_sensitivity(graph, graph.size, 0) == max(FOUR[name][3], 0)


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


def test_the_published_formula_is_the_largest_change_at_a_distance() -> None:
    """For all graphs of 4 vertices: the largest local sensitivity of graphs so many edges away."""
    made = dict(every_graph(4))
    local = {edges: counts.local_sensitivity(graph, 4, 0) for edges, graph in made.items()}
    for edges, graph in made.items():
        for distance in (0, 1, 2, 3):
            near = [local[other] for other in made if len(set(edges) ^ set(other)) <= distance]
            assert counts.local_sensitivity(graph, 4, distance) == max(near)


def test_a_local_sensitivity_without_half_built_pairs_is_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    path = of(4, [(0, 1), (1, 2)])
    right = counts.local_sensitivity(path, 4, 2)
    monkeypatch.setattr(counts, "half_built", lambda graph: {counts.common(graph): 0})
    assert counts.local_sensitivity(path, 4, 1) < right == 2


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


@pytest.mark.parametrize(
    ("name", "medians"),
    [("club", (22.18, 60.0, 18, 16)), ("miserables", (51.99, 96.0, 26, 19)), ("families", (9.01, 18.48, 6, 9)),
     ("women", (20.79, 54.0, 16, 15))],
)  # fmt: skip
def test_the_published_medians_on_four_graphs(name: str, medians: tuple[float, ...]) -> None:
    """Of triangles at epsilon 1: the global bound, Cauchy noise by the published formula, ladder, Laplace at 1e-6."""
    _, graph = known(name)
    n, width = graph.size, counts.common(graph)
    smooth = max(math.exp(-s / 6) * counts.local_sensitivity(graph, n, s) for s in range(n + 40))
    most = math.comb(n, 3)
    ours = [made.half_width(0.5, width=width) for made in (
        Ladder(1, lambda x: min(x, n - 2), most), SmoothLaplace(1, 1e-6, lambda x: min(x, n - 2), most, width),
        SmoothCauchy(1, lambda x: min(x, n - 2), most),
    )]  # fmt: skip
    found = (math.log(2) * (n - 2), 6 * smooth, *ours[:2])
    assert found == pytest.approx(medians, abs=0.01)
    assert ours[2] == math.ceil(6 * smooth - 1e-9)  # the bound by common neighbours alone is no worse here
