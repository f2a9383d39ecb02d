"""An interval from draws holds at least as often as it says, however few they are, in NumPy and in SQL."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import duckdb
import numpy as np
import pytest

from discreet.sql.intervals import percentiles as module
from discreet.sql.intervals.closed_form import needed
from discreet.sql.intervals.percentiles import percentile_sql, percentiles, place

LEVELS = ["0.5", "0.8", "0.9", "0.95", "0.99", "0.995", "0.999"]


def holds(at: Callable[[int, float], int], draws: int, confidence: str) -> bool:
    """Whether a further draw lies between the ends as often as is said: exactly, as all orders are as likely."""
    return Fraction(draws + 1 - 2 * at(draws, float(confidence)), draws + 1) >= Fraction(confidence)


def beyond_each_end(draws: int, confidence: float) -> int:
    """The fault: a share of the draws is left out at each end."""
    return int((1 - confidence) / 2 * draws) + 1


@pytest.mark.parametrize("confidence", LEVELS)
def test_it_holds_as_often_as_it_says(confidence: str) -> None:
    least = needed(float(confidence))
    for draws in {least, least + 1, 200, 399, 400, 2000, 4000} - set(range(least)):
        assert holds(place, draws, confidence), draws
        # The next draw inwards would be too narrow, but for the rounding of the confidence to a float.
        assert not holds(lambda n, c: place(n, c) + 2, draws, confidence)
    assert not holds(beyond_each_end, 400, "0.95")


@pytest.mark.parametrize("missing", [0, 3, 9, 10, 11, 200, 400])
def test_numpy_and_sql_agree(missing: int, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = np.random.default_rng(missing).normal(size=400)
    drawn[:missing] = np.nan
    values = ", ".join("NULL" if np.isnan(one) else repr(float(one)) for one in drawn)
    low, high = percentile_sql(
        "list_sort(list(v) FILTER (WHERE v IS NOT NULL))", "(400 - count(v))", 400, 0.95
    )
    query = f"SELECT {low}, {high} FROM (SELECT CAST(unnest([{values}]) AS DOUBLE) AS v)"
    (found,) = duckdb.execute(query).fetchall()
    expected = [float(end[0]) for end in percentiles(drawn[:, np.newaxis], 0.95)]
    assert list(found) == ([None, None] if missing == 400 else expected)
    # Planted fault: another rule here than there.
    monkeypatch.setattr(module, "place", beyond_each_end)
    if missing < 9:
        assert [float(end[0]) for end in percentiles(drawn[:, np.newaxis], 0.95)] != list(found)
