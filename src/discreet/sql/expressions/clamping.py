"""Clamping in SQL: the nearest value within bounds, NULL for NULL and for NaN, on every row."""

from __future__ import annotations

INFINITY = "CAST('Infinity' AS DOUBLE)"


def clamped(
    x: str, lo: str, hi: str, *, exact: bool, inside: str = "", below: str = "", above: str = ""
) -> str:
    """A CASE of three branches; the one that nearly every row takes comes first.

    The last one is not ELSE: NULL must stay NULL, and NaN, which compares as greater than every number, infinity
    included, must become NULL.

    Args:
        x: SQL of the value.
        lo: SQL of the least value.
        hi: SQL of the greatest value.
        exact: whether x is of a type that has neither NaN nor infinity.
        inside: the result within the bounds; x itself by default.
        below: the result below them; lo by default.
        above: the result above them; hi by default.

    Example:
        >>> clamped("x", "0", "9", exact=True)
        'CASE WHEN x >= 0 AND x <= 9 THEN x WHEN x < 0 THEN 0 WHEN x > 9 THEN 9 END'
    """
    beyond = f"{x} > {hi}" if exact else f"{x} <= {INFINITY}"
    return (
        f"CASE WHEN {x} >= {lo} AND {x} <= {hi} THEN {inside or x} WHEN {x} < {lo} THEN {below or lo} "
        f"WHEN {beyond} THEN {above or hi} END"
    )


def saturated(integer: str, most: int) -> str:
    """An integer that is not NULL, at most so far from zero.

    Example:
        >>> saturated("x", 9)
        'GREATEST(LEAST(x, 9), -9)'
    """
    return f"GREATEST(LEAST({integer}, {most}), -{most})"
