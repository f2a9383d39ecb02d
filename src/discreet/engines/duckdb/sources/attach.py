"""Makes a source visible to a connection as one named relation per table, reading metadata only.

CSV is the exception: it has no types of its own, so it is imported when it is opened, in the types of the policy.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from discreet.engines.duckdb.sources.databases import attach_database
from discreet.engines.duckdb.sources.origin import NO_TYPES, Origin
from discreet.engines.duckdb.sources.parquet import attach_parquet
from discreet.engines.duckdb.sources.urls import read_url, table_name
from discreet.engines.schema import Type

if TYPE_CHECKING:
    import duckdb


def attach(
    connection: duckdb.DuckDBPyConnection,
    table: str | None,
    source: object,
    types: Mapping[str, Type] | None = NO_TYPES,
) -> dict[str, Origin]:
    """Attach one source and return its tables by name.

    Args:
        connection: where the tables are to be visible.
        table: the name of the table; None takes every table of a database, or the name of the file.
        source: a path, a url, or a frame.
        types: the types of columns of a CSV file or a frame of pandas, whose other columns are texts; None looks at
            the values instead, as is right for a public one only.

    Raises:
        SourceError: the source cannot be opened or is of no kind that is known.
    """
    if isinstance(source, str | os.PathLike):
        kind, path, inner = read_url(os.fspath(source))
        if kind == "duckdb":
            return attach_database(connection, path, inner or table, table)
        name = table or table_name(path)
        if kind == "parquet":
            return {name: attach_parquet(connection, path)}
        from discreet.engines.duckdb.sources.csv import attach_csv

        return {name: attach_csv(connection, path, types)}
    from discreet.engines.duckdb.sources.frames import attach_frame

    name = table or "data"
    return {name: attach_frame(connection, name, source, types)}
