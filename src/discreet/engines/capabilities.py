"""The capabilities of an engine, decided once: one value for each engine, with a table of its types.

A logical type but OTHER and lists can do everything: it is compared, ordered, hashed, grouped by and counted apart. Of
OTHER, which is opaque, only presence is read: COUNT(x), x IS NULL; of a list its items, too. PostgreSQL has no hash of
money, no order of json and no equality of xml; Spark has no equality of maps. A question that needs one of these would
fail exactly when there is a row that it has to hash or compare, so it is refused when it is planned.

A type that is not listed is opaque. To read a type, list it in the `types` of its engine, with the SQL that makes the
logical type of it.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from types import MappingProxyType

from discreet import quoting
from discreet.engines.schema import LIST_OF, ColumnSchema, Type
from discreet.records import dataclass, field


class Ability(enum.Flag):
    """The abilities of the values of a column."""

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
    {kind: EVERYTHING if kind.single else Ability.PRESENCE for kind in Type}
)
"""By logical type."""


@dataclass(frozen=True, slots=True)
class Physical:
    """How queries read a type of an engine.

    Attributes:
        type: the logical type; OTHER when it is opaque.
        instead: of an opaque type, an expression of the engine that makes something readable of it, with {0} for the
            column; empty when there is none.
        read: the SQL of the engine's view that makes the logical type of a column, {0}; no value makes it fail.
        lo: of an integer, the least value that the type can hold.
        hi: of an integer, the greatest.
        stored: whether the type tells units apart that the logical type does not, so that the identity of a column is
            the stored column.
    """

    type: Type
    instead: str = ""
    read: str = "{0}"
    lo: int | None = None
    hi: int | None = None
    stored: bool = False

    @property
    def abilities(self) -> Ability:
        """The abilities that its type gives it."""
        return ABILITIES[self.type]


UNKNOWN = Physical(Type.OTHER)
NESTED = frozenset({
    "len", "list_contains", "equals_any", "list_extract", "nth_item", "list_slice", "list_distinct", "string_split",
    "list_value", "kept_items", "json_text",
})  # fmt: skip
"""The functions that read lists and JSON texts."""
BESIDE = frozenset({"h3_cell"})
"""The functions that a library of Python computes, beside the engine or in it."""
MANY_WAYS = " of a pattern of many ways"
"""Stands behind the name of a function of regular expressions: the engine tries all ways of a pattern, one after the
other, and lacks patterns of which some text has many."""


def listed(kind: Type, names: str, read: str = "{0}", stored: bool = False) -> dict[str, Physical]:
    """Types that are read alike, by their names."""
    return dict.fromkeys(names.split(), Physical(kind, read=read, stored=stored))


def signed(read: str = "{0}", **bits: int) -> dict[str, Physical]:
    """Signed integers, by their names, of so many bits."""
    return {
        name: Physical(Type.INTEGER, read=read, lo=-(2 ** (n - 1)), hi=2 ** (n - 1) - 1)
        for name, n in bits.items()
    }


def unsigned(read: str = "{0}", **bits: int) -> dict[str, Physical]:
    """Integers from 0 on, by their names, of so many bits."""
    return {name: Physical(Type.INTEGER, read=read, lo=0, hi=2**n - 1) for name, n in bits.items()}


def opaque(**instead: str) -> dict[str, Physical]:
    """Opaque types, by their names, and the SQL that makes something readable of them."""
    return {name: Physical(Type.OTHER, sql) for name, sql in instead.items()}


@dataclass(frozen=True, slots=True)
class Spelling:
    """How an engine writes the names and texts of statements that are not questions, as those that count a graph.

    Attributes:
        quote: writes a name.
        text: a value as a text that is compared by its code points, with {0} for the value.
        large: whether its tables may be too large for one machine, so that it counts them itself unless told otherwise.
    """

    quote: Callable[[str], str] = quoting.quote
    text: str = "CAST({0} AS VARCHAR)"
    large: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """The capabilities of one engine.

    Attributes:
        dialect: the name of the SQL that it reads.
        types: how queries read its types, by the names under which the engine lists them.
        by_code_point: the collations under which texts are equal only where they are the same.
        lacks: the names of functions of the function table that it cannot compute.
        exact: types of numbers that are read as FLOAT and never hold NaN.
        spelling: of names and texts.
    """

    dialect: str
    types: Mapping[str, Physical] = field(repr=False)
    by_code_point: frozenset[str] = frozenset()
    lacks: frozenset[str] = frozenset()
    exact: frozenset[str] = frozenset()
    spelling: Spelling = Spelling()

    def physical(self, kind: str) -> Physical:
        """How queries read a type; one that is not listed is opaque.

        Example:
            >>> from discreet.engines.postgres.capabilities import CAPABILITIES
            >>> CAPABILITIES.physical("money").abilities
            <Ability.PRESENCE: 1>
            >>> CAPABILITIES.physical("int4").type, CAPABILITIES.physical("geometry").type
            (<Type.INTEGER: 'INTEGER'>, <Type.OTHER: 'OTHER'>)
        """
        return self.types.get(kind, UNKNOWN)

    def listed(self, kind: str) -> Physical:
        """How queries read a list whose items are of a type; opaque where these are."""
        item = self.physical(kind)
        return Physical(LIST_OF[item.type]) if item.type in LIST_OF else UNKNOWN

    def column(self, name: str, kind: str, not_null: bool = False) -> ColumnSchema:
        """The schema of a column.

        Args:
            name: of the column.
            kind: its type, as `types` lists it.
            not_null: whether the engine refuses to store a NULL in it. A declaration that nothing enforces, as in a
                file or a frame, does not count. Values of floating point may still be NaN, which is read as NULL.
        """
        known = self.physical(kind)
        if known.type is Type.OTHER:
            return ColumnSchema(name, Type.OTHER, physical=kind, instead=known.instead)
        required = not_null and (known.type in (Type.INTEGER, Type.BOOLEAN) or kind in self.exact)
        return ColumnSchema(name, known.type, known.lo, known.hi, required=required)
