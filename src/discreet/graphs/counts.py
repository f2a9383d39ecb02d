"""Exact counts of a graph, in Python's integers where they may be large: they never leave the gate without noise.

Triangles: each edge is directed from its end of lesser degree to the other; then a vertex has at most sqrt(2 m) edges
that leave it, and each triangle has one corner from which two edges leave, whose ends are joined by the third. So
they are the sum of (L L) over the entries of L, which takes at most m sqrt(2 m) multiplications.

Common neighbours: of all pairs of vertices, the pair with the most is looked for among the vertices of high degree
first, since a pair has no more common neighbours than either has neighbours. Vertices whose degree is no larger than
the largest number found so far are never looked at.

Where the edges stay in an engine, `discreet.graphs.engine_graph` computes the same numbers there.
"""

from __future__ import annotations

import math
from functools import singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.graphs.graph import CountedGraph
from discreet.graphs.sparse import products, scipy_sparse

if TYPE_CHECKING:
    from discreet.graphs.graph import Integers


@singledispatch
def triangles(graph: Any) -> int:
    """How many triples of vertices are joined pairwise.

    Example:
        >>> from discreet.graphs import Graph
        >>> triangles(Graph.of(4, [0, 0, 1, 2], [1, 2, 2, 3]))
        1
    """
    rank = np.empty(graph.size, np.int64)
    rank[np.argsort(graph.degrees, kind="stable")] = np.arange(graph.size)
    first, second = rank[graph.low], rank[graph.high]
    upward = graph.matrix(np.minimum(first, second), np.maximum(first, second))
    return sum(int(product.multiply(upward[rows]).sum()) for rows, product in products(upward, upward))


@singledispatch
def common(graph: Any) -> int:
    """The largest number of common neighbours of two vertices, joined or not.

    Privacy: it moves by at most 1 when an edge is added or removed, for each pair gains or loses one at most.

    Example:
        >>> from discreet.graphs import Graph
        >>> common(Graph.of(4, [0, 0, 1, 2], [1, 2, 2, 3]))
        1
    """
    degrees, best = graph.degrees, 0
    bound = int(degrees.max(initial=0))
    whole = graph.matrix()
    while bound > best:
        bound = max(best, bound // 2)
        heavy = degrees > bound
        # Some pair has no fewer than the mean of all pairs; then lighter vertices need no look.
        joined = sum(math.comb(many, 2) for many in np.bincount(whole[heavy].indices).tolist())
        best = max(best, -(-joined // max(1, math.comb(int(heavy.sum()), 2))))
        bound = max(bound, best)
        rows = whole[degrees > bound]
        for block, product in products(rows, rows.T.tocsr()):
            product.setdiag(0, k=block.start)
            best = max(best, int(product.max()) if product.nnz else 0)
    return best


def widest(graph: CountedGraph) -> int:
    """The largest degree. It moves by at most 1 when an edge is added or removed."""
    return max(graph.degree_numbers, default=0)


def stars(graph: CountedGraph, k: int) -> int:
    """How many sets of k edges share a vertex: the sum of binomial(degree, k).

    Example:
        >>> from discreet.graphs import Graph
        >>> stars(Graph.of(4, [0, 0, 0], [1, 2, 3]), 2)
        3
    """
    return sum(math.comb(degree, k) * many for degree, many in graph.degree_numbers.items())


@singledispatch
def end_products(graph: Any) -> int:
    """The sum over the edges of the product of the degrees of their ends."""
    first, second = graph.degrees[graph.low].astype(object), graph.degrees[graph.high].astype(object)
    return int((first * second).sum()) if len(first) else 0


@singledispatch
def merges(graph: Any) -> int:
    """The number of vertices less that of connected components: the edges of a spanning forest."""
    count, _ = scipy_sparse().csgraph.connected_components(
        graph.matrix(graph.low, graph.high), directed=False
    )
    return int(graph.size) - int(count)


def at_least(graph: CountedGraph, most: int) -> Integers:
    """How many vertices have at least d neighbours, for d = 1 to most: int64 array (most,)."""
    many = np.zeros(most + 1, np.int64)
    for degree, vertices in graph.degree_numbers.items():
        many[min(degree, most)] += vertices
    return np.asarray(np.cumsum(many[::-1])[::-1][1:], np.int64)
