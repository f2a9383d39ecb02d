"""The ways to answer a question about a graph, with the error that each will have; chosen without the data."""

from __future__ import annotations

from fractions import Fraction

from discreet.errors import InvalidParameter
from discreet.graphs.asking import Answering
from discreet.graphs.histogram import Histogram
from discreet.graphs.method import predictions
from discreet.graphs.question import DEGREES, read
from discreet.graphs.reported import LocalEdges
from discreet.graphs.vertex import METHODS, VertexEdges
from discreet.records import dataclass

MOST_DEGREE = 100
"""The last degree of a histogram under edge privacy, unless the graph is smaller or another one is asked for."""
HERE = frozenset({"local", *METHODS})
"""The methods that need the edges in this process."""


@dataclass(frozen=True)
class GraphFacts:
    """The public facts of a graph.

    Attributes:
        vertices: how many there are; under vertex privacy, and where only their number was given, at most.
        closed: whether they are a public set.
        unit: `edge` or `vertex`.
        max_degree: edges of a hidden vertex that count; 0 where edges are hidden.
        named: whether the names of the vertices were given; else their number, or the graph has them itself.
    """

    vertices: int
    closed: bool
    unit: str
    max_degree: int
    named: bool = False

    @property
    def notes(self) -> tuple[str, ...]:
        """The vertices that no interval covers."""
        if self.named:
            return (f"edges of vertices other than the {self.vertices:,} that were named, which are dropped",)
        if not self.closed:
            return (
                f"vertices beyond the {self.vertices:,} declared: no number exceeds the greatest of so many",
            )
        return ()


@dataclass(frozen=True)
class GraphQuestion:
    """A question with its parameters, read.

    Attributes:
        count: its name.
        epsilon: of all of it.
        delta: that it may spend.
        confidence: of the intervals.
        width: a public guess of the widths; None for the root of the number of vertices.
        max_degree: the last degree of a histogram; 0 where none was named.
        method: the only one that may answer; empty for all.
    """

    count: str
    epsilon: Fraction
    delta: Fraction
    confidence: float
    width: int | None
    max_degree: int
    method: str


def ways(asked: GraphQuestion, shape: GraphFacts) -> list[tuple[Answering, float]]:
    """The ways to answer, that of the least predicted error first.

    Raises:
        InvalidParameter: there is no such question or method, or it is not possible.
    """
    if asked.count == DEGREES:
        return _seen(_histograms(asked, shape))
    if shape.unit == "vertex":
        if asked.count != "edges":
            raise InvalidParameter(
                f"With hidden vertices there is no private {asked.count} here.", "Ask for edges or degrees."
            )
        names = [asked.method] if asked.method else METHODS
        return _seen([
            VertexEdges(name, shape.vertices, shape.max_degree, asked.epsilon, asked.confidence) for name in names
        ])  # fmt: skip
    if asked.method == "local" and asked.count == "edges":
        return _seen([LocalEdges(shape.vertices, shape.closed, asked.epsilon, asked.confidence)])
    found = predictions(
        read(asked.count), shape.vertices, shape.closed, asked.epsilon, asked.confidence, asked.width, asked.delta,
        (asked.method,) if asked.method else (),
    )  # fmt: skip
    return list(found)


def _histograms(asked: GraphQuestion, shape: GraphFacts) -> list[Answering]:
    hidden = shape.unit == "vertex"
    bound = asked.max_degree or min(MOST_DEGREE, max(1, shape.vertices - 1))
    if hidden:
        bound = shape.max_degree
    possible = METHODS if hidden else (DEGREES,)
    if asked.method and asked.method not in possible:
        raise InvalidParameter(
            f"Degrees cannot be answered by the method {asked.method}.", f"Choose from {', '.join(possible)}."
        )
    names = [asked.method] if asked.method else possible
    return [Histogram(shape.vertices, bound, hidden, asked.epsilon, asked.confidence, name) for name in names]


def _seen(found: list[Answering]) -> list[tuple[Answering, float]]:
    for answering in found:
        answering.see_possible()
    return sorted([(answering, answering.predicted(0)) for answering in found], key=lambda pair: pair[1])
