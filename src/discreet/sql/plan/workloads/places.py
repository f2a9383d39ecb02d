"""The groups of one release as sums of those of another one: which group of it each of the other's belongs to.

The rows must be the same: the same relation, but for conditions that the keys of the finer release decide. The keys of
the coarser one, and those conditions, must follow from the keys of the finer one; and a row that the coarser one counts
must be in one of the groups of the finer one. Text and policy decide it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.engines.sandbox import Sandbox
from discreet.engines.schema import arrow_type
from discreet.errors import PostProcessingError
from discreet.sql.algebra import keys as ks
from discreet.sql.algebra.narrowing import conjuncts
from discreet.sql.algebra.relation import Relation, Select
from discreet.sql.dialects.duckdb import DUCKDB
from discreet.sql.expressions.expression import Call, Column, Expression, Literal, leaves, spell
from discreet.sql.expressions.expression import replace as substitute
from discreet.sql.plan.plan import MeasuredRows, PlannedRelease
from discreet.sql.plan.workloads.axes import closed, listed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

ROW = "__known_row"


def base_of(relation: Relation) -> tuple[Relation, list[Expression]]:
    """A relation without its last conditions, and these."""
    found: list[Expression] = []
    while isinstance(relation, Select) and relation.items is None:
        if relation.where is not None:
            found += conjuncts([relation.where])
        relation = relation.source
    return relation, found


def places(
    release: PlannedRelease,
    part: MeasuredRows,
    source: PlannedRelease,
    before: MeasuredRows,
    every: frozenset[Expression] = frozenset(),
    among: bool = False,
) -> tuple[Integers, int] | None:
    """Where the groups of an earlier release belong among those of a question; None where they do not make it up.

    Args:
        release: of the question.
        part: its rows.
        source: the earlier release.
        before: the rows of that.
        every: those of its keys of which NULL stands for all rows of no other value. Whoever reads such a key is asked
            as without.
        among: whether the cap holds among the rows of the earlier release, and not of those that the question leaves.

    Returns:
        The group of the question of each group of the earlier release, or -1, and the most that a group has.
    """
    (base, asked), (old, given) = base_of(part.rows.relation), base_of(before.rows.relation)
    if base != old or any(condition not in asked for condition in given):
        return None
    conditions = [condition for condition in asked if condition not in given]
    if source.keys == release.keys and not conditions:
        return np.arange(release.cells), 1
    if conditions and not (part.rows.fixed or among):
        return None  # the cap holds among the rows that are left
    if any(key.block is not None or not key.public for key in (*source.keys, *release.keys)):
        return None
    stands: dict[Expression, Expression] = {
        key.expression: Column(_stand_in(index), key.expression.type, key.expression.span)
        for index, key in enumerate(source.keys)
    }
    names = {_stand_in(index) for index in range(len(source.keys))}
    wanted = [*conditions, *(key.expression for key in release.keys)]
    read = [substitute(expression, stands) for expression in wanted]
    if not names.isdisjoint(column.name for expression in wanted for column in leaves(expression)):
        return None
    if not all(column.name in names for expression in read for column in leaves(expression)):
        return None
    columns = {column for expression in wanted for column in leaves(expression)}
    free = {key.expression for key in source.keys if columns.isdisjoint(leaves(key.expression))} & every
    if not all(
        key.expression in free or _held(key, index, release, conditions, stands)
        for index, key in enumerate(source.keys)
    ):
        return None
    return _numbered(release, source, read[: len(conditions)], read[len(conditions) :])


def _stand_in(index: int) -> str:
    """The column that stands for a key of an earlier release."""
    return f"__known_{index}"


def every_row(key: ks.Key) -> bool:
    """Whether every row has one of the values of a key; of listed values nobody can say so, even beside NULL."""
    return closed(key) and not listed(key.expression)


def _held(
    key: ks.Key,
    index: int,
    release: PlannedRelease,
    conditions: Sequence[Expression],
    stands: dict[Expression, Expression],
) -> bool:
    """Whether each row that the question counts has one of the values of a key of the earlier release."""
    same = next((own for own in release.keys if own.expression == key.expression), None)
    if every_row(key) or (same is not None and set(same.values) <= set(key.values)):
        return True
    for condition in conditions:
        if isinstance(condition, Call) and condition.name in ("eq", "in"):
            first, *rest = condition.args
            if first == key.expression and all(
                isinstance(value, Literal) and value.value in key.values for value in rest
            ):
                return True
    if not listed(key.expression):  # only NULL may be missing
        name = _stand_in(index)
        alone = [substituted for substituted in (substitute(condition, stands) for condition in conditions)
                 if {column.name for column in leaves(substituted)} == {name}]  # fmt: skip
        if alone and _of_null(alone, key, name) != [True] * len(alone):
            return True
        for own in release.keys:
            new = substitute(own.expression, stands)
            if {column.name for column in leaves(new)} == {name} and None not in own.values:
                return _of_null([new], key, name) == [None]
    return False


def _of_null(expressions: Iterable[Expression], key: ks.Key, name: str) -> list[object]:
    """Some expressions of one key, where it is NULL."""
    import pyarrow as pa

    table = pa.table({name: pa.nulls(1, arrow_type(key.expression.type))})
    items = ", ".join(
        f"{spell(expression, DUCKDB)} AS v{index}" for index, expression in enumerate(expressions)
    )
    with Sandbox({"source": table}) as sandbox:
        return list(sandbox.run(f"SELECT {items} FROM source").to_pylist()[0].values())


def _numbered(
    release: PlannedRelease,
    source: PlannedRelease,
    conditions: Sequence[Expression],
    keys: Sequence[Expression],
) -> tuple[Integers, int] | None:
    """The group of the question of each group of the earlier release, and the most that a group has."""
    import pyarrow as pa

    columns: dict[str, Any] = {ROW: pa.array(np.arange(source.cells))}
    columns |= {_stand_in(index): column for index, column in enumerate(ks.table(source.keys).values())}
    where = " AND ".join(f"({spell(condition, DUCKDB)})" for condition in conditions) or "TRUE"
    items = [ROW, *(f"{spell(key, DUCKDB)} AS v{number}" for number, key in enumerate(keys))]
    try:
        with Sandbox({"source": pa.table(columns)}) as sandbox:
            found = sandbox.run(f"SELECT {', '.join(items)} FROM source WHERE {where} ORDER BY {ROW}")
    except PostProcessingError:
        return None
    place = np.full(source.cells, -1, np.int64)
    rows = found.column(ROW).to_numpy()
    asked = [column.to_pylist() for column in ks.table(release.keys).values()]
    if not asked:
        place[rows] = 0
    else:
        numbers = {values: number for number, values in enumerate(zip(*asked, strict=True))}
        own = [
            found.column(f"v{number}").cast(arrow_type(key.expression.type)).to_pylist()
            for number, key in enumerate(release.keys)
        ]
        place[rows] = [numbers.get(values, -1) for values in zip(*own, strict=True)]
    counts = np.bincount(place[place >= 0], minlength=release.cells)
    return place, max(1, int(counts.max(initial=0)))
