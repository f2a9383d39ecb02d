"""Arrow columns that DuckDB can always read: a value without a meaning in its column's type is NULL.

The type of a column decides the conversion, and each value is judged by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

_PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
_PER_MICROSECOND = {"s": 1_000_000, "ms": 1_000}
_FURTHEST = 2**63 - 2  # the last two are the infinities of DuckDB


def total(table: pa.Table) -> pa.Table:
    """The table with columns that DuckDB can read.

    Example:
        >>> import pyarrow as pa
        >>> odd = pa.array([0, 2**62], pa.timestamp("s", "UTC"))
        >>> total(pa.table({"t": odd})).column("t").type, total(pa.table({"t": odd})).column("t").null_count
        (TimestampType(timestamp[us]), 1)
    """
    for index, name in enumerate(table.column_names):
        column = readable(table.column(index))
        if column is not table.column(index):
            table = table.set_column(index, name, column)
    return table


def readable(column: pa.ChunkedArray, milliseconds: bool = False) -> pa.ChunkedArray:
    """One column that DuckDB can read; the same one where it can read it already.

    Args:
        column: of a frame or a file.
        milliseconds: whether DuckDB turns milliseconds into microseconds where it reads them, as it does in files.
    """
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        plain = _is_text(kind.value_type) and _sound(column)
        chunks = [chunk.dictionary_decode() for chunk in column.chunks] if not plain else []
        return column if plain else readable(pa.chunked_array(chunks, kind.value_type), milliseconds)
    if pa.types.is_run_end_encoded(kind):
        import pyarrow.compute as pc

        chunks = [pc.run_end_decode(chunk) for chunk in column.chunks]
        return readable(pa.chunked_array(chunks, kind.value_type), milliseconds)
    if _is_text(kind):
        return column if _sound(column) else _decoded(column)
    if pa.types.is_nested(kind):
        return _nested(column, milliseconds)
    if milliseconds and pa.types.is_timestamp(kind) and kind.unit == "ms":
        return within_microseconds(column)
    if pa.types.is_float16(kind):
        return column.cast(pa.float32())
    if pa.types.is_decimal256(kind):
        return column.cast(pa.float64())
    if pa.types.is_timestamp(kind) and kind.tz is not None and kind.unit != "us":
        # An instant as the time stamp that it is in UTC.
        if kind.unit == "ns":
            return column.cast(pa.timestamp("ns"))
        return in_microseconds(column)
    if pa.types.is_duration(kind) and kind.unit in _PER_MICROSECOND:
        return _scaled(column, _PER_MICROSECOND[kind.unit], pa.duration("us"))
    if pa.types.is_time(kind):
        return _where(column, lambda raw: (raw >= 0) & (raw < _PER_DAY[kind.unit]))
    if pa.types.is_date64(kind):
        return _days(column)
    return column


def in_microseconds(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Time stamps in seconds or milliseconds, in microseconds and in UTC; a moment beyond these is NULL."""
    import pyarrow as pa

    return _scaled(column, _PER_MICROSECOND[column.type.unit], pa.timestamp("us"))


def within_microseconds(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Time stamps in milliseconds without those that microseconds cannot hold."""
    return _where(column, lambda raw: np.abs(raw) <= _FURTHEST // 1000)


def _is_text(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return any(test(kind) for test in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view))


def _sound(column: pa.ChunkedArray) -> bool:
    """Whether all texts are valid UTF-8."""
    import pyarrow as pa

    try:
        column.validate(full=True)
        for chunk in column.chunks:
            if pa.types.is_dictionary(column.type):
                chunk.dictionary.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow as pa

    raw = pa.large_binary() if pa.types.is_large_string(column.type) else pa.binary()
    if pa.types.is_string_view(column.type):
        raw = pa.binary_view()
    chunks = [pa.array(map(_text, chunk.view(raw).to_pylist()), column.type) for chunk in column.chunks]
    return pa.chunked_array(chunks, column.type)


def _nested(column: pa.ChunkedArray, milliseconds: bool) -> pa.ChunkedArray:
    """Lists and structs with all inside them readable, and maps and unions hollow, at any depth."""
    import pyarrow as pa

    try:
        chunks = [_inside(chunk, milliseconds) for chunk in column.chunks or [pa.array([], column.type)]]
    except pa.ArrowException:
        return _hollow(column)
    if column.chunks and all(new is old for new, old in zip(chunks, column.chunks, strict=True)):
        return column
    return pa.chunked_array(chunks)


def _inside(array: Any, milliseconds: bool) -> pa.Array:
    """The same of one piece. The content below NULL is looked at, too, as DuckDB reads it."""
    import pyarrow as pa

    def read(part: pa.Array) -> pa.Array:
        chunked = pa.chunked_array([part])
        found = readable(chunked, milliseconds)
        return part if found is chunked else found.chunk(0)

    kind = array.type
    if pa.types.is_struct(kind):
        parts = [array.field(index) for index in range(kind.num_fields)]
        if all(read(part) is part for part in parts):
            return array
        parts = [read(part) for part in array.flatten()]
        fields = [pa.field(kind.field(index).name, part.type) for index, part in enumerate(parts)]
        return pa.StructArray.from_arrays(parts, fields=fields, mask=array.is_null())
    if pa.types.is_fixed_size_list(kind):
        return (
            array
            if read(values := array.values) is values
            else _inside(array.cast(pa.list_(kind.value_type)), milliseconds)
        )
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        if read(values := array.values) is values:
            return array
        lengths = array.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        made, wide = (pa.ListArray, pa.int32()) if pa.types.is_list(kind) else (pa.LargeListArray, pa.int64())
        return made.from_arrays(pa.array(offsets, wide), read(array.flatten()), mask=array.is_null())
    return _hollow(pa.chunked_array([array])).chunk(0)


def _hollow(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Maps and unions without their content, which nothing asks for: of them only NULL is told apart.

    DuckDB fails on a key that a map has twice.
    """
    import pyarrow as pa

    kind: Any = column.type
    if pa.types.is_union(kind):  # Arrow does not make one of values
        kind = pa.map_(pa.string(), pa.bool_())
    empty: Any = []
    if pa.types.is_struct(kind):
        empty = {}
    elif pa.types.is_fixed_size_list(kind):
        empty = [None] * kind.list_size
    both = pa.array([empty, None], kind)
    chunks = [both.take(chunk.is_null().cast(pa.int8())) for chunk in column.chunks]
    return pa.chunked_array(chunks, kind)


def _text(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _raw(chunk: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The integers of a chunk, zero for null, and which are null."""
    import pyarrow as pa

    wide = pa.int32() if chunk.type.bit_width == 32 else pa.int64()
    missing: Any = chunk.is_null().to_numpy(zero_copy_only=False)
    found: Any = chunk.view(wide).fill_null(0).to_numpy(zero_copy_only=False)
    return found.astype(np.int64), missing


def _where(column: pa.ChunkedArray, holds: Any) -> pa.ChunkedArray:
    """The column without the values whose integers do not hold; the same one where all do."""
    import pyarrow as pa

    chunks, changed = [], False
    for chunk in column.chunks:
        raw, missing = _raw(chunk)
        bad = ~holds(raw) & ~missing
        if bad.any():
            wide = pa.int32() if chunk.type.bit_width == 32 else pa.int64()
            chunk, changed = pa.array(raw, wide, mask=bad | missing).view(column.type), True
        chunks.append(chunk)
    return pa.chunked_array(chunks, column.type) if changed else column


def _scaled(column: pa.ChunkedArray, times: int, kind: pa.DataType) -> pa.ChunkedArray:
    import pyarrow as pa

    chunks = []
    for chunk in column.chunks:
        raw, missing = _raw(chunk)
        far = (raw > _FURTHEST // times) | (raw < -(_FURTHEST // times))
        chunks.append(pa.array(np.where(far, 0, raw) * times, pa.int64(), mask=far | missing).view(kind))
    return pa.chunked_array(chunks, kind)


def _days(column: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow as pa

    chunks = []
    for chunk in column.chunks:
        raw, missing = _raw(chunk)
        days = raw // _PER_DAY["ms"]
        far = np.abs(days) >= 2**31 - 1
        shown = np.where(far, 0, days).astype(np.int32)
        chunks.append(pa.array(shown, pa.int32(), mask=far | missing).view(pa.date32()))
    return pa.chunked_array(chunks, pa.date32())
