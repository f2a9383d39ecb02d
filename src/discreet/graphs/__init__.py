"""Graphs: edges, degrees, triangles, stars and ratios of them, so that an edge or a vertex is hidden."""

from discreet.graphs.asking import Answering, plan
from discreet.graphs.choosing import HERE, GraphFacts, GraphQuestion, ways
from discreet.graphs.engine_graph import EngineGraph, finds_components, spelling_of
from discreet.graphs.graph import Graph
from discreet.graphs.histogram import Histogram
from discreet.graphs.method import Method, predictions
from discreet.graphs.question import DEGREES, StatisticQuestion, read
from discreet.graphs.reading import of_object, of_table, see_readable, see_vertices
from discreet.graphs.reported import LocalEdges, Reported, pairs
from discreet.graphs.vertex import VertexEdges

__all__ = [
    "DEGREES",
    "HERE",
    "Answering",
    "EngineGraph",
    "Graph",
    "GraphFacts",
    "GraphQuestion",
    "Histogram",
    "LocalEdges",
    "Method",
    "Reported",
    "StatisticQuestion",
    "VertexEdges",
    "finds_components",
    "of_object",
    "of_table",
    "pairs",
    "plan",
    "predictions",
    "read",
    "see_readable",
    "see_vertices",
    "spelling_of",
    "ways",
]
