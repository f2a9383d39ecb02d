"""Small graphs for proofs, known graphs for figures, and every neighbour of a graph."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import networkx as nx
import numpy as np

from discreet.graphs import Graph

Pair = tuple[int, int]


def of(size: int, pairs: tuple[Pair, ...] | list[Pair]) -> Graph:
    ends = np.array(pairs, np.int64).reshape(-1, 2)
    return Graph.of(size, ends[:, 0], ends[:, 1])


def every_graph(size: int) -> Iterator[tuple[tuple[Pair, ...], Graph]]:
    """All graphs of some vertices: each set of edges once."""
    pairs = list(itertools.combinations(range(size), 2))
    for many in range(len(pairs) + 1):
        for chosen in itertools.combinations(pairs, many):
            yield chosen, of(size, chosen)


def neighbours(size: int) -> Iterator[tuple[Graph, Graph]]:
    """All pairs of graphs of which the second has one edge more, but for the names of their vertices."""
    for each in nx.graph_atlas_g():
        if len(each) == size:
            graph = of(size, list(each.edges()))
            for pair in nx.non_edges(each):
                yield graph, of(size, [*each.edges(), pair])


def known(name: str) -> tuple[nx.Graph, Graph]:
    """A graph of networkx, and the same here."""
    made = {
        "club": nx.karate_club_graph,
        "miserables": nx.les_miserables_graph,
        "families": nx.florentine_families_graph,
        "women": nx.davis_southern_women_graph,
    }[name]()
    place = {node: at for at, node in enumerate(made)}
    return made, of(len(place), [(place[a], place[b]) for a, b in made.edges()])
