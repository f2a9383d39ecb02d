"""The capabilities of Spark."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from discreet.engines.capabilities import (
    MANY_WAYS,
    NESTED,
    Capabilities,
    Physical,
    Spelling,
    listed,
    opaque,
    signed,
)
from discreet.engines.schema import Type
from discreet.quoting import quote_for_spark

# A STRING may hold any bytes. Bytes that are no text have no meaning as one: a group of them could not be shown.
# Under another collation two texts may be equal, and one row would match two keys and count twice.
_TEXT = "CASE WHEN is_valid_utf8({0}) THEN CAST({0} AS STRING) COLLATE UTF8_BINARY END"

TYPES: Mapping[str, Physical] = MappingProxyType({
    **signed("CAST({0} AS BIGINT)", tinyint=8, smallint=16, int=32, bigint=64),
    **listed(Type.FLOAT, "float double", "CAST({0} AS DOUBLE)"),
    **listed(Type.FLOAT, "decimal", "CAST({0} AS DOUBLE)", stored=True), **listed(Type.BOOLEAN, "boolean"),
    **listed(Type.TEXT, "string varchar char", _TEXT), **listed(Type.DATE, "date"),
    **listed(Type.TIMESTAMP, "timestamp", "CAST({0} AS TIMESTAMP)"),
    **listed(Type.TIMESTAMP, "timestamp_ntz", "CAST({0} AS TIMESTAMP)", stored=True),
    **opaque(
        binary="hex({0})", array="{0}[0]", map="{0}['key']", struct="{0}.field", interval="",
        variant="variant_get({0}, '$.field', 'string')",
    ),
})  # fmt: skip
"""By the first word of the type as Spark writes it."""

CAPABILITIES = Capabilities(
    dialect="spark", types=TYPES, by_code_point=frozenset({"", "utf8_binary"}),
    # Java tries all ways of a pattern, one after the other, and replaces all places, never the first alone.
    spelling=Spelling(quote_for_spark, "CAST({0} AS STRING)", large=True),
    lacks=NESTED | frozenset({"regexp_replace", *(f"{name}{MANY_WAYS}" for name in (
        "regexp_matches", "regexp_extract", "regexp_replace_all"))}),
)  # fmt: skip
