"""Names in Parquet files that differ by case alone, from their own metadata: DuckDB renames such columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.engines.duckdb.connection import literal
from discreet.engines.twins import folded

if TYPE_CHECKING:
    import duckdb


def of_parquet(connection: duckdb.DuckDBPyConnection, paths: Sequence[str]) -> frozenset[str]:
    """Those of Parquet files, from metadata alone; a file that cannot be read is found elsewhere."""
    import duckdb

    listed = ", ".join(map(literal, paths))
    try:
        rows = connection.execute(
            f"SELECT file_name, name, coalesce(num_children, 0) FROM parquet_schema([{listed}])"
        ).fetchall()
    except duckdb.Error:
        rows = []
    files: dict[str, list[tuple[str, int]]] = {}
    for file, name, children in rows:
        files.setdefault(file, []).append((name, children))
    return frozenset().union(*(folded(_top(nodes)) for nodes in files.values()))


def _top(nodes: Sequence[tuple[str, int]]) -> list[str]:
    """The names of the columns among the nodes of a schema, which stand in order: each before its parts."""
    names: list[str] = []
    inside = 0
    for name, children in nodes[1:]:
        if inside:
            inside -= 1
        else:
            names.append(name)
        inside += children
    return names
