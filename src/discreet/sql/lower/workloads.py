"""Workloads run: the marginals of the finest grouping get noise, and the tables are estimated from them.

All estimates are marginals of one table of whole steps, so that every total is the sum of its parts to the last digit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from discreet.engines.engine import Engine
from discreet.release.draw import Draw
from discreet.sql.expressions.dialect import SATURATE
from discreet.sql.lower.run import EVERY, NoisyIntegers, blocks, exact_integers
from discreet.sql.lower.uses import use_of
from discreet.sql.measures.measure import columns
from discreet.sql.plan.plan import AnyMeasure, JointWorkload, PlannedRelease, QueryPlan

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.planning.marginals import Keys
    from discreet.sql.plan.workloads.estimated import Estimated
    from discreet.sql.plan.workloads.pieced import Parted
    from discreet.sql.plan.workloads.series_law import SeriesLaw

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]

ShownCells: TypeAlias = Callable[[Sequence[AnyMeasure], "Integers", Sequence[int]], "Integers"]
"""Of measures, cells (series, cells, integers) and their binary places the cells that are shown."""


def run_workload(workload: JointWorkload, engine: Engine, salt: int, draw: Draw) -> list[NoisyIntegers]:
    """Compute the marginals of a workload, and have noise drawn on them.

    Privacy: epsilon-DP with epsilon = the sum over the marginals of `PlannedRelease.epsilon`. The integers of the
    finest grouping move by at most their sensitivity in L1. A marginal sums and saturates them, each of which is
    1-Lipschitz in each integer, so it moves by at most as much.

    Args:
        workload: the plan.
        engine: runs it.
        salt: decides which rows of a unit are kept.
        draw: the noise of its uses.

    Raises:
        EngineError: the engine failed; the charge stays.
    """
    exact = exact_integers(workload.finest, engine, salt)
    noisy = []
    for keys, marginal in workload.marginals:
        if workload.series is not None:
            entries = windows(exact, workload.series)
        elif workload.pieces is not None:
            entries = of_pieces(exact, workload.pieces)
        else:
            entries = summed(exact.reshape(*workload.sizes, -1), keys).reshape(marginal.cells, -1)
        for index, part in enumerate(columns(marginal.measures)):
            for here, _ in blocks(EVERY, marginal.cells):
                entries[here, part] = draw(use_of(marginal, index), entries[here, part])
        noisy.append(NoisyIntegers(marginal, entries))
    return noisy


def windows(table: Integers, series: SeriesLaw) -> Integers:
    """The weighted sums of each series: int64 (groups, integers) -> (others times nodes, integers)."""
    found = np.moveaxis(series.factors.measured(series.in_order(table)), -1, -2)
    return np.array(found.reshape(-1, table.shape[1]), order="C")


def of_pieces(table: Integers, parted: Parted) -> Integers:
    """The weighted sums of the pieces: int64 (groups, integers) -> (series times nodes, integers)."""
    found = np.moveaxis(parted.matrix.measured(parted.pieces_of(table)), -1, -2)
    return np.array(found.reshape(-1, table.shape[1]), order="C")


def summed(table: Integers, keys: Keys) -> Integers:
    """A table summed over all keys but some, saturating at +-2^62: int64 (n_1, …, n_k, integers) -> (…, integers)."""
    from discreet.planning.saturating import saturated

    over = tuple(axis for axis in range(table.ndim - 1) if axis not in keys)
    if not over:
        return np.array(table, order="C")
    return saturated(table, lambda part: part.sum(axis=over))


def tables_of(
    plan: QueryPlan, noisy: Sequence[NoisyIntegers], shape: ShownCells | None = None
) -> list[NoisyIntegers]:
    """The noisy tables of a plan, from the noisy integers that were measured; tables that are given stay.

    Args:
        plan: of the question.
        noisy: the integers of all that was measured.
        shape: shapes the cells that the tables of a workload are sums of.

    Privacy: reads noisy integers only, so it is post-processing (Dwork and Roth 2014, proposition 2.1).
    """
    known = {integers.plan.name: integers for integers in noisy}
    plans = {release.name: release for release in plan.releases}
    for workload in plan.workloads:
        if not known.keys() >= set(workload.tables):
            known.update(_estimated(workload, known, [plans[name] for name in workload.tables], shape))
    return [known[release.name] for release in plan.releases]


def _estimated(
    workload: JointWorkload,
    known: Mapping[str, NoisyIntegers],
    tables: Sequence[PlannedRelease],
    shape: ShownCells | None,
) -> dict[str, NoisyIntegers]:
    """The tables of a workload from its noisy marginals."""
    from discreet.sql.plan.workloads.estimated import Estimated

    if workload.series is not None:
        return {
            tables[0].name: _from_windows(
                workload.series, known[workload.marginals[0][1].name], tables[0], shape
            )
        }
    if workload.pieces is not None:
        return _from_pieces(workload.pieces, known[workload.marginals[0][1].name], tables, shape)
    first = tables[0].estimated
    assert isinstance(first, Estimated)
    every = tuple(range(len(workload.sizes)))
    measured = {
        keys: known[marginal.name].entries.reshape(*_of(workload.sizes, keys), -1)
        for keys, marginal in workload.marginals
    }
    places = tuple(first.bits(index) for index in range(len(workload.finest.measures)))
    held, whole = next(iter(measured.items()))
    if len(measured) > 1 or held != every:
        held, whole = every, _joint(measured, first, workload, places)
    if shape is not None:
        used = places if held == every else (0,) * len(places)
        flat = whole.reshape(1, -1, whole.shape[-1])
        whole = shape(workload.finest.measures, flat, used).reshape(whole.shape)
    out = {}
    for table in tables:
        own = table.estimated
        assert isinstance(own, Estimated)
        sums = summed(whole, tuple(held.index(key) for key in own.keys))
        entries = np.asfortranarray(own.shown(sums).reshape(table.cells, -1))
        out[table.name] = NoisyIntegers(table, entries, places=places)
    return out


def _from_windows(
    series: SeriesLaw, noisy: NoisyIntegers, table: PlannedRelease, shape: ShownCells | None = None
) -> NoisyIntegers:
    """The groups of a series from its noisy windows, in whole steps."""
    count = noisy.entries.shape[1]
    nodes = noisy.entries.reshape(*series.others, series.factors.nodes, count).astype(np.float64)
    found = series.as_groups(series.factors.estimate(np.moveaxis(nodes, -2, -1)))
    places = tuple(series.bits(index) for index in range(len(table.measures)))
    for part, bits in zip(columns(table.measures), places, strict=True):
        steps = np.rint(found[:, part] * 2.0**bits)
        found[:, part] = np.clip(steps, -float(SATURATE), float(SATURATE))
    entries = found.astype(np.int64)
    if shape is not None:
        inner = np.moveaxis(series.in_order(entries), -2, -1)
        shaped = shape(table.measures, inner.reshape(-1, *inner.shape[-2:]), places).reshape(inner.shape)
        entries = series.as_groups(np.moveaxis(shaped, -1, -2))
    return NoisyIntegers(table, np.asfortranarray(entries), places=places)


def _from_pieces(
    parted: Parted, noisy: NoisyIntegers, tables: Sequence[PlannedRelease], shape: ShownCells | None
) -> dict[str, NoisyIntegers]:
    """The tables of some questions from the noisy sums of their pieces, in whole steps."""
    from discreet.sql.plan.workloads.pieced import Pieced

    matrix, measures = parted.matrix, tables[0].measures
    nodes = np.moveaxis(noisy.entries.reshape(parted.series, matrix.nodes, -1), -1, -2)
    pieces, places = nodes, (0,) * len(measures)
    if matrix.units > 1:
        law = tables[0].estimated
        assert isinstance(law, Pieced)
        places = tuple(law.bits(index) for index in range(len(measures)))
        found = matrix.estimate(nodes.astype(np.float64))
        for part, bits in zip(columns(measures), places, strict=True):
            steps = np.rint(found[:, part] * 2.0**bits)
            found[:, part] = np.clip(steps, -float(SATURATE), float(SATURATE))
        pieces = found.astype(np.int64)
    if shape is not None:
        pieces = np.moveaxis(shape(measures, np.moveaxis(pieces, -1, -2), places), -1, -2)
    out = {}
    for table in tables:
        own = table.estimated
        assert isinstance(own, Pieced)
        out[table.name] = NoisyIntegers(table, np.asfortranarray(own.as_groups(pieces)), places=places)
    return out


def _joint(
    measured: Mapping[Keys, Integers], estimated: Estimated, workload: JointWorkload, places: Sequence[int]
) -> Integers:
    """The table by all keys that fits the marginals best, in whole steps: int64 (n_1, …, n_k, integers)."""
    every = tuple(range(len(workload.sizes)))
    measures = workload.finest.measures
    out = np.empty((*workload.sizes, sum(measure.entries for measure in measures)), np.int64)
    model = estimated.strategy.measured
    for part, bits in zip(columns(measures), places, strict=True):
        for entry in range(part.start, part.stop):
            tables = {keys: table[..., entry].astype(np.float64) for keys, table in measured.items()}
            steps = np.rint(model.estimate(tables, every) * 2.0**bits)
            out[..., entry] = np.clip(steps, -float(SATURATE), float(SATURATE)).astype(np.int64)
    return out


def _of(sizes: Sequence[int], keys: Keys) -> tuple[int, ...]:
    return tuple(sizes[key] for key in keys)


def noise_again(release: PlannedRelease, measure: int, draws: int, seed: int) -> Floats:
    """The noise of a table drawn anew, together with that of all tables of its workload that are given the same seed.

    This simulates; it protects nothing, so NumPy's generator will do.

    Returns:
        float64 array (draws, groups, entries of the measure).
    """
    from discreet.sql.plan.workloads.pieced import Pieced
    from discreet.sql.plan.workloads.series_law import SeriesLaw

    alone = np.random.default_rng([seed, measure])
    if release.people is not None:
        shape = draws, release.cells, release.measures[measure].entries
        return release.people.sample_noise(
            measure, shape, release.people.of_groups(release.keys, release.cells), alone
        )
    if release.recalled is not None:  # a table by itself, whose groups are sums of different cells
        return release.recalled.sample_noise(
            measure, (draws, release.cells, release.measures[measure].entries), alone
        )
    estimated = release.estimated
    if isinstance(estimated, SeriesLaw | Pieced):
        return estimated.again(measure, release.measures[measure].entries, draws, seed)
    assert estimated is not None
    model, entries = estimated.strategy.measured, release.measures[measure].entries
    noise = {}
    for number, (keys, share) in enumerate(estimated.strategy.shares):
        generator = np.random.default_rng([seed, measure, number])
        scale = float(estimated.scales[measure] / share)
        noise[keys] = generator.laplace(0.0, scale, (draws, entries, *_of(model.sizes, keys)))
    found = np.moveaxis(model.estimate(noise, estimated.keys), 1, -1)
    return estimated.shown(found).reshape(draws, release.cells, entries)
