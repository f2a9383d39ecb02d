"""The facts known of a table without reading it: the names and logical types of its columns."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

from discreet.engines.identity import Identity, NoIdentity
from discreet.records import dataclass, field

if TYPE_CHECKING:
    import pyarrow as pa


class Type(enum.Enum):
    """The logical type of a column, the same on every engine.

    INTEGER is every type that fits a signed 64-bit integer. Wider integers and decimals count as FLOAT; enums and
    UUIDs as TEXT; every timestamp as TIMESTAMP, in UTC. The types in the plural are lists of these, which only the
    functions of lists read. OTHER (blobs, times, whole structs) is opaque: a private query can count it and test it for
    NULL. The `capabilities` of each engine list its types.
    """

    INTEGER = "INTEGER"
    FLOAT = "FLOAT"
    BOOLEAN = "BOOLEAN"
    TEXT = "TEXT"
    DATE = "DATE"
    TIMESTAMP = "TIMESTAMP"
    TEXTS = "TEXTS"
    INTEGERS = "INTEGERS"
    FLOATS = "FLOATS"
    BOOLEANS = "BOOLEANS"
    DATES = "DATES"
    TIMESTAMPS = "TIMESTAMPS"
    OTHER = "OTHER"

    @property
    def item(self) -> Type | None:
        """The type of the items of a list; None of anything else."""
        return _ITEMS.get(self)

    @property
    def single(self) -> bool:
        """Whether its values are compared, ordered and hashed: neither a list nor opaque."""
        return self is not Type.OTHER and self not in _ITEMS


_ITEMS = {
    Type.TEXTS: Type.TEXT, Type.INTEGERS: Type.INTEGER, Type.FLOATS: Type.FLOAT, Type.BOOLEANS: Type.BOOLEAN,
    Type.DATES: Type.DATE, Type.TIMESTAMPS: Type.TIMESTAMP,
}  # fmt: skip
LIST_OF = {item: kind for kind, item in _ITEMS.items()}
"""The type of a list by that of its items."""


def arrow_type(kind: Type) -> pa.DataType:
    """The Arrow type of a logical type of single values but OTHER."""
    import pyarrow as pa

    return {
        Type.INTEGER: pa.int64(),
        Type.FLOAT: pa.float64(),
        Type.BOOLEAN: pa.bool_(),
        Type.TEXT: pa.string(),
        Type.DATE: pa.date32(),
        Type.TIMESTAMP: pa.timestamp("us"),
    }[kind]


@dataclass(frozen=True)
class ColumnSchema:
    """One column.

    Attributes:
        name: as the source writes it; look-ups ignore its case.
        type: the logical type.
        lo: least value that the physical type of an INTEGER column can hold, else None.
        hi: greatest value that the physical type of an INTEGER column can hold, else None.
        identity: how the column tells privacy units apart, or why it cannot; None when by its values in their logical
            type.
        twin: whether another column of the source has this name but for case, and the engine does not tell them apart.
        physical: of an OTHER column, its type as the engine names it, for messages.
        instead: of an OTHER column, an expression that makes something readable of it, with {0} for the column.
        required: whether the engine itself lets no NULL, and nothing that is read as NULL, into the column.
        within: of a field of a struct, the column that the struct is in, or that a path to it begins with.
    """

    name: str
    type: Type
    lo: int | None = None
    hi: int | None = None
    identity: Identity | NoIdentity | None = field(default=None, compare=False)
    twin: bool = field(default=False, compare=False)
    physical: str = field(default="", compare=False)
    instead: str = field(default="", compare=False)
    required: bool = field(default=False, compare=False)
    within: str = field(default="", compare=False)


TableSchema: TypeAlias = Mapping[str, ColumnSchema]
"""The columns of one table by name, in the order of the source."""


def find(schema: TableSchema, name: str) -> ColumnSchema | None:
    """Return the column of that name, ignoring case as DuckDB does, or None.

    Example:
        >>> find({"Age": ColumnSchema("Age", Type.INTEGER, -128, 127)}, "age").name
        'Age'
    """
    if name in schema:
        return schema[name]
    folded = name.lower()
    return next((column for key, column in schema.items() if key.lower() == folded), None)
