"""Finds the groups of a release whose keys are not public: those whose noisy count of units reaches a threshold."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet import arrow, far
from discreet.engines.engine import NO_TABLES, Engine
from discreet.engines.schema import Type, arrow_type
from discreet.release.draw import Draw
from discreet.sql.algebra import keys as ks
from discreet.sql.algebra.released import filled
from discreet.sql.lower.compile import compile_discovery
from discreet.sql.lower.uses import use_of_groups

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from discreet.sql.plan.plan import PlannedRelease

    Integers = NDArray[np.int64]


def discover(
    release: PlannedRelease, engine: Engine, salt: int, draw: Draw, given: Mapping[str, pa.Table] = NO_TABLES
) -> tuple[PlannedRelease, Integers]:
    """Find the groups of a release.

    Privacy: (epsilon, delta)-differentially private by `mechanisms.ThresholdedCounts`: the engine counts every unit
    at most `cap` times, once in a group where a column names the unit (`Discovery.mechanism`), and of the groups that
    are not shown nothing but their counts leaves it, to be forgotten here.

    Returns:
        The release with the found groups as its keys, sorted by them, and their noisy counts of units, int64.

    Raises:
        EngineError: the engine failed.
    """
    import pyarrow.compute as pc

    assert release.discovery is not None
    noisy: Integers = np.empty(0, np.int64)
    most: int = ks.MAX_CELLS // ks.cells(tuple(key for key in release.keys if key.public))

    def choose(counts: Integers) -> Integers:
        nonlocal noisy
        shown: Integers
        shown, noisy = draw(use_of_groups(release), counts)
        return shown

    compiled = compile_discovery(release, engine.dialect, salt)
    tables = filled(compiled.tables, release.discovery.part.rows.relation, given)
    table = engine.keys(compiled.sql, tables, choose)
    index = pc.sort_indices(table, [(name, "ascending") for name in table.column_names])
    table, noisy = table.take(index), noisy[index.to_numpy()]
    if len(noisy) > most:
        # More than can be answered: the largest. It is a choice among released numbers, and among equal ones their keys
        # decide, not the order of the engine, in which groups that are not shown have a part.
        largest = np.sort(np.argsort(-noisy, kind="stable")[:most])
        table, noisy = table.take(arrow.column(largest)), noisy[largest]
    return dataclasses.replace(release, keys=ks.found(release.keys, found_values(release, table))), noisy


def found_values(release: PlannedRelease, table: pa.Table) -> Iterator[tuple[Any, ...]]:
    """The values of each key that was found, in the type of the plan: ClickHouse returns dates as numbers of days."""
    unlisted = [key for key in release.keys if not key.public]
    for column, key in zip(table.itercolumns(), unlisted, strict=True):
        moment = key.expression.type in (Type.DATE, Type.TIMESTAMP)
        yield tuple(far.values(column.cast(arrow_type(key.expression.type)) if moment else column))
