"""Values by the number of their rows: how many are there with one row, or with at most four?

A window gives each row that a release keeps the number of the kept rows of its group with the same value.
"""

from __future__ import annotations

from collections.abc import Sequence


def between(column: str, least: int, most: int | None) -> str:
    """Whether a number of rows lies in a range, in SQL.

    Example:
        >>> between("n", 1, 1), between("n", 5, None)
        ('n = 1', 'n >= 5')
    """
    if most is None:
        return f"{column} >= {least}"
    return f"{column} = {least}" if least == most else f"{column} BETWEEN {least} AND {most}"


def with_sizes(rows: str, keys: Sequence[str], values: Sequence[str]) -> str:
    """Rows in SQL, each with the number of the rows of its group that have the same value.

    Args:
        rows: a query.
        keys: its columns that tell the groups apart.
        values: its columns whose values are counted; `v_rows` is the number for `v`.
    """
    counts = [f"COUNT(*) OVER (PARTITION BY {', '.join([*keys, value])}) AS {value}_rows" for value in values]
    return f"SELECT *, {', '.join(counts)} FROM ({rows}) AS held"


__all__ = ["between", "with_sizes"]
