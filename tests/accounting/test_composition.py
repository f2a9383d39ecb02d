"""Sums, groups, sampling and conversions: the numbers of the textbook, and never a loss that is too small."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from discreet.accounting import ZCDP, Loss, advanced, amplified, before_sampling, group, parallel, sequential
from discreet.errors import InvalidParameter
from tests.depth import examples

epsilons = st.fractions(Fraction(1, 10**6), 50)
rates = st.fractions(Fraction(1, 10**6), 1)


def test_sequential_is_the_exact_sum() -> None:
    assert sequential([Loss(0.1)] * 10) == Loss(1)
    assert sequential([]) == Loss(0)
    assert sequential([Loss(0.1, 1e-9), Loss("1/3", 1e-9)]) == Loss("13/30", 2e-9)


def test_parallel_is_the_largest() -> None:
    hospitals = [Loss(Fraction(k, 10), Fraction(1, 10**k)) for k in range(1, 11)]
    assert parallel(hospitals) == Loss(1, 0.1)
    with pytest.raises(InvalidParameter):
        parallel([])


def test_group_privacy() -> None:
    assert group(Loss(0.1), 7) == Loss(0.7)
    with_delta = group(Loss(0.5, 1e-6), 3)
    assert with_delta.epsilon == Fraction(3, 2)
    assert 0 <= float(with_delta.delta) / (3 * math.e * 1e-6) - 1 < 1e-10
    assert group(Loss(1, 1e-6), 10**6) == Loss(10**6, 1)
    assert group(Loss(1, 1e-6), 1) == Loss(1, 1e-6)
    for bad in (0, -1, 1.5, True):
        with pytest.raises(InvalidParameter):
            group(Loss(1), bad)  # type: ignore[arg-type]


@given(epsilons, st.fractions(Fraction(1, 10**12), Fraction(1, 10**6)), st.integers(2, 9))
def test_a_group_is_made_of_its_members(epsilon: Fraction, delta: Fraction, size: int) -> None:
    # the recursion behind the formula: delta_k = delta_(k-1) + e^((k-1) eps) delta is at most k e^((k-1) eps) delta
    with mp.workdps(60):
        e, d = mpf(epsilon.numerator) / epsilon.denominator, mpf(delta.numerator) / delta.denominator
        chained = sum(mp.exp(j * e) * d for j in range(size))
        found = group(Loss(epsilon, delta), size).delta
        assert mpf(found.numerator) / found.denominator >= min(chained, mpf(1))


def test_amplification_numbers() -> None:
    assert round(float(amplified(Loss(1), 0.05).epsilon), 4) == 0.0824
    assert round(float(amplified(Loss(0.5), 0.05).epsilon), 4) == 0.0319
    assert amplified(Loss(1, 1e-6), 0.05).delta == Fraction(5, 10**8)
    assert amplified(Loss(1, 1e-6), 1) == Loss(1, 1e-6)
    assert amplified(Loss(1, 1e-6), 0) == Loss(0)


@given(epsilons, rates)
def test_amplification_is_rounded_up_and_its_inverse_down(epsilon: Fraction, rate: Fraction) -> None:
    loss, found = Loss(epsilon), amplified(Loss(epsilon), rate).epsilon
    with mp.workdps(60):
        e, q = mpf(epsilon.numerator) / epsilon.denominator, mpf(rate.numerator) / rate.denominator
        true = mp.log1p(q * mp.expm1(e))
        assert 0 <= mpf(found.numerator) / found.denominator - true <= true * mpf(2) ** -38
        back = before_sampling(loss, rate).epsilon
        allowed = mp.log1p(mp.expm1(e) / q)
        assert 0 <= allowed - mpf(back.numerator) / back.denominator <= allowed * mpf(2) ** -36
    assert amplified(before_sampling(loss, rate), rate).within(loss)


@pytest.mark.parametrize("epsilon", [699, 701, 5000, 10**9])
def test_amplification_of_large_epsilons_does_not_overflow(epsilon: int) -> None:
    found = float(amplified(Loss(epsilon), Fraction(1, 1000)).epsilon)
    assert found == pytest.approx(epsilon - math.log(1000), rel=1e-11)
    assert amplified(before_sampling(Loss(epsilon), 0.001), 0.001).within(Loss(epsilon))


@pytest.mark.parametrize("bad", [-0.1, 1.1, float("nan"), "x", None])
def test_no_rate(bad: Any) -> None:
    for function in (amplified, before_sampling):
        with pytest.raises(InvalidParameter):
            function(Loss(1), bad)
    with pytest.raises(InvalidParameter):
        before_sampling(Loss(1), 0)


def test_amplification_of_a_mechanism_by_counting() -> None:
    """Randomised response on one kept bit: the worst ratio of its output is e^eps' exactly."""
    for epsilon in (0.1, 1.0, 3.0):
        p = math.exp(epsilon) / (1 + math.exp(epsilon))
        for q in (0.05, 0.5, 0.9):
            present, absent = q * p + (1 - q) * (1 - p), 1 - p  # P(output 1) with the person and without
            claimed = float(amplified(Loss(epsilon), q).epsilon)
            assert math.log(present / absent) == pytest.approx(claimed, rel=1e-9)


def test_advanced_composition_wins_with_many_releases_only() -> None:
    assert advanced([Loss(1)] * 5, 1e-6) == Loss(5)
    won = advanced([Loss(0.01, 1e-12)] * 10_000, 1e-6)
    assert won.delta == Fraction(1, 10**6) + Fraction(1, 10**8)
    assert float(won.epsilon) == pytest.approx(0.5 + math.sqrt(2 * math.log(1e6)), abs=1e-4)
    assert advanced({Loss(0.01, 1e-12): 10_000}, 1e-6) == won
    for bad in (0, 1, -1, 2):
        with pytest.raises(InvalidParameter):
            advanced([Loss(1)], bad)


def test_zcdp_conversions() -> None:
    assert ZCDP.of(Loss(0.1, 1e-9)) == ZCDP(Fraction(1, 200), 1e-9)
    assert ZCDP.gaussian(4, 2).rho == Fraction(1, 8)
    assert (ZCDP(0.1) + ZCDP(0.2)).group(3).rho == Fraction(27, 10)
    assert ZCDP(0).loss(1e-9) == Loss(0, 1e-9)
    for bad in (0, 1, 1e-9):
        with pytest.raises(InvalidParameter):
            ZCDP(0.1, 1e-9).loss(bad)
    with pytest.raises(InvalidParameter):
        ZCDP(0.1, 1e-9).group(2)


def _normal(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2


@settings(max_examples=examples(20, 100), deadline=None)
@given(st.fractions(Fraction(1, 10**6), 20), st.fractions(Fraction(1, 10**12), Fraction(1, 2)))
def test_zcdp_conversion_is_a_bound_and_beats_the_simple_one(rho: Fraction, delta: Fraction) -> None:
    found = float(ZCDP(rho).loss(delta).epsilon)
    r, simple = float(rho), float(rho) + 2 * math.sqrt(float(rho) * math.log(1 / float(delta)))
    assert found <= simple * (1 + 1e-9)
    # Gaussian noise of that rho is a mechanism that has it: its exact delta must not be above what was promised.
    spread = math.sqrt(2 * r)
    exact = _normal(spread / 2 - found / spread) - math.exp(found) * _normal(-spread / 2 - found / spread)
    assert exact <= float(delta) * (1 + 1e-9)
    assert ZCDP(rho).delta_at(Fraction(found)) <= delta * (1 + Fraction(1, 10**4))


def test_a_conversion_that_forgets_half_is_seen() -> None:
    """The planted fault: rho taken as epsilon^2/4 promises less than randomised response loses."""
    from discreet.accounting import Homogeneous

    true = Homogeneous(0.1, 1000).loss(1e-6).epsilon
    assert ZCDP(1000 * Fraction(1, 200)).loss(1e-6).epsilon >= true
    assert ZCDP(1000 * Fraction(1, 400)).loss(1e-6).epsilon < true


def test_amplification_of_a_fixed_size_by_counting() -> None:
    """One of three people is drawn and answers by randomised response; one of the three is replaced."""
    p = math.e / (1 + math.e)
    one_in_three, none = (
        p / 3 + 2 * (1 - p) / 3,
        1 - p,
    )  # P(output 1) when one of three has a 1, and when none has
    assert math.log(one_in_three / none) == pytest.approx(float(amplified(Loss(1), "1/3").epsilon), rel=1e-9)
