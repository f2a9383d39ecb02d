"""The schemas of several Parquet files that are one table, compared by their footers; no row is read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from glob import escape
from typing import TYPE_CHECKING

from discreet.engines.duckdb.connection import literal

if TYPE_CHECKING:
    import duckdb

_WIDER = {
    "TINYINT": ("SMALLINT", "INTEGER", "BIGINT"), "SMALLINT": ("INTEGER", "BIGINT"), "INTEGER": ("BIGINT",),
    "UTINYINT": ("SMALLINT", "INTEGER", "BIGINT"), "USMALLINT": ("INTEGER", "BIGINT"), "UINTEGER": ("BIGINT",),
    "FLOAT": ("DOUBLE",),
}  # fmt: skip
"""The type that a column is read as without loss, where the first file has it in a wider type."""


def misfit(connection: duckdb.DuckDBPyConnection, files: Sequence[str]) -> str | None:
    """The first file that cannot be read, or that lacks a column of the first file or has it in another type.

    Args:
        connection: may read the files.
        files: of one table. The first one says which columns there are.
    """
    first: dict[str, str] | None = None
    for file in files:
        found = _columns(connection, file)
        if found is None:
            return file
        if first is None:
            first = found
        for name, kind in first.items():
            own = found.get(name)
            if own != kind and kind not in _WIDER.get(own or "", ()):
                return file
    return None


def readable(files: Sequence[str]) -> bool:
    """Whether all files are there and may be read; a pipe in the place of one would be waited for."""
    return all(os.path.isfile(file) and os.access(file, os.R_OK) for file in files)


def _columns(connection: duckdb.DuckDBPyConnection, file: str) -> dict[str, str] | None:
    import duckdb

    try:
        found = connection.sql(f"FROM read_parquet({literal(escape(file))}, hive_partitioning = false)")
        return {name.lower(): str(kind) for name, kind in zip(found.columns, found.types, strict=True)}
    except duckdb.Error:
        return None
