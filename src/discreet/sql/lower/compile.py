"""A release plan -> the one aggregate query that an engine runs, which returns nothing but integers.

rows      the private rows, scanned with clamps, filtered, with their keys and the scaled integers; where a unit is a
          column, with the places of listed keys, and without rows whose keys are not public
kept      at most max_rows of each unit, chosen by a keyed hash over that unit's rows alone
groups    exact sums for every group of keys; where that is faster, by the stored key first
result    the number of the public group, and its sums; a group that is not public is dropped here

To find groups that are not public, another query counts units, and returns the keys as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from discreet.engines.schema import Type
from discreet.records import dataclass, field
from discreet.release.noisy_schema import key_name
from discreet.sql.algebra.keys import axes
from discreet.sql.algebra.relation import UNIT, public_tables, raw_column, scans
from discreet.sql.dialects import named
from discreet.sql.expressions.canonical import canonical_key
from discreet.sql.expressions.dialect import SATURATE, Dialect, quote
from discreet.sql.expressions.expression import Column, Expression, leaves, spell
from discreet.sql.lower.common_subexpressions import ComputedColumns, reduce_all
from discreet.sql.lower.contribution_bounding import EVERY_UNIT, Units, kept_in_groups, kept_sql
from discreet.sql.lower.groups.clamped_groups import added_up, stored_key
from discreet.sql.lower.groups.group_numbers import (
    Axes,
    clamped_axes,
    filters,
    numbered_axes,
    numbering,
    short_axes,
    with_numbers,
)
from discreet.sql.lower.relation_sql import read_by
from discreet.sql.lower.texts.query_template import from_template
from discreet.sql.measures.group_sizes import with_sizes
from discreet.sql.measures.measure import Moments
from discreet.sql.measures.quantile_tree import QuantileTree
from discreet.sql.measures.ranks import Ranks
from discreet.sql.plan.plan import AnyMeasure, MeasuredRows, PlannedRelease

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.sql.measures.near_leaves import NearLeaves


MOST_KEPT = 10_000
"""Groups of a release whose queries are kept beside it; the key lists of more would fill memory."""
MOST_PARTS = 64
"""How many queries of a release are kept."""


@dataclass(frozen=True)
class Compiled:
    """A query and the public key tables that it reads.

    Attributes:
        sql: in the dialect of the engine; columns `cell` (and `cell1` and so on of more groups than 2^62), then the
            entries of all measures `m0`, `m1`, …; for quantiles `cell`, `leaf` and the count `m0`, and `wide` where
            leaves are counted in cells. Of groups to be found: their keys, and the units `n`.
        tables: the public tables of the question, and key lists, with columns `key0` and so on for key 0 and so on,
            and `at`.
    """

    sql: str
    tables: dict[str, pa.Table] = field(default_factory=dict)


def compile_part(
    release: PlannedRelease,
    number: int,
    dialect: str,
    salt: int,
    portable: bool = False,
    units: Units = EVERY_UNIT,
    near: NearLeaves | None = None,
    quick: bool = False,
) -> Compiled:
    """Write the aggregate query of one part of a release.

    Args:
        release: the plan.
        number: of the part.
        dialect: the name of the engine's.
        salt: the secret of the data set, 64 bits, that decides which rows of a unit are kept.
        portable: decide that in the same way on every engine, which takes longer.
        units: whose rows; one slice of several where the count `adds_up`.
        near: where leaves are counted each by itself; the others are counted in cells, whose `wide` leaves begin with
            the one that is named. For the ranks of one group and of all units.
        quick: in the way that the engine runs fastest, with the same integers; identities know the other one.
    """
    part = release.parts[number]
    # A plan is written to be recognised, to be probed and to be run; the salt stands only where units are kept.
    known: dict[object, Compiled] = release.memo.setdefault("compiled", {})
    key = (number, dialect, salt if part.rows.per_unit else None, portable, units, near, quick)
    if key not in known:

        def write(release: PlannedRelease) -> tuple[str, dict[str, pa.Table]]:
            made = _compile_part(release, number, named(dialect), salt, portable, units, near, quick)
            return made.sql, made.tables

        templated = None if release.cells > MOST_KEPT else from_template(release, key, named(dialect), write)
        sql, tables = templated or write(release)
        compiled = Compiled(sql, dict(tables))
        if release.cells > MOST_KEPT or len(known) >= MOST_PARTS:
            return compiled
        known[key] = compiled
    return known[key]


def _compile_part(
    release: PlannedRelease,
    number: int,
    dialect: Dialect,
    salt: int,
    portable: bool,
    units: Units,
    near: NearLeaves | None,
    quick: bool,
) -> Compiled:
    part = release.parts[number]
    measures = [_over_raw(part, measure) for measure in release.measures if measure.part == number]
    stored = stored_key(part, measures) if quick and dialect.clamps_groups else None
    part = stored[0] if stored else part
    steps = ComputedColumns(dialect)
    items = _items(part, measures, steps)
    numbered = numbered_axes(release) if part.rows.per_unit else ()
    short = short_axes(release, numbered, dialect) if quick else ()
    tables, numbers, joins, ranges = numbering(release, numbered, short)
    tables.update(public_tables(part.rows.relation))
    used = [*part.keys, *(argument for m in measures for argument in m.arguments)]
    rows = _rows(part, used, items, steps)
    names = [name for name, _ in items]
    if part.rows.per_unit:
        rows, names = with_numbers(release, rows, names, numbered, dialect, short)
        clamped = clamped_axes(release, part, dialect) if quick else ()
        known = filters(release, numbered, dialect, short, clamped)
        keep = " AND ".join([f"{quote(UNIT, dialect)} IS NOT NULL", *known])
        types = _portable(part, measures, names, numbered) if portable else None
        spans = _spans(release, measures, numbered)
        alike, kind = _alike(part), scans(part.rows.relation)[0].table.unit_kind
        rows = _kept_in_groups(part, rows, keep, names, salt, dialect, types)
        rows = kept_sql(rows, keep, names, part.cap, salt, dialect, types, spans, units, alike, kind, quick)
        ranges = ranges if clamped else []  # else rows were dropped by the same conditions
    keys = _groups(part, names)
    rows = _sized(rows, keys, measures)
    sums = [
        item for index, measure in enumerate(measures) for item in measure.group_items(f"t{index}", dialect)
    ]
    saturate = "{0}" if stored else dialect.saturate
    entries = [f"{saturate.format(summand, SATURATE)} AS m{index}" for index, summand in enumerate(sums)]
    outputs = ", ".join(f"g.m{index}" for index in range(len(entries)))
    by, counted = keys, ""
    # Alone in its part: one count for every group and leaf that has rows.
    if isinstance(measures[0], QuantileTree | Ranks):
        by, counted = [*keys, "t0"], " WHERE t0 IS NOT NULL"
        outputs = f"CAST(g.t0 AS BIGINT) AS leaf, {outputs}"
    if near is not None:
        groups = near.sql(rows, entries[0], dialect)
        return Compiled(f"SELECT CAST(0 AS BIGINT) AS cell, {outputs}, g.wide FROM ({groups}) AS g", tables)
    group_by = f" GROUP BY {', '.join(by)}" if by else ""
    groups = f"SELECT {', '.join([*by, *entries])} FROM ({rows}) AS kept{counted}{group_by}"
    if stored:
        groups = added_up(groups, stored[1], len(entries), dialect)
    if not keys:
        return Compiled(f"SELECT CAST(0 AS BIGINT) AS cell, {outputs} FROM ({groups}) AS g", tables)
    where = ""
    if ranges:  # of groups: a planner that asks them of rows, too, takes nearly all rows for dropped
        groups, where = groups + dialect.fence, f" WHERE {' AND '.join(ranges)}"
    return Compiled(f"SELECT {numbers}, {outputs} FROM ({groups}) AS g{''.join(joins)}{where}", tables)


def _items(part: MeasuredRows, measures: list[AnyMeasure], steps: ComputedColumns) -> list[tuple[str, str]]:
    """Name and SQL of the columns that a row must carry: its keys, and the integers of each measure."""
    items = [
        (key_name(index), spell(steps.reduced(canonical_key(key)), steps.dialect))
        for index, key in enumerate(part.keys)
    ]
    for index, measure in enumerate(measures):
        # A measure that scales its argument writes it several times.
        reduced = measure.reading(partial(steps.reduced, repeated=measure.grid is not None))
        items += reduced.row_items(f"t{index}", steps.dialect)
    return items


def adds_up(release: PlannedRelease, number: int) -> bool:
    """Whether the counts of a part over several slices of the units add up to its counts over all of them."""
    distinct = any(isinstance(m, Moments) and m.distinct for m in release.measures if m.part == number)
    return release.parts[number].rows.per_unit and not distinct


def compile_discovery(release: PlannedRelease, engine_dialect: str, salt: int) -> Compiled:
    """Write the query that counts the units of each group whose keys are not public.

    Args:
        release: the plan; its discovery names the part to count.
        engine_dialect: the name of the engine's dialect.
        salt: as for `compile_part`.

    Returns:
        A query with the columns k… of the unknown keys, none of them NULL, and `n`, the units of the group.
    """
    assert release.discovery is not None
    part, dialect = release.discovery.part, named(engine_dialect)
    names = [key_name(index) for index, key in enumerate(release.keys) if not key.public]
    steps, keys = reduce_all([canonical_key(key) for key in part.keys], dialect)
    items = [(name, spell(key, dialect)) for name, key in zip(names, keys, strict=True)]
    rows = _rows(part, list(part.keys), items, steps)
    known = [f"{name} IS NOT NULL" for name in names]
    if part.rows.per_unit:
        keep = " AND ".join([f"{quote(UNIT, dialect)} IS NOT NULL", *known])
        rows = kept_sql(rows, keep, names, part.cap, salt, dialect, None, None, EVERY_UNIT, _alike(part))
    listed = ", ".join(names)
    count = f"CAST(LEAST(COUNT(*), {SATURATE}) AS BIGINT) AS n"
    sql = f"SELECT {listed}, {count} FROM ({rows}) AS kept WHERE {' AND '.join(known)} GROUP BY {listed}"
    return Compiled(sql, public_tables(part.rows.relation))


def _over_raw(part: MeasuredRows, measure: AnyMeasure) -> AnyMeasure:
    """Read the stored values of a plain column where the measure clamps it into the same bounds anyway."""

    def raw(argument: Expression) -> Expression:
        return raw_column(part.rows.relation, argument) if isinstance(argument, Column) else argument

    return measure.over(raw)


def _rows(
    part: MeasuredRows, used: list[Expression], items: list[tuple[str, str]], steps: ComputedColumns
) -> str:
    needed = {column.name for expression in used for column in leaves(expression)}
    source = steps.over(read_by(used, part.rows.relation, needed, steps.dialect))
    listed = [f"{sql} AS {name}" for name, sql in items]
    unit = [quote(UNIT, steps.dialect)] if part.rows.per_unit else []
    if steps.dialect.once is not None and listed:
        return steps.dialect.once(source, items, unit)
    return f"SELECT {', '.join([*listed, *unit]) or '1 AS one'} FROM ({source}) AS r"


def _sized(rows: str, keys: Sequence[str], measures: Sequence[AnyMeasure]) -> str:
    """The rows, with the number of their like where a measure counts values by it."""
    sized = [
        f"t{index}"
        for index, own in enumerate(measures)
        if isinstance(own, Moments) and own.sizes is not None
    ]
    return with_sizes(rows, keys, sized) if sized else rows


def _groups(part: MeasuredRows, names: Sequence[str]) -> list[str]:
    """Those of the columns of a row that tell the groups apart."""
    return [name for name in map(key_name, range(len(part.keys))) if name in names]


def _kept_in_groups(
    part: MeasuredRows,
    rows: str,
    keep: str,
    names: Sequence[str],
    salt: int,
    dialect: Dialect,
    types: Mapping[str, Type] | None,
) -> str:
    """The rows that are kept in each group; all of them where nobody bounds those."""
    if part.per_group is None or not part.drops_in_groups:
        return rows
    groups = [name for name in map(key_name, range(len(part.groups))) if name in names]
    return kept_in_groups(rows, keep, names, groups, part.per_group, salt, dialect, types)


def _alike(part: MeasuredRows) -> bool:
    """Whether rows of a unit can be alike in all that they carry, and some of them be dropped."""
    if part.rows.fixed and part.cap >= part.rows.max_rows:
        return False
    return not part.once_in_a_group


def _portable(
    part: MeasuredRows, measures: list[AnyMeasure], names: list[str], numbered: Axes
) -> dict[str, Type]:
    """The types of the unit and of the columns of a row, where every engine writes it as the same text."""
    table = scans(part.rows.relation)[0].table
    types = {} if table.unit is None else {UNIT: table.unit.type}
    types.update(
        {key_name(index): key.type for index, key in enumerate(part.keys) if key_name(index) in names}
    )
    types.update({key_name(axis[0]): Type.INTEGER for axis in numbered})
    for index, measure in enumerate(measures):
        if (
            isinstance(measure, Moments)
            and measure.distinct
            and measure.degree == 0
            and measure.argument is not None
        ):
            types[f"t{index}"] = measure.argument.type
        elif isinstance(measure, Moments) and measure.argument is not None:
            types[f"t{index}"] = Type.INTEGER
    return types


def _spans(release: PlannedRelease, measures: list[AnyMeasure], numbered: Axes) -> dict[str, tuple[int, int]]:
    """The spans of those columns of a row that are integers and filtered, clamped or scaled into a span."""
    spans = {
        f"t{index}": span
        for index, measured in enumerate(measures)
        if isinstance(measured, Moments | QuantileTree | Ranks) and (span := measured.span)
    }
    for axis in axes(release.keys):
        run = release.keys[axis[0]].range()
        if run is not None:
            spans[key_name(axis[0])] = (run[0], run[0] + run[1] - 1)
    spans.update({key_name(axis[0]): (0, len(release.keys[axis[0]].values) - 1) for axis in numbered})
    return spans
