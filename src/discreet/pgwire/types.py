"""Types of PostgreSQL: the number of each, and its values as text and as bytes."""

from __future__ import annotations

import datetime as dt
import math
import re
import struct
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, NamedTuple

from discreet.errors import InvalidParameter

if TYPE_CHECKING:
    import pyarrow as pa

_ZONED = re.compile(
    r"(?P<date>\d{4}-\d\d-\d\d)(?:[ T](?P<time>\d\d:\d\d:\d\d(?:\.\d{1,6})?))? ?[+-]\d\d(?::\d\d){0,2}",
    re.ASCII,
)
"""A day or a moment with a zone, as JDBC's setDate and setTimestamp write it, of no type that they name: PostgreSQL
reads it as a value without a zone by leaving the zone out, and so does this."""
_ZONED_OID, _NUMERIC_OID = 1184, 1700
_NEGATIVE, _WIDEST = 0x4000, 77
_DAY, _MOMENT = dt.date(2000, 1, 1), dt.datetime(2000, 1, 1)
"""PostgreSQL counts from here."""


class PostgresType(NamedTuple):
    """A type.

    Attributes:
        oid: its number.
        name: in the catalogue.
        size: bytes of a value; -1 where they differ.
        category: N number, S text, B boolean, D date, A array.
        array: the number of the type of its arrays.
        sql: as the standard calls it.
    """

    oid: int
    name: str
    size: int
    category: str
    array: int
    sql: str


BOOL = PostgresType(16, "bool", 1, "B", 1000, "boolean")
INT2 = PostgresType(21, "int2", 2, "N", 1005, "smallint")
INT4 = PostgresType(23, "int4", 4, "N", 1007, "integer")
INT8 = PostgresType(20, "int8", 8, "N", 1016, "bigint")
FLOAT4 = PostgresType(700, "float4", 4, "N", 1021, "real")
FLOAT8 = PostgresType(701, "float8", 8, "N", 1022, "double precision")
TEXT = PostgresType(25, "text", -1, "S", 1009, "text")
DATE = PostgresType(1082, "date", 4, "D", 1182, "date")
TIMESTAMP = PostgresType(1114, "timestamp", 8, "D", 1115, "timestamp without time zone")
TEXTS = PostgresType(1009, "_text", -1, "A", 0, "text[]")
INTS = PostgresType(1016, "_int8", -1, "A", 0, "bigint[]")
KINDS = (BOOL, INT2, INT4, INT8, FLOAT4, FLOAT8, TEXT, DATE, TIMESTAMP, TEXTS, INTS)
OTHERS = (
    PostgresType(1043, "varchar", -1, "S", 1015, "character varying"),
    PostgresType(1042, "bpchar", -1, "S", 1014, "character"),
    PostgresType(1700, "numeric", -1, "N", 1231, "numeric"), PostgresType(26, "oid", 4, "N", 1028, "oid"),
    PostgresType(19, "name", 64, "S", 1003, "name"), PostgresType(18, "char", 1, "S", 1002, '"char"'),
    PostgresType(1184, "timestamptz", 8, "D", 1185, "timestamp with time zone"),
    PostgresType(705, "unknown", -2, "X", 0, "unknown"),
)  # fmt: skip
"""Types that no answer has; parameters may."""
WORDS = {"BIGINT": INT8, "DOUBLE": FLOAT8, "VARCHAR": TEXT, "BOOLEAN": BOOL, "DATE": DATE, "TIMESTAMP": TIMESTAMP,
         "int32": INT4, "int16": INT2, "float": FLOAT4}  # fmt: skip
"""The types that DESCRIBE names; every other one is shown as a text, and decimals as doubles."""


def kind_of(kind: pa.DataType) -> PostgresType:
    """The type for a column of an answer."""
    import pyarrow as pa

    is_ = pa.types
    if is_.is_list(kind) or is_.is_large_list(kind):
        return INTS if is_.is_integer(kind.value_type) else TEXTS
    for test, found in (
        (is_.is_boolean, BOOL), (is_.is_int64, INT8), (is_.is_int32, INT4), (is_.is_int16, INT2), (is_.is_date32, DATE),
        (is_.is_float64, FLOAT8), (is_.is_float32, FLOAT4), (is_.is_decimal, FLOAT8), (is_.is_timestamp, TIMESTAMP),
        (is_.is_integer, INT8),
    ):  # fmt: skip
        if test(kind):
            return found
    return TEXT


def named(word: str) -> PostgresType:
    """The type that DESCRIBE names."""
    if word in WORDS:
        return WORDS[word]
    return FLOAT8 if word.startswith("decimal") else INT8 if word.startswith(("int", "uint")) else TEXT


def as_text(value: Any) -> bytes:
    r"""A value as text.

    Example:
        >>> as_text(True), as_text(-0.5), as_text(float("inf")), as_text([1, None, 'a"b'])
        (b't', b'-0.5', b'Infinity', b'{1,NULL,"a\\"b"}')
    """
    return _words(value).encode(errors="replace")


def _words(value: Any) -> str:
    if isinstance(value, bool):
        return "t" if value else "f"
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=None).isoformat(" ")
    if isinstance(value, list):
        return "{" + ",".join("NULL" if item is None else _item(item) for item in value) + "}"
    return str(value)


def _item(value: Any) -> str:
    if not isinstance(value, str):
        return _words(value)
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


_PACKED: dict[PostgresType, Callable[[Any], bytes]] = {
    BOOL: lambda value: struct.pack("!?", value),
    INT2: lambda value: struct.pack("!h", value),
    INT4: lambda value: struct.pack("!i", value),
    INT8: lambda value: struct.pack("!q", value),
    FLOAT4: lambda value: struct.pack("!f", value),
    FLOAT8: lambda value: struct.pack("!d", float(value)),
    DATE: lambda value: struct.pack("!i", (value - _DAY).days),
    TIMESTAMP: lambda value: struct.pack("!q", (value.replace(tzinfo=None) - _MOMENT) // dt.timedelta(microseconds=1)),
    TEXT: as_text,
}  # fmt: skip


def as_bytes(value: Any, kind: PostgresType) -> bytes:
    """A value in the format of bytes.

    Raises:
        InvalidParameter: the type has none here, or the value does not fit.
    """
    try:
        return _PACKED[kind](value)
    except (KeyError, struct.error, OverflowError, TypeError, AttributeError):
        pass
    raise unknown_format()


def has_bytes(kind: PostgresType) -> bool:
    """Whether a type has a format of bytes here."""
    return kind in _PACKED


def unknown_format() -> InvalidParameter:
    """The error for a value in a format that is not known here."""
    return InvalidParameter(
        "A value has a type or a format that is not known here.", "Use the format of text."
    )


def parameter(data: bytes | None, oid: int, form: int) -> Any:
    """The value of a parameter.

    Args:
        data: the bytes that were sent; None for NULL.
        oid: the number of its type; 0 where the client does not say.
        form: 0 for text, 1 for bytes.

    Raises:
        InvalidParameter: it cannot be read as this type.

    Example:
        >>> parameter(b"3", 23, 0), parameter(b"x", 0, 0), parameter(struct.pack("!q", 5), 20, 1)
        (3, 'x', 5)
    """
    if data is None:
        return None
    try:
        return _unpacked(data, oid) if form else _read(data.decode(), oid)
    except (UnicodeDecodeError, struct.error, ValueError, KeyError, InvalidOperation, OverflowError):
        pass
    raise unknown_format()


_SIZES = {16: "!?", 21: "!h", 23: "!i", 20: "!q", 26: "!I", 700: "!f", 701: "!d"}


def _unpacked(data: bytes, oid: int) -> Any:
    if oid in _SIZES:
        return struct.unpack(_SIZES[oid], data)[0]
    if oid in (0, 25, 1043, 1042, 19, 705):
        return data.decode()
    if oid == DATE.oid:
        return _DAY + dt.timedelta(days=struct.unpack("!i", data)[0])
    if oid in (TIMESTAMP.oid, _ZONED_OID):
        return _MOMENT + dt.timedelta(microseconds=struct.unpack("!q", data)[0])
    if oid == _NUMERIC_OID:
        return _numeric(data)
    raise ValueError


def _numeric(data: bytes) -> Decimal:
    """A decimal as bytes: how many digits to base 10,000, the power of the first, sign, and places behind the point.

    Raises:
        ValueError: it is no number, or beyond the range of doubles.
        struct.error: there are more or fewer bytes.
    """
    many, weight, sign, _ = struct.unpack_from("!HhHH", data)
    digits = struct.unpack(f"!{many}H", data[8:])
    if sign not in (0, _NEGATIVE) or abs(weight) > _WIDEST or any(digit > 9999 for digit in digits):
        raise ValueError
    whole = "".join(f"{digit:04d}" for digit in digits) or "0"
    return Decimal(f"{'-' if sign else ''}{whole}E{4 * (weight - many + 1)}")


def _read(words: str, oid: int) -> Any:
    if oid in (20, 21, 23, 26):
        return int(words)
    if oid in (700, 701, 1700):
        return Decimal(words)
    if oid == BOOL.oid:
        return {"t": True, "f": False, "true": True, "false": False, "1": True, "0": False}[words.lower()]
    if oid == _ZONED_OID:
        if words[10:11] in ("+", "-"):  # else the zone would be read as the time
            words = f"{words[:10]} 00:00{words[10:]}"
        moment = dt.datetime.fromisoformat(words)
        return moment if moment.tzinfo is None else moment.astimezone(dt.UTC).replace(tzinfo=None)
    zoned = _ZONED.fullmatch(words) if oid in (0, DATE.oid, TIMESTAMP.oid) else None
    if oid == DATE.oid or (zoned is not None and zoned["time"] is None):
        return dt.date.fromisoformat(words if zoned is None else zoned["date"])
    if oid == TIMESTAMP.oid or zoned is not None:
        return dt.datetime.fromisoformat(words if zoned is None else f"{zoned['date']} {zoned['time']}")
    return words
