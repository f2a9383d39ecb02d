"""Private rows on their way to an aggregate: scanned, filtered, joined, grouped by unit; each belongs to one unit.

Every relation carries its privacy unit in a column of its own (`UNIT`), unless each row is one unit. The rules
that keep "every row belongs to one unit" true stand at each kind of relation. How many rows a unit has does not
matter here: the cap is applied once, where the rows are aggregated.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from discreet.records import dataclass
from discreet.sql.algebra.catalog import PrivateTable
from discreet.sql.expressions.expression import Column, Expression

if TYPE_CHECKING:
    import pyarrow as pa

RAW = "__raw_"
"""Before the name of a scanned column: its value without bounds, for a measure that clamps it anyway."""
STORED = "__stored_"
"""Before the name of a scanned column: the same value in the very type that the engine holds it in, to group by."""
UNIT = "__unit"
"""The name under which every relation carries its privacy unit, when that is a column."""

Items: TypeAlias = tuple[tuple[str, Expression], ...]


@dataclass(frozen=True, slots=True)
class Scan:
    """All rows of a private table, every column clamped as the policy says."""

    table: PrivateTable


@dataclass(frozen=True, slots=True)
class Select:
    """Some rows of another relation, and expressions over them: a row keeps its unit.

    Attributes:
        source: where the rows come from.
        items: expressions over the columns of the source, by the name of the result; None keeps all unchanged.
        where: which rows are kept; None keeps all.
    """

    source: Relation
    items: Items | None
    where: Expression | None


@dataclass(frozen=True, slots=True)
class Join:
    """Pairs of rows of the same unit: the pair belongs to that unit.

    Attributes:
        left: relation with a unit column; its rows are kept without a partner when `outer`.
        right: relation with a unit column, whose other column names differ from those of the left.
        on: the condition beside the equality of the units; None without one.
        outer: whether this is a LEFT JOIN.
        partners: where it is loose, how many times as many rows as are kept a unit may have behind it; else 1.
        loose: whether a unit may have more rows behind it than are kept, though each side keeps to its cap.
    """

    left: Relation
    right: Relation
    on: Expression | None
    outer: bool
    partners: int = 1
    loose: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class PublicTable:
    """A public table in a join.

    Attributes:
        name: under which the engine sees it.
        data: its rows; the columns have the names that the join gives them.
    """

    name: str
    data: pa.Table


@dataclass(frozen=True, eq=False, slots=True)
class Places(PublicTable):
    """The places of the items of a list, from 1 on: a row that is joined with them stands beside each of its items.

    Attributes:
        items: the list, in words.
    """

    items: str


@dataclass(frozen=True, slots=True)
class PublicJoin:
    """Rows beside the rows of a public table: a pair belongs to the unit of its private row.

    Attributes:
        left: the private rows.
        table: the public table.
        on: the condition; None for all pairs.
        outer: whether this is a LEFT JOIN.
        partners: how many rows of the table a private row can find at most.
        loose: whether a unit may have more rows behind it than are kept, though its private rows keep to their cap.
        keeps: whether public rows without a partner are kept, as in a RIGHT JOIN. They are of nobody: no engine sees
            them, and all that they do is to be groups.
    """

    left: Relation
    table: PublicTable
    on: Expression | None
    outer: bool
    partners: int = 1
    loose: bool = False
    keeps: bool = False


@dataclass(frozen=True, slots=True)
class Matching:
    """The rows of units that have (or have not) a row in another relation: depends on that unit's rows alone.

    Attributes:
        left: the rows.
        right: the other relation, of the same units.
        on: the condition beside the equality of the units; None without one.
        anti: whether the rows of units without a match are kept.
    """

    left: Relation
    right: Relation
    on: Expression | None
    anti: bool


@dataclass(frozen=True, slots=True)
class Union:
    """The rows of several relations one after the other; their columns have the same names."""

    parts: tuple[Relation, ...]


@dataclass(frozen=True, slots=True)
class UnitAggregate:
    """An aggregate over the rows of one unit, computed in integers or by comparison, so in any order the same.

    Attributes:
        spelling: standard SQL, with {0} for the argument, {summed} for it where it is summed, and {1} for `plain`.
        argument: over the rows; None for COUNT(*).
        follows: the least and the greatest value that max_rows rows give, where that is known. Not enforced.
        chosen: whether it is one of the values of its argument.
        plain: the argument before it was scaled to whole steps, where that was needed.
    """

    spelling: str
    argument: Expression | None
    follows: tuple[Fraction, Fraction] | None = None
    chosen: bool = False
    plain: Expression | None = None

    def __hash__(self) -> int:
        """Hash by the computation."""
        return hash((self.spelling, self.args))

    @property
    def args(self) -> tuple[Expression, ...]:
        """All that it reads, in the order of the places in its spelling."""
        return tuple(each for each in (self.argument, self.plain) if each is not None)


@dataclass(frozen=True, slots=True)
class PerUnit:
    """One row for each unit and group of its rows.

    Attributes:
        source: the rows.
        keys: the expressions of GROUP BY beside the unit.
        aggregates: over the rows of a unit and group.
    """

    source: Relation
    keys: Items
    aggregates: tuple[tuple[str, UnitAggregate], ...]


@dataclass(frozen=True, slots=True)
class WindowCall:
    """A window function over the rows of one unit.

    Attributes:
        spelling: standard SQL of the function, with {0}, {1}, … for the arguments, {summed} for the first where it is
            summed, and {over} for its window.
        args: its arguments.
        partition: the expressions of PARTITION BY beside the unit.
        order: of its window: each expression and the words behind it, such as DESC NULLS LAST.
        total: whether ties of that order must be broken, which is done by the values of the row.
        frame: the frame, as SQL; empty for the default.
        follows: as of a `UnitAggregate`.
    """

    spelling: str
    args: tuple[Expression, ...]
    partition: tuple[Expression, ...]
    order: tuple[tuple[Expression, str], ...]
    total: bool
    frame: str
    follows: tuple[Fraction, Fraction] | None = None

    def __hash__(self) -> int:
        """Hash by the computation."""
        return hash((self.spelling, self.args, self.partition, self.order, self.frame))


@dataclass(frozen=True, slots=True)
class Windowed:
    """Rows with window functions beside them, each over the rows of one unit."""

    source: Relation
    windows: tuple[tuple[str, WindowCall], ...]


Relation: TypeAlias = Scan | Select | Join | PublicJoin | Matching | Union | PerUnit | Windowed


@dataclass(frozen=True, slots=True)
class PrivateRows:
    """A relation of private rows as a query sees it.

    Attributes:
        relation: how the rows are computed.
        columns: the expression that each visible name stands for, by lower-case name.
        names: the visible names in their original spelling.
        per_unit: whether a column names the unit; otherwise each row is one unit.
        max_rows: how many rows of a unit are kept when they are aggregated.
        units: the visible columns that hold the unit itself.
        fixed: whether a unit cannot have more than max_rows rows, so that nothing is ever dropped.
    """

    relation: Relation
    columns: Mapping[str, Column]
    names: tuple[str, ...]
    per_unit: bool
    max_rows: int
    units: frozenset[str] = frozenset()
    fixed: bool = False


def scan(table: PrivateTable) -> PrivateRows:
    """The rows of a private table."""
    columns = {key: Column(key, c.type, c.scan.span) for key, c in table.columns.items()}
    names = tuple(c.name for c in table.columns.values())
    units = frozenset({table.own_unit} - {""})
    return PrivateRows(
        Scan(table), columns, names, table.unit is not None, table.max_rows, units, table.unit is None
    )


def select(
    rows: PrivateRows, items: list[tuple[str, Expression]] | None, where: Expression | None
) -> PrivateRows:
    """Project and filter.

    Args:
        rows: the source.
        items: the new columns, by the name they are shown under; None keeps the columns unchanged.
        where: which rows are kept; None keeps all.
    """
    if items is None:
        return dataclasses.replace(rows, relation=Select(rows.relation, None, where))
    folded = tuple((name.lower(), item) for name, item in items)
    held = {rows.columns[name].name for name in rows.units if name in rows.columns}
    return dataclasses.replace(
        rows,
        relation=Select(rows.relation, folded, where),
        columns={name: Column(name, item.type, item.span) for name, item in folded},
        names=tuple(name for name, _ in items),
        units=frozenset(name for name, item in folded if isinstance(item, Column) and item.name in held),
    )


def replaced(rows: PrivateRows, relation: Relation, max_rows: int | None = None) -> PrivateRows:
    """The same columns over another relation, with another number of rows of a unit when it is known to be fixed."""
    if max_rows is None:
        return dataclasses.replace(rows, relation=relation)
    return dataclasses.replace(rows, relation=relation, max_rows=max_rows, fixed=True)


def parts(relation: Relation) -> tuple[Relation, ...]:
    """The relations that a relation is made of."""
    if isinstance(relation, Scan):
        return ()
    if isinstance(relation, Union):
        return relation.parts
    if isinstance(relation, Join | Matching):
        return relation.left, relation.right
    return (relation.left,) if isinstance(relation, PublicJoin) else (relation.source,)


def scans(relation: Relation) -> list[Scan]:
    """The scans at the bottom of a relation."""
    if isinstance(relation, Scan):
        return [relation]
    return [found for part in parts(relation) for found in scans(part)]


def unit_of(relation: Relation) -> bool:
    """Whether the rows of a relation carry a unit column."""
    return relation.table.unit is not None if isinstance(relation, Scan) else unit_of(parts(relation)[0])


def unit_kind(relation: Relation) -> str:
    """The identity of the units of a relation; all its tables were seen to agree when they were put together."""
    return next((scan.table.unit_kind for scan in scans(relation)), "")


def public_tables(relation: Relation) -> dict[str, pa.Table]:
    """The public tables that a relation is joined with, by the name that its SQL uses."""
    out = {name: data for part in parts(relation) for name, data in public_tables(part).items()}
    if isinstance(relation, PublicJoin):
        out[relation.table.name] = relation.table.data
    return out


def raw_column(relation: Relation, column: Column) -> Column:
    """The stored value behind a column that was scanned and only filtered since; else the column itself."""
    while isinstance(relation, Select) and relation.items is None:
        relation = relation.source
    return Column(RAW + column.name, column.type, column.span) if isinstance(relation, Scan) else column
