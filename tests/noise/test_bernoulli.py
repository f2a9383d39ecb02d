from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from discreet.errors import InvalidParameter
from discreet.noise import bernoulli, bernoulli_exp, digits, entropy
from discreet.noise.bernoulli import powers, toss, toss_each
from discreet.noise.digits import Digits
from discreet.noise.lanes import Thresholds
from tests.depth import few
from tests.noise.fit import ALARM, MANY, together
from tests.noise.tape import Flipped, agrees, every_tape, exp

THIRD = Fraction(1, 3)
COINS = [
    (digits.of_rational(THIRD), THIRD),
    (digits.of_rational(Fraction(5, 8)), Fraction(5, 8)),
    (digits.of_rational(Fraction(0)), Fraction(0)),
    (digits.of_exp(Fraction(7, 5)), exp(Fraction(-7, 5))),
    (digits.of_odds(THIRD, Fraction(1)), 1 / (1 + exp(THIRD))),
]


@pytest.mark.parametrize(("probability", "p"), COINS)
@pytest.mark.parametrize(("width", "rest", "depth"), [(1, 1, 40), (3, 2, 35), (8, 1, 30), (8, 8, 16)])
def test_a_coin_by_every_tape(probability: Digits, p: Fraction, width: int, rest: int, depth: int) -> None:
    chosen = Thresholds((probability,), width, rest)
    found, undecided = every_tape(lambda source: bool(toss(source, chosen, 1)[0]), depth)
    assert undecided == Fraction(1, 1 << (depth - (depth - width) % rest))  # the one tape that follows p
    assert agrees(found, undecided, lambda heads: p if heads else 1 - p)


@pytest.mark.parametrize(("probability", "p"), COINS)
def test_every_tape_catches_a_flipped_digit(probability: Digits, p: Fraction) -> None:
    fault = Thresholds((Flipped(probability, 12),), 1, 1)
    found, undecided = every_tape(lambda source: bool(toss(source, fault, 1)[0]), 30)
    assert not agrees(found, undecided, lambda heads: p if heads else 1 - p)


@pytest.mark.parametrize("x", [0, 1, 2, 3, 5, 9])
def test_a_product_of_coins_by_every_tape(x: int) -> None:
    # Two planes below J = 2, one above; 5 and 9 take the second step once and twice.
    scale = Fraction(3)
    chosen = powers(scale, 1, 1, 2)

    def run(source: entropy.RandomSource) -> bool:
        return bool(toss_each(source, chosen, np.array([x]))[0])

    found, undecided = every_tape(run, 16)
    assert undecided < 0.03
    p = exp(-x / scale)
    assert agrees(found, undecided, lambda heads: p if heads else 1 - p)


@pytest.mark.parametrize("p", [THIRD, Fraction(1, 1000), Fraction(1, 2), Fraction(0.1)])
def test_goodness_of_fit(p: Fraction) -> None:
    # 500,000 coins by bytes and by words, false alarm 1e-11; an error of p of sqrt(p)/100 is caught, and of
    # 7 sqrt(p)/1000 in a deep run.
    many = bernoulli(p, MANY)
    few = np.concatenate([bernoulli(p, 500) for _ in range(MANY // 500)])
    for coins in (many, few):
        assert stats.binomtest(int(coins.sum()), coins.size, float(p)).pvalue > ALARM
    assert together(many[1:], many[:-1]) > ALARM


# A deep run asks four divisors.
@pytest.mark.parametrize("divisor", few([Fraction(1), Fraction(7, 3), Fraction(1000), Fraction(1 << 40)], 2))
def test_goodness_of_fit_of_arrays(divisor: Fraction) -> None:
    # 500,000 coins over 16 values of x; as above.
    x = np.arange(MANY) % 16 * max(1, int(divisor) // 5)
    coins = bernoulli_exp(x, scale=divisor)
    few = np.concatenate([bernoulli_exp(part, scale=divisor) for part in x.reshape(-1, 500)])
    for value in np.unique(x):
        p = float(exp(-Fraction(int(value)) / divisor))
        for tossed in (coins, few):
            heads = tossed[x == value]
            assert stats.binomtest(int(heads.sum()), heads.size, min(p, 1.0)).pvalue > ALARM
    for start in range(15):  # neighbours, each pair of places having one probability of its own
        assert together(coins[start::16], coins[start + 1 :: 16]) > ALARM


def test_certain_coins() -> None:
    assert bernoulli(1, 1000).all()
    assert bernoulli(1) is True
    assert not bernoulli(0, 1000).any()
    assert bernoulli(0) is False
    assert bernoulli_exp(0) is True
    assert bernoulli_exp(np.zeros(1000, int), scale=Fraction(1, 9)).all()
    assert not bernoulli_exp(np.full(1000, 2**63 - 1)).any()
    assert bernoulli_exp(10**40) is False


def test_rational_arrays() -> None:
    assert bernoulli_exp([0, Fraction(10**6, 3), "1000.5", Decimal(4000), 5e5]).tolist() == [True] + 4 * [
        False
    ]
    assert bernoulli_exp(np.array([[0.0, 1e300]]), (3, 2)).tolist() == 3 * [[True, False]]
    assert bernoulli_exp([Fraction(0), Fraction(10**9, 10**30 + 1)]).tolist() == [True, True]  # P < 1e-20
    assert bernoulli_exp(np.array([0, 2**63], np.uint64)).tolist() == [True, False]
    assert bernoulli_exp(np.array([0, 2**63 - 1]), scale=2**80).tolist()[0] is True
    assert bernoulli_exp([]).shape == (0,)
    assert bernoulli_exp(np.zeros((2, 0), int)).shape == (2, 0)


@pytest.mark.parametrize("scale", [3, Fraction(1, 7)])
def test_common_denominators_keep_the_probability(scale: Any) -> None:
    # 300,000 coins of e^-(5/6)/scale given as rationals, false alarm 1e-11; an error of p of 0.6 % is caught.
    coins = bernoulli_exp([Fraction(1, 2), Fraction(5, 6), Fraction(1, 3)], (300_000, 3), scale=scale)
    for column, x in enumerate([Fraction(1, 2), Fraction(5, 6), Fraction(1, 3)]):
        p = float(exp(-x / scale))
        assert stats.binomtest(int(coins[:, column].sum()), 300_000, p).pvalue > ALARM


@pytest.mark.parametrize("p", [-0.1, 1.0001, float("nan"), True, "one", None])
def test_bad_probabilities(p: Any) -> None:
    with pytest.raises(InvalidParameter, match="p is"):
        bernoulli(p, 3)


@pytest.mark.parametrize(
    "x", [-1, float("inf"), True, [1, -1], np.array([-3]), np.array([np.nan]), [True], ["x"]]
)
def test_bad_exponents(x: Any) -> None:
    with pytest.raises(InvalidParameter, match="x "):
        bernoulli_exp(x)


def test_bad_shapes_and_scales() -> None:
    with pytest.raises(InvalidParameter, match="broadcast"):
        bernoulli_exp(np.array([1, 2, 3]), 2)
    for scale in (0, -1, float("nan")):
        with pytest.raises(InvalidParameter, match="scale"):
            bernoulli_exp(1, scale=scale)
