"""Runs a release: exact integers from the engine, then discrete Laplace noise on all of them at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet import arrow
from discreet.engines.engine import Engine
from discreet.noise import add_laplace
from discreet.query import keys as ks
from discreet.query.compile import compile_part
from discreet.query.discovery import discover
from discreet.query.measures import columns
from discreet.query.plan import Aggregate, ReleasePlan
from discreet.query.quantiles import Tree

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]

CELL = "__cell"
"""The column of a noisy table that numbers its groups."""
LARGEST = 2.0**62
BLOCK = 1 << 18
"""How many groups get their noise at a time: what is in the making stays small however many there are."""


@dataclass(frozen=True)
class Noisy:
    """The noisy integers of a release. Everything made of them is post-processing.

    Attributes:
        plan: of the release.
        entries: int64 array (cells, entries of all measures).
    """

    plan: ReleasePlan
    entries: Integers

    def of(self, aggregate: Aggregate) -> Floats:
        """The entries of the measure that an aggregate is estimated from: float64 array (cells, entries)."""
        return self.entries[:, columns(self.plan.measures)[aggregate.measure]].astype(np.float64)

    def counted(self, aggregate: Aggregate) -> bool:
        """Whether an aggregate is its one noisy integer as it is."""
        return aggregate.whole and self.plan.measures[aggregate.measure].plain(aggregate.what)

    def values(self, aggregate: Aggregate) -> Floats:
        """The estimate of an aggregate in every group: float64 array (cells,)."""
        measure = self.plan.measures[aggregate.measure]
        if self.counted(aggregate):
            return self.of(aggregate)[:, 0]
        exact = measure.estimate(aggregate.what, self.of(aggregate))
        return np.rint(exact) if aggregate.whole else exact

    def table(self) -> pa.Table:
        """The noisy table that post-processing reads: `__cell`, keys k0, k1 and so on, aggregates a0, a1 and so on."""
        import pyarrow as pa

        data: dict[str, pa.Array] = {CELL: arrow.column(np.arange(self.plan.cells))}
        data.update(ks.table(self.plan.keys))
        for at, aggregate in enumerate(self.plan.aggregates):
            if self.counted(aggregate):
                place, most = columns(self.plan.measures)[aggregate.measure], int(LARGEST)
                data[f"a{at}"] = arrow.column(np.clip(self.entries[:, place.start], -most, most))
                continue
            values = self.values(aggregate)
            if aggregate.whole:
                # The type depends on the question alone; what is larger than any sum can be stays at the end.
                missing = np.isnan(values)
                whole = np.clip(np.where(missing, 0, values), -LARGEST, LARGEST).astype(np.int64)
                data[f"a{at}"] = arrow.column(whole, missing)
            else:
                data[f"a{at}"] = arrow.column(values)
        return pa.table(data)


def exact_integers(
    release: ReleasePlan, engine: Engine, salt: int, known: int | None = None, portable: bool = False
) -> Integers:
    """The integers of a release before any noise. Never shown, logged or raised.

    Privacy: when one unit is added, removed or (with a unit factor of 2) replaced, the integers of measure i
    move by at most `release.sensitivity(measure i)` in L1; see measures.py, moments.py and quantiles.py for the
    arguments.

    Args:
        release: the plan; its keys are public or found.
        engine: runs it.
        salt: decides which rows of a unit are kept.
        known: the number of a measure that is left at zero, because its noisy integers are there already.
        portable: decide it in the same way on every engine.

    Returns:
        int64 array (cells, entries of all measures), zero for a public group without rows.

    Raises:
        EngineError: the engine failed.
    """
    out = np.zeros((release.cells, sum(measure.entries for measure in release.measures)), dtype=np.int64)
    places = columns(release.measures)
    for number in range(len(release.parts)):
        if not release.cells or all(at == known for at, m in enumerate(release.measures) if m.part == number):
            continue
        compiled = compile_part(release, number, engine.dialect, salt, portable)
        result = engine.integers(compiled.sql, compiled.tables)
        cell = arrow.numbers(result.column("cell"))
        at_tree = next(
            (at for at, m in enumerate(release.measures) if m.part == number and isinstance(m, Tree)), None
        )
        if at_tree is not None:
            tree = release.measures[at_tree]
            assert isinstance(tree, Tree)
            leaf, count = arrow.numbers(result.column("leaf")), arrow.numbers(result.column("m0"))
            out[:, places[at_tree]] = tree.from_leaves(release.cells, cell, leaf, count)
            continue
        own = [
            at
            for measure, place in zip(release.measures, places, strict=True)
            if measure.part == number
            for at in range(place.start, place.stop)
        ]
        for at, place_of_entry in enumerate(own):
            out[cell, place_of_entry] = arrow.numbers(result.column(f"m{at}"))
    if known is not None:
        out[:, places[known]] = 0
    return out


def run_release(release: ReleasePlan, engine: Engine, salt: int) -> Noisy:
    """Answer a release.

    Privacy: epsilon-DP with epsilon = `release.epsilon`. Measure i is released by the discrete Laplace mechanism
    with scale sensitivity_i / epsilon_i, which is epsilon_i-DP (Dwork, McSherry, Nissim and Smith 2006; Ghosh,
    Roughgarden and Sundararajan 2009 for the discrete form), and the measures compose by addition. Where groups
    must be found, that is a release before it, with a delta; after it the found groups are public.

    Raises:
        EngineError: the engine failed; the charge stays.
    """
    known, units = None, np.empty(0, np.int64)
    if release.discovery is not None:
        known = release.discovery.measure
        release, units = discover(release, engine, salt)
    entries = exact_integers(release, engine, salt, known)
    for at, part in enumerate(columns(release.measures)):
        if at == known:
            entries[:, part] = units[:, np.newaxis]
            continue
        for start in range(0, release.cells, BLOCK):
            exact = np.ascontiguousarray(entries[start : start + BLOCK, part])
            entries[start : start + BLOCK, part] = add_laplace(exact, release.scale(at))
    return Noisy(release, entries)
