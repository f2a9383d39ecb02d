"""Graphs of bounded degree, so that a vertex with all its edges can be hidden.

*Edge addition* (Day, Li and Lyu 2016): the edges are looked at in the order of the names of their ends, and each is
kept if both ends still have fewer than D. Let a vertex v with edges be added to a graph, which leaves the order of the
other edges. Then at every moment the degrees of the other vertices in the two runs differ by at most the present degree
of v, summed: an edge of v that is kept adds 1 to both; and if another edge is kept in one run only, one of its ends is
full in the other run and not in this one, so that adding the edge takes 1 from the difference of this end and adds at
most 1 to that of the other end. So the degrees of the others move by at most D in L1, and a histogram of degrees by at
most 2 D + 1, with v itself; and the number of edges, half the sum of degrees, goes up by at most D.

*Lipschitz extension* (Kasiviswanathan, Nissim, Raskhodnikova and Smith 2013, lemma 4.1): the largest sum of weights
from 0 to 1 of the edges with at most D at each vertex. It rises by at most D with a vertex: drop the weights of its
edges. It is the number of edges where no degree is above D. Twice this number is the largest flow from copies of the
vertices to other copies, with capacity D at each copy and 1 at each edge: an average of a flow and its mirror image is
a weighting of edges, and a weighting is such a flow; so it is an integer.

*Fair flow*, a Lipschitz extension of the degrees. In the same network let T_c be the largest flow where the first
copies have the capacity c in place of D. Augmenting paths never lower the flow through a first copy, so from a largest
flow at c one at c + 1 is reached whose flows x through the first copies rise by at most 1 each; so there is one flow at
D with T_c = sum of min(x_v, c) for all c, and T_c - T_(c-1) vertices have x_v >= c. No other flow has less sum of (D -
x_v)^2: the x are as equal as can be. Where no degree is above D they are the degrees. Let a vertex w come with edges.
Its second copy gets its capacity one by one: each makes one cheapest augmenting path possible, which adds 1 to one x.
Then its first copy gets its own: each adds 1 to x_w, and takes 1 from another vertex at most. So the x of all others
change for at most 2 D vertices in all, each of which leaves one bin of the histogram for another, and w comes into one:
4 D + 1 in L1. (As an extension from graphs of degree D: Raskhodnikova and Smith 2016, whose fractional flows move by 3
D.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.graphs.counts import at_least
from discreet.graphs.graph import Graph
from discreet.graphs.sparse import csr_array, scipy_sparse

if TYPE_CHECKING:
    from discreet.graphs.graph import Integers


def project(graph: Graph, most: int) -> Graph:
    """The graph of the edges that edge addition keeps.

    Example:
        >>> project(Graph.of(4, [0, 0, 0], [1, 2, 3]), 2).edges
        2
    """
    if graph.degrees.max(initial=0) <= most:
        return graph
    left = [most] * graph.size
    kept = np.zeros(graph.edges, np.bool_)
    for edge, (low, high) in enumerate(zip(graph.low.tolist(), graph.high.tolist(), strict=True)):
        if left[low] and left[high]:
            left[low] -= 1
            left[high] -= 1
            kept[edge] = True
    return Graph(graph.size, graph.low[kept], graph.high[kept])


def twice_edges(graph: Graph, most: int) -> int:
    """Twice the Lipschitz extension of the number of edges: an integer that a vertex moves by at most 2 most.

    Example:
        >>> twice_edges(Graph.of(3, [0, 0, 1], [1, 2, 2]), 1)  # a triangle, with half of each edge
        3
    """
    if graph.degrees.max(initial=0) <= most:
        return 2 * graph.edges
    return _flow(graph, most, most)


def fair_at_least(graph: Graph, most: int) -> Integers:
    """How many vertices have at least d edges in a fair flow, for d = 1 to most: int64 array (most,).

    Example:
        >>> fair_at_least(Graph.of(4, [0, 0, 0], [1, 2, 3]), 2).tolist()  # a star of three rays
        [3, 1]
    """
    if graph.degrees.max(initial=0) <= most:
        return at_least(graph, most)
    flows = [_flow(graph, first, most) for first in range(1, most + 1)]
    found: Integers = np.array(flows, np.int64)
    found[1:] -= found[:-1].copy()
    return found


def _flow(graph: Graph, first: int, second: int) -> int:
    """The largest flow from copies of the vertices to other copies, of which each lets so much through."""
    n = graph.size
    vertex = np.arange(n)
    start, end = np.full(n, 2 * n), np.full(n, 2 * n + 1)
    rows = np.concatenate([start, graph.low, graph.high, n + vertex])
    columns = np.concatenate([vertex, n + graph.high, n + graph.low, end])
    capacity = np.concatenate([np.full(n, first), np.ones(2 * graph.edges, np.int64), np.full(n, second)])
    network = csr_array((capacity.astype(np.int32), (rows, columns)), shape=(2 * n + 2, 2 * n + 2))
    flow = scipy_sparse().csgraph.maximum_flow(scipy_sparse().csr_matrix(network), 2 * n, 2 * n + 1)
    return int(flow.flow_value)
