"""DuckDB's SQL, in whose words templates are written; its own spellings stand in the function table."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

from discreet.sql.dialects.packed_rows import behind, fits, pack_values, unpack
from discreet.sql.expressions.dialect import NUMBER, Dialect, RowSelection

MANY = 64
"""Up to so many rows of a unit, the least of them are kept in a heap for each unit; more are sorted."""
FEW_KEYS = 8
"""Up to so many texts are compared one by one: a join takes a third of the time of a query over few rows."""
TIMES = "__times"
"""A column: how many rows of a unit are alike."""


def _hash(salt: int, columns: Sequence[str]) -> str:
    return f"hash(hash({salt}::UBIGINT, {', '.join(columns)}))"


def _slice(salt: int, unit: str, index: int, of: int) -> str:
    # Another hash than the one that groups the units, of which a slice would then see a few values only.
    return f"hash({salt}::UBIGINT, {unit}) % {of} = {index}"


def _least(kept: RowSelection) -> str | None:
    """The rows that are kept, by a heap for each unit."""
    if kept.max_rows > MANY:
        return None
    source, unit, names, max_rows = kept.source, kept.unit, kept.names, kept.max_rows
    spans, numbered = kept.spans, kept.numbered
    packed = spans is not None and fits(names, spans)
    carried = [f"{pack_values(names, spans)} AS v"] if packed and spans is not None else list(names)
    values = ["v"] if packed else list(names)
    if numbered:
        # Counted first: rows that are alike meet in one group, and grouping is several times faster than a window.
        places = ", ".join(str(index + 1) for index in range(1 + len(carried)))
        counted = f"SELECT {', '.join([unit, *carried])}, COUNT(*) AS {TIMES} FROM {source} GROUP BY {places}"
        each = f"unnest({_numbers(kept.quick)}) AS {NUMBER}"
        source = f"(SELECT {', '.join([unit, *values, each])} FROM ({counted}) AS c) AS n"
    elif packed:
        source = f"(SELECT {', '.join([unit, *carried])} FROM {source}) AS n"
    key = _hash(kept.salt, [unit, *values, *([NUMBER] if numbered else [])])
    if packed and spans is not None:
        rows = behind(key, names, spans, "v")
        least = f"SELECT {_least_of(rows, max_rows, kept.quick)} AS s FROM {source} GROUP BY {unit}"
        return f"SELECT {unpack(names, spans, 's')} FROM ({least}) AS l"
    fields = ", ".join([f"h := {key}", *(f"{name} := {name}" for name in names)])
    rows = f"struct_pack({fields})"
    least = f"SELECT {_least_of(rows, max_rows, kept.quick)} AS s FROM {source} GROUP BY {unit}"
    items = ", ".join(f"s.{name} AS {name}" for name in names) or "1 AS one"
    return f"SELECT {items} FROM ({least}) AS l"


def _numbers(quick: bool) -> str:
    """A list of the numbers of rows that are alike. Most rows are like no other one, and their list is a constant."""
    return f"CASE WHEN {TIMES} = 1 THEN [0] ELSE range({TIMES}) END" if quick else f"range({TIMES})"


def _least_of(row: str, max_rows: int, quick: bool) -> str:
    """The least rows of a unit, each by itself. The least one alone needs no heap for each unit."""
    return f"min({row})" if quick and max_rows == 1 else f"unnest(min({row}, {max_rows}))"


DUCKDB = Dialect(
    name="duckdb",
    parser="duckdb",
    types=MappingProxyType({}),
    hash=_hash,
    slice=_slice,
    numbers=(
        "CAST('0x' || substr(md5({0}), 1, 15) AS BIGINT)",
        "CAST('0x' || substr(md5({0}), 16, 15) AS BIGINT)",
    ),
    keyed_hash="sha256('{key}' || CAST({unit} AS VARCHAR))",
    computed_once="MATERIALIZED ",
    least=_least,
    few_keys=FEW_KEYS,
    most_correlated=16_000,
)
"""DuckDB 2."""
