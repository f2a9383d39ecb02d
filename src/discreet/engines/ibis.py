"""Ibis connections: the one inside is opened by the engine of its own kind; Ibis itself writes no SQL here.

So the versions of Ibis and sqlglot need not fit each other, and a question is compiled once, for the engine.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from discreet.engines.engine import Engine
from discreet.errors import SourceError


class IbisEngine:
    """Opens connections of Ibis to DuckDB, PostgreSQL and Spark."""

    @classmethod
    def open_all(cls, sources: Iterable[tuple[str | None, object]]) -> Engine:
        """Open (name, connection) each; None instead of a name takes every table of the connection.

        Raises:
            SourceError: the backend is another one, or the source cannot be opened.
        """
        listed = [(name, *_inside(source)) for name, source in sources]
        backend = listed[0][1]
        if any(other != backend for _, other, _ in listed):
            raise SourceError("Tables of several Ibis backends cannot be opened together.", "Use one.")
        inner = [(name, connection) for name, _, connection in listed]
        if backend == "duckdb":
            from discreet.engines.duckdb import DuckDBEngine

            return DuckDBEngine.open_all([(name, connection, {}) for name, connection in inner])
        if backend == "postgres":
            from discreet.engines.postgres import PostgresEngine

            return PostgresEngine.open_all(inner)
        from discreet.engines.spark import SparkEngine

        return SparkEngine.open_all(inner)


def _inside(source: Any) -> tuple[str, object]:
    """The name of the backend, and the connection that Ibis wraps."""
    backend = str(getattr(source, "name", ""))
    inner = getattr(source, "_session" if backend == "pyspark" else "con", None)
    if backend not in ("duckdb", "postgres", "pyspark") or inner is None:
        raise SourceError(
            "This Ibis backend is not supported.",
            "Use one of DuckDB, PostgreSQL or PySpark; docs/engines.md says how to add an engine.",
        )
    return backend, inner
