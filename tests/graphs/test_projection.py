"""A vertex with its edges moves projected graphs, flows and histograms by no more than their noise covers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

from discreet.graphs import Graph, Histogram, VertexEdges, counts, histogram, projection
from discreet.graphs.projection import fair_at_least, project, twice_edges
from tests.depth import DEEP, few
from tests.graphs.invented import every_graph, known, of


def with_a_vertex_less() -> Iterator[tuple[Graph, Graph]]:
    """Every graph of five vertices, but for names, with each order of vertices, and the graph without its last one."""
    for each in nx.graph_atlas_g():
        if len(each) == 5:
            for order in itertools.islice(itertools.permutations(range(5)), 0, 120, 1 if DEEP else 41):
                pairs = [(order[a], order[b]) for a, b in each.edges()]
                for gone in (0, 2, 4):
                    yield of(5, pairs), of(5, [pair for pair in pairs if gone not in pair])


def bins(graph: Graph, most: int) -> np.ndarray:
    return np.bincount(project(graph, most).degrees, minlength=most + 1)[1:]


def moved(most: int) -> tuple[int, int, int]:
    """How far a vertex moves the histogram, the projected edges and twice the flow."""
    found = [
        (
            int(np.abs(bins(a, most) - bins(b, most)).sum()),
            abs(project(a, most).edges - project(b, most).edges),
            abs(twice_edges(a, most) - twice_edges(b, most)),
        )
        for a, b in with_a_vertex_less()
    ]
    bars, edges, flow = (max(one) for one in zip(*found, strict=True))
    return bars, edges, flow


# A deep run asks two edges, too.
@pytest.mark.parametrize("most", few([1, 2, 3], 2))
def test_a_vertex_moves_them_by_their_sensitivities(most: int) -> None:
    bars, edges, flow = moved(most)
    assert bars <= Histogram(5, most, True, Fraction(1), 0.95).mechanisms["degrees"].sensitivity
    assert edges <= most
    assert flow <= VertexEdges("flow", 5, most, Fraction(1), 0.95).mechanisms["edges"].sensitivity
    assert edges == most  # so the bounds are no larger than they need be
    assert flow == 2 * most


def fair_bins(graph: Graph, most: int) -> np.ndarray:
    return Histogram(graph.size, most, True, Fraction(1), 0.95, "flow").bins(graph)


@pytest.mark.parametrize("most", [2, *([1, 3] if DEEP else [])])
def test_a_vertex_moves_the_degrees_of_a_fair_flow_by_their_sensitivity(most: int) -> None:
    allowed = Histogram(5, most, True, Fraction(1), 0.95, "flow").mechanisms["degrees"].sensitivity
    assert allowed == 4 * most + 1
    rows = [np.abs(fair_bins(a, most) - fair_bins(b, most)).sum() for a, b in with_a_vertex_less()]
    assert 2 * most <= max(rows) <= allowed


@pytest.mark.parametrize("most", [1, 2, 3])
def test_a_fair_flow_is_the_most_even_one(most: int) -> None:
    """Of all flows of a graph, the one with the least sum of squares of what is missing has these degrees."""
    for pairs, graph in every_graph(4):
        if len(pairs) < 6:
            ways = np.array([*pairs, *[pair[::-1] for pair in pairs]], int).reshape(-1, 2)
            chosen = np.array(list(itertools.product([0, 1], repeat=len(ways))), int)
            chosen = chosen.reshape(1 << len(ways), len(ways))
            out, into = (chosen @ (ways[:, [end]] == np.arange(4)) for end in (0, 1))
            out = out[np.maximum(out, into).max(axis=1) <= most]
            missing = ((most - out) ** 2).sum(axis=1)
            right = set(map(tuple, np.sort(out[missing == missing.min()], axis=1).tolist()))
            assert len(right) == 1
            degrees = np.array(right.pop())
            assert fair_at_least(graph, most).tolist() == [
                int((degrees >= d).sum()) for d in range(1, most + 1)
            ]


def test_a_fair_flow_keeps_more_than_edge_addition() -> None:
    _, club = known("club")
    for most in (3, 6):
        kept = int(fair_at_least(club, most).sum())
        assert 2 * project(club, most).edges <= kept == twice_edges(club, most)
    assert fair_at_least(club, 17).tolist() == counts.at_least(club, 17).tolist()


def test_a_projection_that_drops_whole_vertices_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def naive(graph: Graph, most: int) -> Graph:
        """Truncation, which a vertex can move by far more: a neighbour's degree crosses the bound."""
        kept = (graph.degrees[graph.low] <= most) & (graph.degrees[graph.high] <= most)
        return Graph(graph.size, graph.low[kept], graph.high[kept])

    monkeypatch.setattr(projection, "project", naive)
    monkeypatch.setattr("tests.graphs.test_projection.project", naive)
    assert moved(2)[1] > 2


def test_known_graphs() -> None:
    _, club = known("club")
    assert project(club, 33).edges == 78
    assert twice_edges(club, 33) == 2 * 78
    for most in (1, 3, 8):
        kept = project(club, most)
        assert kept.degrees.max() <= most
        assert 2 * kept.edges <= twice_edges(club, most) <= 2 * 78


def test_the_flow_is_the_largest_weighting() -> None:
    """Against linear programming, on all graphs of 4 vertices."""
    from scipy.optimize import linprog

    for pairs, graph in every_graph(4):
        if pairs:
            at = np.array([[v in pair for pair in pairs] for v in range(4)], float)
            best = linprog(-np.ones(len(pairs)), A_ub=at, b_ub=np.full(4, 2), bounds=(0, 1))
            assert twice_edges(graph, 2) == round(-2 * best.fun)


def test_falling_sequences() -> None:
    rng = np.random.default_rng(4)
    assert histogram.nearest_falling(np.zeros(0)).size == 0
    for _ in range(50):
        values = rng.normal(size=int(rng.integers(1, 30))) * 9
        found = histogram.nearest_falling(values)
        assert (np.diff(found) <= 1e-9).all()
        slack = values - found
        assert abs(slack.sum()) < 1e-6
        assert (np.cumsum(slack) <= 1e-6).all()  # the conditions of Karush, Kuhn and Tucker
        assert abs(float(found @ slack)) < 1e-6
