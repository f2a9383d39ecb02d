"""A sensitivity that a caller hands over is exact, and its note says who vouches for it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from discreet.errors import InvalidParameter
from discreet.sensitivity.handed import admit


def test_a_number_is_exact_and_vouched_for_by_the_caller() -> None:
    value, note = admit(0.1, random_dp=False, neighbours="replace_one")
    assert value == Fraction(1, 10)
    assert "0.1 is vouched for by the caller" in note


@pytest.mark.parametrize("bad", [0, -1, float("inf"), float("nan"), "much", None])
def test_a_sensitivity_that_is_no_positive_number_is_refused(bad: Any) -> None:
    with pytest.raises(InvalidParameter, match="sensitivity"):
        admit(bad, random_dp=True)
