"""The histogram of degrees.

Under edge privacy the numbers of vertices with at least d neighbours are released, d = 1 … most. An edge more adds 1 to
two degrees, so it adds 1 to two of these numbers, or twice to one: 2 in L1, where the histogram itself moves by 4. They
fall with d, and the nearest numbers that fall are far nearer to the truth (Hay, Rastogi, Miklau and Suciu 2010, for
the sorted degrees, whose transpose these are); that is post-processing. Differences of two are the histogram.

Under vertex privacy the graph is projected first (`discreet.graphs.projection`), after which a vertex more moves the
histogram itself by at most 2 most + 1 in L1; or its degrees are those of a fair flow, and it moves by at most 4 most +
1. The flow keeps more edges and needs no order of the vertices; its noise is about twice as wide. Vertices without
edges are not counted: a list of edges has none of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from discreet.graphs import counts
from discreet.graphs.projection import fair_at_least, project
from discreet.graphs.question import DEGREES, Interval
from discreet.mechanisms.laplace_sum.half_width import half_width
from discreet.mechanisms.numeric.laplace_vector import LaplaceVector
from discreet.records import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    from discreet.graphs.graph import Graph
    from discreet.release.draw import Draw

    Integers = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]

FLOW = "flow"
"""The method of a fair flow."""


@dataclass(frozen=True)
class Histogram:
    """How many vertices have each degree from 0 to `most`, and the last one more.

    Attributes:
        vertices: how many there are; under vertex privacy at most.
        most: the last degree; vertices with more count in it, or lose edges under vertex privacy.
        hides_vertices: whether a vertex is hidden, with all its edges, instead of an edge.
        epsilon: of the whole histogram.
        confidence: of each interval.
        name: under vertex privacy `projection` or `flow`.
    """

    vertices: int
    most: int
    hides_vertices: bool
    epsilon: Fraction
    confidence: float
    name: str = DEGREES
    delta = Fraction(0)
    whole = False

    def see_possible(self) -> None:
        """Every histogram is possible."""

    @cached_property
    def mechanisms(self) -> Mapping[str, LaplaceVector]:
        """The mechanism, by name."""
        moved = (4 if self.name == FLOW else 2) * self.most + 1 if self.hides_vertices else 2
        return {DEGREES: LaplaceVector(moved / self.epsilon, moved)}

    @property
    def size(self) -> int:
        """How many numbers are released."""
        return self.most

    @property
    def first(self) -> int:
        """The first degree: 0, or 1 under vertex privacy."""
        return int(self.hides_vertices)

    @property
    def notes(self) -> tuple[str, ...]:
        """The errors that the intervals do not cover."""
        if self.hides_vertices:
            return (f"edges beyond {self.most:,} of a vertex, which are dropped", "vertices without edges")
        return (f"degrees above {self.most:,}, which count as {self.most:,}",)

    def draw(self, graph: Graph, draw: Draw) -> Integers:
        """The noisy numbers of a graph."""
        noisy: Integers = draw(
            DEGREES, self.bins(graph) if self.hides_vertices else counts.at_least(graph, self.most)
        )
        return noisy

    def bins(self, graph: Graph) -> Integers:
        """How many vertices have 1 … most edges, after others were dropped."""
        if self.name == FLOW:
            return -np.diff(np.append(fair_at_least(graph, self.most), 0))
        return np.bincount(project(graph, self.most).degrees, minlength=self.most + 1)[1:].astype(np.int64)

    def columns(self, noisy: Integers) -> dict[str, list[Interval]]:
        """The answer as columns."""
        scale = float(self.mechanisms[DEGREES].scale)
        if self.hides_vertices:
            raw = best = noisy.astype(np.float64)  # bins 1 … most
            error = np.full(len(raw), self.mechanisms[DEGREES].half_width(self.confidence))
        else:
            ends = np.concatenate([[self.vertices], noisy, [0]]).astype(np.float64)
            raw = ends[:-1] - ends[1:]
            falling = np.clip(nearest_falling(ends[1:-1]), 0, self.vertices)
            best = -np.diff(np.concatenate([[self.vertices], falling, [0]]))
            # Rounded up, the half-width of densities holds for whole numbers too.
            error = np.full(len(raw), math.ceil(half_width([scale, scale], self.confidence)))
            error[[0, -1]] = self.mechanisms[DEGREES].half_width(self.confidence)
        low, high = (np.clip(raw + sign * error, 0, self.vertices) for sign in (-1, 1))
        inside = np.clip(best, low, high)
        made = [Interval(*map(float, triple)) for triple in zip(inside, low, high, strict=True)]
        return {"vertices": made}

    def predicted(self, width: int) -> float:
        """Half the width of the interval of a degree in the middle."""
        if self.hides_vertices:
            return self.mechanisms[DEGREES].half_width(self.confidence)
        return math.ceil(half_width([float(self.mechanisms[DEGREES].scale)] * 2, self.confidence))


def nearest_falling(values: Floats) -> Floats:
    """The sequence that never rises and is nearest in least squares, by pooling neighbours that rise.

    Example:
        >>> nearest_falling(np.array([5.0, 1.0, 3.0])).tolist()
        [5.0, 2.0, 2.0]
    """
    sums: list[float] = []
    sizes: list[int] = []
    for value in values.tolist():
        total, size = value, 1
        while sums and sums[-1] * size <= total * sizes[-1]:
            total, size = total + sums.pop(), size + sizes.pop()
        sums.append(total)
        sizes.append(size)
    return np.repeat(np.array(sums) / np.array(sizes), sizes) if sums else values
