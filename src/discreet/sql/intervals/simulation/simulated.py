"""Intervals from draws: the noise is drawn again around the released integers, and the same statement run on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from discreet import arrow
from discreet.arrow import is_number, plain
from discreet.engines.sandbox import Sandbox
from discreet.errors import PostProcessingError
from discreet.release.noisy_schema import CELL, ID, NoisySchema, aggregate_name
from discreet.sql.algebra import keys as ks
from discreet.sql.expressions.dialect import quote
from discreet.sql.intervals.closed_form import (
    ALONE,
    DRAWS,
    MOST_DRAWN,
    MOST_NUMBERS,
    drawn_again,
    drawn_alone,
    draws_for,
    entries_of,
    needed,
    numbers_of,
)
from discreet.sql.intervals.percentiles import percentile_sql as one_percentile_sql
from discreet.sql.intervals.row_identity import Identified
from discreet.sql.intervals.seeds import seed_of_tables, table_seed
from discreet.sql.intervals.simulation import repeated
from discreet.sql.intervals.simulation.parts import DRAW, DRAWS_TABLE, CannotRewriteError, Output, Outputs
from discreet.sql.lower.run import EVERY, LARGEST, NoisyIntegers
from discreet.sql.lower.workloads import noise_again
from discreet.sql.plan.plan import QueryPlan
from discreet.sql.syntax.nodes import used

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from discreet.sql.intervals.simulation.rewrite import Rewritten

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

Interval: TypeAlias = "tuple[Floats, Floats]"

ROW = "__row"
TOGETHER = 500
"""Groups up to which all are drawn together and as often as usual, though only some of them are shown."""


def noisy_shapes(plan: QueryPlan) -> dict[str, Outputs]:
    """The columns of the noisy tables of a plan."""
    return {
        release.name: (
            Output(CELL, False),
            *(Output(name, False) for name in schema.key_names),
            *(Output(name, True) for name in schema.aggregate_names),
        )
        for release in plan.releases
        for schema in [NoisySchema(len(release.keys), len(release.aggregates))]
    }


def simulated_intervals(
    plan: QueryPlan,
    noisy: Sequence[NoisyIntegers],
    public: Mapping[str, pa.Table],
    values: pa.Table,
    found: Identified | None,
    rows: pa.Table | None,
    names: Sequence[str],
    confidence: float,
    only: Integers | None = None,
) -> tuple[dict[str, Interval], tuple[str, ...]]:
    """Intervals from draws for columns that the noise can change and that have no closed form.

    Args:
        plan: of the question.
        noisy: its noisy integers.
        public: the public tables.
        values: the answer.
        found: the statement whose rows have an identity; None where there is none.
        rows: that identity, the hidden columns that `row_identity.identified` gives them; None where they have none.
        names: of its columns that have no closed form.
        confidence: strictly between 0 and 1.
        only: the groups that are drawn, where a row of the answer is made of one of them alone.

    Returns:
        Low and high ends by column, and the columns that have none.
    """
    from discreet.sql.intervals.simulation.rewrite import rewrite

    asked = [name for name in names if is_number(values, name)]
    if not plan.releases or not asked:
        return {}, ()
    shapes = {name: tuple(Output(c, False) for c in table.column_names) for name, table in public.items()}
    try:
        rewritten = rewrite((found or plan).post, noisy_shapes(plan), shapes)
        shown = _by_column(values.column_names, rewritten.outputs)
    except CannotRewriteError:
        return _one_by_one(plan, noisy, public, values, rows, found, asked, confidence)
    wanted = [name for name in asked if shown[name].noisy]
    if not wanted:
        return {}, ()
    draws, pieces = _pieces(plan, confidence, only)
    enough = draws >= max(repeated.FEWEST, needed(confidence))
    if found is None or rows is None or not apart(rows) or not enough:
        return {}, tuple(wanted)
    inner = [shown[name].name for name in wanted]
    seed, others = seed_of_tables(noisy), used(public, plan.post)
    sql = percentile_sql(rewritten, found.ids, inner, draws, confidence)
    ends: list[pa.Table] = []
    try:
        for piece in pieces:
            tables = {n.plan.name: _draws_table(plan, n, draws, seed, piece) for n in noisy}
            ends.append(over_all(tables | others, rows, draws, sql))
    except PostProcessingError:
        return _one_by_one(plan, noisy, public, values, rows, found, wanted, confidence)
    return by_row(ends, wanted, len(values)), ()


def _pieces(
    plan: QueryPlan, confidence: float, only: Integers | None
) -> tuple[int, Sequence[Integers | None]]:
    """How often the noise is drawn again, and the groups that are drawn at a time; 0 where that would take too long.

    The number follows from the groups of the plan and the confidence, never from how many are shown or from the columns
    beside: else the ends of a group would differ from one question about it to the next, and whoever asks for several
    could keep the narrowest.
    """
    if only is None:
        return draws_for(plan.releases, needed(confidence)), [None]
    draws = max(DRAWS if _few_groups(plan) else ALONE, needed(confidence))
    numbers = draws * sum(numbers_of(release) for release in plan.releases)
    if numbers * len(only) > MOST_DRAWN or numbers > MOST_NUMBERS:
        return 0, []
    size = MOST_NUMBERS // numbers
    return draws, [only[start : start + size] for start in range(0, len(only), size)]


def _few_groups(plan: QueryPlan) -> bool:
    return sum(release.cells for release in plan.releases) <= TOGETHER


def _by_column(names: Sequence[str], outputs: Sequence[Output]) -> dict[str, Output]:
    """The outputs by the columns of the answer, without the hidden ones, which a star takes from inside as well.

    Raises:
        CannotRewriteError: one expression has made several columns, as UNNEST of a struct does.
    """
    shown = [each for each in outputs if not each.name.startswith(ID)]
    if len(names) != len(shown):
        raise CannotRewriteError
    return dict(zip(names, shown, strict=True))


def over_all(tables: Mapping[str, pa.Table], rows: pa.Table, draws: int, sql: str) -> pa.Table:
    """Run a statement over all draws at once."""
    import pyarrow as pa

    numbers = pa.table({DRAW: arrow.column(np.arange(draws))})
    answer = rows.append_column(ROW, arrow.column(np.arange(len(rows))))
    with Sandbox({**tables, DRAWS_TABLE: numbers, "__answer": answer}) as sandbox:
        return sandbox.run(sql)


def by_row(pieces: Sequence[pa.Table], wanted: Sequence[str], rows: int) -> dict[str, Interval]:
    """The ends, of some rows in each piece, in the order of the rows of the answer; NaN for a row that no draw has."""
    out = {name: (np.full(rows, np.nan), np.full(rows, np.nan)) for name in wanted}
    for ends in pieces:
        row = arrow.numbers(ends.column(ROW))
        for index, (low, high) in enumerate(out.values()):
            low[row] = arrow.numbers(ends.column(f"l{index}"))
            high[row] = arrow.numbers(ends.column(f"h{index}"))
    return out


def _one_by_one(
    plan: QueryPlan,
    noisy: Sequence[NoisyIntegers],
    public: Mapping[str, pa.Table],
    values: pa.Table,
    rows: pa.Table | None,
    found: Identified | None,
    asked: Sequence[str],
    confidence: float,
) -> tuple[dict[str, Interval], tuple[str, ...]]:
    """Intervals from draws, for a statement that cannot be run on all of them at once."""
    size = len(values) + sum(release.cells * (1 + len(release.aggregates)) for release in plan.releases)
    draws = repeated.draws_for(size, needed(confidence))
    if found is None or rows is None or not draws or not apart(rows):
        return {}, tuple(asked)
    seed = seed_of_tables(noisy)
    drawn_tables = {
        integers.plan.name: _draws_table(plan, integers, draws, seed).drop_columns([DRAW])
        for integers in noisy
    }
    others, sql = used(public, plan.post), repeated.unordered(found.post).sql("duckdb")

    def run(draw: int) -> pa.Table:
        tables = {
            integers.plan.name: drawn_tables[integers.plan.name].slice(
                draw * integers.plan.cells, integers.plan.cells
            )
            for integers in noisy
        }
        with Sandbox(tables | others) as sandbox:
            return plain(sandbox.run(sql))

    try:
        return repeated.intervals(values, rows, asked, run, draws, confidence), ()
    except PostProcessingError:
        return {}, tuple(asked)


def apart(rows: pa.Table) -> bool:
    """Whether no two rows of an answer have the same identity, as two equal rows of a public table would."""
    if not rows.num_columns:
        return len(rows) <= 1
    return len(rows.group_by(rows.column_names).aggregate([])) == len(rows)


def percentile_sql(
    rewritten: Rewritten, fixed: Sequence[str], wanted: list[str], draws: int, confidence: float
) -> str:
    """Percentiles per row of the answer; a draw in which the value is missing, or NaN, may lie anywhere."""
    match = " AND ".join(f"a.{quote(name)} IS NOT DISTINCT FROM d.{quote(name)}" for name in fixed) or "TRUE"
    items = []
    for index, name in enumerate(wanted):
        value = f"NULLIF(CAST(d.{quote(name)} AS DOUBLE), CAST('NaN' AS DOUBLE))"
        values = f"list_sort(list({value}) FILTER (WHERE {value} IS NOT NULL))"
        missing = f"({draws} - count({value}))"
        low, high = one_percentile_sql(values, missing, draws, confidence)
        items += [f"{low} AS l{index}", f"{high} AS h{index}"]
    return (
        f"SELECT a.{ROW} AS {ROW}, {', '.join(items)} FROM __answer AS a JOIN ({rewritten.sql}) AS d ON {match} "
        f"GROUP BY a.{ROW}"
    )


def _draws_table(
    plan: QueryPlan, noisy: NoisyIntegers, draws: int, seed: int, only: Integers | None = None
) -> pa.Table:
    """The noisy table, drawn again many times, each column in the type that it has in the answer.

    Tables that are estimated from the same marginals have their noise together, by the seed. Rows that are made of one
    group alone, of `only` some, have the draws that these groups have among all; but where all are too many to be drawn
    so often, those of each group follow from its own integers, and from the law of that group only.
    """
    import pyarrow as pa

    cells = np.arange(noisy.plan.cells) if only is None else only
    data: dict[str, pa.Array] = {
        DRAW: arrow.column(np.repeat(np.arange(draws), len(cells))),
        CELL: arrow.column(np.tile(cells + noisy.first, draws)),
    }
    index = data[CELL]
    data.update({name: column.take(index) for name, column in ks.table(noisy.plan.keys).items()})
    few = _few_groups(plan) and draws * noisy.plan.cells * entries_of(noisy.plan) <= MOST_NUMBERS
    together = only is None or (noisy.whole and few)
    by_measure: dict[int, list[int]] = {}
    for number, aggregate in enumerate(noisy.plan.aggregates):
        by_measure.setdefault(aggregate.measure, []).append(number)
    values: dict[int, Floats] = {}
    for measure, asked in by_measure.items():
        quantities = [noisy.plan.aggregates[index].quantity for index in asked]
        entries = noisy.of(noisy.plan.aggregates[asked[0]], EVERY if together else cells)
        people = noisy.plan.people
        if noisy.plan.law is not None and together and (people is None or measure not in people.sampled):
            own = table_seed(seed, plan, noisy.plan)
            again = noise_again(noisy.plan, measure, draws, own) + entries
            estimate = noisy.plan.measures[measure].estimate
            values.update(
                (index, estimate(quantity, again)) for index, quantity in zip(asked, quantities, strict=True)
            )
            continue
        if together:
            generator = np.random.default_rng([table_seed(seed, plan, noisy.plan, together=False), measure])
            found = drawn_again(noisy.plan, measure, quantities, entries, draws, generator)
        else:
            found = drawn_alone(noisy.plan, measure, quantities, entries, draws)
        values.update(zip(asked, found, strict=True))
    for number, aggregate in enumerate(noisy.plan.aggregates):
        drawn = values[number][:, cells] if together else values[number]
        data[aggregate_name(number)] = _as_answered(drawn.reshape(-1), aggregate.whole)
    return pa.table(data)


def _as_answered(values: Floats, whole: bool) -> pa.Array:
    """Draws of an aggregate in its type: a count is whole, or `n // 7` and ties would be others than in the answer."""
    if not whole:
        return arrow.column(values)
    missing = np.isnan(values)
    rounded = np.rint(np.where(missing, 0, values))
    return arrow.column(np.clip(rounded, -LARGEST, LARGEST).astype(np.int64), missing)
