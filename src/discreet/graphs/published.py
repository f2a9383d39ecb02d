"""Triangles of known graphs with one edge hidden: the published sensitivities and the median error of each noise.

The published sensitivities look at all pairs of vertices, so they are for small graphs and for figures. No release
uses them: the bound by common neighbours (`discreet.graphs.method`) is found where a graph is large, too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from discreet.errors import MissingExtra
from discreet.graphs.counts import common, triangles
from discreet.graphs.reading import of_object
from discreet.graphs.sparse import products
from discreet.mechanisms import Ladder, SmoothCauchy, SmoothLaplace
from discreet.records import dataclass

if TYPE_CHECKING:
    from discreet.graphs.graph import Graph

DELTA: Final = "1e-6"
"""Of Laplace noise of the smooth sensitivity."""
KNOWN: Final = {
    "Zachary's club": "karate_club_graph",
    "Les Misérables": "les_miserables_graph",
    "families of Florence": "florentine_families_graph",
    "women of Natchez": "davis_southern_women_graph",
}
"""Public graphs, by the functions of networkx that make them."""


@dataclass(frozen=True)
class KnownGraph:
    """A public graph, and the median errors of its triangles where all of epsilon 1 goes into one draw.

    Attributes:
        name: of the graph.
        vertices, edges, triangles: how many it has.
        local: by how much an edge moves triangles in this graph.
        worst: by how much in the worst graph of as many vertices.
        bound: the median error of Laplace noise for the worst graph.
        published: that of Cauchy noise by the published smooth sensitivity, continuous.
        smooth: that of our discrete Cauchy noise.
        ladder: that of a ladder function.
        smooth_laplace: that of Laplace noise of the smooth sensitivity, at a delta of 10^-6.
    """

    name: str
    vertices: int
    edges: int
    triangles: int
    local: int
    worst: int
    bound: float
    published: float
    smooth: float
    ladder: float
    smooth_laplace: float


def known_graphs() -> Iterator[KnownGraph]:
    """Give the figures of four public graphs.

    Raises:
        MissingExtra: networkx, which brings them, or SciPy is not installed.

    Privacy: none is needed, since the graphs are public.
    """
    try:
        import networkx as nx
    except ImportError:
        nx = None
    if nx is None:
        raise MissingExtra("The known graphs come with networkx.", "Install it with pip install networkx.")
    for name, maker in KNOWN.items():
        graph = of_object(getattr(nx, maker)())
        assert graph is not None
        yield _figures(name, graph)


def _figures(name: str, graph: Graph) -> KnownGraph:
    size, width = graph.size, common(graph)
    most = math.comb(size, 3)

    def rung(shared: int) -> int:
        return min(shared, size - 2)

    made: list[Any] = [
        SmoothCauchy(1, rung, most),
        Ladder(1, rung, most),
        SmoothLaplace(1, DELTA, rung, most, width),
    ]
    return KnownGraph(
        name, size, graph.edges, triangles(graph), local_sensitivity(half_built(graph), size, 0), size - 2,
        math.log(2) * (size - 2), 6 * smooth_sensitivity(graph, 1 / 6),
        *(float(mechanism.half_width(0.5, width=width)) for mechanism in made),
    )  # fmt: skip


def half_built(graph: Graph) -> dict[int, int]:
    """For each number of common neighbours of two vertices, the most vertices joined to exactly one of such a pair."""
    degrees, whole = graph.degrees, graph.matrix()
    found: dict[int, int] = {}
    for rows, product in products(whole, whole):
        shared = product.toarray()
        vertices = np.arange(rows.start, rows.stop)
        one_only = degrees[vertices, None] + degrees[None, :] - 2 * shared - 2 * whole[rows].toarray()
        shared[vertices - rows.start, vertices] = -1
        for many in np.unique(shared[shared >= 0]).tolist():
            most = int(one_only[shared == many].max())
            found[many] = max(most, found.get(many, 0))
    return found


def local_sensitivity(pairs: dict[int, int], vertices: int, distance: int) -> int:
    """By how much triangles may move for an edge more or fewer, in a graph at most `distance` edges away.

    It is the largest min(a + floor((s + min(s, b))/2), n - 2) over pairs with a common neighbours and b half-built
    ones (Nissim, Raskhodnikova and Smith 2007, claim 3.13).

    Args:
        pairs: of the graph, as `half_built` finds them.
        vertices: n.
        distance: s.

    Example:
        >>> local_sensitivity({10: 4}, 34, 3)
        13
    """
    return max(
        (min(a + (distance + min(distance, b)) // 2, vertices - 2) for a, b in pairs.items()), default=0
    )


def smooth_sensitivity(graph: Graph, beta: float) -> float:
    """The largest local sensitivity at a distance s, times e^(-beta s): the published smooth sensitivity."""
    pairs, size = half_built(graph), graph.size
    found = 0.0
    for distance in range(2 * size):  # at 2 (n - 2) it is n - 2, and grows no more
        found = max(found, math.exp(-beta * distance) * local_sensitivity(pairs, size, distance))
    return found
