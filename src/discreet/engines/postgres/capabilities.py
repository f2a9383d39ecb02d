"""The capabilities of PostgreSQL."""

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
)
from discreet.engines.schema import Type

_LARGEST = "1.7976931348623158e308"
_LEAST = "2.4703282292062328e-324"
# A numeric can hold numbers that a double cannot.
_NUMERIC = (
    f"CASE WHEN {{0}} = 'NaN' THEN NULL WHEN {{0}} > {_LARGEST} THEN CAST('Infinity' AS float8) "
    f"WHEN {{0}} < -{_LARGEST} THEN CAST('-Infinity' AS float8) WHEN abs({{0}}) < {_LEAST} "
    "THEN CAST(0 AS float8) ELSE CAST({0} AS float8) END"
)
# Under another collation two texts may be equal, and one row would match two keys and count twice.
_TEXT = 'CAST({0} AS text) COLLATE "C"'

TYPES: Mapping[str, Physical] = MappingProxyType({
    **signed(int2=16, int4=32, int8=64),
    **listed(Type.FLOAT, "float4 float8", "CAST({0} AS float8)"),
    **listed(Type.FLOAT, "numeric", _NUMERIC), **listed(Type.BOOLEAN, "bool"), **listed(Type.DATE, "date"),
    **listed(Type.TEXT, "text varchar bpchar name citext enum", _TEXT), **listed(Type.TEXT, "uuid", _TEXT, stored=True),
    **listed(Type.TIMESTAMP, "timestamp"),
    **listed(Type.TIMESTAMP, "timestamptz", "({0} AT TIME ZONE 'UTC')", stored=True),
    **opaque(
        money="CAST({0} AS numeric)", bit="CAST({0} AS text)", varbit="CAST({0} AS text)", bytea="encode({0}, 'hex')",
        tsvector="length({0})", xml="CAST({0} AS text)", json="{0} ->> 'field'", jsonb="{0} ->> 'field'",
        point="{0}[0]", time="extract(hour FROM {0})", timetz="extract(hour FROM {0})",
        interval="extract(epoch FROM {0})", inet="host({0})", cidr="CAST({0} AS text)", macaddr="CAST({0} AS text)",
        oid="CAST({0} AS bigint)", array="{0}[1]", composite="({0}).field", range="lower({0})",
    ),
})  # fmt: skip
"""By typname, that of the type below a domain; all enums as enum, all arrays as array, all composites as composite."""

CAPABILITIES = Capabilities(
    dialect="postgres", types=TYPES, spelling=Spelling(text='CAST({0} AS TEXT) COLLATE "C"'),
    # Of several ways to fit it takes the longest, and other engines the first.
    lacks=NESTED | BESIDE | {"regexp_extract", "regexp_replace", "regexp_replace_all"},
)  # fmt: skip
