"""What a plan says of whole numbers is true of the whole numbers that are drawn, and would be false of a density."""

from __future__ import annotations

import json
import math
import re
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import planning as plan
from discreet.errors import InvalidParameter
from discreet.planning import LaplaceError, VectorError, WholeError
from tests.cli.conftest import Run
from tests.cli.conftest import run as run
from tests.depth import examples

EPSILONS = st.fractions(Fraction(1, 200), 8, max_denominator=400)
LEVELS = st.fractions(Fraction(1, 2), Fraction(9999, 10_000), max_denominator=10_000)


def tail(epsilon: float, t: float, sensitivity: float = 1) -> float:
    """P(|Z| > t) by adding up P(Z = k) with 50 digits."""
    with mpmath.workdps(50):
        q = mpmath.exp(-mpmath.mpf(epsilon) / mpmath.mpf(sensitivity))
        inside = mpmath.fsum(q ** abs(k) for k in range(-math.floor(t), math.floor(t) + 1))
        return float(1 - (1 - q) / (1 + q) * inside)


def holds(epsilon: float, radius: float, confidence: float) -> bool:
    return tail(epsilon, radius) <= (1 - confidence) * (1 + 1e-9)


@settings(max_examples=examples(20, 120), deadline=None)
@given(EPSILONS, LEVELS)
def test_a_radius_holds_and_is_the_least(epsilon: Fraction, confidence: Fraction) -> None:
    radius = WholeError.of(1, epsilon).radius(confidence)
    assert holds(float(epsilon), radius, float(confidence))
    if radius:
        assert tail(float(epsilon), radius - 1) > float(1 - confidence) * (1 - 1e-9)


def test_the_fault_is_caught_that_a_density_is_asked() -> None:
    said = LaplaceError.of(1).radius(0.95)
    assert round(said, 3) == 2.996
    assert not holds(1, said, 0.95)
    assert round(tail(1, said), 3) == 0.073
    assert not tail(1 / plan.scale_for_tail(2.9, 0.05), 2.9) <= 0.05 * (1 + 1e-9)


@settings(max_examples=examples(20, 120), deadline=None)
@given(st.floats(0.3, 60), st.floats(1e-6, 0.6), st.integers(1, 5))
def test_what_a_demand_needs_meets_it_under_both_laws(t: float, beta: float, sensitivity: int) -> None:
    verdict = plan.demands(tail=(t, beta), sensitivity=sensitivity)
    assert tail(verdict.epsilon, t, sensitivity) <= beta * (1 + 1e-9)
    assert math.exp(-t * verdict.epsilon / sensitivity) <= beta * (1 + 1e-9)
    assert verdict.whole is not None
    assert tail(verdict.whole * 0.999, t, sensitivity) > beta, "the least"
    assert verdict.epsilon == max(verdict.whole, verdict.density)


@settings(max_examples=examples(20, 120), deadline=None)
@given(st.floats(0.05, 1), st.floats(1e-6, 0.3))
def test_what_a_ceiling_is_said_to_reach_is_reached(ceiling: float, beta: float) -> None:
    verdict = plan.demands(tail=(0.5, beta), ceiling=ceiling)
    found = re.search(
        r"errors of ([\d.e+]+) with probability \S+, or of 0.5 with probability (\S+)",
        verdict.relax[0],
    )
    assert found is not None
    assert tail(ceiling, float(found[1])) <= beta * (1 + 1e-9)
    assert tail(ceiling, 0.5) <= float(found[2]) * (1 + 1e-9)


def test_a_number_that_cannot_be_whole_follows_the_density() -> None:
    share = plan.demands(tail=(0.05, 0.01), sensitivity="1/1000")
    assert share.whole is None
    assert share.epsilon == share.density == pytest.approx(math.log(100) / 50)


@pytest.mark.parametrize("epsilon", [3, 1, "1/10", "1/5000"])
def test_expectations_are_sums_over_the_law(epsilon: str | int) -> None:
    rate = float(Fraction(epsilon))
    for d in (1, 7, 3143):
        whole = WholeError.of(d, epsilon)
        terms = (1 - (1 - tail_of(rate, k)) ** d for k in range(int(60 / rate)))
        assert whole.expected_max == pytest.approx(math.fsum(terms), rel=1e-7)
        assert whole.expected_max <= VectorError(1 / rate, d).expected_max
        assert whole.mean_abs <= 1 / rate
        assert whole.rms <= math.sqrt(2) / rate
        level = 0.95
        assert (1 - tail_of(rate, whole.max_radius(level))) ** d >= level * (1 - 1e-9)
    one = WholeError.of(1, epsilon)
    assert one.expected_max == pytest.approx(one.mean_abs, rel=1e-9)


def tail_of(rate: float, k: int) -> float:
    return 2 * math.exp(-rate * (k + 1)) / (1 + math.exp(-rate))


def test_the_command_says_what_is_drawn(run: Run) -> None:
    said = run("plan", "--counts", "1", "--epsilon", "1").stdout
    assert "within 3 at 95 %" in said
    assert "2.99" not in said
    found = json.loads(
        run("plan", "--counts", "3143", "-e", "0.1", "--neighbours", "replace", "--json").stdout
    )
    assert (found["one"]["radius"], found["largest"]["radius"]) == (60, 220)
    assert round(found["drawn"]["largest"]["expected"], 1) == 172.6
    said = run("plan", "--tail", "2.9:0.05").stdout
    epsilon = re.search(r"epsilon at least ([\d.]+);", said)
    assert epsilon is not None
    assert tail(float(epsilon[1]), 2.9) <= 0.05, "an epsilon that is typed in as it is printed will do"


def test_extremes_are_refused_by_name() -> None:
    ends = ["1e-320", "1e-30", "1e30", "1e300", "0", "-1"]
    for a in ends:
        for b in ends:
            for ask in (
                lambda a=a, b=b: plan.demands(sd=a, tail=(b, "0.05"), ceiling=1),
                lambda a=a, b=b: plan.sample_sizes(a, b),
                lambda a=a, b=b: plan.mean_error((0, a), 100, b),
                lambda a=a, b=b: plan.sample_size_for_mean((0, a), b, 1),
                lambda a=a, b=b: VectorError.of(10, a, b).max_radius(),
                lambda a=a, b=b: WholeError.of(10, a, b).max_radius(),
                lambda a=a, b=b: (plan.information(a), plan.divergence(b), plan.linear_gap(a)),
            ):
                try:
                    ask()
                except InvalidParameter:
                    continue
