"""Finds the groups of a release whose keys are not public: those whose noisy count of units reaches a threshold."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from discreet import far
from discreet.engines.engine import Engine
from discreet.sql.algebra import keys as ks
from discreet.sql.analyze.aggregates import Choice
from discreet.sql.lower.compile import compile_discovery

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.sql.plan.plan import Plan, ReleasePlan

    Integers = NDArray[np.int64]

IMAGINED = 10
"""How many groups a preview invents where the keys are not public."""


def answering(choices: Sequence[Choice], keys: tuple[ks.Key, ...], per_unit: bool) -> int | None:
    """The number of the choice whose integers are the counts of units by which the groups are found anyway."""
    if any(key.public for key in keys):
        return None
    wanted = "units" if per_unit else "rows"
    for at, one in enumerate(choices):
        if one.counts == wanted and one.argument is None and one.degree == 0 and not one.with_null:
            return at
    return None


def discover(release: ReleasePlan, engine: Engine, salt: int) -> tuple[ReleasePlan, Integers]:
    """Find the groups of a release.

    Privacy: (epsilon, delta)-differentially private by `mechanisms.ThresholdedCounts`: the engine counts every unit
    in at most `cap` groups, once in each, and of the groups that are not shown nothing but their counts leaves it,
    to be forgotten here.

    Returns:
        The release with the found groups as its keys, sorted by them, and their noisy counts of units, int64.

    Raises:
        EngineError: the engine failed.
    """
    import pyarrow.compute as pc

    discovery = release.discovery
    assert discovery is not None
    noisy: Integers = np.empty(0, np.int64)
    most = ks.MAX_CELLS // ks.cells(tuple(key for key in release.keys if key.public))

    def choose(counts: Integers) -> Integers:
        nonlocal noisy
        shown, noisy = discovery.mechanism(release).release(counts)
        if len(shown) > most:
            # More than can be answered: the largest, which is a choice among released numbers.
            largest = np.argsort(-noisy, kind="stable")[:most]
            shown, noisy = shown[largest], noisy[largest]
        return shown

    compiled = compile_discovery(release, engine.dialect, salt)
    table = engine.keys(compiled.sql, compiled.tables, choose)
    index = pc.sort_indices(table, [(name, "ascending") for name in table.column_names])
    columns = (tuple(far.values(column)) for column in table.take(index).itercolumns())
    return dataclasses.replace(release, keys=ks.found(release.keys, columns)), noisy[index.to_numpy()]


def imagined(plan: Plan, groups: int = IMAGINED) -> Plan:
    """The plan with invented groups in place of those that must be found; a plan without such is returned as it is."""
    releases = tuple(
        release
        if release.discovery is None
        else dataclasses.replace(release, keys=ks.imagined(release.keys, groups))
        for release in plan.releases
    )
    return dataclasses.replace(plan, releases=releases)
