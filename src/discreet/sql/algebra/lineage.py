"""Lineage: which stored columns the columns of private rows come from."""

from __future__ import annotations

from collections.abc import Iterable

from discreet.sql.algebra import relation as rel
from discreet.sql.algebra.catalog import PrivateColumn, PrivateTable
from discreet.sql.algebra.relation import RAW, Relation
from discreet.sql.expressions.expression import Expression, leaves


def read(expressions: Iterable[Expression | None]) -> set[str]:
    """The names of the columns that some expressions read."""
    return {c.name for e in expressions if e is not None for c in leaves(e)}


def below(relation: Relation, needed: set[str]) -> list[tuple[Relation, set[str]]]:
    """The relations that a relation is made of, each with the columns that are read of it.

    Args:
        relation: private rows.
        needed: the columns that are read of them.
    """
    if isinstance(relation, rel.Scan):
        return []
    if isinstance(relation, rel.Select):
        items = None if relation.items is None else [item for name, item in relation.items if name in needed]
        return [(relation.source, read([relation.where]) | (needed if items is None else read(items)))]
    if isinstance(relation, rel.Matching):
        on = read([relation.on])
        return [(relation.left, needed | on), (relation.right, on)]
    if isinstance(relation, rel.Join | rel.PublicJoin):
        return [(part, needed | read([relation.on])) for part in rel.parts(relation)]
    if isinstance(relation, rel.PerUnit):
        arguments = [arg for name, a in relation.aggregates if name in needed for arg in a.args]
        return [(relation.source, read([*(item for _, item in relation.keys), *arguments]))]
    if isinstance(relation, rel.Windowed):
        windows = [w for name, w in relation.windows if name in needed]
        used = read(e for w in windows for e in [*w.args, *w.partition, *(e for e, _ in w.order)])
        return [(relation.source, (needed - {name for name, _ in relation.windows}) | used)]
    return [(part, needed) for part in rel.parts(relation)]


def origins(relation: Relation, name: str) -> list[tuple[str, PrivateTable | None, PrivateColumn | None]]:
    """The columns of tables that a column is computed from: (column, private table and column or None)."""
    if isinstance(relation, rel.Scan):
        column = relation.table.columns.get(name.removeprefix(RAW))
        return [] if column is None else [(column.name, relation.table, column)]
    if isinstance(relation, rel.PublicJoin) and name in relation.table.data.column_names:
        return [] if isinstance(relation.table, rel.Places) else [(name, None, None)]
    found = []
    for part, used in below(relation, {name}):
        if isinstance(relation, rel.Select) and relation.items is not None:
            used = read(item for each, item in relation.items if each == name)
        elif isinstance(relation, rel.PerUnit):
            own = [item for each, item in relation.keys if each == name]
            used = read([*own, *(arg for each, a in relation.aggregates if each == name for arg in a.args)])
        elif not isinstance(relation, rel.Windowed) or name not in dict(relation.windows):
            used = {name}
        found += [origin for each in sorted(used) for origin in origins(part, each)]
    return list(
        {
            (column, None if table is None else table.name): (column, table, own)
            for column, table, own in found
        }.values()
    )
