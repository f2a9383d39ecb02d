"""How far a statement errs that is convex, or concave, in its noisy numbers: as far as the same of the noise alone.

The statement runs on noise that is drawn again, without the released numbers, and `STRETCH` times as large, so that
constants in it do not count; see `bands.curvature`. Of so many draws the interval says how far the answer may lie from
the truth to either side, each with half of the chance to fail: it holds for all data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from discreet import arrow
from discreet.errors import PostProcessingError
from discreet.release.noisy_schema import CELL, aggregate_name
from discreet.sql.algebra import keys as ks
from discreet.sql.intervals.closed_form import draws_for, needed, redraw
from discreet.sql.intervals.row_identity import Identified
from discreet.sql.intervals.seeds import seed_of_tables, table_seed
from discreet.sql.intervals.simulation import repeated
from discreet.sql.intervals.simulation.parts import DRAW, CannotRewriteError, Output
from discreet.sql.intervals.simulation.rewrite import rewrite
from discreet.sql.intervals.simulation.simulated import (
    apart,
    by_row,
    noisy_shapes,
    over_all,
    percentile_sql,
)
from discreet.sql.lower.run import NoisyIntegers
from discreet.sql.lower.workloads import noise_again
from discreet.sql.plan.plan import Aggregate, PlannedRelease, QueryPlan

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

STRETCH: Final = 2.0**50
"""How many times as large the noise is as it really is: constants are then as good as zero."""


def is_linear(release: PlannedRelease, aggregate: Aggregate) -> bool:
    """Whether the noise of an aggregate is a weighted sum of that of integers, the same for all of these."""
    return release.measures[aggregate.measure].weights(aggregate.quantity) is not None


def widths_of_noise(
    plan: QueryPlan,
    noisy: Sequence[NoisyIntegers],
    public: Mapping[str, pa.Table],
    rows: pa.Table,
    found: Identified,
    wanted: Mapping[str, bool],
    confidence: float,
) -> dict[str, Floats]:
    """How far columns of an answer may lie from the truth, to either side, at a confidence.

    Args:
        plan: of the question.
        noisy: the noisy integers of all groups.
        public: the public tables that it reads.
        rows: the identity of the rows of the answer.
        found: the statement whose rows have an identity.
        wanted: the columns of `found` by name, and whether each is convex; else it is concave.
        confidence: strictly between 0 and 1.

    Returns:
        float64 arrays (rows,) by column; those that cannot be drawn are left out.
    """
    draws = draws_for(plan.releases, needed(confidence))
    if not wanted or not apart(rows) or draws < max(repeated.FEWEST, needed(confidence)):
        return {}
    shapes = {name: tuple(Output(c, False) for c in table.column_names) for name, table in public.items()}
    try:
        rewritten = rewrite(found.post, noisy_shapes(plan), shapes)
    except CannotRewriteError:
        return {}
    seed = seed_of_tables(noisy)
    tables = {n.plan.name: _noise_table(plan, n, draws, seed) for n in noisy} | dict(public)
    names = list(wanted)
    try:
        ends = over_all(tables, rows, draws, percentile_sql(rewritten, found.ids, names, draws, confidence))
    except PostProcessingError:
        return {}
    found_ends = by_row([ends], names, len(rows))
    return {name: (high if wanted[name] else -low) / STRETCH for name, (low, high) in found_ends.items()}


def _noise_table(plan: QueryPlan, noisy: NoisyIntegers, draws: int, seed: int) -> pa.Table:
    """The noise of a noisy table, drawn many times; zeros for aggregates that are not linear, which nothing reads."""
    import pyarrow as pa

    release, cells = noisy.plan, np.arange(noisy.plan.cells)
    data: dict[str, pa.Array] = {
        DRAW: arrow.column(np.repeat(np.arange(draws), len(cells))),
        CELL: arrow.column(np.tile(cells, draws)),
    }
    data.update({name: column.take(data[CELL]) for name, column in ks.table(release.keys).items()})
    noise: dict[int, Floats] = {}
    for number, aggregate in enumerate(release.aggregates):
        values = np.zeros((draws, len(cells)))
        if is_linear(release, aggregate):
            measure = aggregate.measure
            if measure not in noise:
                nothing = 0 * np.asarray(noisy.of(aggregate, cells), np.float64)
                own = table_seed(seed, plan, release)
                noise[measure] = (
                    redraw(release, measure, nothing, draws, np.random.default_rng([own, measure]))
                    if release.law is None
                    else noise_again(release, measure, draws, own)
                )
            values = release.measures[measure].estimate(aggregate.quantity, noise[measure])
            values = np.rint(values) if aggregate.whole else values
        data[aggregate_name(number)] = arrow.column(STRETCH * values.reshape(-1))
    return pa.table(data)
