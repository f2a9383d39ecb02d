"""The ladder: its rungs cover the range once, scores move by one, and its error is that of its law."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest

from discreet.errors import InvalidParameter
from discreet.mechanisms import Climbed, Ladder
from discreet.mechanisms.selection import ladder as module
from tests.depth import few


def scores(mechanism: Ladder, exact: Climbed) -> list[int]:
    """The rung of each integer of the range."""
    ends = mechanism.ends(exact)
    return [
        next(t for t, (low, high) in enumerate(ends) if low <= k <= high) for k in range(mechanism.most + 1)
    ]


@pytest.mark.parametrize(
    "exact", [Climbed(0, 0), Climbed(7, 2), Climbed(30, 1), Climbed(99, 3), Climbed(-4, 0)]
)
def test_every_integer_of_the_range_is_drawn_from_one_rung_in_one_way(
    exact: Climbed, monkeypatch: pytest.MonkeyPatch
) -> None:
    mechanism = Ladder(20, lambda width: width, 30)  # few rungs, so that the last one holds far integers
    assert mechanism.rungs < 9
    drawn: Counter[int] = Counter()
    for rung, size in enumerate(module._sizes(mechanism.ends(exact))):
        monkeypatch.setattr(module, "large_choice", lambda *_, rung=rung: rung)
        for place in range(size):
            monkeypatch.setattr(
                module, "uniform_large", lambda n, at=(place, size): at[0] if n == at[1] else -1
            )
            value = mechanism.release(exact)
            assert scores(mechanism, exact)[value] == rung
            drawn[value] += 1
    assert drawn == Counter(range(31))


def test_the_choice_has_the_weights_of_the_rungs(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def first(*given: Any) -> int:
        seen.append(given)
        return 0

    monkeypatch.setattr(module, "large_choice", first)
    mechanism = Ladder("1/2", lambda width: width, 40)
    assert mechanism.release(Climbed(10, 2)) == 10
    (weights, scale) = seen[0]
    assert scale == 4  # 2/epsilon
    assert weights[:4] == [1, 4, 6, 8]  # rungs of 2, 3 and 4 on either side
    assert sum(weights) == 41


def test_neighbours_differ_by_one_score_and_a_width_that_moves_by_two_is_found() -> None:
    """For all values and widths whose differences the premises allow."""
    mechanism = Ladder(1, lambda width: width + 1, 25)

    def worst(moved: int) -> int:
        pairs = [
            (Climbed(9, width), Climbed(9 + up, width + moved))
            for width in range(6)
            for up in range(min(width + 1, width + moved + 1) + 1)
        ]
        return max(
            abs(a - b)
            for one, other in pairs
            for a, b in zip(scores(mechanism, one), scores(mechanism, other), strict=True)
        )

    assert (worst(0), worst(1), worst(-1)) == (1, 1, 1)
    assert worst(3) > 1


def test_half_widths_cover_as_they_say() -> None:
    """Against the law itself, in the middle of the range, where the noise is widest, and at its ends."""
    mechanism = Ladder(1, lambda width: width, 2000)
    # A deep run asks six places.
    for value, width in few([(1000, 0), (1000, 3), (1000, 10), (5, 7), (0, 4), (2000, 4)], 4):
        law = np.array(mechanism.probabilities(Climbed(value, width)))
        far = np.abs(np.arange(2001) - value)
        for level in (0.5, 0.9, 0.95, 0.99):
            reach = mechanism.half_width(level, width)
            assert law[far <= reach].sum() >= level - 1e-9
            if value == 1000 and reach:
                assert law[far < reach - 1].sum() < level
            assert mechanism.half_width_up_to(width, level) >= reach


def test_the_published_medians_on_the_club() -> None:
    """45 triangles, of which an edge moves 10: the median error at epsilon 1."""
    assert Ladder(1, lambda width: min(width, 32), 5984).half_width(0.5, 10) == 18
    assert round(32 * math.log(2), 1) == 22.2


def test_bad_parameters() -> None:
    with pytest.raises(InvalidParameter, match="Climbed"):
        Ladder(1, lambda width: width, 9).release(7)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter):
        Ladder(1, lambda width: width, -1)
    with pytest.raises(InvalidParameter):
        Ladder(0, lambda width: width, 1)


@pytest.mark.parametrize("most_width", [0, 7, 300, 100_000])
def test_rungs_are_asked_for_once_however_many_widths_share_them(most_width: int) -> None:
    asked: list[int] = []

    def rung(width: int) -> int:
        asked.append(width)
        return min(3 * width, 500) + 2

    made = Ladder(0.1, rung, 10**9)
    widest = made.half_width_up_to(most_width)
    assert len(asked) <= min(most_width, 65 * made.rungs) + made.rungs
    every = {round(most_width * at / 64) for at in range(65)}
    assert widest == max(made.half_width(0.95, one) for one in every)
