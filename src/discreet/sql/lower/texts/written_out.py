"""The size of an expression once a planner has written out the columns of the sub-queries below it.

PostgreSQL merges a sub-query that only computes into the query that reads it, and writes each of its columns again
wherever it is used. Thirty sub-queries, each of which uses a column of the one before twice, become a billion parts,
and its planner takes all memory for them. So a sub-query is fenced where an expression over it would grow too large. An
engine without a fence refuses the question there: ClickHouse and Spark write columns out into conditions. DuckDB does
so where a correlated EXISTS reads them, and nowhere else (`see_correlated`).

Through a relation a column is written out in every expression over it, where the planner merges the sub-query, or in
conditions alone, where it moves these below. `_SIZES` has a line for each relation:

| relation | its columns are written out |
|---|---|
| `Scan` | never counted: the clamp of a stored column has one size in all questions |
| `Select` | everywhere: a planner merges it |
| `Join`, `PublicJoin` | everywhere, those of both sides |
| `Matching` | everywhere, those of its left side; those of the right one end in its condition |
| `Union` | everywhere: a condition is moved into each part, and PostgreSQL merges the parts |
| `PerUnit` | in conditions: one on a key is moved below, and one on an aggregate becomes HAVING, which stays there |
| `Windowed` | everywhere where no window is read, as it then only computes; else in conditions on columns that every \
PARTITION BY names, which are moved below; the windows themselves never |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from discreet.errors import QueryRefused
from discreet.records import dataclass
from discreet.sql.algebra import relation as rel
from discreet.sql.algebra.lineage import below
from discreet.sql.algebra.relation import Relation
from discreet.sql.expressions.canonical import canonical
from discreet.sql.expressions.dialect import Dialect
from discreet.sql.expressions.expression import Call, Column, Expression, spelling_of, weight

MOST_PARTS = 2000
"""Columns and operations of an expression behind which there is a fence: as many as may stand in a question."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of the columns of a relation that are more than a name to a planner.

    Attributes:
        anywhere: of those that it writes out in every expression over the relation.
        conditions: of those that it writes out in conditions over the relation, at least.
    """

    anywhere: Mapping[str, int]
    conditions: Mapping[str, int]


_NAMES = Sizes({}, {})


def fence(
    relation: Relation, needed: set[str], expressions: Iterable[Expression | None], dialect: Dialect
) -> str:
    """The fence behind a relation over whose columns some expression grows too large once they are written out.

    Args:
        relation: the rows that are read.
        needed: the columns that are read of them.
        expressions: over those columns.
        dialect: of the engine.

    Raises:
        QueryRefused: it grows too large for an engine that has no fence.
    """
    most = _most(dialect)
    if not most or not _over(sizes(relation, needed, dialect), expressions, dialect, most):
        return ""
    if not dialect.fence:
        raise _too_large(most)
    return dialect.fence


def see_correlated(relation: Relation, needed: set[str], on: Expression | None, dialect: Dialect) -> None:
    """See that the columns that a correlated EXISTS reads are not too large for an engine that writes them out there.

    Args:
        relation: the rows outside.
        needed: the columns that are read of them.
        on: the condition inside.
        dialect: of the engine.

    Raises:
        QueryRefused: they are.
    """
    most = dialect.most_correlated
    if most and _over(sizes(relation, needed, dialect), [on], dialect, most):
        raise _too_large(most)


def _too_large(most: int) -> QueryRefused:
    return QueryRefused(
        f"A value has more than {most:,} parts once this engine writes the columns of sub-queries out wherever they "
        "are used.",
        "Use a computed column once where you can, or compute in fewer steps.",
    )


def sizes(relation: Relation, needed: set[str], dialect: Dialect) -> Sizes:
    """The sizes of those needed columns of a relation that are written out where they are read.

    Args:
        relation: whose columns they are.
        needed: the columns that are read of it.
        dialect: of the engine.
    """
    return _SIZES[type(relation)](relation, needed, dialect)


def size(expression: Expression, columns: Mapping[str, int], dialect: Dialect) -> int:
    """The columns and operations of an expression in the SQL of an engine.

    Guards name an argument many times. Where there is a fence, an argument that is computed is named behind one, see
    `common_subexpressions`, and counts once; a column is written out at each place.

    Args:
        expression: over some columns.
        columns: the sizes of those of them that are more than a name.
        dialect: of the engine.
    """
    if not isinstance(expression, Call):
        return weight(expression, columns)
    sql = spelling_of(expression, dialect)
    total = 1
    for index, arg in enumerate(expression.args):
        once = "{*}" in sql or (bool(dialect.fence) and isinstance(arg, Call))
        total += (1 if once else sql.count(f"{{{index}}}")) * size(arg, columns, dialect)
    return total


def reading(select: rel.Select, needed: set[str]) -> list[Expression | None]:
    """The expressions over the source of a SELECT, of which some columns are needed."""
    return [select.where, *(canonical(item) for name, item in select.items or () if name in needed)]


def _most(dialect: Dialect) -> int:
    return MOST_PARTS if dialect.fence else dialect.most_parts


def _over(known: Sizes, expressions: Iterable[Expression | None], dialect: Dialect, most: int) -> bool:
    read = (expression for expression in expressions if expression is not None)
    return bool(known.conditions) and any(size(each, known.conditions, dialect) > most for each in read)


def _unfenced(
    relation: Relation, needed: set[str], expressions: Iterable[Expression | None], dialect: Dialect
) -> Sizes:
    """The sizes of the part of a relation, as some expressions over it read it: names, if there is a fence."""
    ((source, used),) = below(relation, needed)
    known = sizes(source, used, dialect)
    most = _most(dialect)
    return _NAMES if most and _over(known, expressions, dialect, most) else known


def _scan(_relation: rel.Scan, _needed: set[str], _dialect: Dialect) -> Sizes:
    return _NAMES


def _select(relation: rel.Select, needed: set[str], dialect: Dialect) -> Sizes:
    known = _unfenced(relation, needed, reading(relation, needed), dialect)
    if relation.items is None:
        return known
    kept = [(name, canonical(item)) for name, item in relation.items if name in needed]
    return Sizes(*({n: size(e, own, dialect) for n, e in kept} for own in (known.anywhere, known.conditions)))


def _parts(
    relation: rel.Join | rel.PublicJoin | rel.Matching | rel.Union, needed: set[str], dialect: Dialect
) -> Sizes:
    out = Sizes({}, {})
    for part, used in below(relation, needed):
        known = sizes(part, used, dialect)
        out = Sizes(_larger(out.anywhere, known.anywhere), _larger(out.conditions, known.conditions))
    return out


def _larger(first: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {name: max(first.get(name, 1), other.get(name, 1)) for name in (*first, *other)}


def _per_unit(relation: rel.PerUnit, needed: set[str], dialect: Dialect) -> Sizes:
    keys = [(name, canonical(item)) for name, item in relation.keys]
    aggregates = [(name, own.args) for name, own in relation.aggregates if name in needed]
    read = [*(item for _, item in keys), *(arg for _, args in aggregates for arg in args)]
    known = _unfenced(relation, needed, read, dialect)
    out = {name: size(item, known.conditions, dialect) for name, item in keys}
    for name, args in aggregates:
        out[name] = 1 + sum(size(arg, known.anywhere, dialect) for arg in args)
    return Sizes({}, out)


def _windowed(relation: rel.Windowed, needed: set[str], dialect: Dialect) -> Sizes:
    calls = [call for name, call in relation.windows if name in needed]
    read = [e for own in calls for e in (*own.args, *own.partition, *(by for by, _ in own.order))]
    known = _unfenced(relation, needed, read, dialect)
    if not calls:
        return known
    shared = set.intersection(*({e.name for e in own.partition if isinstance(e, Column)} for own in calls))
    return Sizes({}, {name: known.conditions[name] for name in shared & set(known.conditions)})


_SIZES: dict[type, Callable[[Any, set[str], Dialect], Sizes]] = {
    rel.Scan: _scan,
    rel.Select: _select,
    rel.Join: _parts,
    rel.PublicJoin: _parts,
    rel.Matching: _parts,
    rel.Union: _parts,
    rel.PerUnit: _per_unit,
    rel.Windowed: _windowed,
}
