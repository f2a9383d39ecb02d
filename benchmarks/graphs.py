"""Triangles with one edge hidden: errors beside noise for the worst graph, and the time of a million edges.

Four graphs: the karate club and the characters of a novel (networkx), and two whose degrees have heavy tails, of about
10^4 and 10^6 edges. Of each the median error of whole answers at epsilon 1, over `RUNS` draws, with the fifth of
epsilon that the bound of the interval takes; the naive way is Laplace noise of scale n - 2, whose median is exact. No
public library that we know of and could install counts triangles privately.
"""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Final

import networkx as nx
import numpy as np

from benchmarks.line import Line
from discreet.graphs import Graph, Method, counts, of_object, predictions, read
from discreet.mechanisms import Climbed, Laplace, LaplaceVector

RUNS: Final = 200
LIMIT: Final = 20.0
"""Seconds of one core for a million edges."""


def heavy(vertices: int, edges: int) -> Graph:
    """A graph in which the i-th vertex has about i^-0.6 of the edges."""
    rng = np.random.default_rng(7)
    weights = np.arange(1, vertices + 1) ** -0.6
    ends = rng.choice(vertices, (2, edges), p=weights / weights.sum())
    return Graph.of(vertices, *ends)


GRAPHS: Final[dict[str, Callable[[], Graph | None]]] = {
    "club": lambda: of_object(nx.karate_club_graph()),
    "novel": lambda: of_object(nx.les_miserables_graph()),
    "heavy 10^4": lambda: heavy(3000, 10_000),
    "heavy 10^6": lambda: heavy(200_000, 1_200_000),
}


def lines() -> Iterator[Line]:
    """Errors of all graphs, and the time of the largest."""
    for name, made in GRAPHS.items():
        graph = made()
        assert graph is not None
        start = time.process_time()
        exact = Climbed(counts.triangles(graph), counts.common(graph))
        spent = time.process_time() - start
        if graph.edges > 10**6:
            yield Line(f"{graph.edges:,} edges: triangles and common neighbours", spent, "limit", LIMIT, spent / LIMIT,
                       f"<= {LIMIT:g} s", spent <= LIMIT)  # fmt: skip
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
            yield Line(
                "peak memory of this process", peak, "limit", 4.0, peak / 4, "<= 4 GB", peak <= 4, "GB"
            )
        yield from _errors(name, graph, exact)


def _errors(name: str, graph: Graph, exact: Climbed) -> Iterator[Line]:
    question, epsilon = read("triangles"), Fraction(1)
    best = predictions(question, graph.size, True, epsilon, 0.95, exact.width)[0][0].name
    naive = float(Laplace(1, max(1, graph.size - 2)).error(0.5))
    for method in ("ladder", "smooth"):
        made = Method(method, question, graph.size, True, epsilon, 0.95)
        mechanism = made.mechanisms["triangles"]
        assert not isinstance(mechanism, LaplaceVector)
        found = [abs(mechanism.release(exact) - exact.value) for _ in range(RUNS)]
        ours = statistics.median(found)
        needed = method == "ladder" and graph.size > 1000
        yield Line(f"{name}: median error of {exact.value:,} triangles, {method} (chosen: {best})", ours, "global",
                   naive, ours / naive, "<= 1/4" if needed else "", not needed or ours <= naive / 4, "")  # fmt: skip
