"""Arrow arrays to and from NumPy and Python, without PyArrow's own conversions.

Those load pandas wherever it is installed, which takes longer than answering a question.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet import far

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

BLOCK = 1 << 16
"""How many values are looked at together, eight to a byte."""
_EPOCH = dt.date(1970, 1, 1).toordinal()


def column(values: NDArray[Any], missing: NDArray[np.bool_] | None = None) -> pa.Array:
    """Numbers as an Arrow array.

    Args:
        values: int64 or float64 array (n,), or narrower integers.
        missing: bool array (n,): which are null; of floats, NaN is null unless this is given.

    Raises:
        TypeError, KeyError: the values are of another kind.

    Example:
        >>> column(np.array([1.5, np.nan])).to_pylist()
        [1.5, None]
    """
    import pyarrow as pa

    if type(values) is not np.ndarray or values.ndim != 1:
        raise TypeError("The values are no plain array of numbers.")  # an array with a mask would lose it
    kind = _kinds()[values.dtype]
    valid = _numbers(values) if missing is None and values.dtype.kind == "f" else _valid(missing)
    return pa.Array.from_buffers(kind, len(values), [valid, pa.py_buffer(np.ascontiguousarray(values))])


def listed(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Python values of one type, None for null, as an Arrow array.

    Example:
        >>> import pyarrow as pa
        >>> listed(["a", None, "ä"], pa.string()).to_pylist()
        ['a', None, 'ä']
    """
    import pyarrow as pa

    if any(isinstance(value, far.FarDate) for value in values):
        return far.listed(values, kind)
    if kind == pa.timestamp("us"):  # rare, and full of corners
        return pa.array(values, kind)
    missing = np.fromiter((value is None for value in values), np.bool_, len(values))
    valid = _valid(missing if missing.any() else None)
    if kind == pa.string():
        texts = [b"" if value is None else value.encode() for value in values]
        ends = np.fromiter(accumulate(map(len, texts), initial=0), np.int64, len(texts) + 1)
        if ends[-1] > np.iinfo(np.int32).max:
            return pa.array(values, kind)
        data = [pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(b"".join(texts))]
        return pa.Array.from_buffers(kind, len(texts), [valid, *data])
    if kind == pa.bool_():
        bits = np.packbits(np.fromiter(map(bool, values), np.bool_, len(values)), bitorder="little")
        return pa.Array.from_buffers(kind, len(values), [valid, pa.py_buffer(bits)])
    if kind == pa.date32():
        days = (0 if value is None else value.toordinal() - _EPOCH for value in values)
        return pa.Array.from_buffers(
            kind, len(values), [valid, pa.py_buffer(np.fromiter(days, np.int32, len(values)))]
        )
    numbers = (0 if value is None else value for value in values)
    dtype = {pa.int64(): np.int64, pa.float64(): np.float64}[kind]
    return pa.Array.from_buffers(
        kind, len(values), [valid, pa.py_buffer(np.fromiter(numbers, dtype, len(values)))]
    )


def numbers(column: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    """The numbers of an Arrow array: int64 or float64 array (n,), or narrower integers, NaN for null.

    Raises:
        ValueError: an integer is null.

    Example:
        >>> import pyarrow as pa
        >>> numbers(listed([1, 2], pa.int64()))
        array([1, 2])
    """
    import pyarrow as pa

    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    dtype = _dtypes()[column.type]
    found = [_chunk(chunk, dtype) for chunk in chunks if len(chunk)]
    return found[0] if len(found) == 1 else np.concatenate(found) if found else np.empty(0, dtype)


def known(column: pa.Array) -> NDArray[np.bool_]:
    """Which values of an Arrow array are not null: bool array (n,).

    Example:
        >>> import pyarrow as pa
        >>> known(listed(["a", None], pa.string())).tolist()
        [True, False]
    """
    valid = column.buffers()[0]
    if valid is None or not column.null_count:
        return np.full(len(column), column.null_count == 0)
    bits = np.unpackbits(np.frombuffer(valid, np.uint8), bitorder="little")
    return bits[column.offset : column.offset + len(column)].astype(bool)


def floats(column: pa.Array | pa.ChunkedArray) -> NDArray[np.float64]:
    """The numbers of an Arrow array as float64 array (n,): NaN for null, the nearest double for a large integer.

    Example:
        >>> import pyarrow as pa
        >>> floats(listed([1, None, 2**62], pa.int64()))
        array([1.00000000e+00,            nan, 4.61168602e+18])
    """
    import pyarrow as pa

    if column.null_count and pa.types.is_integer(column.type):
        return np.array([np.nan if value is None else value for value in column.to_pylist()], np.float64)
    if column.type in _dtypes():
        return numbers(column).astype(np.float64, copy=False)
    return numbers(column.cast(pa.float64(), safe=False))


def taken(values: pa.Array, places: NDArray[np.int64]) -> pa.Array:
    """The values at some places.

    Args:
        values: of any type.
        places: int64 array (n,).

    Example:
        >>> taken(column(np.array([1.5, np.nan])), np.array([1, 0, 0])).to_pylist()
        [None, 1.5, 1.5]
    """
    import pyarrow as pa

    if values.type == pa.float64() or (values.type == pa.int64() and not values.null_count):
        return column(numbers(values)[places])
    return values.take(column(places))


@cache
def _kinds() -> dict[np.dtype[Any], pa.DataType]:
    return {np.dtype(dtype): kind for kind, dtype in _dtypes().items()}


@cache
def _dtypes() -> dict[pa.DataType, Any]:
    import pyarrow as pa

    return {
        pa.int64(): np.int64, pa.float64(): np.float64, pa.int32(): np.int32, pa.uint32(): np.uint32,
        pa.int16(): np.int16, pa.int8(): np.int8,
    }  # fmt: skip


def _chunk(chunk: pa.Array, dtype: Any) -> NDArray[Any]:
    _, data = chunk.buffers()
    values = np.frombuffer(data, dtype, len(chunk), chunk.offset * np.dtype(dtype).itemsize)
    if not chunk.null_count:
        return values
    if dtype is not np.float64:
        raise ValueError("An integer is null.")
    return np.where(known(chunk), values, np.nan)


def _valid(missing: NDArray[np.bool_] | None) -> pa.Buffer | None:
    """The bitmap of the values that are there; None when all are."""
    import pyarrow as pa

    if missing is None or not missing.any():
        return None
    return pa.py_buffer(np.packbits(~missing, bitorder="little"))


def _numbers(values: NDArray[np.floating[Any]]) -> pa.Buffer | None:
    """The bitmap of the values that are not NaN; None when none is.

    Block by block, as a truth value takes eight times as much memory as its bit, beside arrays of millions.
    """
    import pyarrow as pa

    blocks = [values[start : start + BLOCK] for start in range(0, len(values), BLOCK)]
    if not any(np.isnan(block).any() for block in blocks):
        return None
    return pa.py_buffer(
        np.concatenate([np.packbits(~np.isnan(block), bitorder="little") for block in blocks])
    )


def is_number(values: pa.Table, name: str) -> bool:
    """Whether a column of an answer holds numbers."""
    import pyarrow as pa

    kind = values.schema.field(name).type
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def is_moment(values: pa.Table, name: str) -> bool:
    """Whether a column of an answer holds dates or time stamps."""
    return _of_moments(values.schema.field(name).type)


def is_nested(values: pa.Table, name: str) -> bool:
    """Whether a column of an answer holds lists, maps or structs."""
    import pyarrow as pa

    return bool(pa.types.is_nested(values.schema.field(name).type))


def _of_moments(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def ends(numbers: NDArray[np.float64], kind: pa.DataType) -> pa.Array:
    """The ends of intervals of values of a type, null where there is none: moments of moments, else float64."""
    return moments(numbers, kind) if _of_moments(kind) else column(numbers)


def moments(days: NDArray[np.float64], kind: pa.DataType) -> pa.Array:
    """Days since 1970-01-01 as dates or time stamps.

    Args:
        days: float64 array (n,); NaN for null.
        kind: a type of dates or time stamps.

    Example:
        >>> import pyarrow as pa
        >>> moments(np.array([1.25, np.nan]), pa.timestamp("us")).to_pylist()
        [datetime.datetime(1970, 1, 2, 6, 0), None]
    """
    import pyarrow as pa

    missing = ~np.isfinite(days)
    known = np.where(missing, 0, days)
    if pa.types.is_date(kind):
        return (
            pa.array(np.rint(known).astype(np.int32), pa.int32(), mask=missing).cast(pa.date32()).cast(kind)
        )
    micros = pa.array(np.rint(known * 86_400_000_000.0).astype(np.int64), pa.int64(), mask=missing)
    return micros.cast(pa.timestamp("us")).cast(kind)


def values_of(table: pa.Table) -> int:
    """How many values a table has, those inside of lists and structs too.

    Example:
        >>> import pyarrow as pa
        >>> values_of(pa.table({"a": [1, 2], "b": [[3, 4, 5], [6]]}))
        8
    """
    found, open_ = 0, [chunk for column in table.columns for chunk in column.chunks]
    while open_:
        array = open_.pop()
        found += len(array)
        inside = array.type.num_fields
        open_ += (
            [array.values] if hasattr(array, "values") else [array.field(index) for index in range(inside)]
        )
    return found


def plain(table: pa.Table) -> pa.Table:
    """Wide integers and decimals as plain integers or floats, so that every library can read them."""
    import pyarrow as pa

    columns = []
    for column in table.columns:
        if _without_decimals(column.type) != column.type:
            try:
                column = column.cast(_without_decimals(column.type))
            except pa.ArrowInvalid:
                column = column.cast(_without_decimals(column.type, pa.float64()), safe=False)
        columns.append(column)
    return pa.table(columns, names=table.column_names)


def _without_decimals(kind: pa.DataType, whole: pa.DataType | None = None) -> pa.DataType:
    """A type with plain numbers in the place of decimals, in lists, maps and structs, too."""
    import pyarrow as pa

    if pa.types.is_decimal(kind):
        return (whole or pa.int64()) if kind.scale == 0 else pa.float64()
    if pa.types.is_map(kind) and pa.types.is_null(kind.key_type):
        return kind  # MAP() has no keys, and Arrow makes no such type anew
    if pa.types.is_map(kind):
        return pa.map_(_without_decimals(kind.key_type, whole), _without_decimals(kind.item_type, whole))
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_without_decimals(kind.value_type, whole)))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_without_decimals(field.type, whole)) for field in kind])
    return kind
