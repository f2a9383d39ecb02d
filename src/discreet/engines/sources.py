"""The sources that may be protected, and their opening."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.duckdb.connection import interruptible
from discreet.engines.duckdb.sources.frames import is_pandas
from discreet.engines.duckdb.sources.urls import read_url
from discreet.engines.engine import Engine
from discreet.engines.registry import opener
from discreet.engines.schema import Type
from discreet.errors import SourceError


def open_source(
    source: object,
    table: str | None = None,
    types: Mapping[str, Any] | None = None,
    public: Iterable[str] = (),
) -> Engine:
    """Open one source, or several as a mapping from table names to sources.

    Parquet files and databases are not read here, only their metadata. CSV files are imported and frames are
    turned into Arrow: for frames, answers and errors depend on the data through the types of the
    columns alone (those of pandas are not taken, see `pandas_types`), and for CSV files through the header line
    alone. A frame must not be changed in place while it is open.

    Args:
        source: a path or url (`visits.parquet`, a folder or glob of such, `csv:visits.txt`,
            `duckdb:hospital.db`, `duckdb:hospital.db#visits`); a PostgreSQL url (`postgresql://host/hospital`, or with
            `#visits` or `#schema.visits` behind it) or connection; a Spark table (`spark:visits`), DataFrame or
            session; a source that another package registered in `discreet.engines`; a pandas or Polars DataFrame; an
            Arrow table or record batch; an open DuckDB connection, or a relation of it, which is run at once; or a
            mapping of table names to these.
        table: the name of the table; by default that of the file, or `data` for a frame, or every table
            of a database.
        types: column -> type (a `Type` or its name) of a CSV file or a frame of pandas, whose other columns are texts;
            for a mapping of sources, table -> column -> type.
        public: the names of tables that hold nothing private: of their CSV files and frames the types are found by
            looking.

    Raises:
        SourceError: the source cannot be opened.
        KeyboardInterrupt: Ctrl-C was pressed while a file was read.

    Example:
        >>> import pyarrow as pa
        >>> list(open_source(pa.table({"age": [31]})).schema())
        ['data']
    """
    listed = list(source.items()) if isinstance(source, Mapping) else [(table, source)]
    openers = [opener(part) for _, part in listed]
    if openers and openers[0] is not None:
        if any(kind is not openers[0] for kind in openers):
            raise _mixed()
        return openers[0].open_all(listed)
    if any(kind is not None for kind in openers):
        raise _mixed()
    shown, given = {name.lower() for name in public}, types or {}
    if isinstance(source, Mapping):
        folded = {name.lower(): columns for name, columns in given.items()}
        found = {
            name: None if name.lower() in shown else _types(folded.get(name.lower(), {})) for name in source
        }
        with interruptible():
            return DuckDBEngine.open(source, found)
    kinds = _types(given)
    with interruptible():
        return DuckDBEngine.open_all([(table, source, kinds)])


def takes_types(source: object) -> bool:
    """Whether the types of its columns are given to a source, as to a CSV file or a frame of pandas.

    One that is at fault takes none: its opening says why.

    Example:
        >>> import pyarrow as pa
        >>> takes_types("csv:visits.txt"), takes_types("visits.parquet"), takes_types(pa.table({"age": [31]}))
        (True, False, False)
    """
    try:
        if opener(source) is not None:
            return False
        kind = read_url(os.fspath(source))[0] if isinstance(source, str | os.PathLike) else ""
    except SourceError:
        return False
    return kind == "csv" or is_pandas(source)


def _mixed() -> SourceError:
    return SourceError("Tables of several engines cannot be opened together.",
                       "Copy them to where the largest one is.")  # fmt: skip


def _types(types: Mapping[str, Type | str]) -> dict[str, Type]:
    known: dict[str, Type] = {type_.name: type_ for type_ in Type if type_.single}
    found = {}
    for column, type_ in types.items():
        name = type_.name if isinstance(type_, Type) else type_.upper()
        if name not in known:
            raise SourceError(
                f"The column {column} cannot be of type {name}.", f"Use one of {', '.join(known)}."
            )
        found[column] = known[name]
    return found
