"""Noisy tables and public tables -> the answer with its intervals, in a sandbox that sees nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np
from sqlglot import exp

from discreet import arrow
from discreet.engines.sandbox import Sandbox
from discreet.errors import PostProcessingError
from discreet.release.noisy_schema import CELL, ID
from discreet.sql.finish.answered import AnswerColumns as AnswerColumns
from discreet.sql.finish.nested import gathered, noise_in, spread
from discreet.sql.finish.people import ends_by_class
from discreet.sql.intervals.closed_form import closed, direct
from discreet.sql.intervals.lazy import LazyMapping
from discreet.sql.intervals.monotone import monotone_intervals
from discreet.sql.intervals.row_mapping import (
    aggregate_columns,
    all_direct,
    chosen,
    key_columns,
    picked_columns,
    shared_with_cell,
)
from discreet.sql.intervals.row_mapping import table as picked_table
from discreet.sql.intervals.simultaneous import Level, each, numbers
from discreet.sql.lower.run import EVERY, LARGEST, GroupSelection, NoisyIntegers, blocks
from discreet.sql.lower.sequence import compared, in_sequence
from discreet.sql.plan.plan import Aggregate, QueryPlan
from discreet.sql.syntax.nodes import used

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from discreet.sql.intervals.bands.banded import Banded
    from discreet.sql.intervals.row_identity import Identified
    from discreet.sql.intervals.simulation.simulated import Interval

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]


def finish(
    plan: QueryPlan,
    noisy: Sequence[NoisyIntegers],
    public: Mapping[str, pa.Table],
    confidence: float,
    together: bool = False,
    shown: Sequence[NoisyIntegers] | None = None,
) -> AnswerColumns:
    """Run the post-processing of a plan.

    Args:
        plan: with the groups that were found.
        noisy: the noisy integers of its releases, or of some groups of the only one.
        public: the public tables.
        confidence: of the intervals.
        together: whether all intervals together have it, instead of each by itself.
        shown: the noisy integers in the shape that was asked for, if any; the intervals are of those released.

    Privacy: reads released and public numbers only, so it costs nothing (Dwork and Roth 2014, proposition 2.1).

    Raises:
        PostProcessingError: DuckDB refused the statement; its message speaks of released numbers only.
    """
    several = spread(plan.post)
    if several is None:
        return _finish(plan, noisy, public, confidence, together, shown)
    answered = _finish(replace(plan, post=several.post), noisy, public, confidence, together, shown)
    return gathered(answered, several)


def _finish(
    plan: QueryPlan,
    noisy: Sequence[NoisyIntegers],
    public: Mapping[str, pa.Table],
    confidence: float,
    together: bool,
    shown: Sequence[NoisyIntegers] | None,
) -> AnswerColumns:
    """The same for a statement, each of whose columns is one number, or has no intervals."""
    read = used(public, plan.post)
    found, values, rows, cells = _answered(plan, noisy if shown is None else shown, read)
    over = cache(partial(_over_bands, plan, found, read))  # it takes a millisecond or two, and ten modules
    level = Level(confidence)
    if together:
        level = Level(each(confidence, numbers(plan, values.num_columns, len(values))), True)
    elif found is not None and found.chosen:
        level = Level(over().selected(confidence, len(values)))
    intervals: dict[str, Callable[[], Interval]] = {}
    if cells is not None:
        intervals = _direct(plan, noisy[0], cells, level.confidence)
    keys = key_columns(plan) if cells is not None else set()
    rest = [name for name in values.column_names if name not in intervals and name not in keys]
    ends: dict[str, Interval] = {}
    if cells is not None and rest:
        ends = _monotone_intervals(plan, noisy[0], values, cells, rest, level.confidence)
        others = [name for name in rest if name not in ends]
        ends |= _ratio_intervals(plan, noisy[0], values, cells, others, level.confidence)
        rest = [name for name in rest if name not in ends]
    if cells is not None and rest:
        rows = _numbered(found, len(values) if isinstance(cells, slice) else cells, noisy[0].first)
    more: dict[str, Interval] = {}
    without: tuple[str, ...] = ()
    if rest:
        try:
            more, without = _by_draws_or_bands(noisy, values, rows, rest, (over(), level, confidence), cells)
        except RecursionError:  # a statement that draws is nested deeper
            without = tuple(rest)
    ends.update({name: ordered(values, name, pair) for name, pair in more.items()})
    intervals.update({name: partial(as_it_is, pair) for name, pair in ends.items()})
    if shown is not None:
        intervals = {name: partial(_around_shown, values, name, ends) for name, ends in intervals.items()}
    without += tuple(name for name in rest if arrow.is_nested(values, name) and noise_in(plan.post, name))
    return AnswerColumns(
        values, LazyMapping({n: intervals[n] for n in values.column_names if n in intervals}), without
    )


def _answered(
    plan: QueryPlan, noisy: Sequence[NoisyIntegers], read: Mapping[str, pa.Table]
) -> tuple[Identified | None, pa.Table, pa.Table | None, GroupSelection | None]:
    """The statement whose rows have an identity, the answer, that identity, and the group of each row if it is one."""
    post, has_cell = shared_with_cell(plan)
    picked = picked_columns(post) if has_cell else None
    found = None
    if picked is None or not all_direct(plan, post):
        from discreet.sql.intervals.row_identity import identified_in

        found = identified_in(plan, read)
    if picked is not None:
        cells = chosen(post, noisy[0])
        return found, picked_table(picked, noisy[0], cells), None, cells
    tables: dict[str, pa.Table] = {n.plan.name: n.table() for n in noisy} | dict(read)
    try:
        values, rows = _run(post if has_cell or found is None else found.post, tables)
    except PostProcessingError:  # a hidden column stands in its way: then nothing names the rows
        found = None
        values, rows = _run(post, tables)
    if not has_cell:
        return found, values, None if found is None else rows, None
    numbers_ = arrow.numbers(values.column(CELL)) - noisy[0].first
    return found, values.drop_columns([CELL]), None if found is None else rows, numbers_


def _run(post: exp.Query, tables: Mapping[str, pa.Table]) -> tuple[pa.Table, pa.Table | None]:
    """The answer, and the identity of its rows where the statement has hidden columns for it."""
    with Sandbox(tables) as sandbox:
        out = arrow.plain(sandbox.run(post.sql("duckdb")))
    shown = [name for name in out.column_names if not name.startswith(ID)]
    hidden = out.select([name for name in out.column_names if name.startswith(ID)])
    return out.select(shown), hidden


def _numbered(found: Identified | None, cells: int | Integers, first: int) -> pa.Table | None:
    """The identity of rows that are groups: their numbers."""
    import pyarrow as pa

    if found is None or len(found.ids) != 1:
        return None
    own = np.arange(cells) if isinstance(cells, int) else cells
    return pa.table({found.ids[0]: arrow.column(np.asarray(own, np.int64) + first)})


def _over_bands(plan: QueryPlan, found: Identified | None, public: Mapping[str, pa.Table]) -> Banded:
    from discreet.sql.intervals.bands.banded import banded

    return banded(plan, found, public)


def _by_draws_or_bands(
    noisy: Sequence[NoisyIntegers],
    values: pa.Table,
    rows: pa.Table | None,
    names: Sequence[str],
    how: tuple[Banded, Level, float],
    cells: GroupSelection | None,
) -> tuple[dict[str, Interval], tuple[str, ...]]:
    """Intervals from draws; from bands, where noise selects or folds on the way, or draws are not enough."""
    from discreet.sql.intervals.simulation.simulated import simulated_intervals

    over, level, confidence = how
    plan = over.plan
    place = {name: index for index, name in enumerate(values.column_names)}
    asked = [name for name in names if arrow.is_number(values, name)]
    columns = () if over.relation is None else over.relation.columns
    whole = (
        rows is not None and len(noisy) == len(plan.releases) and all(integers.whole for integers in noisy)
    )

    def banded_ends(wanted: Sequence[str], row_confidence: float) -> dict[str, Interval]:
        places = [place[name] for name in wanted if place[name] < len(columns) and columns[place[name]].noisy]
        if rows is None or not whole:
            return {}
        ends = over.ends(noisy, rows, places, row_confidence, _everywhere)
        return {name: ends[place[name]] for name in wanted if place[name] in ends}

    found = banded_ends([name for name in asked if over.single(place[name])], level.confidence)
    # Where private rows were compared with a released number, nothing but bands may say how far a number errs.
    waits = in_sequence(plan)
    bent = [name for name in asked if name not in found and (waits or over.bent(place[name]))]
    rest = [name for name in asked if name not in found and name not in bent]
    only = None
    if cells is not None and not isinstance(cells, slice) and of_one_group(plan):
        only = np.asarray(cells, np.int64)
    more, without = simulated_intervals(
        plan, noisy, over.public, values, over.found, rows, rest, level.confidence, only
    )
    found.update(more)
    late = [*bent, *without]
    if rows is not None and whole and not waits and not level.together:
        from discreet.sql.finish.sharper import sharper_ends

        found.update(
            sharper_ends(noisy, values, rows, late, (over, level.confidence, confidence), _everywhere)
        )
    late = [name for name in late if name not in found]
    if late:
        row_confidence = level.confidence if level.together else over.level(confidence, len(values))
        found.update(banded_ends(late, row_confidence))
    late = [*bent, *without]
    noise_free = {name for name in bent if place[name] < len(columns) and not columns[place[name]].noisy}
    return found, tuple(name for name in names if name in late and name not in {*found, *noise_free})


def _everywhere(noisy: NoisyIntegers, aggregate: Aggregate, confidence: float) -> Interval:
    """The interval of an aggregate in every group.

    Private rows that were compared with a released number are others than those compared with the true one, and how
    many others depends on the data: then it may lie anywhere.
    """
    if compared(noisy.plan, aggregate):
        anywhere = np.full(len(noisy.entries), np.inf)
        return -anywhere, anywhere
    return direct_ends(noisy, aggregate, EVERY, confidence)


def of_one_group(plan: QueryPlan) -> bool:
    """Whether the shown values of a group are made of that group alone."""
    others = (exp.Window, exp.Query, exp.AggFunc, exp.UDTF)
    return not any(isinstance(node, others) for item in plan.post.selects for node in item.walk())


def ordered(values: pa.Table, name: str, ends: Interval) -> Interval:
    """The ends of an interval around its value: low <= value <= high, for all draws."""
    return around(arrow.floats(values.column(name)), ends)


def around(own: Floats, ends: Interval) -> Interval:
    """The ends of intervals, in order and around their values; NaN stays where there is no interval."""
    low, high = np.fmin(*ends), np.fmax(*ends)
    inside = np.isfinite(own)
    low = np.where(inside & ~np.isnan(low), np.minimum(low, own), low)
    high = np.where(inside & ~np.isnan(high), np.maximum(high, own), high)
    assert not ((low > high) | (inside & ((low > own) | (high < own)))).any(), "low <= value <= high"
    return low, high


def _around_shown(values: pa.Table, name: str, ends: Callable[[], Interval]) -> Interval:
    """The interval of a released number, stretched so that it reaches to the one that is shown."""
    return ordered(values, name, ends())


def as_it_is(ends: Interval) -> Interval:
    """An interval that is there already, for where one is made when it is looked at."""
    return ends


def _direct(
    plan: QueryPlan, noisy: NoisyIntegers, cells: GroupSelection, confidence: float
) -> dict[str, Callable[[], Interval]]:
    """Intervals of the columns that are exactly an aggregate; a formula is worked out when it is looked at."""
    out: dict[str, Callable[[], Interval]] = {}
    if (
        not isinstance(cells, slice)
        and len(cells) == noisy.plan.cells
        and (cells[1:] == cells[:-1] + 1).all()
    ):
        cells = EVERY
    for name, index in aggregate_columns(plan).items():
        aggregate = noisy.plan.aggregates[index]
        later = partial(direct_ends, noisy, aggregate, cells, confidence)
        out[name] = later if closed(noisy.plan, aggregate) else partial(as_it_is, later())
    return out


def direct_ends(
    noisy: NoisyIntegers, aggregate: Aggregate, groups: GroupSelection, confidence: float
) -> Interval:
    """The interval of an unchanged aggregate, in some groups: float64 arrays (groups,)."""
    if noisy.plan.people is not None and noisy.plan.people.key is not None:
        return ends_by_class(
            noisy, noisy.plan.people, groups, lambda own, here: direct_ends(own, aggregate, here, confidence)
        )
    low, high = (np.empty(len(noisy.entries[groups, :0])) for _ in range(2))
    for part, here in blocks(groups, len(noisy.entries)):
        entries, values = noisy.of(aggregate, here), noisy.values(aggregate, here)
        # Every whole number is shown within 2^62; its interval holds the shown number, too.
        shown = np.clip(values, -LARGEST, LARGEST) if aggregate.whole else values
        low[part], high[part] = around(shown, direct(noisy.plan, aggregate, entries, values, confidence))
    return low, high


def _monotone_intervals(
    plan: QueryPlan,
    noisy: NoisyIntegers,
    values: pa.Table,
    cells: GroupSelection,
    names: list[str],
    confidence: float,
) -> dict[str, Interval]:
    """Intervals of the columns that are monotone in one aggregate of their group."""
    items = {item.alias_or_name: item.unalias() for item in plan.post.selects if item.alias_or_name in names}
    moments = {name for name in items if arrow.is_moment(values, name)}
    asked = {name: item for name, item in items.items() if name in moments or arrow.is_number(values, name)}
    aggregates = noisy.plan.aggregates
    return monotone_intervals(
        asked,
        noisy.plan.name,
        lambda wanted: noisy.keys(wanted, cells),
        lambda number: direct_ends(noisy, aggregates[number], cells, confidence),
        moments,
    )


def _ratio_intervals(
    plan: QueryPlan,
    noisy: NoisyIntegers,
    values: pa.Table,
    cells: GroupSelection,
    names: list[str],
    confidence: float,
) -> dict[str, Interval]:
    """Intervals of the columns that are ratios of counts and sums of their group; NaN where the column is NULL."""
    from discreet.sql.intervals.ratio import ratio_intervals

    items = {item.alias_or_name: item.unalias() for item in plan.post.selects if item.alias_or_name in names}
    asked = {name: item for name, item in items.items() if arrow.is_number(values, name)}
    found = ratio_intervals(asked, noisy, cells, confidence)
    out = {}
    for name, (low, high) in found.items():
        there = np.isfinite(arrow.floats(values.column(name)))
        out[name] = ordered(values, name, (np.where(there, low, np.nan), np.where(there, high, np.nan)))
    return out
