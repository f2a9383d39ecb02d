"""Gauges: a charge without an answer is held, charges of other versions do not count, and a pace gives a forecast."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction

from discreet.server.history import HistoryEntry
from discreet.server.pages.spending import spending
from discreet.session.budget import BudgetState, account_of, version_of

NOW = dt.datetime(2026, 3, 31, tzinfo=dt.UTC)


def line(days: int, epsilon: str, key: str = "a", whole: bool = True, version: str = "2") -> HistoryEntry:
    return HistoryEntry(
        1, NOW - dt.timedelta(days), "ana", "n", key, Fraction(epsilon), Fraction(0), whole, version
    )


def test_parts_pace_and_forecast() -> None:
    lines = [
        line(50, "0.5"),
        line(9, "0.3", "b"),
        line(4, "0.7"),
        line(4, "9", whole=False),
        line(4, "9", version="1"),
    ]
    seen = spending(BudgetState(Fraction(4), Fraction("1.5")), "2", lines, lambda key: key == "a", NOW)
    assert (seen.answered, seen.held) == (Fraction("1.2"), Fraction("0.3"))
    assert seen.pace == Fraction("0.1")  # of ten days
    assert seen.lasts == 25


def test_nothing_is_forecast_from_nothing() -> None:
    empty = BudgetState(Fraction(4), Fraction(0))
    assert spending(empty, "", [], lambda _: True, NOW).lasts is None
    slow = [line(20, "0.00001", version="")]
    assert spending(empty, "", slow, lambda _: True, NOW).lasts is None


def test_an_overdrawn_budget_lasts_no_day() -> None:
    over = BudgetState(Fraction(1), Fraction(2))
    assert spending(over, "2", [line(0, "2")], lambda _: True, NOW).lasts == 0


def test_the_version_of_an_account() -> None:
    assert version_of(account_of("the data set", "2025")) == "2025"
    assert version_of(account_of("the data set", "")) == ""
