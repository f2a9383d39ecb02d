"""The values of a row, packed with its hash into one 64-bit integer, so that DuckDB keeps the least of a unit quickly.

The least integers of a unit are the rows with the least hashes, and where hashes are alike, the values decide: which
rows are kept still depends on the rows of that unit and on nothing else. Heaps of integers are several times faster
than heaps of anything wider.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Span = tuple[int, int]
"""The least and the greatest value of an integer column, which may be NULL as well."""

BITS = 63
HASH_BITS = 20
"""Fewer bits of the hash would leave it to the values too often which rows are kept."""


def fits(names: Sequence[str], spans: Mapping[str, Span] | None) -> bool:
    """Whether these columns leave enough bits for the hash."""
    return (
        spans is not None
        and all(name in spans for name in names)
        and BITS - sum(_bits(spans[name]) for name in names) >= HASH_BITS
    )


def pack(names: Sequence[str], spans: Mapping[str, Span], key: str) -> str:
    """The integer of a row in SQL: never NULL, never negative, and no value makes it fail.

    Args:
        names: of the columns.
        spans: their least and greatest values; a value outside is moved to the nearer end.
        key: a UBIGINT in SQL, whose highest bits go first.
    """
    return behind(key, names, spans, pack_values(names, spans))


def pack_values(names: Sequence[str], spans: Mapping[str, Span]) -> str:
    """The integer of the values that a row carries, without its hash: rows that are alike have the same."""
    used = sum(_bits(spans[name]) for name in names)
    terms = []
    for name in names:
        lo, hi = spans[name]
        used -= _bits(spans[name])
        # 0 is NULL. GREATEST and LEAST pass over NULL, so that is asked first.
        code = f"CASE WHEN {name} IS NULL THEN 0 ELSE GREATEST(LEAST({name}, {hi}), {lo}) - ({lo - 1}) END"
        terms.append(f"(({code})::BIGINT << {used})")
    return f"({' | '.join(terms) or '0::BIGINT'})"


def behind(key: str, names: Sequence[str], spans: Mapping[str, Span], values: str) -> str:
    """The integer of a row: the highest bits of its hash, and behind them the integer of its values."""
    used = sum(_bits(spans[name]) for name in names)
    return f"(({key} >> {64 - (BITS - used)})::BIGINT << {used}) | {values}"


def unpack(names: Sequence[str], spans: Mapping[str, Span], packed: str) -> str:
    """The columns in SQL, as items of a SELECT over the packed integers."""
    used = sum(_bits(spans[name]) for name in names)
    items = []
    for name in names:
        bits = _bits(spans[name])
        used -= bits
        code = f"(({packed} >> {used}) & {2**bits - 1})"
        items.append(f"NULLIF({code}, 0) + ({spans[name][0] - 1}) AS {name}")
    return ", ".join(items) or "1 AS one"


def _bits(span: Span) -> int:
    return (span[1] - span[0] + 1).bit_length()
