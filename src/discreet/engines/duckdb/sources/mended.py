"""Copies of Parquet files whose values DuckDB cannot read, with NULL in their place.

DuckDB fails on a text that is not UTF-8 and on milliseconds beyond the range of microseconds. Few files have such
values, so each is read directly, and looked through only once a query has failed in that way. The answer of a query is
the same as if every file were looked through; only the time is not.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.engines.duckdb.sources.total import readable

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS = 1 << 16


def mended(files: Sequence[str], folder: str) -> list[str]:
    """The files, with a copy in place of each that holds a value that cannot be read.

    Args:
        files: of one table.
        folder: a private one, where the copies go.

    Raises:
        OSError, ArrowException: a file cannot be read, or a copy not written.
    """
    return [
        _copied(file, os.path.join(folder, str(index))) if _bad(file) else file
        for index, file in enumerate(files)
    ]


def _bad(file: str) -> bool:
    from pyarrow import parquet

    with parquet.ParquetFile(file) as source:
        names = [field.name for field in source.schema_arrow if _suspect(field.type)]
        if not names:
            return False
        return any(
            _within(column) is not column
            for batch in source.iter_batches(_ROWS, columns=names)
            for column in _chunked(batch)
        )


def _copied(file: str, folder: str) -> str:
    """A copy with the readable values, under the same name and partition."""
    import pyarrow as pa
    from pyarrow import parquet

    partition = [part for part in Path(file).parts[:-1] if "=" in part]
    path = Path(folder, *partition, Path(file).name)
    path.parent.mkdir(parents=True, mode=0o700)
    with parquet.ParquetFile(file) as source, parquet.ParquetWriter(path, source.schema_arrow) as writer:
        for batch in source.iter_batches(_ROWS):
            columns = [_within(column) if _suspect(column.type) else column for column in _chunked(batch)]
            writer.write_table(pa.table(columns, schema=source.schema_arrow))
    return str(path)


def _chunked(batch: pa.RecordBatch) -> list[pa.ChunkedArray]:
    import pyarrow as pa

    return [pa.chunked_array([column]) for column in batch.columns]


def _within(column: pa.ChunkedArray) -> pa.ChunkedArray:
    found = readable(column, milliseconds=True)
    return found if found is column or found.type == column.type else found.cast(column.type)


def _suspect(kind: pa.DataType) -> bool:
    import pyarrow as pa

    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_nested(kind):
        return True
    if pa.types.is_timestamp(kind):
        return bool(kind.unit == "ms")
    return bool(
        pa.types.is_string(inner) or pa.types.is_large_string(inner) or pa.types.is_string_view(inner)
        or pa.types.is_time(kind)
    )  # fmt: skip
