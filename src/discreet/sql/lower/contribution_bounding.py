"""Which rows of a unit are kept: at most max_rows, the least by a keyed hash of the unit and the row.

Which rows are kept depends on the rows of that unit and on nothing else: ties of the hash are broken by the values
themselves, and rows that are alike in all that is used are exchangeable. The unit is part of the hash, so that no
value of a column is favoured over another for everybody at once. Each engine has a fast hash of its own; that they
choose other rows than each other does not matter to privacy. The portable hash chooses the same rows everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from discreet.engines.schema import Type
from discreet.sql.algebra.relation import UNIT
from discreet.sql.expressions.dialect import quote, typed
from discreet.sql.lower.packed_rows import Span, fits, pack, unpack


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
    """
    listed = ", ".join(names) or "1 AS one"
    unit = quote(UNIT, dialect)
    if units.of > 1:
        # Another hash than the one that groups the units, of which a slice would then see a few values only.
        keep += f" AND hash({salt}::UBIGINT, {unit}) % {units.of} = {units.at}"
    key = _fast(salt, [unit, *names], dialect) if portable is None else _same(salt, portable, dialect)
    if dialect == "duckdb" and portable is None and max_rows <= MANY:
        if spans is not None and fits(names, spans):
            least = (
                f"SELECT unnest(min({pack(names, spans, key)}, {max_rows})) AS s FROM ({rows}) AS q "
                f"WHERE {keep} GROUP BY {unit}"
            )
            return f"SELECT {unpack(names, spans, 's')} FROM ({least}) AS l"
        packed = ", ".join([f"h := {key}", *(f"{name} := {name}" for name in names)])
        least = (
            f"SELECT unnest(min(struct_pack({packed}), {max_rows})) AS s FROM ({rows}) AS q "
            f"WHERE {keep} GROUP BY {unit}"
        )
        return (
            f"SELECT {', '.join(f's.{name} AS {name}' for name in names) or '1 AS one'} FROM ({least}) AS l"
        )
    order = ", ".join([key, *(f"{name} ASC NULLS LAST" for name in names)])
    rank = f"row_number() OVER (PARTITION BY {unit} ORDER BY {order})"
    ranked = f"SELECT {', '.join([*names, f'{rank} AS __rank'])} FROM ({rows}) AS q WHERE {keep}"
    return f"SELECT {listed} FROM ({ranked}) AS l WHERE __rank <= {max_rows}"


def _fast(salt: int, columns: Sequence[str], dialect: str) -> str:
    signed = salt - 2**64 if salt >= 2**63 else salt
    listed = ", ".join(columns)
    if dialect == "postgres":
        return f"hash_record_extended(ROW({listed}), CAST({signed} AS BIGINT))"
    if dialect == "spark":
        return f"xxhash64(CAST({signed} AS BIGINT), {listed})"
    return f"hash({salt}::UBIGINT, {listed})"


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
