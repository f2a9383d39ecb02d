"""Triangles with one edge hidden: errors beside noise for the worst graph and beside public code, and the time of a
million edges, here and in DuckDB.

Four graphs: the karate club and the characters of a novel (networkx), and two whose degrees have heavy tails, of about
10^4 and 10^6 edges. Of each the median error of whole answers at epsilon 1, over `RUNS` draws, with the fifth of
epsilon that the bound of the interval takes; `smooth-laplace` spends a delta of 10^-6 too. The naive way is Laplace
noise of scale n - 2, whose median is exact.

No package with private graph statistics can be installed: the public code that there is are scripts. The best known of
them, `graph-dp` of the authors of a survey (Li and others 2021), has Cauchy noise of the smooth sensitivity by the
published formula, over dense matrices of all pairs. Its median is worked out here from that formula, where the graph is
small enough; it is not run, as it
needs a library RelM that PyPI has not (another package has the name) and a NumPy before 1.24.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Final

import networkx as nx
import numpy as np

from benchmarks.line import Line, alternate
from benchmarks.peak import peak
from discreet.engines.sources import open_source
from discreet.graphs import EngineGraph, Graph, Method, counts, of_object, predictions, read
from discreet.graphs.published import smooth_sensitivity
from discreet.mechanisms import Climbed, Laplace, LaplaceVector

RUNS: Final = 200
LIMIT: Final = 20.0
"""Seconds of one core for a million edges."""
DELTA: Final = Fraction(1, 10**6)
SMALL: Final = 3000
"""Vertices up to which the published formula, which looks at all pairs, is worked out."""


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
            most = peak() / 1e9
            yield Line(
                "peak memory of this process", most, "limit", 4.0, most / 4, "<= 4 GB", most <= 4, "GB"
            )
            yield _there(graph, exact.value)
        elif graph.edges > 1000:
            yield _beside_networkx(graph)
        yield from _errors(name, graph, exact)


def _there(graph: Graph, right: int) -> Line:
    """A million edges counted in DuckDB, on one core; only a number leaves it."""
    import duckdb
    import pyarrow as pa

    connection = duckdb.connect(config={"threads": 1})
    connection.register("given", pa.table({"a": graph.low, "b": graph.high}))
    connection.execute("CREATE TABLE edges AS SELECT * FROM given")
    there = EngineGraph(open_source(connection, "edges"), "edges", ("a", "b"), (True, True), None)
    start = time.perf_counter()
    assert counts.triangles(there) == right
    spent = time.perf_counter() - start
    return Line(f"{graph.edges:,} edges: triangles in DuckDB", spent, "limit", LIMIT, spent / LIMIT, "", True)


def _beside_networkx(graph: Graph) -> Line:
    made = nx.Graph(zip(graph.low.tolist(), graph.high.tolist(), strict=True))
    ours, theirs = alternate(
        lambda: counts.triangles(graph), lambda: sum(nx.triangles(made).values()) // 3, 3
    )
    return Line(
        f"{graph.edges:,} edges: triangles", ours, "networkx", theirs, ours / theirs, "<= 1", ours <= theirs
    )


def _errors(name: str, graph: Graph, exact: Climbed) -> Iterator[Line]:
    question, epsilon = read("triangles"), Fraction(1)
    best = predictions(question, graph.size, True, epsilon, 0.95, exact.width)[0][0].name
    naive = float(Laplace(1, max(1, graph.size - 2)).error(0.5))
    theirs = 6 * smooth_sensitivity(graph, 1 / 6) if graph.size <= SMALL else None
    for method in ("ladder", "smooth-laplace", "smooth"):
        made = Method(method, question, graph.size, True, epsilon, 0.95, DELTA, exact.width)
        mechanism = made.mechanisms["triangles"]
        assert not isinstance(mechanism, LaplaceVector)
        found = [abs(mechanism.release(exact) - exact.value) for _ in range(RUNS)]
        ours = statistics.median(found)
        needed = method != "smooth" and graph.size > 1000
        what = f"{name}: median error of {exact.value:,} triangles, {method} (chosen: {best})"
        yield Line(what, ours, "global", naive, ours / naive, "<= 1/4" if needed else "",
                   not needed or ours <= naive / 4, "")  # fmt: skip
        if theirs is not None and method != "smooth":
            yield Line(what, ours, "graph-dp", theirs, ours / theirs, "<= 1", ours <= theirs, "")
