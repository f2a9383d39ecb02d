"""The published sensitivities of triangles, and the figures of four known graphs to the digit."""

from __future__ import annotations

import math
import sys

import pytest

from discreet.errors import MissingExtra
from discreet.graphs import published
from discreet.graphs.published import half_built, known_graphs, local_sensitivity, smooth_sensitivity
from tests.graphs.invented import every_graph, known, of


def test_the_published_formula_is_the_largest_change_at_a_distance() -> None:
    """For all graphs of 4 vertices: the largest local sensitivity of graphs so many edges away."""
    made = {edges: half_built(graph) for edges, graph in every_graph(4)}
    local = {edges: local_sensitivity(pairs, 4, 0) for edges, pairs in made.items()}
    for edges, pairs in made.items():
        for distance in (0, 1, 2, 3):
            near = [local[other] for other in made if len(set(edges) ^ set(other)) <= distance]
            assert local_sensitivity(pairs, 4, distance) == max(near)


def test_a_local_sensitivity_without_half_built_pairs_is_too_small() -> None:
    pairs = half_built(of(4, [(0, 1), (1, 2)]))
    planted = dict.fromkeys(pairs, 0)
    assert local_sensitivity(planted, 4, 1) < local_sensitivity(pairs, 4, 2) == 2


def test_it_is_smooth() -> None:
    """A graph with one edge fewer has a smooth sensitivity within e^beta."""
    theirs, graph = known("club")
    place = {node: at for at, node in enumerate(theirs)}
    edges = [(place[a], place[b]) for a, b in theirs.edges()]
    whole = smooth_sensitivity(graph, 0.1)
    for at in range(0, 78, 13):
        less = smooth_sensitivity(of(34, edges[:at] + edges[at + 1 :]), 0.1)
        assert math.exp(-0.1) - 1e-9 <= less / whole <= math.exp(0.1) + 1e-9


def test_four_known_graphs_to_the_digit() -> None:
    """Vertices, edges, triangles, local and worst sensitivity; medians at epsilon 1."""
    found = list(known_graphs())
    assert [(one.vertices, one.edges, one.triangles, one.local, one.worst) for one in found] == [
        (34, 78, 45, 10, 32), (77, 254, 467, 16, 75), (15, 20, 3, 2, 13), (32, 89, 0, 9, 30)
    ]  # fmt: skip
    medians = [(one.bound, one.published, one.ladder, one.smooth_laplace) for one in found]
    wanted = [(22.18, 60.0, 18, 16), (51.99, 96.0, 26, 19), (9.01, 18.48, 6, 9), (20.79, 54.0, 16, 15)]
    assert [pytest.approx(one, abs=0.01) for one in wanted] == medians
    # The bound by common neighbours alone is no worse here.
    assert [one.smooth for one in found] == [math.ceil(one.published - 1e-9) for one in found]


def test_without_networkx_it_says_how_to_get_the_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(MissingExtra, match="pip install networkx"):
        next(known_graphs())
    assert set(published.KNOWN)
