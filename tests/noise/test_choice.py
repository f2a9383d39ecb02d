from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from discreet.errors import InvalidParameter
from discreet.noise import bernoulli_odds, digits, entropy, exponential_choice, permute_and_flip, uniform
from discreet.noise.bernoulli import powers, toss, toss_each
from discreet.noise.choice import below
from discreet.noise.lanes import Thresholds
from tests.depth import DEEP
from tests.noise.fit import ALARM, alarm
from tests.noise.tape import Flipped, agrees, every_tape, exp


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8])
def test_uniform_by_every_tape(n: int) -> None:
    found, undecided = every_tape(lambda source: int(below(source, n, 1, 3)[0]), 18)
    assert undecided < 0.06
    assert set(found) == set(range(n))
    assert agrees(found, undecided, lambda k: Fraction(1, n))


def test_every_tape_catches_a_modulus() -> None:
    # Planted fault: the remainder of a word instead of a second try. 0 and 1 come twice as often as 2.
    found, undecided = every_tape(lambda source: int(source.words(1, 2)[0]) % 3, 18)
    assert not agrees(found, undecided, lambda k: Fraction(1, 3))


def test_permute_and_flip_by_every_tape() -> None:
    # Gaps 0 and 1 at scale 1, bit by bit: coins as in bernoulli_exp, then one of the heads uniformly.
    chosen = powers(Fraction(1), 1, 1, 0)

    def run(source: entropy.RandomSource) -> int:
        heads = np.flatnonzero(toss_each(source, chosen, np.array([0, 1])))
        return int(heads[below(source, heads.size, 1, 1)[0]])

    found, undecided = every_tape(run, 20)
    half = exp(-1) / 2  # the second wins if its coin is heads and it comes first
    assert undecided < 0.01
    assert agrees(found, undecided, lambda k: half if k else 1 - half)


@pytest.mark.parametrize(("x", "weight"), [("1/2", 1), (3, "1/3"), ("1/4", 7), (0, 2)])
def test_odds_by_every_tape(x: Any, weight: Any) -> None:
    x, weight = Fraction(x), Fraction(weight)
    coin = digits.of_odds(x, weight) if x else digits.of_rational(weight / (1 + weight))
    p = weight * exp(-x) / (1 + weight * exp(-x))
    found, undecided = every_tape(lambda s: bool(toss(s, Thresholds((coin,), 1, 1), 1)[0]), 30)
    assert agrees(found, undecided, lambda heads: p if heads else 1 - p)
    fault = Thresholds((Flipped(coin, 12),), 1, 1)
    found, undecided = every_tape(lambda s: bool(toss(s, fault, 1)[0]), 30)
    assert not agrees(found, undecided, lambda heads: p if heads else 1 - p)


def test_goodness_of_fit_of_odds() -> None:
    # 300,000 coins each, false alarm 1e-11; an error of p of 0.6 % is caught.
    for x, weight in ((Fraction(1, 2), Fraction(1)), (Fraction(2), Fraction(9)), (Fraction(0), Fraction(3))):
        p = float(weight * exp(-x) / (1 + weight * exp(-x)))
        coins = bernoulli_odds(x, 300_000, weight=weight)
        assert stats.binomtest(int(coins.sum()), coins.size, p).pvalue > ALARM
    assert type(bernoulli_odds(1)) is bool


@pytest.mark.parametrize("n", [2, 7, 100])
def test_goodness_of_fit_of_uniform(n: int) -> None:
    # 200,000 draws, false alarm 1e-11; a frequency wrong by 8 % at n = 7, or a lost value, is caught.
    drawn = uniform(n, 200_000)
    assert alarm(np.bincount(drawn, minlength=n), np.full(n, 1 / n)) > ALARM


def test_goodness_of_fit_of_choices() -> None:
    # 2,500 choices among 5, false alarm 1e-11; a probability of 0.4 wrong by 0.07 is caught. A deep run makes 4,000
    # and catches 0.055.
    many, steps = (4000, 400_000) if DEEP else (2500, 100_000)
    gaps = [0, 1, Fraction(3, 2), 2, 50]
    p = np.exp(-np.array(gaps, float))
    exponential = np.bincount([exponential_choice(gaps, 1) for _ in range(many)], minlength=5)
    assert alarm(exponential, p / p.sum()) > ALARM
    flips = np.bincount([permute_and_flip(np.array([0, 2, 3, 4, 100]), 2) for _ in range(4000)], minlength=5)
    # P(i) = integral of p_i prod (1 - p_j x): compared with the exponential law it is told apart.
    assert alarm(flips, p / p.sum()) < ALARM
    x = (np.arange(steps) + 0.5) / steps
    law = [np.mean(p[i] * np.prod([1 - p[j] * x for j in range(5) if j != i], axis=0)) for i in range(5)]
    assert alarm(flips, law) > ALARM


def test_large_choices() -> None:
    gaps = np.arange(1_000_000)
    assert 0 <= permute_and_flip(gaps, 1) < 100  # P(further) < e^-99
    assert 0 <= exponential_choice(gaps, 1) < 100
    assert 0 <= uniform(2**63 - 1) < 2**63 - 1
    assert uniform(2**40, (2, 3)).shape == (2, 3)


@pytest.mark.parametrize("n", [0, -1, 2**63, 2.5, True, "3"])
def test_bad_numbers_of_outcomes(n: Any) -> None:
    with pytest.raises(InvalidParameter, match="n is not"):
        uniform(n)


@pytest.mark.parametrize("gaps", [[], [1, 2], np.zeros((2, 2), int), [[0]]])
def test_bad_gaps(gaps: Any) -> None:
    for choose in (exponential_choice, permute_and_flip):
        with pytest.raises(InvalidParameter, match="gaps"):
            choose(gaps, 1)


@pytest.mark.parametrize("bad", [{"x": -1}, {"x": 1, "weight": 0}, {"x": float("nan")}])
def test_bad_odds(bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        bernoulli_odds(**bad)
