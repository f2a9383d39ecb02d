"""The number of edges, so that a vertex is hidden with all of its edges."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from discreet.errors import InvalidParameter
from discreet.graphs.projection import project, twice_edges
from discreet.graphs.question import EDGES, Interval
from discreet.mechanisms.numeric.laplace_vector import LaplaceVector
from discreet.records import dataclass

if TYPE_CHECKING:
    from discreet.graphs.graph import Graph
    from discreet.release.draw import Draw

METHODS: Final = ("flow", "projection")


@dataclass(frozen=True)
class VertexEdges:
    """The number of edges of a graph whose vertices are hidden, of which each has `most` edges that count.

    Attributes:
        name: `flow`, the Lipschitz extension, which keeps as many edges as can be; or `projection`, by edge addition,
            which is faster.
        vertices: how many there are at most, public.
        most: edges of a vertex that count.
        epsilon: of the question.
        confidence: of the interval.
    """

    name: str
    vertices: int
    most: int
    epsilon: Fraction
    confidence: float
    delta = Fraction(0)
    size = 1
    first = 0
    whole = False

    @property
    def notes(self) -> tuple[str, ...]:
        """The errors that the interval does not cover."""
        return (f"edges beyond {self.most:,} of a vertex, which are dropped",)

    def see_possible(self) -> None:
        """See that there is such a method.

        Raises:
            InvalidParameter: there is none.
        """
        if self.name not in METHODS:
            raise InvalidParameter(
                f"Vertices cannot be hidden by the method {self.name}.", f"Choose from {', '.join(METHODS)}."
            )

    @cached_property
    def mechanisms(self) -> Mapping[str, LaplaceVector]:
        """The mechanism, on twice the number."""
        return {EDGES.name: LaplaceVector(2 * self.most / self.epsilon, 2 * self.most)}

    def draw(self, graph: Graph, draw: Draw) -> int:
        """Twice the noisy number."""
        flow = self.name == "flow"
        exact = twice_edges(graph, self.most) if flow else 2 * project(graph, self.most).edges
        return int(draw(EDGES.name, np.array([exact]))[0])

    def columns(self, noisy: int) -> dict[str, list[Interval]]:
        """The answer."""
        error, most = self.mechanisms[EDGES.name].half_width(self.confidence), EDGES.most(self.vertices)
        ends = [min(most, max(0, twice / 2)) for twice in (noisy, noisy - error, noisy + error)]
        return {EDGES.name: [Interval(*map(float, ends))]}

    def predicted(self, width: int) -> float:
        """Half the width of the interval."""
        return self.mechanisms[EDGES.name].half_width(self.confidence) / 2
