"""Noisy tables and public tables -> the answer with its intervals, in a sandbox that sees nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from sqlglot import exp

from discreet import arrow
from discreet.engines.sandbox import Sandbox
from discreet.errors import PostProcessingError, QueryRefused
from discreet.query import keys as ks
from discreet.query import redrawn
from discreet.query.carried import carried
from discreet.query.discovery import imagined
from discreet.query.draws import DRAW, DRAWS_TABLE, CannotRewriteError, Output, Rewritten, Shape, rewrite
from discreet.query.intervals import closed, direct, drawn_again, draws_for
from discreet.query.late import Late
from discreet.query.parse import TWINS
from discreet.query.picked import chosen, key_columns, picked_columns, picks_all, with_cell
from discreet.query.picked import table as picked_table
from discreet.query.plan import Aggregate, Plan
from discreet.query.run import CELL, EVERY, Noisy, Some, blocks

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Interval: TypeAlias = "tuple[Floats, Floats]"

FEWEST_DRAWS = 200
ROW = "__row"


@dataclass(frozen=True)
class Answered:
    """The columns of an answer.

    Attributes:
        values: the answer, as the statement gives it.
        intervals: low and high ends by column, float64 arrays (rows,); NaN where there is no interval. Those that are
            a formula are worked out when they are looked at.
        without: the noisy columns that have no interval.
    """

    values: pa.Table
    intervals: Mapping[str, Interval]
    without: tuple[str, ...]

    def ends(self, at: int) -> Mapping[str, pa.Array]:
        """The low (0) or the high (1) ends as Arrow float64 arrays, null where there is none."""
        return Late({name: partial(self._end, name, at) for name in self.intervals})

    def _end(self, name: str, at: int) -> pa.Array:
        return arrow.column(self.intervals[name][at])


def finish(plan: Plan, noisy: Sequence[Noisy], public: Mapping[str, pa.Table], confidence: float) -> Answered:
    """Run the post-processing of a plan.

    Privacy: reads released and public numbers only, so it costs nothing (Dwork and Roth 2014, proposition 2.1).

    Raises:
        PostProcessingError: DuckDB refused the statement; its message speaks of released numbers only.
    """
    post, has_cell = with_cell(plan)
    picked = picked_columns(post) if has_cell else None
    cells: Some | None = None
    if picked is not None:
        cells = chosen(post, noisy[0])
        values = picked_table(picked, noisy[0], cells)
    else:
        tables: dict[str, pa.Table] = {n.plan.name: n.table() for n in noisy} | used(public, plan.post)
        with Sandbox(tables) as sandbox:
            values = plain(sandbox.run(post.sql("duckdb")))
        if has_cell:
            cells = arrow.numbers(values.column(CELL)) - noisy[0].first
            values = values.drop_columns([CELL])
    intervals: dict[str, Callable[[], Interval]] = {}
    if cells is not None:
        intervals = _direct(plan, noisy[0], cells, confidence)
    keys = key_columns(plan) if has_cell else set()
    rest = [name for name in values.column_names if name not in intervals and name not in keys]
    ends: dict[str, Interval] = {}
    if cells is not None:
        ends = _carried(plan, noisy[0], values, cells, rest, confidence)
        rest = [name for name in rest if name not in ends]
    more, without = drawn(plan, noisy, public, values, cells, rest, confidence)
    ends.update(more)
    intervals.update({name: partial(as_it_is, pair) for name, pair in ends.items()})
    return Answered(values, Late({n: intervals[n] for n in values.column_names if n in intervals}), without)


def as_it_is(ends: Interval) -> Interval:
    """An interval that is there already, for where one is made when it is looked at."""
    return ends


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


def _direct(plan: Plan, noisy: Noisy, cells: Some, confidence: float) -> dict[str, Callable[[], Interval]]:
    """Intervals of the columns that are an aggregate as it is; a formula is worked out when it is looked at."""
    out: dict[str, Callable[[], Interval]] = {}
    if (
        not isinstance(cells, slice)
        and len(cells) == noisy.plan.cells
        and (cells[1:] == cells[:-1] + 1).all()
    ):
        cells = EVERY
    assert isinstance(plan.post, exp.Select)
    for item in plan.post.expressions:
        inner = item.unalias()
        if isinstance(inner, exp.Column) and inner.name.startswith("a") and inner.table == noisy.plan.name:
            aggregate = noisy.plan.aggregates[int(inner.name[1:])]
            later = partial(direct_ends, noisy, aggregate, cells, confidence)
            out[item.alias_or_name] = later if closed(noisy.plan, aggregate) else partial(as_it_is, later())
    return out


def direct_ends(noisy: Noisy, aggregate: Aggregate, at: Some, confidence: float) -> Interval:
    """The interval of an aggregate as it is, in some groups: float64 arrays (groups,)."""
    low, high = (np.empty(len(noisy.entries[at, :0])) for _ in range(2))
    for part, here in blocks(at, len(noisy.entries)):
        entries, values = noisy.of(aggregate, here), noisy.values(aggregate, here)
        low[part], high[part] = direct(noisy.plan, aggregate, entries, values, confidence)
    return low, high


def _carried(
    plan: Plan, noisy: Noisy, values: pa.Table, cells: Some, names: list[str], confidence: float
) -> dict[str, Interval]:
    """Intervals of the columns that are monotone in one aggregate of their group."""
    items = {item.alias_or_name: item.unalias() for item in plan.post.selects if item.alias_or_name in names}
    numbers = {name: item for name, item in items.items() if _numeric(values, name)}
    aggregates = noisy.plan.aggregates
    return carried(
        numbers,
        noisy.plan.name,
        lambda wanted: noisy.keys(wanted, cells),
        lambda at: direct_ends(noisy, aggregates[at], cells, confidence),
    )


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
    wanted = [n for n in names if n in changing and _numeric(values, n)]
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
    if draws < FEWEST_DRAWS:
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
    asked = [name for name in names if _numeric(values, name)]
    rows = len(values) + sum(one.cells * (1 + len(one.aggregates)) for one in plan.releases)
    draws = redrawn.draws_for(rows)
    if not asked or not draws:
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


def _numeric(values: pa.Table, name: str) -> bool:
    import pyarrow as pa

    kind = values.schema.field(name).type
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


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


def rehearse(plan: Plan, public: Mapping[str, pa.Table]) -> None:
    """Run the post-processing on invented noisy tables: whatever is wrong with it shows before anything is charged.

    They have one row each, with a public key and ones, so that what fails on any row fails here.

    Raises:
        QueryRefused: DuckDB cannot run the statement.
    """
    import pyarrow as pa

    post, has_cell = with_cell(plan)
    if has_cell and picks_all(post) and _distinct([item.alias_or_name for item in post.selects]):
        return  # DuckDB has nothing to do then
    tables = {}
    for release in imagined(plan).releases:
        row: dict[str, pa.Array] = {CELL: arrow.listed([0], pa.int64())}
        for at, key in enumerate(release.keys):
            row[f"k{at}"] = arrow.listed(key.values[:1], ks.arrow_type(key.expression.type))
        for at, aggregate in enumerate(release.aggregates):
            row[f"a{at}"] = arrow.listed([1], pa.int64() if aggregate.whole else pa.float64())
        tables[release.name] = pa.table(row)
    try:
        with Sandbox(tables | used(public, plan.post)) as sandbox:
            result = sandbox.run(post.sql("duckdb"))
    except PostProcessingError as error:
        raise QueryRefused(error.cause, error.fix) from None
    if not _distinct(result.column_names):
        raise QueryRefused(*TWINS)


def _distinct(names: list[str]) -> bool:
    return len(set(map(str.lower, names))) == len(names)
