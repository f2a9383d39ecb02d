"""Frames of pandas with types that no value decides.

pandas chooses the type of a column by its values: one missing number makes fractions of whole numbers, one text or one
odd object makes a column of type object. So, as in a CSV file, the policy decides: a declared column is read in its
type, any other as a text, and a value that is not of the type is NULL by itself. A column whose type somebody gave it,
as by astype("Int64") or with a type of Arrow, keeps it.

Every value has one text, whichever column it stands in, and columns are read from these texts. So durations, times,
periods, intervals, lists and the like are texts that can be counted. An object of a class that is not known here is
NULL: its own text need not tell it from others, nor be the same for equals. Where a column holds one kind of
value a shorter way leads to the same; a test compares the two.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import uuid
from collections.abc import Mapping
from decimal import Decimal
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.engines.duckdb.sources.csv import cast
from discreet.engines.schema import Type
from discreet.quoting import quote

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

_NUMBERS = (Type.INTEGER, Type.FLOAT)
_TINY = 10**18
"""Parts of a second in which durations are added up: the smallest unit of NumPy."""
_PARTS = {
    **{
        unit: seconds * _TINY
        for unit, seconds in {"W": 604_800, "D": 86_400, "h": 3_600, "m": 60, "s": 1}.items()
    },
    **{unit: _TINY // 1000**power for power, unit in enumerate(("ms", "us", "ns", "ps", "fs", "as"), 1)},
}


def to_table(
    connection: duckdb.DuckDBPyConnection, frame: Any, types: Mapping[str, Type]
) -> tuple[pa.Table, frozenset[str]]:
    """A frame as an Arrow table.

    Args:
        connection: reads texts in their types.
        frame: of pandas, whose columns have different names.
        types: the types of columns by name, in any case; the others are texts, unless pandas was told a type.

    Returns:
        The table, and the names of the columns whose types are the policy's.
    """
    import pyarrow as pa

    declared = {name.lower(): kind for name, kind in types.items()}
    done: dict[str, pa.ChunkedArray | pa.Array] = {}
    texts: dict[str, pa.Array] = {}
    for index, label in enumerate(frame.columns):
        name, series = str(label), _plain(frame.iloc[:, index])
        kind = declared.get(name.lower(), Type.TEXT)
        if _was_told(series.dtype):
            done[name] = pa.Table.from_pandas(frame.iloc[:, [index]], preserve_index=False).column(0)
            continue
        found = _short_way(series, kind)
        if found is None:
            texts[name] = found = pa.array([text(value, kind) for value in series], pa.string())
        done[name] = found
    read = [name for name in texts if declared.get(name.lower(), Type.TEXT) is not Type.TEXT]
    if read:
        done.update(_read(connection, {name: texts[name] for name in read}, declared))
    names = [str(label) for label in frame.columns]
    own = frozenset(str(label) for label in frame.columns if not _was_told(_plain(frame[label]).dtype))
    return pa.table([done[name] for name in names], names=names), own


def text(value: object, kind: Type = Type.TEXT) -> str | None:
    """The text of one value of a column that is read as some type; None for no value, and for one without a text.

    Example:
        >>> text(7), text(7.0), text(Decimal("7.00")), text(float("nan")), text([7])
        ('7', '7', '7', None, '["7"]')
        >>> text(dt.timedelta(days=1)), text(dt.timedelta(days=1), Type.FLOAT)
        ('1 days 00:00:00', None)
    """
    try:
        return _text(value, kind)
    except Exception:  # of an object that raises when it is looked at: no value makes a frame fail
        return None


def _text(value: object, kind: Type) -> str | None:
    if isinstance(value, str):
        return value if value.isascii() or _sound(value) else None
    if isinstance(value, np.timedelta64):  # which NumPy counts among its integers
        return _odd(value) if kind is Type.TEXT else None
    if isinstance(value, bool | np.bool_):
        return str(int(value)) if kind in _NUMBERS else str(bool(value)).lower()
    if isinstance(value, Integral):
        return str(int(value)) if abs(int(value)) < 1 << 1024 else None  # beyond that Python writes no text
    if isinstance(value, Decimal):
        return _of_decimal(value)
    if isinstance(value, Real):
        return _of_float(value)
    # One complex number makes all numbers of its column complex.
    if isinstance(value, complex | np.complexfloating) and value.imag == 0:
        return _of_float(value.real)
    if isinstance(value, dt.datetime):
        return _of_moment(value, kind)
    if isinstance(value, dt.date):
        return value.isoformat() if kind is not Type.TIMESTAMP else f"{value.isoformat()} 00:00:00"
    if isinstance(value, bytes) and (kind is not Type.TEXT or _sound_bytes(value)):
        return value.decode()
    return _odd(value) if kind is Type.TEXT else None


def _odd(value: Any) -> str | None:
    """The text of a value that is no number, text, truth value or date; None where its class is not known.

    Equals have one text, and others have others: the values of a column may tell units apart.
    """
    import pandas as pd

    if value is pd.NaT or value is pd.NA:
        return None
    if isinstance(value, dt.timedelta | np.timedelta64):
        return _of_duration(value)
    if isinstance(value, dt.time):
        return value.isoformat()
    if isinstance(value, uuid.UUID | pd.Period):
        return str(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return f"\\x{bytes(value).hex()}"
    if isinstance(value, complex | np.complexfloating):
        parts = _of_float(value.real), _of_float(value.imag)
        return (
            None if None in parts else f"{parts[0]}{'' if str(parts[1]).startswith('-') else '+'}{parts[1]}j"
        )
    if isinstance(value, pd.Interval):
        left, right = "[" if value.closed_left else "(", "]" if value.closed_right else ")"
        return f"{left}{text(value.left)}, {text(value.right)}{right}"
    if isinstance(value, list | tuple | set | frozenset | dict | np.ndarray):
        return json.dumps(_within(value), sort_keys=True)
    return None


def _within(value: Any) -> object:
    """A list, set or mapping with its items as texts."""
    if isinstance(value, dict):
        return {str(text(key)): _within(item) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(str(text(item)) for item in value)
    if isinstance(value, list | tuple | np.ndarray):
        return [_within(item) for item in value]
    return text(value)


def _of_duration(value: Any) -> str | None:
    """Days and time of day, to the last digit; years and months of NumPy are months, which have no length."""
    if isinstance(value, np.timedelta64):
        if np.isnat(value):
            return None
        unit, step = np.datetime_data(value.dtype)
        count = int(value.astype(np.int64)) * step
        if unit in ("Y", "M", "generic"):
            return f"{count * 12 if unit == 'Y' else count}{'' if unit == 'generic' else ' months'}"
        whole = count * _PARTS[unit]
    else:
        whole = (value.days * 86_400 + value.seconds) * _TINY + value.microseconds * _PARTS["us"]
        # Those of pandas are finer than Python's own.
        whole += int(getattr(value, "nanoseconds", 0)) * _PARTS["ns"]
    days, rest = divmod(whole, _PARTS["D"])
    seconds, tiny = divmod(rest, _TINY)
    digits = f".{tiny:018}".rstrip("0") if tiny else ""
    return f"{days} days {seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}{digits}"


def _sound_bytes(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def _sound(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _of_float(value: Any) -> str | None:
    number = float(value)
    if math.isnan(number):
        return None
    if number.is_integer() or math.isinf(number):
        return str(int(number)) if number.is_integer() else repr(number)
    return format(Decimal(repr(number)), "f")  # 1e-07 could be read as a whole number


def _of_decimal(value: Decimal) -> str | None:
    if value.is_nan():
        return None
    if value.is_infinite():
        return "inf" if value > 0 else "-inf"
    if abs(value.adjusted()) > 400:
        return None if value.adjusted() > 0 else "0"
    return str(int(value)) if value == value.to_integral_value() else format(value.normalize(), "f")


def _of_moment(value: dt.datetime, kind: Type) -> str | None:
    if value != value:  # a moment that is missing
        return None
    own = value.astimezone(dt.UTC).replace(tzinfo=None) if value.tzinfo is not None else value
    if value.tzinfo is not None and not dt.MINYEAR <= own.year <= dt.MAXYEAR:
        return None  # pandas can tell when that was, and Python, whose moments stand in an odd column, cannot
    return own.date().isoformat() if kind is Type.DATE else own.isoformat(sep=" ", timespec="microseconds")


def _plain(series: Any) -> Any:
    """A column of categories as the values that they stand for."""
    import pandas as pd

    if isinstance(series.dtype, pd.CategoricalDtype):
        return pd.Series(np.asarray(series, dtype=object), dtype=object)
    return series


def _was_told(dtype: Any) -> bool:
    """Whether somebody gave a column its type; pandas itself chooses types of NumPy and its own str."""
    import pandas as pd

    if isinstance(
        dtype, np.dtype | pd.CategoricalDtype | pd.DatetimeTZDtype | pd.PeriodDtype | pd.IntervalDtype
    ):
        return False
    return not (isinstance(dtype, pd.StringDtype) and dtype.na_value is not pd.NA) and not isinstance(
        dtype, pd.SparseDtype
    )


def _short_way(series: Any, kind: Type) -> pa.Array | None:
    """A column of one kind of value, read without the text of each; None where there is no such way."""
    import pyarrow as pa
    import pyarrow.compute as pc

    form = getattr(series.dtype, "kind", "O")
    if not isinstance(series.dtype, np.dtype) or form not in "iufbM":
        return None
    values = np.asarray(series)
    if form == "M":
        return _moments(values, kind)
    if form == "f":
        values = values.astype(np.float64)
        if kind is Type.FLOAT:
            return pa.array(values, mask=np.isnan(values))
        whole = (
            np.isfinite(values) & (values == np.trunc(values)) & (values >= -(2.0**63)) & (values < 2.0**63)
        )
        if kind is Type.INTEGER:
            return pa.array(np.where(whole, values, 0).astype(np.int64), mask=~whole)
        if kind is Type.TEXT and (whole | np.isnan(values)).all():
            return pa.array(np.where(whole, values, 0).astype(np.int64), mask=~whole).cast(pa.string())
        return None
    if form == "b":
        if kind in _NUMBERS:
            return pa.array(values.astype(np.int64 if kind is Type.INTEGER else np.float64))
        if kind is Type.BOOLEAN:
            return pa.array(values)
        return pa.array(values).cast(pa.string()) if kind is Type.TEXT else None
    if kind is Type.FLOAT:
        return pa.array(values.astype(np.float64))
    if kind is Type.TEXT:
        return pc.cast(pa.array(values), pa.string())
    if kind is Type.INTEGER:
        far = values > np.uint64(2**63 - 1) if form == "u" else np.zeros(len(values), bool)
        return pa.array(np.where(far, 0, values).astype(np.int64), mask=far)
    return None


def _moments(values: Any, kind: Type) -> pa.Array | None:
    """Time stamps without a zone; the shorter way is for the moments that pandas itself makes."""
    import pyarrow as pa

    if kind is not Type.TIMESTAMP or np.datetime_data(values.dtype)[0] not in ("us", "ns"):
        return None
    missing = np.isnat(values)
    raw = values.astype("datetime64[us]")  # down, as a text of microseconds does
    years = raw.astype("datetime64[Y]").astype(np.int64) + 1970
    if not (missing | ((years >= 1) & (years <= 9999))).all():
        return None
    return pa.array(np.where(missing, 0, raw.astype(np.int64)), pa.int64(), mask=missing).view(
        pa.timestamp("us")
    )


def _read(
    connection: duckdb.DuckDBPyConnection, texts: Mapping[str, pa.Array], declared: Mapping[str, Type]
) -> dict[str, pa.ChunkedArray]:
    """Texts in their declared types, as a CSV file is read."""
    import pyarrow as pa

    name, rows = "__discreet_texts", len(next(iter(texts.values())))
    table = pa.table({**texts, "__at": pa.array(np.arange(rows))})
    casts = ", ".join(
        f"{cast(quote(column), declared[column.lower()])} AS {quote(column)}" for column in texts
    )
    connection.register(name, table)
    try:
        found = connection.sql(f"SELECT __at, {casts} FROM {name}").to_arrow_table().sort_by("__at")
    finally:
        connection.unregister(name)
    return {column: found.column(column) for column in texts}
