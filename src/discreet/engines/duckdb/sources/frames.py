"""Frames of pandas and Polars, and Arrow tables, as tables of DuckDB."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from discreet.engines.duckdb.sources.origin import Origin, frozen_version
from discreet.engines.duckdb.sources.total import total
from discreet.engines.schema import Type
from discreet.engines.twins import folded
from discreet.errors import SourceError

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa


def attach_frame(
    connection: duckdb.DuckDBPyConnection, name: str, source: object, types: Mapping[str, Type] | None
) -> Origin:
    """Register a frame; the columns of one of pandas are read in the types given, and the others as texts."""
    import duckdb

    own: frozenset[str] = frozenset()
    if types is not None and is_pandas(source):
        table, own = _typed(connection, name, source, types)
    else:
        table = to_arrow(name, source)
    if not table.column_names:
        raise SourceError(f"The source {name} has no columns.", "Give a frame whose columns have names.")
    table = total(table)
    store = f"frame_{secrets.token_hex(8)}"
    try:
        connection.register(store, table)
        known = True
    except duckdb.Error:
        known = False
    if not known:
        raise SourceError(
            f"The source {name} has a column of a type that DuckDB cannot read.",
            "Turn it into a number, a text or a date first, such as by astype or cast, or leave it out.",
        )
    return Origin(
        store, frozen_version(), keep=(table,), twins=folded(table.column_names), rows=table.num_rows,
        csv=bool(own),
    )  # fmt: skip


def to_arrow(name: str, source: object) -> pa.Table:
    """Return a frame as an Arrow table; NaN of pandas is NULL.

    Raises:
        SourceError: the object is no frame that is known, or a column of it mixes types.
    """
    import pyarrow as pa

    if isinstance(source, pa.Table):
        return source
    if isinstance(source, pa.RecordBatch):
        return pa.Table.from_batches([source])
    kind = type(source).__name__
    module = "duckdb" if kind == "DuckDBPyRelation" else type(source).__module__.partition(".")[0]
    if module == "polars" and kind == "LazyFrame":
        raise SourceError(f"The source {name} is a LazyFrame, which is a query.", "Pass .collect() of it.")
    convert: dict[tuple[str, str], Callable[[Any], pa.Table]] = {
        ("duckdb", "DuckDBPyRelation"): lambda relation: relation.to_arrow_table(),
        ("polars", "DataFrame"): lambda frame: frame.to_arrow(),
        ("pandas", "DataFrame"): lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    }
    if (module, kind) not in convert:
        raise SourceError(
            f"The source {name} is of type {kind}, which cannot be opened.",
            "Pass a path, a pandas or Polars DataFrame, an Arrow table or a DuckDB connection.",
        )
    if module == "pandas":  # which may hold a name twice, and Arrow would say something else of it
        _see_no_twins(name, source)
    try:
        table = convert[module, kind](source)
    except Exception:
        table = None
    if table is None:
        raise _no_table(name)
    return table


def is_pandas(source: object) -> bool:
    """Whether it is a frame of pandas, without loading pandas."""
    return type(source).__module__.partition(".")[0] == "pandas" and type(source).__name__ == "DataFrame"


def _typed(
    connection: duckdb.DuckDBPyConnection, name: str, frame: Any, types: Mapping[str, Type]
) -> tuple[pa.Table, frozenset[str]]:
    """A frame of pandas whose types no value decides, and the columns whose types are the policy's."""
    from discreet.engines.duckdb.sources.pandas_types import to_table

    _see_no_twins(name, frame)
    found = None
    try:
        found = to_table(connection, frame, types)
    except Exception:
        found = None  # the words of pandas or Arrow may quote a value
    if found is None:
        raise _no_table(name)
    return found


def _see_no_twins(name: str, frame: object) -> None:
    called = [str(column) for column in getattr(frame, "columns", ())]
    if len(set(called)) < len(called):
        raise SourceError(f"The source {name} has two columns of one name.", "Rename one of them.")


def _no_table(name: str) -> SourceError:
    return SourceError(
        f"The source {name} cannot be turned into an Arrow table.",
        "Give each column of it one type, such as by astype or cast.",
    )
