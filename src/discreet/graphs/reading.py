"""Graphs from tables of edges, and from the objects of networkx, igraph and SciPy.

A vertex is its name. Where both columns hold integers, names are integers; else they are texts, equal where all their
characters are, and an integer is the text of its digits. An edge has no direction: (a, b) and (b, a) are one edge, as
often as they stand there. Loops, and edges with a NULL, are no edges; where the vertices are listed, so is every edge
of another vertex. No value of a name can make reading fail.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.engines.schema import TableSchema, Type, find
from discreet.errors import InvalidParameter, QueryRefused
from discreet.graphs.graph import Graph

if TYPE_CHECKING:
    import pyarrow as pa

NAMED = (Type.INTEGER, Type.TEXT)
"""The types of names."""


def see_readable(schema: TableSchema, columns: tuple[str, str]) -> list[str]:
    """See, by the schema alone, that a table has the two columns of an edge, and return their names as it spells them.

    Raises:
        QueryRefused: it lacks one, or one is neither of integers nor of text.
    """
    found = []
    for name in columns:
        column = find(schema, name)
        if column is None:
            raise QueryRefused(
                f"The table of edges has no column {name}.",
                "Name both ends: columns=(…, …), or --ends FROM,TO.",
            )
        if column.type not in NAMED:
            raise QueryRefused(
                f"The column {name} holds neither integers nor text, so that it names no vertices.",
                "Give the vertices whole numbers or texts as names.",
            )
        found.append(column.name)
    return found


def see_vertices(vertices: Iterable[Any]) -> list[Any]:
    """Read the public names of vertices.

    Raises:
        InvalidParameter: one is neither a whole number nor text, or no table can hold it, or one occurs twice, or there
            is none.
    """
    names = list(vertices)
    if not names or not all(isinstance(name, int | str) and not isinstance(name, bool) for name in names):
        raise InvalidParameter(
            "The vertices are no list of whole numbers or texts.", "Write range(1, 35), say."
        )
    try:
        texts = {str(name).encode() for name in names}
    except ValueError:  # half of a character, or thousands of digits
        raise InvalidParameter("A vertex has a name that no table can hold.", "Leave it out.") from None
    if len(texts) < len(names):
        raise InvalidParameter("A vertex is listed twice.", "List each once.")
    return names


def of_table(table: pa.Table, columns: tuple[str, str], vertices: list[Any] | None) -> Graph:
    """The graph of a table of edges.

    Args:
        table: one row for each edge.
        columns: with the names of the ends.
        vertices: the public names, or None for all names that occur.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    folded = {name.lower(): name for name in table.column_names}
    ends = [table.column(folded[name.lower()]) for name in columns]
    there = pc.and_(pc.is_valid(ends[0]), pc.is_valid(ends[1]))
    ends = [end.filter(there) for end in ends]
    whole = all(pa.types.is_integer(end.type) for end in ends)
    names = [end.cast(pa.int64() if whole else pa.large_string()) for end in ends]
    both = pa.chunked_array([*names[0].chunks, *names[1].chunks], names[0].type)
    if vertices is not None:
        public = listed(vertices, whole)
        place = pc.fill_null(pc.index_in(both, public), -1).to_numpy().astype(np.int64)
        first, second = np.split(place, 2)
        known = (first >= 0) & (second >= 0)
        return Graph.of(len(public), first[known], second[known])
    known_names = pc.unique(both)
    order = pc.array_sort_indices(known_names).to_numpy()
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    place = pc.index_in(both, known_names).to_numpy()
    first, second = np.split(rank[place] if len(place) else np.zeros(0, np.int64), 2)
    return Graph.of(len(order), first, second)


def listed(vertices: list[Any], whole: bool) -> Any:
    """The public names, of the type of the columns; a name that no such column can hold keeps its place."""
    import pyarrow as pa

    if not whole:
        return pa.array([str(name) for name in vertices], pa.large_string())
    return pa.array([_whole(str(name)) for name in vertices], pa.int64())


def _whole(name: str) -> int | None:
    """The 64-bit integer with this text."""
    try:
        number = int(name)
    except ValueError:
        return None
    return number if str(number) == name and -(1 << 63) <= number < 1 << 63 else None


def of_object(source: Any) -> Graph | None:
    """The graph of an object of networkx, igraph or SciPy; None where it is something else.

    Entries of a sparse matrix other than 0 are edges.

    Raises:
        InvalidParameter: a matrix is not square.
    """
    kind = type(source).__module__.partition(".")[0]
    if hasattr(source, "adjacency") and hasattr(source, "number_of_nodes"):
        place = {node: index for index, node in enumerate(source.nodes())}
        pairs = [(place[first], place[second]) for first, second in source.edges()]
    elif kind == "igraph":
        return Graph.of(source.vcount(), *_split(source.get_edgelist()))
    elif kind == "scipy" and hasattr(source, "tocoo"):
        entries = source.tocoo()
        if len(entries.shape) != 2 or entries.shape[0] != entries.shape[1]:
            raise InvalidParameter("The matrix is not square.", "Give an adjacency matrix.")
        there = entries.data != 0
        row, column = entries.coords if hasattr(entries, "coords") else (entries.row, entries.col)
        return Graph.of(entries.shape[0], row[there], column[there])
    else:
        return None
    return Graph.of(len(place), *_split(pairs))


def _split(pairs: Any) -> Any:
    return np.array(pairs, np.int64).reshape(-1, 2).T
