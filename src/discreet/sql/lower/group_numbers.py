"""The number of a group, from the places of its keys in the public lists of keys, in SQL.

Keys that are consecutive integers are numbered by arithmetic, others by a join with the list. Where rows of a unit are
bounded, a row is joined before that, and carries the place of its keys from then on: an integer of few bits, which is
packed, sorted and compared faster than a text. Elsewhere the groups are joined, of which there are fewer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from discreet.release.noisy_schema import key_name
from discreet.sql.algebra.keys import axes
from discreet.sql.algebra.relation import UNIT
from discreet.sql.expressions.dialect import Dialect, quote
from discreet.sql.lower.key_lists import key_list
from discreet.sql.plan.plan import PlannedRelease

if TYPE_CHECKING:
    import pyarrow as pa

Axes: TypeAlias = Sequence[tuple[int, ...]]
"""The numbers of the keys that run together, as `axes` gives them."""


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


def with_numbers(
    release: PlannedRelease, rows: str, names: list[str], numbered: Axes, dialect: Dialect
) -> tuple[str, list[str]]:
    """Rows with the places of their keys in the lists of keys instead of these, and their columns.

    Privacy: the lists are public, and a row whose key is in none is dropped. A list that held a key twice would double
    rows before those of a unit are bounded, so the bound would stand.
    """
    if not numbered:
        return rows, names
    places = {key_name(axis[0]): f"__keys_{axis[0]}.at" for axis in numbered}
    gone = {key_name(number) for axis in numbered for number in axis[1:]}
    left = [name for name in names if name not in gone]
    items = [f"{places[name]} AS {name}" if name in places else name for name in left]
    joins = [
        f" JOIN __keys_{axis[0]} ON {alike_in(release, axis, 'd.', f'__keys_{axis[0]}')}" for axis in numbered
    ]
    unit = quote(UNIT, dialect)
    return f"SELECT {', '.join([*items, unit])} FROM ({rows}) AS d{''.join(joins)}", left


def filters(release: PlannedRelease, numbered: Axes, dialect: Dialect) -> list[str]:
    """Which rows have public keys: the conditions that must hold before rows of a unit are bounded."""
    out = []
    for axis in axes(release.keys):
        run, name = release.keys[axis[0]].range(), f"__keys_{axis[0]}"
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


def numbering(
    release: PlannedRelease, numbered: Axes
) -> tuple[dict[str, pa.Table], str, list[str], list[str]]:
    """How a group gets its number: key tables, the expression, joins, and conditions on groups."""
    tables: dict[str, pa.Table] = {}
    terms: list[str] = []
    joins: list[str] = []
    ranges: list[str] = []
    inner = release.cells
    for axis in axes(release.keys):
        at, key = axis[0], release.keys[axis[0]]
        inner //= max(len(key.values), 1)
        run = key.range()
        if run is not None:
            first, count = run
            terms.append(f"(g.{key_name(at)} - ({first})) * {inner}")
            ranges.append(f"g.{key_name(at)} BETWEEN {first} AND {first + count - 1}")
            continue
        name = f"__keys_{at}"
        tables[name] = key_list(tuple((number, release.keys[number]) for number in axis))
        if axis in numbered:
            terms.append(f"g.{key_name(at)} * {inner}")
            continue
        terms.append(f"{name}.at * {inner}")
        joins.append(f" JOIN {name} ON {alike_in(release, axis, 'g.', name)}")
    number = f"CAST({' + '.join(terms)} AS BIGINT)" if terms else "0"
    return tables, number, joins, ranges
