"""The same question at several prices: errors fall, and nothing is charged."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.server.pages import precision
from discreet.server.pages.precision import PRICES, at_prices
from discreet.session.analyst import AnalystSession


def test_errors_fall_as_prices_rise_and_the_chosen_price_is_among_them() -> None:
    rows = pa.table({"age": [31, 47, 62]})
    session = AnalystSession(
        dp.protect(rows, privacy_unit="row", bounds={"age": (0, 120)}, budget=2), "ana", 1
    )
    given: dict[str, Any] = {"query": "SELECT COUNT(*) AS n, MEDIAN(age) AS age FROM data", "epsilon": "1/3"}
    chosen = session.preview(**given)
    found = at_prices(session, given, chosen)
    assert [one.epsilon for one in found] == sorted({*PRICES, Fraction(1, 3)})
    errors = [one.errors["n"] for one in found]
    assert errors == sorted(errors, reverse=True)
    assert next(one for one in found if one.epsilon == Fraction(1, 3)) == chosen
    assert session.budget.spent == 0
    free: dict[str, Any] = {"query": "SELECT * FROM information_schema.tables", "epsilon": 1}
    assert at_prices(session, free, session.preview(**free)) == []


def test_a_slow_plan_is_not_looked_at_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = pa.table({"age": [31, 47, 62]})
    session = AnalystSession(
        dp.protect(rows, privacy_unit="row", bounds={"age": (0, 120)}, budget=2), "ana", 1
    )
    given: dict[str, Any] = {"query": "SELECT COUNT(*) AS n FROM data", "epsilon": 1}
    monkeypatch.setattr(precision, "PATIENCE", -1.0)
    assert at_prices(session, given, session.preview(**given)) == []
