"""Intervals from draws: the noise is drawn again around the released integers, and the same statement run on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from sqlglot import exp

from discreet import arrow
from discreet.arrow import is_number
from discreet.engines.sandbox import Sandbox
from discreet.errors import PostProcessingError
from discreet.sql.algebra import keys as ks
from discreet.sql.intervals import repeated_simulation as redrawn
from discreet.sql.intervals.closed_form import drawn_again, draws_for
from discreet.sql.intervals.row_mapping import with_cell
from discreet.sql.intervals.simulation_rewrite import (
    DRAW,
    DRAWS_TABLE,
    CannotRewriteError,
    Output,
    Rewritten,
    Shape,
    rewrite,
)
from discreet.sql.lower.run import CELL, Noisy, Some
from discreet.sql.plan.plan import Plan

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Interval: TypeAlias = "tuple[Floats, Floats]"

ROW = "__row"


def noisy_shapes(plan: Plan) -> dict[str, Shape]:
    """The columns of the noisy tables of a plan."""
    return {
        release.name: (
            Output(CELL, False),
            *(Output(f"k{at}", False) for at in range(len(release.keys))),
            *(Output(f"a{at}", True) for at in range(len(release.aggregates))),
        )
        for release in plan.releases
    }


def used(public: Mapping[str, pa.Table], post: exp.Query) -> dict[str, pa.Table]:
    """The public tables that a statement reads."""
    names = {table.name.lower() for table in post.find_all(exp.Table)}
    return {name: table for name, table in public.items() if name in names}


def drawn(
    plan: Plan,
    noisy: Sequence[Noisy],
    public: Mapping[str, pa.Table],
    values: pa.Table,
    cells: Some | None,
    names: list[str],
    confidence: float,
) -> tuple[dict[str, Interval], tuple[str, ...]]:
    """Intervals from draws for the columns that the noise can change and that have no closed form."""
    import pyarrow as pa

    if not plan.releases or not names:
        return {}, ()
    post, _ = with_cell(plan)
    shapes = {name: tuple(Output(c, False) for c in table.column_names) for name, table in public.items()}
    try:
        rewritten = rewrite(post, noisy_shapes(plan), shapes)
    except CannotRewriteError:
        return _one_by_one(plan, noisy, public, values, names, confidence)
    changing = {o.name for o in rewritten.outputs if o.noisy}
    wanted = [n for n in names if n in changing and is_number(values, n)]
    if not wanted:
        return {}, ()
    fixed = [o.name for o in rewritten.outputs if not o.noisy]
    answer = values.append_column(ROW, arrow.column(np.arange(len(values))))
    if cells is not None:
        answer = answer.append_column(
            CELL, arrow.column(np.arange(len(values)) if isinstance(cells, slice) else cells)
        )
        fixed = [CELL]
    elif not _identify(values, fixed):
        return _one_by_one(plan, noisy, public, values, wanted, confidence)
    draws = draws_for(plan.releases)
    if draws < redrawn.FEWEST or not redrawn.enough(draws, confidence):
        return {}, tuple(wanted)
    tables = {n.plan.name: _draws_table(n, draws) for n in noisy} | used(public, plan.post)
    tables[DRAWS_TABLE] = pa.table({DRAW: arrow.column(np.arange(draws))})
    tables["__answer"] = answer
    try:
        with Sandbox(tables) as sandbox:
            ends = sandbox.run(_percentile_sql(rewritten, fixed, wanted, draws, confidence))
    except PostProcessingError:
        return _one_by_one(plan, noisy, public, values, wanted, confidence)
    row = arrow.numbers(ends.column(ROW))
    out: dict[str, Interval] = {}
    for at, name in enumerate(wanted):
        low, high = np.full(len(values), np.nan), np.full(len(values), np.nan)
        low[row] = arrow.numbers(ends.column(f"l{at}"))
        high[row] = arrow.numbers(ends.column(f"h{at}"))
        out[name] = (low, high)
    return out, ()


def _one_by_one(
    plan: Plan,
    noisy: Sequence[Noisy],
    public: Mapping[str, pa.Table],
    values: pa.Table,
    names: Sequence[str],
    confidence: float,
) -> tuple[dict[str, Interval], tuple[str, ...]]:
    """Intervals from draws, for a statement that cannot be run on all of them at once."""
    asked = [name for name in names if is_number(values, name)]
    rows = len(values) + sum(one.cells * (1 + len(one.aggregates)) for one in plan.releases)
    draws = redrawn.draws_for(rows)
    if not asked or not draws or not redrawn.enough(draws, confidence):
        return {}, tuple(asked)
    drawn = {one.plan.name: _draws_table(one, draws).drop_columns([DRAW]) for one in noisy}
    others, sql = used(public, plan.post), redrawn.unordered(plan.post).sql("duckdb")

    def run(draw: int) -> pa.Table:
        tables = {
            one.plan.name: drawn[one.plan.name].slice(draw * one.plan.cells, one.plan.cells) for one in noisy
        }
        with Sandbox(tables | others) as sandbox:
            return plain(sandbox.run(sql))

    try:
        return redrawn.intervals(values, asked, run, draws, confidence)
    except PostProcessingError:
        return {}, tuple(asked)


def _percentile_sql(
    rewritten: Rewritten, fixed: list[str], wanted: list[str], draws: int, confidence: float
) -> str:
    """Percentiles per row of the answer; a draw in which the value is missing may lie anywhere."""
    tail = max(0, int((1 - confidence) / 2 * draws))
    match = (
        " AND ".join(f"a.{_quote(name)} IS NOT DISTINCT FROM d.{_quote(name)}" for name in fixed) or "TRUE"
    )
    items = []
    for at, name in enumerate(wanted):
        values = (
            f"list_sort(list(CAST(d.{_quote(name)} AS DOUBLE)) FILTER (WHERE d.{_quote(name)} IS NOT NULL))"
        )
        missing = f"({draws} - count(d.{_quote(name)}))"
        items.append(
            f"CASE WHEN {missing} = {draws} THEN NULL WHEN {missing} > {tail} THEN CAST('-Infinity' AS DOUBLE) "
            f"ELSE {values}[{tail} - {missing} + 1] END "
            f"AS l{at}"
        )
        items.append(
            f"CASE WHEN {missing} = {draws} THEN NULL WHEN {missing} > {tail} THEN CAST('Infinity' AS DOUBLE) "
            f"ELSE {values}[{draws} - {tail}] END AS h{at}"
        )
    return (
        f"SELECT a.{ROW} AS {ROW}, {', '.join(items)} FROM __answer AS a JOIN ({rewritten.sql}) AS d ON {match} "
        f"GROUP BY a.{ROW}"
    )


def _draws_table(noisy: Noisy, draws: int) -> pa.Table:
    """The noisy table, drawn again many times."""
    import pyarrow as pa

    cells = noisy.plan.cells
    data: dict[str, pa.Array] = {
        DRAW: arrow.column(np.repeat(np.arange(draws), cells)),
        CELL: arrow.column(np.tile(np.arange(cells), draws)),
    }
    index = arrow.column(np.tile(np.arange(cells), draws))
    data.update({name: column.take(index) for name, column in ks.table(noisy.plan.keys).items()})
    by_measure: dict[int, list[int]] = {}
    for at, aggregate in enumerate(noisy.plan.aggregates):
        by_measure.setdefault(aggregate.measure, []).append(at)
    values: dict[int, Floats] = {}
    for measure, asked in by_measure.items():
        quantities = [noisy.plan.aggregates[at].what for at in asked]
        entries = noisy.of(noisy.plan.aggregates[asked[0]])
        values.update(zip(asked, drawn_again(noisy.plan, measure, quantities, entries, draws), strict=True))
    for at in range(len(noisy.plan.aggregates)):
        data[f"a{at}"] = arrow.column(values[at].reshape(-1))
    return pa.table(data)


def _identify(values: pa.Table, fixed: list[str]) -> bool:
    """Whether the columns that noise cannot change tell the rows of an answer apart."""
    if len(values) <= 1:
        return True
    if not fixed:
        return False
    return len(values.select(fixed).group_by(fixed).aggregate([])) == len(values)


def plain(table: pa.Table) -> pa.Table:
    """Wide integers and decimals as plain integers or floats, so that every library can read them."""
    import pyarrow as pa

    columns = []
    for field, column in zip(table.schema, table.columns, strict=True):
        if pa.types.is_decimal(field.type):
            whole = field.type.scale == 0
            try:
                column = column.cast(pa.int64() if whole else pa.float64())
            except pa.ArrowInvalid:
                column = column.cast(pa.float64())
        columns.append(column)
    return pa.table(columns, names=table.column_names)


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
