"""People with epsilons of their own: the minimum, and the sampling mechanism with its bias."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

from discreet.accounting import Loss, PersonalGroup, amplified, count_error, keep, keep_probability, minimum
from discreet.errors import InvalidParameter

TOWN = [PersonalGroup(400, 0.5, 0.4), PersonalGroup(400, 1, 0.4), PersonalGroup(200, 0.1, 0.4)]


def test_the_numbers_of_the_town() -> None:
    assert minimum(group.epsilon for group in TOWN) == Loss(0.1)
    found = [count_error(TOWN, t) for t in (None, 0.5, 1)]
    assert [round(one.rms, 2) for one in found] == [14.14, 5.22, 11.80]
    assert all(abs(one.bias) < 1e-9 for one in found)


def test_bias_when_the_careful_are_different() -> None:
    town = [*TOWN[:2], PersonalGroup(200, 0.1, 0.9)]
    found = count_error(town, 0.5)
    p = math.expm1(0.1) / math.expm1(0.5)
    scale = 1000 / (800 + 200 * p)
    assert found.bias == pytest.approx(scale * (320 + 180 * p) - 500)
    assert found.bias < -80
    assert count_error(town, None).bias == pytest.approx(0)


@given(st.fractions(Fraction(1, 10**4), 20), st.fractions(Fraction(1, 10**4), 20))
def test_a_person_is_kept_a_little_less_often_than_they_allow(own: Fraction, threshold: Fraction) -> None:
    found = keep_probability(own, threshold)
    if own >= threshold:
        assert found == 1
        return
    with mp.workdps(80):
        true = mp.expm1(mpf(own.numerator) / own.denominator) / mp.expm1(
            mpf(threshold.numerator) / threshold.denominator
        )
        assert 0 <= true - mpf(found.numerator) / found.denominator < mpf(2) ** -100
    assert amplified(Loss(threshold), found).epsilon <= own * (1 + Fraction(1, 10**11))


def test_coins() -> None:
    # 4,000 people of .5 at t = 1 and as many of 1: the first are kept with probability .3775. A deviation of 6.5
    # standard deviations of 30.7 has a probability below 1e-10; p = e^(.5 - 1) = .6065 would be 30 of them away.
    kept = keep(np.repeat([0.5, 1.0], 4000), 1)
    assert kept[4000:].all()
    assert abs(int(kept[:4000].sum()) - 4000 * math.expm1(0.5) / math.expm1(1)) < 6.5 * 30.7
    assert keep([], 1).shape == (0,)


def test_bad_epsilons() -> None:
    for bad in (0, -1, float("nan"), "x"):
        with pytest.raises(InvalidParameter):
            keep([1, bad], 1)
        with pytest.raises(InvalidParameter):
            keep([1], bad)
        with pytest.raises(InvalidParameter):
            minimum([bad])
    with pytest.raises(InvalidParameter):
        minimum([])


def _noisy_count(keeping: list[float], threshold: float) -> np.ndarray:
    """P(answer) of a count of those who are kept, with discrete Laplace noise of scale 1/t, on -190 to 190."""
    kept = np.array([1.0])
    for p in keeping:
        kept = np.convolve(kept, [1 - p, p])
    k = np.arange(-200, 201)
    noise = np.tanh(threshold / 2) * np.exp(-threshold * np.abs(k))
    return np.convolve(noise, kept)[10 : len(k) - 10]  # the ends lack what lies beyond them


def test_each_person_loses_what_they_allow_and_no_more() -> None:
    """Exactly: the largest log-ratio of all answers with and without a person is their epsilon, or t if it is less."""
    town, threshold = [0.1, 0.5, 1.0, 2.0], 1.0
    for wrong in (False, True):
        # the planted fault: to keep with probability e_i/t instead
        chances = [min(1.0, e / threshold) if wrong else float(keep_probability(e, threshold)) for e in town]
        losses = []
        for at in range(len(town)):
            present = _noisy_count(chances, threshold)
            absent = _noisy_count([*chances[:at], 0.0, *chances[at + 1 :]], threshold)
            losses.append(float(np.abs(np.log(present / absent)).max()))
        allowed = [min(e, threshold) for e in town]
        if wrong:
            assert losses[0] > 1.3 * allowed[0]
        else:
            assert losses == pytest.approx(allowed, rel=1e-9)
