"""Points of one series have the axes of all that stand beside them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

import pytest

from discreet.plots.panels.points import domain_of, points
from discreet.plots.theme import Size


def rows(days: range, value: float) -> list[Mapping[str, Any]]:
    first = dt.date(2025, 1, 1)
    return [
        {"k day": first + dt.timedelta(day), "v n": value, "l n": value - 1, "h n": value + 1} for day in days
    ]


def test_axes_reach_over_the_other_series() -> None:
    few, many = rows(range(3), 5), rows(range(9), 50)
    alone = points(few, ["day"], "n", Size(300, 200, 12)).to_dict()
    beside = points(few, ["day"], "n", Size(300, 200, 12), [few, many]).to_dict()
    ends = [one["layer"][0]["encoding"]["y"]["scale"]["domain"] for one in (alone, beside)]
    assert ends == [[4, 6], [4, 51]]


@pytest.mark.parametrize(("ends", "domain"), [([3.0, 1.0], [1, 3]), ([2.0], [2, 3])])
def test_a_domain_is_never_empty(ends: list[float], domain: list[float]) -> None:
    assert domain_of(ends) == domain
