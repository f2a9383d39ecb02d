"""Parquet files that are one table: a file, a folder or a pattern."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import partial
from glob import escape, glob
from typing import TYPE_CHECKING

from discreet.engines.duckdb.connection import literal
from discreet.engines.duckdb.sources.footers import misfit
from discreet.engines.duckdb.sources.origin import Origin, file_version
from discreet.engines.duckdb.sources.parquet_twins import of_parquet
from discreet.engines.duckdb.sources.regular import see_no_pipe
from discreet.engines.duckdb.sources.urls import SUFFIXES
from discreet.errors import SourceError

if TYPE_CHECKING:
    import duckdb


def attach_parquet(connection: duckdb.DuckDBPyConnection, path: str) -> Origin:
    """Attach the Parquet files of a path as one table."""
    files = _files(path)
    for file in files or [path]:
        see_no_pipe(file)
    if not files:
        raise SourceError(f"There is no Parquet file at {path}.", "Check the path.")
    odd = misfit(connection, files) if len(files) > 1 else None
    if odd is not None:
        raise SourceError(
            f"The file {odd} has other columns than {files[0]}, or cannot be read.",
            "Give all files of a table the same columns in the same types, or leave the file out.",
        )
    # The list is fixed here; DuckDB reads each name as a pattern, and asks for permission of both forms.
    patterns = [escape(file) for file in files]
    more = "" if os.path.isfile(path) else os.path.join(path, "**") if os.path.isdir(path) else path
    return Origin(
        parquet_relation(files), partial(file_version, files), sorted({*files, *patterns}), files=tuple(files),
        pattern=more, twins=of_parquet(connection, patterns), parquet=files,
    )  # fmt: skip


def parquet_relation(files: Sequence[str]) -> str:
    """The SQL after FROM for Parquet files that are one table."""
    return f"read_parquet([{', '.join(literal(escape(file)) for file in files)}])"


def _files(path: str) -> list[str]:
    """Return the Parquet files of a path, a glob or a directory."""
    if os.path.isfile(path):
        return [path]
    if os.path.isdir(path):
        found: Iterator[str] = (
            os.path.join(folder, name)
            for folder, _, names in os.walk(path)
            for name in names
            if name.lower().endswith(SUFFIXES["parquet"])
        )
        return sorted(found)
    return sorted(file for file in glob(path, recursive=True) if not os.path.isdir(file))
