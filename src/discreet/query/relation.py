"""Private rows on their way to an aggregate: scanned, filtered, projected; every row belongs to one unit."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from discreet.query.catalog import PrivateTable
from discreet.query.expression import Column, Expression, leaves, quote, spell

if TYPE_CHECKING:
    import pyarrow as pa

RAW = "__raw_"
"""Before the name of a scanned column: its value as it is stored, for a measure that clamps it anyway."""
UNIT = "__unit"
"""The name under which every relation carries its privacy unit, when that is a column."""


@dataclass(frozen=True, slots=True)
class Scan:
    """All rows of a private table, every column clamped as the policy says."""

    table: PrivateTable


@dataclass(frozen=True, slots=True)
class Select:
    """Some rows of another relation, and expressions over them.

    Attributes:
        source: where the rows come from.
        items: expressions over the columns of the source, by the name of the result; None keeps all as they are.
        where: which rows are kept; None keeps all.
    """

    source: Relation
    items: tuple[tuple[str, Expression], ...] | None
    where: Expression | None


Relation: TypeAlias = Scan | Select


@dataclass(frozen=True, slots=True)
class Rows:
    """A relation of private rows as a query sees it.

    Attributes:
        relation: how the rows are computed.
        columns: the expression that each visible name stands for, by lower-case name.
        names: the visible names as they were written.
        per_unit: whether a column names the unit; otherwise each row is one unit.
        max_rows: how many rows of a unit are kept when they are aggregated.
        units: the visible columns that hold the unit itself.
    """

    relation: Relation
    columns: Mapping[str, Column]
    names: tuple[str, ...]
    per_unit: bool
    max_rows: int
    units: frozenset[str] = frozenset()


def scan(table: PrivateTable) -> Rows:
    """The rows of a private table."""
    columns = {key: Column(key, c.type, c.scan.span) for key, c in table.columns.items()}
    names = tuple(c.name for c in table.columns.values())
    units = frozenset() if table.unit is None else frozenset({table.unit.name.lower()})
    return Rows(Scan(table), columns, names, table.unit is not None, table.max_rows, units)


def select(rows: Rows, items: list[tuple[str, Expression]] | None, where: Expression | None) -> Rows:
    """Project and filter.

    Args:
        rows: the source.
        items: the new columns, by the name they are shown under; None keeps the columns as they are.
        where: which rows are kept; None keeps all.
    """
    if items is None:
        return dataclasses.replace(rows, relation=Select(rows.relation, None, where))
    folded = tuple((name.lower(), item) for name, item in items)
    return Rows(
        Select(rows.relation, folded, where),
        {name: Column(name, item.type, item.span) for name, item in folded},
        tuple(name for name, _ in items),
        rows.per_unit,
        rows.max_rows,
        frozenset(name for name, item in folded if isinstance(item, Column) and item.name in rows.units),
    )


def unit_of(relation: Relation) -> bool:
    """Whether the rows of a relation carry a unit column."""
    return relation.table.unit is not None if isinstance(relation, Scan) else unit_of(relation.source)


def public_tables(relation: Relation) -> dict[str, pa.Table]:
    """The public tables that a relation is joined with, by the name that its SQL uses."""
    return {} if isinstance(relation, Scan) else public_tables(relation.source)


def raw_column(relation: Relation, column: Column) -> Column:
    """The stored value behind a column that was scanned and only filtered since; else the column itself."""
    while isinstance(relation, Select) and relation.items is None:
        relation = relation.source
    return Column(RAW + column.name, column.type, column.span) if isinstance(relation, Scan) else column


def to_sql(relation: Relation, needed: set[str], dialect: str) -> str:
    """A SELECT that yields the needed columns of a relation, and the unit column when it has one."""
    unit = unit_of(relation)
    if isinstance(relation, Scan):
        items = [
            f"{spell(column.scan, dialect)} AS {quote(name)}"
            for name, column in relation.table.columns.items()
            if name in needed
        ]
        items += [
            f"{quote(column.name)} AS {quote(RAW + name)}"
            for name, column in relation.table.columns.items()
            if RAW + name in needed
        ]
        if relation.table.unit is not None:
            items.append(f"{quote(relation.table.unit.name)} AS {quote(UNIT)}")
        return f"SELECT {', '.join(items) or '1 AS one'} FROM {quote(relation.table.name)}"
    used = set() if relation.where is None else {c.name for c in leaves(relation.where)}
    if relation.items is None:
        used |= needed
        items = [quote(name) for name in sorted(needed)]
    else:
        kept = [(name, item) for name, item in relation.items if name in needed]
        used |= {c.name for _, item in kept for c in leaves(item)}
        items = [f"{spell(item, dialect)} AS {quote(name)}" for name, item in kept]
    if unit:
        items.append(quote(UNIT))
    inner = to_sql(relation.source, used, dialect)
    where = "" if relation.where is None else f" WHERE {spell(relation.where, dialect)}"
    return f"SELECT {', '.join(items) or '1 AS one'} FROM ({inner}) AS s{where}"
