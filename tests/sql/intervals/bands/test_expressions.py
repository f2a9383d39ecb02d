"""The ends of nested expressions take time and text by their size, and not by a power of it."""

from __future__ import annotations

from fractions import Fraction

import pyarrow as pa
import pytest
import sqlglot
from sqlglot import exp
from tests import shared
from tests.inside import answer_of, exact_of, plan_of

from discreet.sql.intervals.bands.expressions import ANYWHERE, LONGEST_END, Arithmetic, Ends


class Counted:
    """Leaves that count how often they are asked."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, node: exp.Expr) -> Ends | None:
        self.asked += 1
        return Ends("low", "high", True, only="n") if isinstance(node, exp.Column) else None


def _parsed(text: str) -> exp.Expr:
    return sqlglot.parse_one(text, read="duckdb")


def test_each_part_is_worked_out_once() -> None:
    leaf = Counted()
    found = Arithmetic(leaf).ends(_parsed(" + ".join(["n"] * 18)))
    assert found.low.count("low") == found.high.count("high") == 18
    assert (found.noisy, found.bent, found.only) == (True, False, "n")
    assert leaf.asked <= 4 * 18


@pytest.mark.parametrize("text", [" * ".join(["n"] * 20), "abs(" * 12 + "n - 1" + ")" * 12])
def test_ends_that_would_be_endless_are_anywhere(text: str) -> None:
    found = Arithmetic(Counted()).ends(_parsed(text))
    assert len(found.low) + len(found.high) <= 2 * LONGEST_END
    assert all(end in found.low + found.high for end in ANYWHERE)
    assert found.noisy


@pytest.mark.parametrize(
    "expression", ["ln(COUNT(*) - 120)", "sqrt(COUNT(*) - 120)", "ln(COUNT(*) - COUNT(*))"]
)
def test_an_end_that_is_no_number_is_anywhere(expression: str) -> None:
    """DuckDB has NaN for the logarithm of a negative number, and compares with it as with a number."""
    session = shared.protect(pa.table({"x": range(120)}), privacy_unit="row", budget=9)
    plan = plan_of(session, f"SELECT {expression} AS v FROM data", Fraction(1))
    answer = answer_of(session, plan, exact_of(session, plan)).to_pandas()
    assert answer["v_low"][0] == -float("inf")
    assert answer["v_high"][0] > 0
