"""The picture of a stream's errors draws the numbers of the plan."""

from __future__ import annotations

import pytest
from tests.depth import few

from discreet.plots.streams import stream_errors
from discreet.streams import predictions


# A deep run draws two periods and a year as well.
@pytest.mark.parametrize("periods", few([1, 2, 365, 5000], 2))
def test_the_lines_are_the_predicted_errors(periods: int) -> None:
    made = {one.strategy.name: one for one in predictions(periods, 2, 3)}
    chart = stream_errors(periods, 2, 3).to_dict()
    rows = [row for layer in chart["layer"] for row in layer["data"]["values"] if "series" in row]
    assert {row["series"] for row in rows} <= set(made)
    assert rows
    for row in rows:
        assert row["y"] == pytest.approx(made[row["series"]].errors[row["x"] - 1])
