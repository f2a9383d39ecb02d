"""Several demands at once: which binds, and which is relaxed."""

from __future__ import annotations

import math
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from discreet import planning as plan


def test_two_demands() -> None:
    both = plan.demands(5, (20, 0.001), 1)
    assert both.scale == min(5 / math.sqrt(2), 20 / math.log(1000))
    assert (round(both.epsilon, 4), both.binding, both.feasible, both.relax) == (0.3454, "tail", True, ())
    assert plan.demands(2, (20, 0.001)).binding == "sd"
    strict = plan.demands(5, (20, 0.001), 0.3)
    assert not strict.feasible
    assert strict.relax == (
        "allow errors of 23.0259 with probability 0.001, or of 20 with probability 0.00247876",
    )
    assert len(plan.demands(1, (2, 0.001), 0.3).relax) == 2
    # More noise never makes a plan infeasible: large noise is no leak.
    assert plan.demands(50, (200, 0.001), 0.3).feasible
    assert plan.demands(5, None, Fraction(1), sensitivity=5 / math.sqrt(2)).feasible


@given(st.floats(0.1, 100), st.floats(0.1, 100), st.floats(1e-6, 0.5), st.floats(0.01, 10))
def test_what_is_relaxed_does(sd: float, t: float, beta: float, ceiling: float) -> None:
    found = plan.demands(sd, (t, beta), ceiling)
    assert found.feasible == (not found.relax)
    wider = sd
    for words in found.relax:
        number = float(words.split(" of ")[1].split(" ")[0])
        if "deviation" in words:
            wider = number
            assert plan.demands(number, None, ceiling).feasible
        else:
            assert plan.demands(wider, (number, beta), ceiling).feasible
            likely = float(words.rsplit(" ", 1)[1])
            assert likely >= 1 or plan.demands(wider, (t, likely), ceiling).feasible
