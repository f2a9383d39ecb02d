"""The words and marks of groups."""

from __future__ import annotations

import datetime as dt

from discreet.plots.marks import explained, number_format, ordered, text


def test_an_interval_that_holds_zero_is_explained_by_the_noise() -> None:
    assert explained({"v n": 1.0, "l n": -1.0, "h n": 3.0}, "n")
    assert not explained({"v n": 5.0, "l n": 3.0, "h n": 7.0}, "n")
    assert explained({"v n": 5.0, "l n": 3.0, "h n": 7.0}, "n", reach=3), (
        "for all cells together it reaches further"
    )
    assert not explained({"v n": None, "l n": None, "h n": None}, "n")


def test_numbers_and_days_are_points_on_an_axis_and_no_others() -> None:
    assert [ordered(value) for value in (1, 2.5, dt.date(2025, 1, 1), True, "a", None)] == [True] * 3 + [
        False
    ] * 3


def test_keys_and_numbers_in_words() -> None:
    assert [text(value) for value in (None, 0.5, 7, "a")] == ["none", "0.5", "7", "a"]
    assert (number_format([10.0, -99_999.0]), number_format([-100_000.0]), number_format([])) == (
        ",~f",
        "~s",
        ",~f",
    )
