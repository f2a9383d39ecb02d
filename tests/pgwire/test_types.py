from __future__ import annotations

import datetime as dt
import struct
from decimal import Decimal
from typing import Any

import psycopg
import pyarrow as pa
import pytest

from discreet.errors import InvalidParameter
from discreet.pgwire import types
from discreet.pgwire.types import KINDS, OTHERS, as_bytes, as_text, has_bytes, kind_of, named, parameter
from tests.servers import connect, postgres

VALUES = {
    types.BOOL: True, types.INT2: -3, types.INT4: 70_000, types.INT8: -(2**40), types.FLOAT4: 0.5, types.FLOAT8: -1e300,
    types.TEXT: "né", types.DATE: dt.date(1999, 12, 31), types.TIMESTAMP: dt.datetime(2001, 2, 3, 4, 5, 6, 7),
}  # fmt: skip


def test_types_have_the_numbers_and_formats_of_a_real_server() -> None:
    with connect(postgres()) as connection:
        for kind in (*KINDS, *OTHERS):
            known = connection.execute("SELECT typname, typlen, typarray, format_type(oid, NULL) FROM pg_type WHERE oid = %s",
                                       [kind.oid]).fetchone()  # fmt: skip
            assert known is not None
            assert known[0:2] == (kind.name, kind.size)
            assert known[3] == kind.sql
            assert not kind.array or known[2] == kind.array
        for kind, value in VALUES.items():
            for data, binary in ((as_text(value), False), (as_bytes(value, kind), True)):
                cursor = psycopg.RawCursor(connection)
                sent = _Sent(data, kind.oid, binary)
                row = cursor.execute(f"SELECT $1::{kind.sql}", [sent]).fetchone()
                assert row is not None
                assert row[0] == value


class _Sent:
    def __init__(self, data: bytes, oid: int, binary: bool) -> None:
        self.data, self.oid, self.binary = data, oid, binary


class _Dumper(psycopg.adapt.Dumper):
    oid = 0

    def dump(self, obj: Any) -> bytes:
        return bytes(obj.data)

    def get_key(self, obj: Any, format: Any) -> Any:  # noqa: A002
        return (obj.oid, obj.binary)

    def upgrade(self, obj: Any, format: Any) -> _Dumper:  # noqa: A002
        made = _Dumper(_Sent)
        made.oid, made.format = obj.oid, psycopg.pq.Format(int(obj.binary))
        return made


psycopg.adapters.register_dumper(_Sent, _Dumper)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, b"None"),
        (float("nan"), b"NaN"),
        (float("-inf"), b"-Infinity"),
        (False, b"f"),
        (["a", 'b"\\'], b'{"a","b\\"\\\\"}'),
    ],
)
def test_values_as_text(value: Any, shown: bytes) -> None:
    assert as_text(value) == shown


@pytest.mark.parametrize(
    ("kind", "value"), [(types.INT8, 2**63), (types.DATE, "x"), (types.TEXTS, ["a"]), (types.INT8, "x")]
)
def test_a_value_without_a_format_of_bytes_is_refused(kind: types.PostgresType, value: Any) -> None:
    assert has_bytes(kind) == (kind is not types.TEXTS)
    with pytest.raises(InvalidParameter):
        as_bytes(value, kind)


@pytest.mark.parametrize(
    ("data", "oid", "form", "value"),
    [(b"5", 23, 0, 5), (b"0.1", 1700, 0, Decimal("0.1")), (b"t", 16, 0, True), (b"2024-01-02", 1082, 0, dt.date(2024, 1, 2)),
     (struct.pack("!i", 1), 1082, 1, dt.date(2000, 1, 2)), (b"\1", 16, 1, True), (None, 23, 1, None), (b"x", 0, 1, "x"),
     (struct.pack("!q", 1), 1114, 1, dt.datetime(2000, 1, 1, 0, 0, 0, 1)), (b"2024-01-02 +00", 0, 0, dt.date(2024, 1, 2)),
     (b"2024-01-02 +05:30", 1082, 0, dt.date(2024, 1, 2)), (b"2024-01-02", 0, 0, "2024-01-02"),
     (b"2024-01-02 +00", 1043, 0, "2024-01-02 +00"), (b"2024-01-02 03:04:05.5-07", 0, 0, dt.datetime(2024, 1, 2, 3, 4, 5, 500_000)),
     (b"2024-01-02 03:04:05+02", 1114, 0, dt.datetime(2024, 1, 2, 3, 4, 5)),
     (b"2024-01-02 03:04:05+02", 1184, 0, dt.datetime(2024, 1, 2, 1, 4, 5)), (b"2024-01-02 03:04:05", 1184, 0, dt.datetime(2024, 1, 2, 3, 4, 5)),
     (b"2024-01-02+02:00", 1184, 0, dt.datetime(2024, 1, 1, 22)), (b"2024-01-02-05", 1184, 0, dt.datetime(2024, 1, 2, 5)),
     (struct.pack("!q", 1), 1184, 1, dt.datetime(2000, 1, 1, 0, 0, 0, 1))],
)  # fmt: skip
def test_parameters(data: bytes | None, oid: int, form: int, value: Any) -> None:
    assert parameter(data, oid, form) == value


@pytest.mark.parametrize(
    ("data", "oid", "form"),
    [
        (b"\xff", 25, 0),
        (b"x", 23, 0),
        (b"x", 23, 1),
        (b"xxxx", 1700, 1),
        (b"?", 16, 0),
        (b"\x7f" * 8, 1114, 1),
        (b"2024-02-30 +00", 0, 0),
        (struct.pack("!HhHH", 0, 0, 0xC000, 0), 1700, 1),
        (struct.pack("!HhHHH", 1, 78, 0, 0, 1), 1700, 1),
        (struct.pack("!HhHHH", 2, 0, 0, 0, 1), 1700, 1),
        (struct.pack("!HhHHH", 1, 0, 0, 0, 10_000), 1700, 1),
        (b"soon", 1184, 0),
    ],
)
def test_a_parameter_that_cannot_be_read_is_refused(data: bytes, oid: int, form: int) -> None:
    with pytest.raises(InvalidParameter):
        parameter(data, oid, form)


def test_columns_of_answers() -> None:
    for arrow, kind in ((pa.int8(), types.INT8), (pa.int64(), types.INT8), (pa.float64(), types.FLOAT8), (pa.string(), types.TEXT),
                        (pa.decimal128(5, 2), types.FLOAT8), (pa.list_(pa.string()), types.TEXTS),
                        (pa.list_(pa.int32()), types.INTS), (pa.timestamp("us"), types.TIMESTAMP), (pa.time64("us"), types.TEXT),
                        (pa.date32(), types.DATE), (pa.bool_(), types.BOOL), (pa.float32(), types.FLOAT4)):  # fmt: skip
        assert kind_of(arrow) is kind
        assert named(str(arrow)) in (kind, types.TEXT, types.INT8), arrow
    assert [named(word) for word in ("BIGINT", "DOUBLE", "decimal128(5, 2)")] == [
        types.INT8,
        types.FLOAT8,
        types.FLOAT8,
    ]


@pytest.mark.parametrize(
    "text", ["0", "-0.5", "1000.50", "123456789.000012345", "1e300", "-1e-300", "10000", "0.0001"]
)
def test_decimals_as_bytes_are_those_of_a_real_driver(text: str) -> None:
    """psycopg writes decimals as bytes in the format of PostgreSQL."""
    dumper = psycopg.adapters.get_dumper(Decimal, psycopg.adapt.PyFormat.BINARY)(Decimal)
    data = dumper.dump(Decimal(text))
    assert data is not None
    assert parameter(bytes(data), 1700, 1) == Decimal(text)
