"""Edges that nobody is trusted with: each pair of vertices is reported by randomised response.

For each pair the greater vertex reports whether it is joined to the lesser one, with a lie of odds e^-epsilon. An edge
is in one report, so all reports together are epsilon-private for an edge, against everybody (edge local privacy: Qin
and others 2017). With truth p and lie q = 1 - p, the number (report - q)/(p - q) has the expectation 1 for an edge and
0 for none. The reports are independent, so sums of products over different pairs are estimates without bias: of edges
the sum, of triangles the sum over triples of the product of three (Imola, Murakami and Chaudhuri 2021).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

from discreet.errors import InvalidParameter
from discreet.graphs.question import EDGES, Interval
from discreet.mechanisms.local.randomized_response import RandomizedResponse
from discreet.mechanisms.parameters import read_confidence
from discreet.records import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    from discreet.graphs.graph import Graph
    from discreet.rational import Number
    from discreet.release.draw import Draw

MOST: Final = 4096
"""So many vertices report at most: a matrix of all pairs is kept."""


def pairs(graph: Graph, size: int) -> npt.NDArray[np.int64]:
    """For each pair of vertices whether it is joined, as its greater vertex knows: int64 array (size (size - 1)/2,).

    Vertex 1 speaks of vertex 0, vertex 2 of 0 and 1, and so on. Edges of vertices beyond are left out.

    Raises:
        InvalidParameter: there are too many vertices.

    Example:
        >>> from discreet.graphs import Graph
        >>> pairs(Graph.of(3, [0], [2]), 3).tolist()
        [0, 1, 0]
    """
    see_few(size)
    inside = graph.high < size
    low, high = graph.low[inside], graph.high[inside]
    out = np.zeros(size * (size - 1) // 2, np.int64)
    out[high * (high - 1) // 2 + low] = 1
    return out


def see_few(size: int) -> None:
    """See that there are few enough vertices.

    Raises:
        InvalidParameter: there are too many.
    """
    if size > MOST:
        raise InvalidParameter(f"More than {MOST:,} vertices would report each pair.", "Take fewer.")


@dataclass(frozen=True, eq=False)
class Reported:
    """The reports of all pairs of vertices, which everybody may see.

    Attributes:
        size: how many vertices there are, public.
        epsilon: the loss of an edge.
        reports: 0 or 1 for each pair, in the order of `pairs`.

    Example:
        >>> from discreet.graphs import Graph
        >>> from discreet.mechanisms import RandomizedResponse
        >>> known = pairs(Graph.of(4, [0, 0, 1], [1, 2, 2]), 4)
        >>> reports = Reported(4, Fraction(30), RandomizedResponse(30).release(known))
        >>> round(reports.edges(), 3), round(reports.triangles(), 3)
        (3.0, 1.0)
    """

    size: int
    epsilon: Fraction
    reports: npt.NDArray[np.int64]

    @property
    def _coin(self) -> RandomizedResponse:
        return RandomizedResponse(self.epsilon)

    @property
    def _unbiased(self) -> npt.NDArray[np.float64]:
        """The numbers whose expectations are the adjacency matrix, with a diagonal of 0."""
        truth, lie = self._coin.truth, self._coin.lie
        out = np.zeros((self.size, self.size))
        out[np.tril_indices(self.size, -1)] = (self.reports - lie) / (truth - lie)
        return out + out.T

    def edges(self) -> float:
        """The number of edges, estimated without bias."""
        return float(self._unbiased.sum() / 2)

    def error(self, confidence: Number = 0.95) -> float:
        """Half the width of the interval of the number of edges: it holds for every graph.

        By Bernstein's inequality for the pairs, whose numbers have variance p q/(p - q)^2 and lie within 1/(p - q) of
        their expectations.
        """
        truth, lie = self._coin.truth, self._coin.lie
        pairs = self.size * (self.size - 1) // 2
        fail = math.log(2 / (1 - float(read_confidence(confidence))))
        each, spread = 1 / (truth - lie), pairs * truth * lie / (truth - lie) ** 2
        return each * fail / 3 + math.sqrt((each * fail / 3) ** 2 + 2 * spread * fail)

    def triangles(self) -> float:
        """The number of triangles, estimated without bias; its error depends on the graph."""
        known = self._unbiased
        return float(((known @ known) * known).sum() / 6)


@dataclass(frozen=True)
class LocalEdges:
    """The number of edges from reports of all pairs, so that nobody is trusted.

    Attributes:
        vertices: how many there are.
        closed: whether they are a public set: else a new name would move those of all others.
        epsilon: of the question.
        confidence: of the interval.
    """

    vertices: int
    closed: bool
    epsilon: Fraction
    confidence: float
    delta = Fraction(0)
    name = "local"
    first = 0
    whole = False
    notes = ()

    def see_possible(self) -> None:
        """See that the vertices are a public set, and few enough.

        Raises:
            InvalidParameter: they are not.
        """
        see_few(self.vertices)
        if not self.closed:
            raise InvalidParameter(
                "Reports of pairs need a public set of vertices.", "Give vertices as a list or a range."
            )

    @property
    def size(self) -> int:
        """How many pairs report."""
        return self.vertices * (self.vertices - 1) // 2

    @property
    def mechanisms(self) -> Mapping[str, RandomizedResponse]:
        """The coin."""
        return {EDGES.name: RandomizedResponse(self.epsilon)}

    def draw(self, graph: Graph, draw: Draw) -> Reported:
        """The reports."""
        return Reported(self.vertices, self.epsilon, draw(EDGES.name, pairs(graph, self.vertices)))

    def columns(self, noisy: Reported) -> dict[str, list[Interval]]:
        """The answer."""
        value, error = noisy.edges(), noisy.error(self.confidence)
        ends = (min(self.size, max(0.0, end)) for end in (value, value - error, value + error))
        return {EDGES.name: [Interval(*ends)]}

    def predicted(self, width: int) -> float:
        """Half the width of the interval."""
        return Reported(self.vertices, self.epsilon, np.zeros(0, np.int64)).error(self.confidence)
