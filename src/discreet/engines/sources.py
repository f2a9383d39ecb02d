"""What may be protected, and how it is opened."""

from __future__ import annotations

from collections.abc import Mapping

from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.schema import Type


def open_source(
    source: object, table: str | None = None, types: Mapping[str, Type] | None = None
) -> DuckDBEngine:
    """Open one source, or several as a mapping from table names to sources.

    Args:
        source: a path or url (`visits.parquet`, `parquet:folder/*.parquet`, `csv:visits.csv`,
            `duckdb:hospital.db`, `duckdb:hospital.db#visits`), a pandas or Polars DataFrame, an Arrow table or
            record batch, an open DuckDB connection, or a mapping of names to these.
        table: the name of the table; by default that of the file, or `data` for a frame, or every table
            of a database.
        types: the types of columns of a CSV file; those not given are taken from the whole file.

    Raises:
        SourceError: the source cannot be opened.

    Example:
        >>> import pyarrow as pa
        >>> list(open_source(pa.table({"age": [31]})).schema())
        ['data']
    """
    if isinstance(source, Mapping):
        return DuckDBEngine.open(source)
    return DuckDBEngine._open({table: source}, {table: types or {}})
