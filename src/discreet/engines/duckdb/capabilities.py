"""The capabilities of DuckDB."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from discreet.engines.capabilities import Capabilities, Physical, listed, opaque, signed, unsigned
from discreet.engines.schema import Type

# Under NOCASE one row would match two keys, and count twice.
_TEXT = 'COLLATE "binary"'
# TRY_CAST, for a time in seconds may lie beyond the range of microseconds.
_DOUBLE, _MOMENT = "TRY_CAST({0} AS DOUBLE)", "TRY_CAST({0} AS TIMESTAMP)"
# A cast rounds nanoseconds, the last one of a day to the next day; clocks and periods count whole microseconds.
_NANOSECONDS = (
    "(TRY_CAST({0} AS TIMESTAMP) - to_microseconds("
    "CASE WHEN TRY_CAST(TRY_CAST({0} AS TIMESTAMP) AS TIMESTAMP_NS) <= {0} THEN 0 ELSE 1 END))"
)

TYPES: Mapping[str, Physical] = MappingProxyType({
    **signed(tinyint=8, smallint=16, integer=32, bigint=64), **unsigned(utinyint=8, usmallint=16, uinteger=32),
    **listed(Type.FLOAT, "double"), **listed(Type.FLOAT, "float", _DOUBLE),
    **listed(Type.FLOAT, "decimal hugeint uhugeint ubigint", _DOUBLE, stored=True),
    **listed(Type.BOOLEAN, "boolean"), **listed(Type.DATE, "date"), **listed(Type.TEXT, "varchar", f"{{0}} {_TEXT}"),
    **listed(Type.TEXT, "enum json", f"TRY_CAST({{0}} AS VARCHAR) {_TEXT}"),
    **listed(Type.TEXT, "uuid", f"TRY_CAST({{0}} AS VARCHAR) {_TEXT}", stored=True),
    **listed(Type.TIMESTAMP, "timestamp"),
    **listed(Type.TIMESTAMP, "timestamp_s timestamp_ms", _MOMENT, stored=True),
    **listed(Type.TIMESTAMP, "timestamp_ns", _NANOSECONDS, stored=True),
    "timestamp with time zone": Physical(Type.TIMESTAMP, read=_MOMENT, stored=True),
    # DuckDB has no way from it to microseconds but this.
    **listed(Type.TIMESTAMP, "timestamptz_ns", _NANOSECONDS.format("TRY_CAST({0} AS TIMESTAMP_NS)")),
    **opaque(
        blob="hex({0})", bit="CAST({0} AS VARCHAR)", time="extract(hour FROM {0})",
        interval="epoch({0})", list="len({0})", array="{0}[1]", struct="{0}.field", map="{0}['key']",
        union="union_tag({0})::VARCHAR",
    ),
    "time with time zone": Physical(Type.OTHER, "extract(hour FROM {0})"),
})  # fmt: skip
"""By the id that DuckDB gives a type; JSON, which is stored as text, as json."""

CAPABILITIES = Capabilities(
    dialect="duckdb",
    types=TYPES,
    by_code_point=frozenset({"", "binary", "c", "posix"}),
    exact=frozenset({"decimal", "hugeint", "uhugeint", "ubigint"}),
)
