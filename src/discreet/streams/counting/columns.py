"""The meanings of `values` for whole Arrow columns: the same for every value, which a test holds.

Values that numpy does not read with certainty are read by `values`, each distinct one once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from discreet import arrow
from discreet.errors import StreamError
from discreet.streams.counting import values
from discreet.streams.counting.iso import iso_times, micro_of
from discreet.streams.periods import EVERY, NO_TIME, time_of

if TYPE_CHECKING:
    from discreet.streams.measure import Measure
    from discreet.streams.periods import Periods

    Integers = npt.NDArray[np.int64]
    Mask = npt.NDArray[np.bool_]

_FIRST, _LAST = -62_135_596_800, 253_402_300_799
"""The seconds of the years 1 to 9999."""
_EXACT = 1 << 53
_FAR = float(1 << 40)
_UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def see_types(schema: pa.Schema, time: str, others: list[str]) -> None:
    """See that columns have types that are read.

    Raises:
        StreamError: a column is missing, or has another type.
    """
    for name in (time, *others):
        if schema.get_field_index(name) < 0:
            raise StreamError(
                f"The batches have no column {name}, or two.",
                NO_TIME if name == time else "Name the columns as the policy does.",
            )
        kind = schema.field(name).type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        if not (_is_text(kind) or _is_number(kind) or kind in (pa.null(), pa.bool_())) and not (
            name == time and pa.types.is_temporal(kind)
        ):
            raise StreamError(f"The column {name} has the type {kind}.", "Give texts or numbers.")


def periods_of(column: pa.Array, periods: Periods) -> Integers:
    """The period of each time; 0 outside of all, and for a value that is no time."""
    micro, known = _times(_plain(column))
    when = micro[known]
    if periods.every == "month":
        months = when.astype("M8[us]").astype("M8[M]").astype(np.int64)
        index = months - (12 * (periods.start.year - 1970) + periods.start.month - 1)
    else:
        index = (when - micro_of(periods.start)) // (EVERY[periods.every] * 10**6)
    out = np.zeros(len(micro), np.int64)
    out[known] = np.where((index >= 0) & (index < periods.count), index + 1, 0)
    return out


def groups_of(column: pa.Array, keys: Mapping[str, int]) -> Integers:
    """The place of each key; -1 for another one."""
    return _by_value(_plain(column), lambda value: keys.get(values.text_of(value), -1))


def units_of(column: pa.Array) -> tuple[Integers, pa.StringArray]:
    """The place of each unit in a list of texts, -1 for none; and this list, in which one may stand more than once."""
    array = _plain(column)
    if pa.types.is_string(array.type):
        places = np.arange(len(array))
        if len(array):
            _, offsets, _ = array.buffers()
            ends = np.frombuffer(offsets, np.int32)[array.offset : array.offset + len(array) + 1]
            places[ends[1:] == ends[:-1]] = -1
        if array.null_count:
            places[~arrow.known(array)] = -1
        return places, array
    encoded = array.dictionary_encode()
    spelled = [values.text_of(value) for value in encoded.dictionary.to_pylist()]
    places = np.array([*(place if text else -1 for place, text in enumerate(spelled)), -1])
    return places[_indices(encoded)], arrow.listed(spelled, pa.string())


def steps_of(column: pa.Array, measure: Measure) -> tuple[Integers, Mask]:
    """The steps of each value, and which ones are numbers."""
    array = _plain(column)
    numbers = _numbers(array)
    grid = float(measure.grid) if abs(measure.grid.numerator.bit_length()) < 900 else 0.0
    if numbers is None or not 1e-270 < grid < 1e270:
        none = np.iinfo(np.int64).min

        def steps(value: object) -> int:
            found = values.steps_of(measure, value)
            return none if found is None else found

        made = _by_value(array, steps)
        return np.where(made == none, 0, made), made != none
    known = ~np.isnan(numbers)
    with np.errstate(over="ignore"):
        size = np.clip(np.where(known, numbers, 0.0) / grid, -_FAR, _FAR)
    floor = np.floor(size)
    # size - floor is at least a half exactly where the size is: adding a half to it would be rounded.
    made = (floor + (size - floor >= 0.5)).astype(np.int64)
    return np.clip(made, *measure.ends), known


def _plain(column: pa.Array) -> pa.Array:
    """Texts, numbers or times of few types, without a dictionary."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    kind = array.type
    if pa.types.is_decimal(kind) or (_is_text(kind) and kind != pa.string()):
        return array.cast(pa.string())
    if pa.types.is_float16(kind) or pa.types.is_float32(kind):
        return array.cast(pa.float64())
    return array


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _by_value(array: pa.Array, meaning: Callable[[object], int]) -> Integers:
    """A meaning of each value, found once for each distinct one, and for a missing one."""
    encoded = array.dictionary_encode()
    made = np.array([meaning(value) for value in [*encoded.dictionary.to_pylist(), None]], np.int64)
    return made[_indices(encoded)]


def _indices(encoded: Any) -> Integers:
    """The places in the dictionary; the one behind its end for a missing value."""
    indices = encoded.indices
    places = np.frombuffer(indices.buffers()[1], np.int32)[indices.offset : indices.offset + len(indices)]
    there = np.where(arrow.known(indices), places, len(encoded.dictionary)) if indices.null_count else places
    return there.astype(np.int64)


def _filled(array: pa.Array, kind: npt.DTypeLike) -> tuple[npt.NDArray[Any], Mask]:
    known = np.ones(len(array), bool)
    if array.null_count:
        known = arrow.known(array)
        array = array.fill_null(0)
    return array.to_numpy(zero_copy_only=False).astype(kind, copy=False), known


def _times(array: pa.Array) -> tuple[Integers, Mask]:
    """Microseconds since 1970, and which values are times."""
    kind = array.type
    if kind == pa.string():
        micro, known = iso_times(array)
        left = np.flatnonzero(~known)
        if left.size:
            micro[left], known[left] = _times_by_value(array.take(arrow.column(left)))
        return micro, known
    if pa.types.is_date(kind):
        array, kind = array.cast(pa.timestamp("s")), pa.timestamp("s")
    if pa.types.is_timestamp(kind):
        ticks, known = _filled(array.view(pa.int64()), np.int64)
        second = _UNITS[kind.unit]
        whole, part = np.divmod(ticks, second)
    elif pa.types.is_integer(kind) and kind != pa.uint64():
        whole, known = _filled(array, np.int64)
        second, part = 1, np.zeros(1, np.int64)
    else:
        return _times_by_value(array)
    known = known & (whole >= _FIRST) & (whole <= _LAST)
    return np.where(known, whole, 0) * 10**6 + part * 10**6 // second, known


def _times_by_value(array: pa.Array) -> tuple[Integers, Mask]:
    none = np.iinfo(np.int64).min

    def micro(value: object) -> int:
        when = time_of(value)
        return none if when is None else micro_of(when)

    made = _by_value(array, micro)
    return np.where(made == none, 0, made), made != none


def _numbers(array: pa.Array) -> npt.NDArray[np.float64] | None:
    """The values as doubles, NaN for none; None where doubles would not do."""
    kind = array.type
    if pa.types.is_integer(kind):
        ends = pc.min_max(array).as_py()
        if ends["min"] is not None and max(abs(ends["min"]), abs(ends["max"])) >= _EXACT:
            return None
    elif kind == pa.string():
        try:
            array = array.cast(pa.float64())
        except pa.ArrowInvalid:
            return None
    elif not pa.types.is_floating(kind):
        return None
    return arrow.numbers(array.cast(pa.float64()))
