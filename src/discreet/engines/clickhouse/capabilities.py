"""The capabilities of ClickHouse."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from discreet.engines.capabilities import (
    BESIDE,
    NESTED,
    Capabilities,
    Physical,
    Spelling,
    listed,
    opaque,
    signed,
    unsigned,
)
from discreet.engines.schema import Type
from discreet.quoting import quote_for_clickhouse

_INTEGER, _DOUBLE = "CAST({0} AS Int64)", "CAST({0} AS Float64)"
# A String may hold any bytes. Bytes that are no text have no meaning as one.
_CUT = "toStringCutToZero({0})"
_EXACT = "UInt64 Int128 UInt128 Int256 UInt256 Decimal"
_TEXT = "CASE WHEN isValidUTF8({0}) THEN CAST({0} AS String) END"
# Whole seconds of 64 bits may have more microseconds than 64 bits hold; toUnixTimestamp64Micro would fail over them.
_MICROSECONDS = "accurateCastOrNull(toInt128(CAST({0} AS Decimal(38, 6)) * 1000000), 'Int64')"

TYPES: Mapping[str, Physical] = MappingProxyType({
    **signed(_INTEGER, Int8=8, Int16=16, Int32=32, Int64=64), **unsigned(_INTEGER, UInt8=8, UInt16=16, UInt32=32),
    **listed(Type.FLOAT, "Float32 Float64", _DOUBLE),
    **listed(Type.FLOAT, _EXACT, _DOUBLE, stored=True),
    **listed(Type.BOOLEAN, "Bool"), **listed(Type.TEXT, "String", _TEXT),
    # Filled with NUL up to its length, which is no part of a text.
    **listed(Type.TEXT, "FixedString", f"CASE WHEN isValidUTF8({_CUT}) THEN {_CUT} END", stored=True),
    **listed(Type.TEXT, "Enum8 Enum16", "CAST({0} AS String)"),
    **listed(Type.TEXT, "UUID", "CAST({0} AS String)", stored=True),
    **listed(Type.DATE, "Date Date32", "CAST({0} AS Int32)"),
    **listed(Type.TIMESTAMP, "DateTime", "CAST(toUnixTimestamp({0}) AS Int64) * 1000000"),
    **listed(Type.TIMESTAMP, "DateTime64", _MICROSECONDS, stored=True),
    **opaque(
        Array="{0}[1]", Map="{0}['key']", Tuple="{0}.1", JSON="CAST({0}.field AS Nullable(String))",
        IPv4="toString({0})", IPv6="toString({0})", Interval="", Time="toString({0})", Time64="toString({0})",
        Variant="", Dynamic="", AggregateFunction="", SimpleAggregateFunction="", BFloat16="CAST({0} AS Float64)",
        Nested="", Point="{0}.1",
    ),
})  # fmt: skip
"""By the name of the type without its parameters, and without Nullable and LowCardinality around it."""

CAPABILITIES = Capabilities(
    dialect="clickhouse",
    types=TYPES,
    # Its time zones end before the year 9999, and of two moments that a clock shows it takes another one.
    lacks=NESTED | BESIDE | {"in_zone"},
    exact=frozenset(_EXACT.split()),
    spelling=Spelling(quote_for_clickhouse, "CAST({0} AS Nullable(String))"),
)
