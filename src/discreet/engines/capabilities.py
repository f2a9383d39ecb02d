"""What a column can do by its type, decided once: one table for each engine, from the type to how queries read it.

A logical type but OTHER can do everything: it is compared, ordered, hashed, grouped by and counted apart. Of OTHER,
which is opaque, only presence is read: COUNT(x), x IS NULL. PostgreSQL has no hash of money, no order of json and no
equality of xml; Spark has no equality of maps. A question that needs one of these would fail exactly when there is a
row that it has to hash or compare, so it is refused when it is planned.

A type that is not listed is opaque. To read a type, list it here and let the view of its engine cast it to the logical
type (`_shown` in `duckdb`, `_column` in `postgres_tables` and `spark`).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from discreet.engines.schema import ColumnSchema, Type


class Ability(enum.Flag):
    """What can be done with the values of a column."""

    PRESENCE = enum.auto()
    """Told from NULL, and counted."""
    EQUALITY = enum.auto()
    """Compared for equality: joins, DISTINCT, IN."""
    ORDER = enum.auto()
    """Put into an order: windows, least and greatest values, ties between rows of a unit."""
    HASH = enum.auto()
    """Hashed: which rows of a unit are kept."""
    GROUPED = EQUALITY | ORDER | HASH
    """Grouped by, counted apart with COUNT(DISTINCT x)."""


EVERYTHING = Ability.PRESENCE | Ability.GROUPED
ABILITIES: Mapping[Type, Ability] = MappingProxyType(
    {kind: Ability.PRESENCE if kind is Type.OTHER else EVERYTHING for kind in Type}
)
"""By logical type."""


@dataclass(frozen=True, slots=True)
class Physical:
    """How queries read a type of an engine.

    Attributes:
        type: the logical type; OTHER when it is opaque.
        instead: of an opaque type, an expression of the engine that makes something readable of it, with {0} for the
            column; empty when there is none.
    """

    type: Type
    instead: str = ""

    @property
    def abilities(self) -> Ability:
        """What can be done with it."""
        return ABILITIES[self.type]


def _listed(kind: Type, names: str) -> dict[str, Physical]:
    return dict.fromkeys(names.split(), Physical(kind))


def _opaque(**instead: str) -> dict[str, Physical]:
    return {name: Physical(Type.OTHER, sql) for name, sql in instead.items()}


DUCKDB: Mapping[str, Physical] = MappingProxyType({
    **_listed(Type.INTEGER, "tinyint smallint integer bigint utinyint usmallint uinteger"),
    **_listed(Type.FLOAT, "float double decimal hugeint uhugeint ubigint"),
    **_listed(Type.BOOLEAN, "boolean"), **_listed(Type.TEXT, "varchar enum uuid"), **_listed(Type.DATE, "date"),
    **_listed(Type.TIMESTAMP, "timestamp timestamp_s timestamp_ms timestamp_ns timestamptz_ns"),
    "timestamp with time zone": Physical(Type.TIMESTAMP),
    **_opaque(
        blob="hex({0})", bit="CAST({0} AS VARCHAR)", json="{0} ->> 'field'", time="extract(hour FROM {0})",
        interval="epoch({0})", list="len({0})", array="{0}[1]", struct="{0}.field", map="{0}['key']",
        union="union_tag({0})::VARCHAR",
    ),
    "time with time zone": Physical(Type.OTHER, "extract(hour FROM {0})"),
})  # fmt: skip
"""By the id that DuckDB gives a type; JSON, which is stored as text, as json."""

POSTGRES: Mapping[str, Physical] = MappingProxyType({
    **_listed(Type.INTEGER, "int2 int4 int8"), **_listed(Type.FLOAT, "float4 float8 numeric"),
    **_listed(Type.BOOLEAN, "bool"), **_listed(Type.TEXT, "text varchar bpchar name uuid citext enum"),
    **_listed(Type.DATE, "date"), **_listed(Type.TIMESTAMP, "timestamp timestamptz"),
    **_opaque(
        money="CAST({0} AS numeric)", bit="CAST({0} AS text)", varbit="CAST({0} AS text)", bytea="encode({0}, 'hex')",
        tsvector="length({0})", xml="CAST({0} AS text)", json="{0} ->> 'field'", jsonb="{0} ->> 'field'",
        point="{0}[0]", time="extract(hour FROM {0})", timetz="extract(hour FROM {0})",
        interval="extract(epoch FROM {0})", inet="host({0})", cidr="CAST({0} AS text)", macaddr="CAST({0} AS text)",
        oid="CAST({0} AS bigint)", array="{0}[1]", composite="({0}).field", range="lower({0})",
    ),
})  # fmt: skip
"""By typname, that of the type below a domain; all enums as enum, all arrays as array, all composites as composite."""

SPARK: Mapping[str, Physical] = MappingProxyType({
    **_listed(Type.INTEGER, "tinyint smallint int bigint"), **_listed(Type.FLOAT, "float double decimal"),
    **_listed(Type.BOOLEAN, "boolean"), **_listed(Type.TEXT, "string varchar char"), **_listed(Type.DATE, "date"),
    **_listed(Type.TIMESTAMP, "timestamp timestamp_ntz"),
    **_opaque(
        binary="hex({0})", array="{0}[0]", map="{0}['key']", struct="{0}.field", interval="",
        variant="variant_get({0}, '$.field', 'string')",
    ),
})  # fmt: skip
"""By the first word of the type as Spark writes it."""

ENGINES: Mapping[str, Mapping[str, Physical]] = MappingProxyType(
    {"duckdb": DUCKDB, "postgres": POSTGRES, "spark": SPARK}
)
"""By dialect."""
UNKNOWN = Physical(Type.OTHER)


def physical(dialect: str, name: str) -> Physical:
    """How queries read a type; one that is not listed is opaque.

    Example:
        >>> physical("postgres", "money").abilities
        <Ability.PRESENCE: 1>
        >>> physical("postgres", "int4").type, physical("postgres", "geometry").type
        (<Type.INTEGER: 'INTEGER'>, <Type.OTHER: 'OTHER'>)
    """
    return ENGINES[dialect].get(name, UNKNOWN)


def opaque(dialect: str, column: str, name: str) -> ColumnSchema | None:
    """The schema of a column whose type is opaque; None when queries can read the type.

    Args:
        dialect: of the engine.
        column: its name.
        name: of its type, as the table of the engine lists it.
    """
    known = physical(dialect, name)
    if known.type is not Type.OTHER:
        return None
    return ColumnSchema(column, Type.OTHER, physical=name, instead=known.instead)
