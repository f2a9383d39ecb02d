"""Batches as they came, but for values that are none of their type: each is NULL, by itself, and stops nothing."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa

_BYTES: Final = {
    pa.string(): pa.binary(),
    pa.large_string(): pa.large_binary(),
    pa.string_view(): pa.binary_view(),
}
_DAY: Final = 86_400_000


def sound(table: pa.Table) -> pa.Table:
    """A table whose values are all of their types: a text that is not UTF-8 is NULL, and so is half a day.

    Raises:
        pa.ArrowInvalid: the table is damaged.
    """
    try:
        table.validate(full=True)
        return table
    except pa.ArrowInvalid:
        pass
    columns = [
        pa.chunked_array([_mended(chunk) for chunk in column.chunks], column.type) for column in table.columns
    ]
    found = pa.table(columns, table.schema)
    found.validate(full=True)  # offsets of a damaged batch would lead anywhere
    return found


def _mended(array: Any) -> Any:
    kind = array.type
    if pa.types.is_dictionary(kind):
        return pa.DictionaryArray.from_arrays(
            array.indices, _mended(array.dictionary), ordered=kind.ordered, safe=True
        )
    if kind in _BYTES:
        given = pa.Array.from_buffers(_BYTES[kind], len(array), array.buffers(), offset=array.offset)
        given.validate(full=True)
        return pa.array([_text(value) for value in given.to_pylist()], kind)
    if pa.types.is_date64(kind):
        ticks = [
            tick if tick is not None and tick % _DAY == 0 else None
            for tick in array.view(pa.int64()).to_pylist()
        ]
        return pa.array(ticks, pa.int64()).view(kind)
    return array


def _text(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None
