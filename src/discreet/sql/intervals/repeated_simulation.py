"""Intervals of a statement of any form: it is run again on one draw of the noise after the other.

`draws` rewrites a statement so that it runs on thousands of draws at once, which is faster and needs a form that it
knows. Here the statement stays as it is, so whatever DuckDB can run has intervals, from fewer draws. The rows of the
answer are recognised in a draw by the fewest columns that tell them apart and hold the same values in every draw.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlglot import exp

from discreet import arrow, far
from discreet.arrow import is_number

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Interval = tuple[Floats, Floats]

DRAWS = 400
"""How often a statement is run again."""
FEWEST = 200
"""With fewer draws the ends of an interval would be too rough to show."""
MOST_ROWS = 4_000_000
"""How many rows of noisy tables and of answers are made in all."""
MOST_COLUMNS = 3
"""How many columns together may tell the rows of an answer apart."""


def draws_for(rows: int) -> int:
    """How many draws there are where one needs so many rows; 0 when they would be too few."""
    draws = min(DRAWS, MOST_ROWS // max(1, rows))
    return draws if draws >= FEWEST else 0


def enough(draws: int, confidence: float) -> bool:
    """Whether so many draws show where an interval ends: a draw lies beyond each end at least.

    Example:
        >>> enough(400, 0.95), enough(400, 0.999)
        (True, False)
    """
    return draws * (1 - confidence) > 2 - 1e-6


def unordered(post: exp.Query) -> exp.Query:
    """The statement without what decides only which rows are shown, and in which order."""
    if post.args.get("order") is None or post.args.get("distinct") is not None:
        return post  # a LIMIT without ORDER BY shows any rows, and DISTINCT ON keeps the first
    post = post.copy()
    for part in ("order", "limit", "offset"):
        post.set(part, None)
    return post


def intervals(
    values: pa.Table, names: Sequence[str], run: Callable[[int], pa.Table], draws: int, confidence: float
) -> tuple[dict[str, Interval], tuple[str, ...]]:
    """Intervals of the columns of an answer that change from draw to draw.

    Args:
        values: the answer.
        names: its numeric columns that may change.
        run: gives the answer to a draw, in any order and with any rows.
        draws: how many draws there are.
        confidence: strictly between 0 and 1.

    Returns:
        Low and high ends by column, float64 arrays (rows,), NaN where a number is missing in every draw; and the
        columns that have none, because nothing tells the rows of the answer apart.
    """
    again = [run(draw) for draw in range(draws)]
    found = _places(values, again)
    if found is None:
        return {}, tuple(names)
    by, places = found
    out: dict[str, Interval] = {}
    for name in names:
        if name in by:
            continue
        drawn = np.full((draws, len(values)), np.nan)
        for draw, (table, place) in enumerate(zip(again, places, strict=True)):
            known = place >= 0
            drawn[draw, place[known]] = _floats(table, name)[known]
        own = _floats(values, name)
        if not ((drawn == own) | (np.isnan(drawn) & np.isnan(own))).all():
            out[name] = _percentiles(drawn, confidence)
    return out, ()


def _places(values: pa.Table, again: Sequence[pa.Table]) -> tuple[set[str], list[NDArray[np.int64]]] | None:
    """The columns that tell rows apart, and for each draw the row of the answer that each of its rows is, or -1."""
    if len(values) <= 1 and all(len(table) <= 1 for table in again):
        return set(), [np.zeros(len(table), np.int64) for table in again]
    columns = {name: far.values(values.column(name)) for name in values.column_names}
    others = [{name: far.values(table.column(name)) for name in columns} for table in again]
    same = [name for name in columns if _steady(columns[name], [other[name] for other in others])]
    same.sort(key=lambda name: is_number(values, name))  # stable: what is no number first
    for size in range(1, MOST_COLUMNS + 1):
        for by in combinations(same, size):
            rows = {row: at for at, row in enumerate(zip(*(columns[name] for name in by), strict=True))}
            if len(rows) < len(values):
                continue
            listed = [list(zip(*(other[name] for name in by), strict=True)) for other in others]
            if all(len(set(one)) == len(one) for one in listed):
                places = [np.array([rows.get(row, -1) for row in one], np.int64) for one in listed]
                return set(by), places
    return None


def _steady(column: list[Any], others: Sequence[list[Any]]) -> bool:
    """Whether a column holds values of the answer, in each draw nearly all of them, as a group or a rank does."""
    known = set(column)
    shared = [len(known & set(other)) for other in others]
    return min(shared) >= 0.5 * len(known) and sum(shared) >= 0.9 * len(known) * len(others)


def _percentiles(drawn: Floats, confidence: float) -> Interval:
    """Percentiles of each column over the draws; a draw in which the value is missing may lie anywhere."""
    draws = len(drawn)
    tail = max(0, int((1 - confidence) / 2 * draws))
    ordered = np.sort(drawn, axis=0)  # NaN last
    missing = np.isnan(drawn).sum(axis=0)
    at = np.arange(drawn.shape[1])
    low = np.where(missing > tail, -np.inf, ordered[np.maximum(0, tail - missing), at])
    high = np.where(missing > tail, np.inf, ordered[draws - tail - 1, at])
    nothing = missing == draws
    return np.where(nothing, np.nan, low), np.where(nothing, np.nan, high)


def _floats(table: pa.Table, name: str) -> Floats:
    import pyarrow as pa

    return np.asarray(arrow.numbers(table.column(name).cast(pa.float64())))
