"""The number of a group, from the places of its keys in the public lists of keys, in SQL.

Keys that are consecutive integers are numbered by arithmetic, others by a join with the list. Where rows of a unit are
bounded, a row is joined before that, and carries the place of its keys from then on: an integer of few bits, which is
packed, sorted and compared faster than a text. Elsewhere the groups are joined, of which there are fewer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from discreet.engines.schema import Type
from discreet.release.noisy_schema import key_name
from discreet.sql.algebra.keys import Key, axes
from discreet.sql.algebra.relation import UNIT
from discreet.sql.expressions.dialect import Dialect, quote
from discreet.sql.expressions.numbered_parameter import EDGE
from discreet.sql.lower.groups.key_lists import key_list
from discreet.sql.plan.plan import MeasuredRows, PlannedRelease

if TYPE_CHECKING:
    import pyarrow as pa

Axes: TypeAlias = Sequence[tuple[int, ...]]
"""The numbers of the keys that run together, as `axes` gives them."""
MOST_NUMBERS: Final = 1 << 62
"""So many groups have numbers of 64 bits."""


def alike_in(release: PlannedRelease, axis: tuple[int, ...], of: str, name: str) -> str:
    """That the keys of a row are those of a row of a key list, in which NULL may be a value."""
    same = ("IS NOT DISTINCT FROM" if None in release.keys[number].values else "=" for number in axis)
    return " AND ".join(
        f"{of}{key_name(number)} {word} {name}.key{number}" for number, word in zip(axis, same, strict=True)
    )


def numbered_axes(release: PlannedRelease) -> Axes:
    """The lists of keys of which a row carries only its place, an integer of few bits, while its unit is bounded.

    Equality decides which place that is. Where NULL is a value, IS NOT DISTINCT FROM does, by which few engines join
    large tables in good time.
    """
    return [
        axis
        for axis in axes(release.keys)
        if release.keys[axis[0]].range() is None
        and not any(None in release.keys[number].values for number in axis)
    ]


def short_axes(release: PlannedRelease, numbered: Axes, dialect: Dialect) -> Axes:
    """Those of the lists of keys that are single texts, and so few that CASE gives their places faster than a join.

    A text with `EDGE` is left to the join: there it would look like a parameter, and an argument would take its place.
    """
    keys = release.keys
    return [
        axis
        for axis in numbered
        if len(axis) == 1
        and keys[axis[0]].expression.type is Type.TEXT
        and 0 < len(keys[axis[0]].values) <= dialect.few_keys
        and not any(EDGE in str(value) for value in keys[axis[0]].values)
    ]


def _place(key: str, values: Sequence[object], dialect: Dialect) -> str:
    """The place of a key of a row in a short list; NULL where it is not in it."""
    whens = " ".join(f"WHEN {dialect.text(str(value))} THEN {place}" for place, value in enumerate(values))
    return f"CAST(CASE {key} {whens} END AS BIGINT)"


def with_numbers(
    release: PlannedRelease,
    rows: str,
    names: list[str],
    numbered: Axes,
    dialect: Dialect,
    short: Axes = (),
) -> tuple[str, list[str]]:
    """Rows with the places of their keys in the lists of keys instead of these, and their columns.

    Privacy: the lists are public, and a row whose key is in none is dropped: here, or, of a short list, by `filters`. A
    list that held a key twice would double rows before those of a unit are bounded, so the bound would stand. Of the
    axes that are joined later it would not, see `numbering`.
    """
    if not numbered:
        return rows, names
    places = {key_name(axis[0]): f"__keys_{axis[0]}.at" for axis in numbered}
    for (number,) in short:
        name = key_name(number)
        places[name] = _place(f"d.{name}", release.keys[number].values, dialect)
    gone = {key_name(number) for axis in numbered for number in axis[1:]}
    left = [name for name in names if name not in gone]
    items = [f"{places[name]} AS {name}" if name in places else name for name in left]
    joins = [
        f" JOIN __keys_{axis[0]} ON {alike_in(release, axis, 'd.', f'__keys_{axis[0]}')}"
        for axis in numbered
        if axis not in short
    ]
    unit = quote(UNIT, dialect)
    return f"SELECT {', '.join([*items, unit])} FROM ({rows}) AS d{''.join(joins)}", left


def clamped_axes(release: PlannedRelease, part: MeasuredRows, dialect: Dialect) -> Axes:
    """Those of the ranges of keys in which every key of a row of a part lies, where to ask it of each row takes long.

    Privacy: a span is not trusted, so the groups are asked instead, which no row outside may enter. If a span were
    wrong, such a row could take the place of another one of its unit: the bound of the unit stands all the same.
    """
    if not dialect.clamps_groups:
        return []
    runs = ((axis, release.keys[axis[0]].range()) for axis in axes(release.keys))
    return [
        axis
        for axis, run in runs
        if run is not None and part.keys[axis[0]].span.within(run[0], run[0] + run[1] - 1)
    ]


def filters(
    release: PlannedRelease, numbered: Axes, dialect: Dialect, short: Axes = (), clamped: Axes = ()
) -> list[str]:
    """The conditions on rows before those of a unit are bounded: their keys are public, or `clamped` and no NULL."""
    out = [f"{key_name(number)} IS NOT NULL" for (number,) in (*short, *clamped)]
    for axis in axes(release.keys):
        run, name = release.keys[axis[0]].range(), f"__keys_{axis[0]}"
        if axis in clamped:
            continue
        if run is not None:
            out.append(dialect.between.format(key_name(axis[0]), run[0], run[0] + run[1] - 1))
        elif axis not in numbered and len(axis) == 1:
            key = key_name(axis[0])
            out.append(
                f"({key} IS NULL OR {key} IN (SELECT key{axis[0]} FROM {name} WHERE key{axis[0]} IS NOT NULL))"
            )
        elif axis not in numbered:
            out.append(f"EXISTS (SELECT 1 FROM {name} WHERE {alike_in(release, axis, '', name)})")
    return out


def words(keys: tuple[Key, ...]) -> list[list[tuple[int, ...]]]:
    """The axes of some keys in runs, each of which has fewer groups than an integer of 64 bits counts.

    Example:
        >>> words(())
        [[]]
    """
    out: list[list[tuple[int, ...]]] = [[]]
    groups = 1
    for axis in axes(keys):
        size = max(len(keys[axis[0]].values), 1)
        if groups * size > MOST_NUMBERS:
            out.append([])
            groups = 1
        out[-1].append(axis)
        groups *= size
    return out


def word_name(index: int) -> str:
    """The column of a number of a group: `cell`, and `cell1` and so on where one number is not enough.

    Example:
        >>> word_name(0), word_name(2)
        ('cell', 'cell2')
    """
    return f"cell{index or ''}"


def numbering(
    release: PlannedRelease, numbered: Axes, short: Axes = ()
) -> tuple[dict[str, pa.Table], str, list[str], list[str]]:
    """How a group gets its number: key tables, the columns of numbers, joins, and conditions on groups.

    A group has several numbers, one for each of the `words` of its keys, where there are more groups than 2^62.

    Privacy: axes that are not `numbered` are joined here, after rows of a unit are bounded. A group is counted once
    because a list holds each key once (`canonical.distinct`), and because an engine compares texts by code point.
    """
    tables: dict[str, pa.Table] = {}
    joins: list[str] = []
    ranges: list[str] = []
    items = []
    for index, run in enumerate(words(release.keys)):
        terms = _terms(release, numbered, run, tables, joins, ranges, short)
        number = f"CAST({' + '.join(terms)} AS BIGINT)" if terms else "0"
        items.append(f"{number} AS {word_name(index)}")
    return tables, ", ".join(items), joins, ranges


def _terms(
    release: PlannedRelease,
    numbered: Axes,
    of: Axes,
    tables: dict[str, pa.Table],
    joins: list[str],
    ranges: list[str],
    short: Axes,
) -> list[str]:
    """The summands of the number that some axes give a group; their tables, joins and conditions are added to those.

    The values of the `short` ones stand in the query, so they need no table.
    """
    terms: list[str] = []
    inner = math.prod(len(release.keys[axis[0]].values) for axis in of)
    for axis in of:
        index, key = axis[0], release.keys[axis[0]]
        inner //= max(len(key.values), 1)
        run = key.range()
        if run is not None:
            first, count = run
            terms.append(f"(g.{key_name(index)} - ({first})) * {inner}")
            ranges.append(f"g.{key_name(index)} BETWEEN {first} AND {first + count - 1}")
            continue
        name = f"__keys_{index}"
        if axis not in short:
            tables[name] = key_list(tuple((number, release.keys[number]) for number in axis))
        if axis in numbered:
            terms.append(f"g.{key_name(index)} * {inner}")
            continue
        terms.append(f"{name}.at * {inner}")
        joins.append(f" JOIN {name} ON {alike_in(release, axis, 'g.', name)}")
    return terms
