from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.noise import digits

rationals = st.builds(
    Fraction, st.integers(1, 1 << 62), st.integers(0, 70).flatmap(lambda n: st.integers(1, 1 << n))
)


@given(rationals, st.integers(1, 400))
def test_an_enclosure_of_exp_holds_the_truth_and_is_tight(x: Fraction, count: int) -> None:
    low, high = digits.enclose_exp(x, count)
    with mpmath.workprec(count + 400):
        scaled = mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator) * mpmath.mpf(2) ** count
        assert low <= scaled <= high
    assert high - low <= 2


@given(rationals, st.integers(1, 400))
def test_digits_are_those_of_another_library(x: Fraction, count: int) -> None:
    with mpmath.workprec(count + 400):
        y = mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator)
        one = mpmath.mpf(2) ** count
        assert digits.of_exp(x).leading(count) == int(mpmath.floor(y * one))
        assert digits.of_odds(x, Fraction(1)).leading(count) == int(mpmath.floor(y / (1 + y) * one))


@given(st.fractions(0, 1).filter(lambda p: p < 1), st.integers(1, 300))
def test_digits_of_a_rational(p: Fraction, count: int) -> None:
    assert digits.of_rational(p).leading(count) == p.numerator * 2**count // p.denominator


def test_undecided_digits_ask_for_a_tighter_enclosure() -> None:
    # p is just above 2^-8: a loose enclosure straddles it, and the digits must not be guessed.
    asked = []

    def enclosure(count: int) -> tuple[int, int]:
        asked.append(count)
        slack = 0 if count > 100 else 1 << 20
        exact = (1 << count - 8) + 1
        return exact - slack, exact + slack

    assert digits.Digits(enclosure).leading(8) == 1
    assert len(asked) > 1


def test_a_prefix_never_changes() -> None:
    whole = digits.of_exp(Fraction(1, 3)).leading(2000)
    again = digits.of_exp(Fraction(1, 3))
    assert all(again.leading(n) == whole >> (2000 - n) for n in (1, 8, 72, 73, 500, 1999))
    assert again.word(100, 64) == whole >> (2000 - 164) & (2**64 - 1)


def test_threads_agree() -> None:
    shared = digits.of_odds(Fraction(1, 7), Fraction(1))
    counts = list(range(1, 1500))
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(shared.leading, counts))
    whole = digits.of_odds(Fraction(1, 7), Fraction(1)).leading(1500)
    assert found == [whole >> (1500 - n) for n in counts]


def see_doubled() -> None:
    for x in (
        Fraction(1),
        Fraction(1, 3),
        Fraction(7, 5),
        Fraction(1, 120_000),
        Fraction(1, 2**56),
        Fraction(2**10),
    ):
        powers = digits.of_exp_doubled(x, 66)
        for count in (16, 80, 24, 144):
            for k in (0, 1, 2, 7, 20, 33, 66):
                low, high = powers[k](count)
                least, most = digits.enclose_exp(x * 2**k, count + 64)
                assert low << 64 <= most
                assert least <= high << 64
                assert high - low <= 2


def test_doubled_exponents_are_enclosed_as_closely_as_each_by_itself() -> None:
    see_doubled()


def test_squares_that_are_rounded_inward_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: the ends of each enclosure are rounded to the other side."""
    right = digits.of_exp_doubled

    def inward(one: digits.Enclosure) -> digits.Enclosure:
        return lambda count: (one(count)[0] + 1, one(count)[1] - 1)

    monkeypatch.setattr(digits, "of_exp_doubled", lambda x, most: [inward(one) for one in right(x, most)])
    with pytest.raises(AssertionError):
        see_doubled()


@pytest.mark.parametrize("x", [Fraction(1), Fraction(1, 3), Fraction(1, 2**30), Fraction(2**9)])
def test_the_digits_of_doubled_exponents_are_those_of_each_by_itself(x: Fraction) -> None:
    powers = digits.of_exp_doubled(x, 40)
    for k, power in enumerate(powers):
        for count in (8, 64, 200):
            assert digits.Digits(power).leading(count) == digits.of_exp(x * 2**k).leading(count)
            assert digits.logistic(power).leading(count) == digits.of_odds(x * 2**k, Fraction(1)).leading(
                count
            )
