"""Which rows of a unit are kept: at most max_rows, the least by a keyed hash of the unit and the row.

Which rows are kept depends on the rows of that unit and on nothing else: ties of the hash are broken by the values
themselves, and rows that are alike in all that is used are exchangeable. The unit is part of the hash, so that no
value of a column is favoured over another for everybody at once. Each engine has a fast hash of its own; that they
choose other rows than each other does not matter to privacy. The portable hash chooses the same rows everywhere.

The choice is fair: every row of a unit has the same chance, independent of its values.
- DuckDB and PostgreSQL combine the hashes of columns by exclusive or and by adding up. Rows whose combined hashes lie
  side by side for one unit do so for all units, and the last column would decide. The hash of the combined hash has no
  such neighbourhoods.
- Rows that are alike have one hash. They are numbered within their unit, and the number is hashed, so that a row that
  is there three times has three chances and is not kept or dropped as a block. Which of them has which number does not
  matter, as nothing tells them apart. Where rows are ranked, all of a unit are numbered in the order of their values,
  and the number is hashed in place of the values. PostgreSQL draws a few rows by these numbers, and ranks none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from discreet.engines.schema import Type
from discreet.records import dataclass
from discreet.sql.algebra.relation import UNIT
from discreet.sql.expressions.dialect import NUMBER, Dialect, RowSelection, quote, typed


@dataclass(frozen=True)
class Units:
    """One slice of all units, by a hash of the unit. The counts of all slices add up to the count of all units.

    Attributes:
        index: of the slice, from 0.
        of: how many there are; more than one only where the engine says so and its dialect has slices.
    """

    index: int = 0
    of: int = 1


EVERY_UNIT = Units()


def kept_sql(
    rows: str,
    keep: str,
    names: Sequence[str],
    max_rows: int,
    salt: int,
    dialect: Dialect,
    portable: Mapping[str, Type] | None = None,
    spans: Mapping[str, tuple[int, int]] | None = None,
    units: Units = EVERY_UNIT,
    alike: bool = True,
    unit_kind: str = "",
    quick: bool = False,
) -> str:
    """The rows that are kept, in SQL.

    Args:
        rows: a SELECT with the columns `names` and the unit.
        keep: which of its rows may be kept at all.
        names: the columns that a row carries.
        max_rows: how many rows of a unit are kept.
        salt: 64 bits that key the hash.
        dialect: of the engine.
        portable: use the hash that is the same on every engine, over the columns of these types.
        spans: of the columns that are integers of few bits.
        units: whose rows.
        alike: whether rows of a unit can be alike and some of them dropped, so that they must be numbered. False is a
            matter of speed alone: privacy does not hang on it.
        unit_kind: how units are told apart, as `Identity.kind` says it; empty where nobody says.
        quick: in the way that the engine runs fastest; the rows are the same.
    """
    unit = quote(UNIT, dialect)
    if units.of > 1:
        assert dialect.slice is not None
        keep += f" AND {dialect.slice(salt, unit, units.index, units.of)}"
    source = f"({rows}) AS q WHERE {keep}"
    numbered = alike and bool(names)  # rows that carry nothing are all alike, and any of them may be kept
    if dialect.least is not None and portable is None:
        least = dialect.least(
            RowSelection(source, unit, names, max_rows, salt, spans, numbered, unit_kind, quick)
        )
        if least is not None:
            return least
    ranked = _ranked(source, [unit], names, salt, dialect, portable, numbered)
    return f"SELECT {', '.join(names) or '1 AS one'} FROM ({ranked}) AS l WHERE __rank <= {max_rows}"


def kept_in_groups(
    rows: str,
    keep: str,
    names: Sequence[str],
    groups: Sequence[str],
    most: int,
    salt: int,
    dialect: Dialect,
    portable: Mapping[str, Type] | None = None,
) -> str:
    """The rows of a unit that are kept where it may have so many in one group, in SQL, chosen as by `kept_sql`.

    Args:
        rows: as for `kept_sql`.
        keep: as for `kept_sql`.
        names: as for `kept_sql`.
        groups: those of the columns that tell the groups apart.
        most: how many rows of a unit are kept in one group.
        salt: as for `kept_sql`.
        dialect: as for `kept_sql`.
        portable: as for `kept_sql`.

    Returns:
        A SELECT with the columns `names` and the unit.
    """
    unit = quote(UNIT, dialect)
    source = f"({rows}) AS q WHERE {keep}"
    ranked = _ranked(source, [unit, *groups], [*names, unit], salt, dialect, portable, True, names)
    return f"SELECT {', '.join([*names, unit])} FROM ({ranked}) AS w WHERE __rank <= {most}"


def _ranked(
    source: str,
    within: Sequence[str],
    names: Sequence[str],
    salt: int,
    dialect: Dialect,
    portable: Mapping[str, Type] | None,
    numbered: bool,
    values_of: Sequence[str] | None = None,
) -> str:
    """Rows with `__rank`, their place by the hash among those of the same unit, or of the same unit and group."""
    unit = quote(UNIT, dialect)
    hashed = list(names if values_of is None else values_of)
    values = [f"{name} ASC NULLS LAST" for name in hashed]
    if numbered and hashed:
        # The place of a row among those of its unit in order. Which of several that are alike comes first says nothing.
        number = f"row_number() OVER (PARTITION BY {unit} ORDER BY {', '.join(values)}) AS {NUMBER}"
        carried = list(dict.fromkeys([*names, unit]))
        source = f"(SELECT {', '.join([*carried, number])} FROM {source}) AS n"
        values = hashed = [NUMBER]
    if portable is None:
        key = dialect.hash(salt, [unit, *hashed])
    else:
        key = _same(salt, {**portable, **({NUMBER: Type.INTEGER} if numbered else {})}, dialect)
    rank = f"row_number() OVER (PARTITION BY {', '.join(within)} ORDER BY {', '.join([key, *values])})"
    return f"SELECT {', '.join([*names, f'{rank} AS __rank'])} FROM {source}"


def _same(salt: int, types: Mapping[str, Type], dialect: Dialect) -> str:
    """MD5 of values that every engine writes as the same text; the order of the values breaks ties."""
    texts = [f"'{salt}'"]
    for name, kind in types.items():
        column = quote(name, dialect)
        if kind in (Type.INTEGER, Type.TEXT):
            texts.append(typed(f"COALESCE(CAST({column} AS VARCHAR), '~')", dialect))
        elif kind is Type.BOOLEAN:
            texts.append(f"CASE WHEN {column} THEN 't' WHEN NOT {column} THEN 'f' ELSE '~' END")
    return dialect.same_hash.format(f"concat_ws('|', {', '.join(texts)})")
