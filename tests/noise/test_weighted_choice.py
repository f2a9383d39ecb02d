"""Weighted choices: the integers that decide are right, and so is the law."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from discreet.errors import InvalidParameter
from discreet.noise import weighted_choice as wc
from discreet.noise.digits import Digits
from tests.noise.fit import ALARM, alarm

SCALES = [Fraction(1, 3), Fraction(1), Fraction(7, 2), Fraction(12345, 7), Fraction(2**40)]


def cases(scale: Fraction) -> tuple[wc.Integers, wc.Integers]:
    rng = np.random.default_rng(5)
    weights = rng.integers(0, 2 ** np.where(rng.random(600) < 0.5, 44, 4))
    sizes = rng.choice([0, 0.1, 1, 10, 100, 1e5], 600) * float(scale)
    return weights, np.abs(rng.normal(0, 1, 600) * sizes).astype(np.int64)


@pytest.mark.parametrize("scale", SCALES)
def test_the_integers_are_above_the_weights_and_hardly_more(scale: Fraction) -> None:
    weights, gaps = cases(scale)
    shares = wc.above(weights, gaps, scale)
    for weight, gap, share in zip(weights.tolist(), gaps.tolist(), shares.tolist(), strict=True):
        with mpmath.workdps(60):
            exact = weight * mpmath.exp(-mpmath.mpf(gap) * scale.denominator / scale.numerator) * 2**16
            assert share >= exact
            # Every place that is accepted without a look at the digits is below the exact number.
            assert share - (share >> 20) - 3 <= mpmath.floor(exact)
            assert (share == 0) == (weight == 0)
            if weight:
                assert wc.value(weight, Fraction(gap) / scale).leading(62) == mpmath.floor(exact)


def test_rounding_down_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    # Planted fault: factors that are rounded down, so that some candidates get less than their share.
    factors = wc._factors
    monkeypatch.setattr(wc, "_factors", lambda scale: [(m - 2**8, h) for m, h in factors(scale)])
    with pytest.raises(AssertionError):
        test_the_integers_are_above_the_weights_and_hardly_more(Fraction(7, 2))


class Words:
    """A source of given words."""

    def __init__(self, *words: int) -> None:
        self.left = list(words)

    def words(self, count: int, width: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
        assert (count, width) == (1, 64)
        return np.array([self.left.pop(0)], np.uint64)


def test_the_digits_decide_where_the_integers_do_not() -> None:
    digits = wc.value(3, Fraction(1, 7))
    whole, following = digits.leading(62), [digits.word(62 + 64 * k, 64) for k in range(3)]
    assert wc.below(Words(), whole - 1, digits)
    assert not wc.below(Words(), whole + 1, digits)
    assert wc.below(Words(following[0] - 1), whole, digits)
    assert not wc.below(Words(following[0] + 1), whole, digits)
    assert wc.below(Words(following[0], following[1] - 1), whole, digits)
    assert not wc.below(Words(*following[:2], following[2] + 1), whole, digits)
    assert isinstance(digits, Digits)


def test_a_sure_weight_has_its_whole_share() -> None:
    exact = wc.value(5, Fraction(0))
    assert exact.leading(62) == 5 << 16
    assert not wc.below(Words(1), 5 << 16, exact)  # nothing is left over behind the whole units


@pytest.mark.parametrize("scale", [Fraction(3, 2), Fraction(1, 50)])
def test_goodness_of_fit(scale: Fraction) -> None:
    # 200,000 draws: a relative error of a probability of 1/4 by 3 % is caught; false alarms below 2e-11 each.
    weights, gaps, many = np.array([3, 0, 1, 2, 5]), np.array([0, 0, 1, 2, 3]), 200_000
    chosen = wc.weighted_choices(np.tile(weights, many), np.tile(gaps, many), np.arange(many) * 5, scale)
    assert (chosen // 5 == np.arange(many)).all()
    law = weights * np.exp(-gaps / float(scale))
    assert alarm(np.bincount(chosen % 5, minlength=5), law / law.sum()) > ALARM


def test_forgotten_weights_are_caught() -> None:
    # Planted fault: each candidate weighs one.
    many = 200_000
    chosen = wc.weighted_choices(
        np.ones(2 * many, np.int64), np.zeros(2 * many, np.int64), np.arange(many) * 2, 1
    )
    assert alarm(np.bincount(chosen % 2), np.array([0.4, 0.6])) < ALARM


def test_what_is_tried_again_has_the_same_law(monkeypatch: pytest.MonkeyPatch) -> None:
    # With shares four times as large three of four attempts are rejected.
    above = wc.above
    monkeypatch.setattr(wc, "above", lambda *args: 4 * above(*args))
    weights, gaps, many = np.array([1, 2, 3]), np.array([2, 1, 0]), 4_000
    chosen = wc.weighted_choices(np.tile(weights, many), np.tile(gaps, many), np.arange(many) * 3, 2)
    law = weights * np.exp(-gaps / 2)
    assert alarm(np.bincount(chosen % 3, minlength=3), law / law.sum()) > ALARM


def test_uniform_below_each() -> None:
    sizes = np.tile([1, 2, 3, 1000], 50_000)
    drawn = wc.uniform_below(sizes)
    assert ((drawn >= 0) & (drawn < sizes)).all()
    assert alarm(np.bincount(drawn[2::4]), np.full(3, 1 / 3)) > ALARM
    assert alarm(np.bincount(drawn[3::4] // 100), np.full(10, 0.1)) > ALARM


def test_wrong_arguments_are_refused() -> None:
    one = np.array([1])
    for weights, gaps in ((-one, one), (one, -one), (0 * one, one), (one << 45, one)):
        with pytest.raises(InvalidParameter):
            wc.weighted_choices(weights, gaps, np.array([0]), 1)
    with pytest.raises(InvalidParameter):
        wc.weighted_choices(one, one, np.array([0]), 0)
    with pytest.raises(InvalidParameter):
        wc.uniform_below(np.array([3, 0]))
    assert wc.weighted_choices(one[:0], one[:0], one[:0], 1).size == 0
