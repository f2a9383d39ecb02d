"""Intervals of a statement of any form: it is run again on one draw of the noise after the other.

`rewrite` rewrites a statement so that it runs on thousands of draws at once, which is faster and needs a form that it
knows. Here the statement stays unchanged, so all that DuckDB can run has intervals, from fewer draws. The rows of the
answer are recognised in a draw by their identity (`row_identity`), never by how they look.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlglot import exp

from discreet import arrow, far
from discreet.sql.intervals.percentiles import percentiles

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Interval = tuple[Floats, Floats]

DRAWS = 400
"""How often a statement is run again."""
FEWEST = 200
"""With fewer draws the ends of an interval would be too rough to show."""
MOST_ROWS = 8_000_000
"""How many rows of noisy tables and of answers are made in all."""
MOST_DRAWS = 2000
"""How often at most, as each draw is a statement of its own."""


def draws_for(rows: int, least: int = FEWEST) -> int:
    """How many draws there are where one needs so many rows; 0 when they are too many.

    The number follows from the confidence alone: else an answer of fewer rows would have other ends for the same group,
    and whoever asks for this and that part of a table could keep the narrowest.

    Example:
        >>> draws_for(10), draws_for(10, 8000), draws_for(10, 800), draws_for(100_000)
        (400, 0, 800, 0)
    """
    draws = max(DRAWS, least)
    return draws if draws <= MOST_DRAWS and draws * rows <= MOST_ROWS else 0


def unordered(post: exp.Query) -> exp.Query:
    """The statement without the clauses that only decide which rows are shown, and in which order."""
    if post.args.get("order") is None or post.args.get("distinct") is not None:
        return post  # a LIMIT without ORDER BY shows any rows, and DISTINCT ON keeps the first
    post = post.copy()
    for part in ("order", "limit", "offset"):
        post.set(part, None)
    return post


def intervals(
    values: pa.Table,
    rows: pa.Table,
    names: Sequence[str],
    run: Callable[[int], pa.Table],
    draws: int,
    confidence: float,
) -> dict[str, Interval]:
    """Intervals of the columns of an answer that change from draw to draw.

    Args:
        values: the answer.
        rows: the identity of its rows.
        names: its numeric columns that may change.
        run: gives the answer to a draw with the identity of its rows, in any order and with any rows.
        draws: how many draws there are.
        confidence: strictly between 0 and 1.

    Returns:
        Low and high ends by column, float64 arrays (rows,), NaN where a number is missing in every draw.
    """
    known = {row: index for index, row in enumerate(_listed(rows, rows.column_names))}
    numbers = [values.column_names.index(name) for name in names]
    samples = np.full((len(names), draws, len(values)), np.nan)
    for draw in range(draws):
        again = run(draw)
        place = np.array([known.get(row, -1) for row in _listed(again, rows.column_names)], np.int64)
        for index, number in enumerate(numbers):
            samples[index, draw, place[place >= 0]] = _floats(again, number)[place >= 0]
    out: dict[str, Interval] = {}
    for name, number, sample in zip(names, numbers, samples, strict=True):
        own = _floats(values, number)
        if not ((sample == own) | (np.isnan(sample) & np.isnan(own))).all():
            out[name] = _percentiles(sample, confidence)
    return out


def _listed(table: pa.Table, names: Sequence[str]) -> list[tuple[Any, ...]]:
    """The rows of some columns; one row for a table without columns to tell rows apart."""
    if not names:
        return [()] * len(table)
    return list(zip(*(far.values(table.column(name)) for name in names), strict=True))


def _percentiles(samples: Floats, confidence: float) -> Interval:
    """Percentiles of each column over the draws; NaN where a value is missing in all of them."""
    nothing = np.isnan(samples).all(axis=0)
    low, high = percentiles(samples, confidence)
    return np.where(nothing, np.nan, low), np.where(nothing, np.nan, high)


def _floats(table: pa.Table, index: int) -> Floats:
    return arrow.floats(table.column(index))
