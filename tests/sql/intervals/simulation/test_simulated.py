"""Intervals of statements that are run on all draws at once."""

from __future__ import annotations

from fractions import Fraction

import pyarrow as pa
import pytest
from tests import shared
from tests.depth import deep
from tests.inside import answer_of, exact_of, plan_of

from discreet.sql.intervals.simulation import repeated, simulated


def test_a_draw_that_is_no_number_may_lie_anywhere() -> None:
    """A quarter of all draws are below the number of rows, where the logarithm is NaN."""
    session = shared.protect(pa.table({"x": range(120)}), privacy_unit="row", budget=9)
    plan = plan_of(session, "SELECT log10(COUNT(*) - 119) AS v FROM data", Fraction(1))
    answer = answer_of(session, plan, exact_of(session, plan)).to_pandas()
    assert (answer["v"][0], answer["v_low"][0]) == (0, -float("inf"))
    assert answer["v_high"][0] == float("inf")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT MAX(COLUMNS(['n', 's'])) FROM r",
        # `test_breakout` asks COLUMNS as well.
        pytest.param("SELECT COLUMNS('n|s') + 1 FROM r", marks=deep),
        # A star by pattern is COLUMNS by another word.
        pytest.param("SELECT * SIMILAR TO 'n|s' FROM r", marks=deep),
        "SELECT UNNEST({'n': n, 's': s}) FROM r",
    ],
)
def test_each_column_of_one_expression_has_an_interval(sql: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first ended in an error of Python after the charge, and the others had numbers without one."""
    for number in ("DRAWS", "FEWEST"):  # nothing is said of the ends
        monkeypatch.setattr(repeated, number, 50)
    data = pa.table({"x": list(range(60)), "c": ["a", "b"] * 30})
    session = shared.protect(
        data, privacy_unit="row", bounds={"x": (0, 60)}, keys={"c": ["a", "b"]}, budget=9
    )
    text = f"WITH r AS (SELECT c, COUNT(*) AS n, SUM(x) AS s FROM data GROUP BY c) {sql}"
    answer = session.sql(text, epsilon=1, confidence=0.8).to_arrow()
    assert answer.column_names == ["n", "n_low", "n_high", "s", "s_low", "s_high"]


@pytest.mark.parametrize("items", ["*", "*, n + 1 AS m", "c, n"])
def test_a_star_is_run_on_all_draws_at_once(monkeypatch: pytest.MonkeyPatch, items: str) -> None:
    """Run one by one, it takes a hundred times as long; a star takes the hidden columns from inside along."""

    def one_by_one(*_: object) -> object:
        raise AssertionError("it is run on each draw")

    monkeypatch.setattr(simulated, "_one_by_one", one_by_one)
    data = pa.table({"c": ["a", "b"] * 500})
    with shared.protect(data, privacy_unit="row", keys={"c": ["a", "b"]}, budget=9) as session:
        text = f"SELECT {items} FROM (SELECT c, COUNT(*) AS n FROM data GROUP BY c) WHERE n > -1000"
        answer = session.sql(text, epsilon=1)
    for name in set(answer.columns) - {"c"}:
        middle = [
            (low.as_py() + high.as_py()) / 2
            for low, high in zip(answer.low[name], answer.high[name], strict=True)
        ]
        assert all(
            abs(value.as_py() - at) < 5 for value, at in zip(answer.values.column(name), middle, strict=True)
        )
