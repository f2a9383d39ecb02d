"""Groups of a key within bounds, clamped once for each stored value instead of on every row.

A row whose key lies outside its bounds counts in the group of the nearest bound. Where a CASE on every row takes long,
rows are summed by the stored key first, in its stored type, and the sums of keys that clamp to one are added up: the
same integers. The engine holds a sum for each stored key meanwhile, as it does for keys that are texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace as changed

from discreet.engines.schema import Type
from discreet.release.noisy_schema import key_name
from discreet.sql.algebra.relation import STORED, raw_column, scans
from discreet.sql.expressions.dialect import SATURATE, Dialect
from discreet.sql.expressions.expression import Call, Column, Expression, replace, spell
from discreet.sql.measures.measure import Moments
from discreet.sql.plan.plan import AnyMeasure, MeasuredRows

KEY = key_name(0)


def stored_key(part: MeasuredRows, measures: Sequence[AnyMeasure]) -> tuple[MeasuredRows, Expression] | None:
    """The rows of a part by the stored value of their key, and the key from that value, a column `KEY`.

    None where that would gain nothing or give other integers: with several keys, with one that is no integer within
    bounds, with rows of units, which are chosen by their key, or with a measure whose integers of two groups do not add
    up.
    """
    if part.rows.per_unit or len(part.keys) != 1 or not all(_adds_up(measure) for measure in measures):
        return None
    (key,) = part.keys
    if not isinstance(key, Column) or key.type is not Type.INTEGER:
        return None
    if raw_column(part.rows.relation, key) == key:
        return None
    stored = Column(STORED + key.name, key.type, key.span)
    (scan,) = scans(part.rows.relation)
    if stored.name.lower() in scan.table.columns:
        return None  # whoever has a column of this name means that
    column = scan.table.columns[key.name.lower()]
    if not column.clamped or not isinstance(column.scan, Call):
        return None
    read = replace(column.scan, {column.scan.args[0]: Column(KEY, stored.type, stored.span)})
    return changed(part, keys=(stored,)), read


def added_up(groups: str, key: Expression, entries: int, dialect: Dialect) -> str:
    """The sums of groups, by key.

    Args:
        groups: a SELECT of the stored key, called `KEY`, and of the sums `m0`, `m1`, …, wide and not yet saturated.
        key: over the stored one.
        entries: how many sums there are.
        dialect: of the engine.

    Returns:
        A SELECT of the key, again called `KEY`, and of the sums, saturated.
    """
    names = [f"m{index}" for index in range(entries)]
    sums = [
        f"{dialect.saturate.format(f'SUM(CAST({name} AS {dialect.wide}))', SATURATE)} AS {name}"
        for name in names
    ]
    clamped = f"SELECT {', '.join([f'{spell(key, dialect)} AS {KEY}', *names])} FROM ({groups}) AS stored"
    return f"SELECT {', '.join([KEY, *sums])} FROM ({clamped}) AS clamped GROUP BY {KEY}"


def _adds_up(measure: AnyMeasure) -> bool:
    return isinstance(measure, Moments) and not measure.distinct and measure.sizes is None
