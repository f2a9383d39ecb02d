"""Which rows of a unit are kept: at most max_rows, the least by a keyed hash of the unit and the row.

Which rows are kept depends on the rows of that unit and on nothing else: ties of the hash are broken by the values
themselves, and rows that are alike in all that is used are exchangeable. The unit is part of the hash, so that no
value of a column is favoured over another for everybody at once. Each engine has a fast hash of its own; that they
choose other rows than each other does not matter to privacy. The portable hash chooses the same rows everywhere.

The choice is fair: every row of a unit has the same chance, whatever it holds.
- DuckDB and PostgreSQL combine the hashes of columns by exclusive or and by adding up. Rows whose combined hashes lie
  side by side for one unit do so for all units, and the last column would decide. The hash of the combined hash has no
  such neighbourhoods.
- Rows that are alike have one hash. They are numbered within their unit, and the number is hashed as well, so that a
  row that is there three times has three chances and is not kept or dropped as a block. Which of them has which number
  does not matter, as nothing tells them apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from discreet.engines.schema import Type
from discreet.sql.algebra.relation import UNIT
from discreet.sql.expressions.dialect import quote, typed
from discreet.sql.lower.packed_rows import Span, behind, fits, pack_values, unpack


@dataclass(frozen=True)
class Units:
    """One slice of all units, by a hash of the unit. What is counted in several slices adds up to what is in all.

    Attributes:
        at: the number of the slice.
        of: how many there are; more than one only where the engine says so, in DuckDB's dialect.
    """

    at: int = 0
    of: int = 1


EVERY_UNIT = Units()
MANY = 64
"""Up to so many rows of a unit DuckDB keeps the least of them in a heap for each unit, beyond it they are sorted."""


NUMBER, TIMES = "__nth", "__times"
"""Names of columns: the number of a row among those of its unit that are like it, and how many there are."""


def kept_sql(
    rows: str,
    keep: str,
    names: Sequence[str],
    max_rows: int,
    salt: int,
    dialect: str,
    portable: Mapping[str, Type] | None = None,
    spans: Mapping[str, Span] | None = None,
    units: Units = EVERY_UNIT,
    alike: bool = True,
) -> str:
    """The rows that are kept, in SQL.

    Args:
        rows: a SELECT with the columns `names` and the unit.
        keep: which of its rows may be kept at all.
        names: what a row carries.
        max_rows: how many rows of a unit are kept.
        salt: 64 bits that key the hash.
        dialect: of the engine.
        portable: use the hash that is the same on every engine, over the columns of these types.
        spans: of the columns that are integers of few bits.
        units: whose rows.
        alike: whether rows of a unit can be alike and some of them dropped, so that they must be numbered. False is a
            matter of speed alone: privacy does not hang on it.
    """
    unit = quote(UNIT, dialect)
    if units.of > 1:
        # Another hash than the one that groups the units, of which a slice would then see a few values only.
        keep += f" AND hash({salt}::UBIGINT, {unit}) % {units.of} = {units.at}"
    source = f"({rows}) AS q WHERE {keep}"
    numbered = alike and bool(names)  # rows that carry nothing are all alike, and any of them may be kept
    if dialect == "duckdb" and portable is None and max_rows <= MANY:
        return _least(source, names, max_rows, salt, spans, numbered)
    asked = [NUMBER] if numbered else []
    if portable is None:
        key = _fast(salt, [unit, *names, *asked], dialect)
    else:
        key = _same(salt, {**portable, **dict.fromkeys(asked, Type.INTEGER)}, dialect)
    values = [f"{name} ASC NULLS LAST" for name in names]
    if numbered:
        # Both numbers come from one sort. They count within the unit, so where a row lies in the table says nothing.
        over = f"OVER (PARTITION BY {unit} ORDER BY {', '.join(values)})"
        number = f"row_number() {over} - rank() {over} AS {NUMBER}"
        source = f"(SELECT {', '.join([*names, unit, number])} FROM {source}) AS n"
    rank = f"row_number() OVER (PARTITION BY {unit} ORDER BY {', '.join([key, *values])})"
    ranked = f"SELECT {', '.join([*names, f'{rank} AS __rank'])} FROM {source}"
    return f"SELECT {', '.join(names) or '1 AS one'} FROM ({ranked}) AS l WHERE __rank <= {max_rows}"


def _least(
    source: str,
    names: Sequence[str],
    max_rows: int,
    salt: int,
    spans: Mapping[str, Span] | None,
    numbered: bool,
) -> str:
    """The rows that are kept in DuckDB's SQL, by a heap for each unit."""
    unit = quote(UNIT, "duckdb")
    packed = spans is not None and fits(names, spans)
    carried = [f"{pack_values(names, spans)} AS v"] if packed and spans is not None else list(names)
    values = ["v"] if packed else list(names)
    if numbered:
        # Counted first: rows that are alike meet in one group, and grouping is several times faster than a window.
        places = ", ".join(str(at + 1) for at in range(1 + len(carried)))
        counted = f"SELECT {', '.join([unit, *carried])}, COUNT(*) AS {TIMES} FROM {source} GROUP BY {places}"
        each = f"unnest(range({TIMES})) AS {NUMBER}"
        source = f"(SELECT {', '.join([unit, *values, each])} FROM ({counted}) AS c) AS n"
    elif packed:
        source = f"(SELECT {', '.join([unit, *carried])} FROM {source}) AS n"
    key = _fast(salt, [unit, *values, *([NUMBER] if numbered else [])], "duckdb")
    if packed and spans is not None:
        least = f"SELECT unnest(min({behind(key, names, spans, 'v')}, {max_rows})) AS s FROM {source} GROUP BY {unit}"
        return f"SELECT {unpack(names, spans, 's')} FROM ({least}) AS l"
    fields = ", ".join([f"h := {key}", *(f"{name} := {name}" for name in names)])
    least = f"SELECT unnest(min(struct_pack({fields}), {max_rows})) AS s FROM {source} GROUP BY {unit}"
    items = ", ".join(f"s.{name} AS {name}" for name in names) or "1 AS one"
    return f"SELECT {items} FROM ({least}) AS l"


def _fast(salt: int, columns: Sequence[str], dialect: str) -> str:
    """The hash of the combined hash of some columns."""
    signed = f"CAST({salt - 2**64 if salt >= 2**63 else salt} AS BIGINT)"
    listed = ", ".join(columns)
    if dialect == "postgres":
        return f"hashint8extended(hash_record_extended(ROW({listed}), {signed}), {signed})"
    if dialect == "spark":
        # It passes over NULL, so that (1, NULL) and (NULL, 1) would be hashed alike.
        missing = ", ".join(f"{column} IS NULL" for column in columns)
        return f"xxhash64(xxhash64({signed}, {listed}, {missing}))"
    return f"hash(hash({salt}::UBIGINT, {listed}))"


def _same(salt: int, types: Mapping[str, Type], dialect: str) -> str:
    """MD5 of what every engine writes as the same text; the order of the values decides what that leaves open."""
    texts = [f"'{salt}'"]
    for name, kind in types.items():
        column = quote(name, dialect)
        if kind in (Type.INTEGER, Type.TEXT):
            texts.append(typed(f"COALESCE(CAST({column} AS VARCHAR), '~')", dialect))
        elif kind is Type.BOOLEAN:
            texts.append(f"CASE WHEN {column} THEN 't' WHEN NOT {column} THEN 'f' ELSE '~' END")
    return f"md5(concat_ws('|', {', '.join(texts)}))"
