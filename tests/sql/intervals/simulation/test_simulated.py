"""Intervals of statements that are run on all draws at once."""

from __future__ import annotations

from fractions import Fraction

import pyarrow as pa
from tests import shared
from tests.inside import answer_of, exact_of, plan_of


def test_a_draw_that_is_no_number_may_lie_anywhere() -> None:
    """A quarter of all draws are below the number of rows, where the logarithm is NaN."""
    session = shared.protect(pa.table({"x": range(120)}), privacy_unit="row", budget=9)
    plan = plan_of(session, "SELECT log10(COUNT(*) - 119) AS v FROM data", Fraction(1))
    answer = answer_of(session, plan, exact_of(session, plan)).to_pandas()
    assert (answer["v"][0], answer["v_low"][0]) == (0, -float("inf"))
    assert answer["v_high"][0] == float("inf")
