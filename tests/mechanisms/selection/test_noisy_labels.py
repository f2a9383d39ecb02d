"""Labels of many votes: one noisy maximum each, priced together."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting.gaussian.curve import delta_of
from discreet.accounting.gaussian.gdp import GDP, gdp_of, smoothing
from discreet.accounting.pricing import loss_of, zcdp_of
from discreet.errors import InvalidParameter
from discreet.mechanisms.selection.noisy_labels import ConfidentLabels, NoisyLabels
from tests.depth import DEEP


def test_the_event_is_priced_as_the_loss() -> None:
    labels = NoisyLabels("1/10", 100)
    event = labels.event("replace_one")
    assert loss_of(event).epsilon == labels.loss == 10
    assert zcdp_of(event).rho == Fraction(1, 2)


def test_the_odds_of_a_label_are_those_of_the_noise() -> None:
    """Votes 3 : 2 and 2 : 3, neighbours at one changed vote: odds within e^epsilon, and not equal.

    Of 2,500 labels each at epsilon 1, the log of the ratio is within 0.25 of its mean but for a chance below 1e-9
    (its standard deviation is 0.034). Without noise it is infinite; with noise of half the scale it is above 1.3.
    A deep run draws 4,000: within 0.2, a standard deviation of 0.027.
    """
    many = 4_000 if DEEP else 2_500
    high, low = (
        NoisyLabels(1, many).release(np.tile(votes, (many, 1))).tolist().count(0)
        for votes in ([3, 2], [2, 3])
    )
    assert 0.3 < math.log(high / low) < 1.1


@pytest.mark.parametrize("votes", [[[1, 2]], [1, 2], [[1, 2]] * 3])
def test_another_number_of_votes_is_refused(votes: object) -> None:
    with pytest.raises(InvalidParameter):
        NoisyLabels(1, 2).release(votes)


def pmf(variance: float, at: np.ndarray) -> np.ndarray:
    """The discrete Gaussian law."""
    weights = np.exp(-np.square(np.arange(-200, 201)) / (2 * variance))
    return np.asarray(weights[at + 200] / weights.sum())


def law(ballot: ConfidentLabels, votes: list[int]) -> np.ndarray:
    """The exact chances of no name, of the first class and of the second, for one row of two."""
    steps = np.arange(-80, 81)
    first, second = (pmf(float(ballot.variance), steps) for _ in votes)
    margin = votes[0] - votes[1] + steps[:, None] - steps[None, :]
    both = first[:, None] * second[None, :]
    one = both[margin > 0].sum() + both[margin == 0].sum() / 2
    reached = 1.0
    if ballot.threshold is not None:
        reached = pmf(float(ballot.check), steps)[steps + max(votes) >= ballot.threshold].sum()
    return np.array([1 - reached, reached * one, reached * (1 - one)])


BALLOTS = [
    ConfidentLabels(9, 1), ConfidentLabels(2, 1, threshold=4, check=3), ConfidentLabels(30, 1, threshold=4, check=1),
]  # fmt: skip
ORDERS = (1.01, 2, 8, 40)


def divergence(p: np.ndarray, q: np.ndarray, order: float) -> float:
    """Of Rényi; names that neither law knows are left out."""
    known = p + q > 0
    return float(np.log((p[known] ** order * q[known] ** (1 - order)).sum()) / (order - 1))


def excess(ballot: ConfidentLabels, rho: float) -> float:
    """By how much the divergence of neighbours passes that of zCDP, at worst; no chance is in it."""
    return max(
        divergence(law(ballot, p), law(ballot, q), a) - a * rho
        for total in (5, 6)
        for k in range(total)
        for p, q in (([k, total - k], [k + 1, total - k - 1]), ([k + 1, total - k - 1], [k, total - k]))
        for a in ORDERS
    )


@pytest.mark.parametrize("ballot", BALLOTS)
def test_names_and_their_absence_are_concentrated(ballot: ConfidentLabels) -> None:
    assert excess(ballot, float(ballot.loss.rho)) <= 1e-9


@pytest.mark.parametrize("ballot", BALLOTS)
def test_a_loss_that_is_too_small_is_found(ballot: ConfidentLabels) -> None:
    """The planted fault: a third of the price, which the law of two classes passes."""
    assert excess(ballot, float(ballot.loss.rho) / 3) > 0


WIDE = [
    ConfidentLabels(9, 1), ConfidentLabels(4, 1, threshold=4, check=3), ConfidentLabels(30, 1, threshold=4, check=2),
]  # fmt: skip
"""Those whose noise has a normal part, so that the exact curve prices them."""


def above_curve(ballot: ConfidentLabels, square: Fraction) -> float:
    """By how much the delta of neighbours passes that of the curve, as a part of it, at worst; no chance is in it."""
    worst, epsilons = -1.0, [Fraction(n, 10) for n in range(1, 16)]
    curve = {epsilon: float(delta_of(square, epsilon)) for epsilon in epsilons}
    for k in range(6):
        for p, q in (([k, 6 - k], [k + 1, 5 - k]), ([k + 1, 5 - k], [k, 6 - k])):
            one, other = law(ballot, p), law(ballot, q)
            for epsilon, most in curve.items():
                delta = float(np.maximum(one - math.exp(epsilon) * other, 0).sum())
                worst = max(worst, delta / most - 1)
    return worst


@pytest.mark.parametrize("ballot", WIDE, ids=str)
def test_names_and_their_absence_are_below_the_exact_curve(ballot: ConfidentLabels) -> None:
    noise = gdp_of(ballot.event("replace_one"))
    assert above_curve(ballot, noise.square) <= 1e-6
    # The planted fault: a quarter of the price, which the law of two classes passes.
    assert above_curve(ballot, noise.square / 4) > 0.01


def test_checks_and_names_are_priced_as_two_vectors() -> None:
    ballot = ConfidentLabels(40, 6, answers=2, threshold=5, check=9)
    event = ballot.event("replace_one")
    assert gdp_of(event) == GDP(Fraction(4) / (40 - smoothing(4)) + Fraction(6) / (9 - smoothing(6)), 2)
    assert zcdp_of(event).rho == ballot.loss.rho
    # The planted fault: a price without the checks is smaller, by each of the two.
    names = ConfidentLabels(40, 2).event("replace_one")
    assert gdp_of(names).square < gdp_of(event).square
    assert zcdp_of(names).rho < zcdp_of(event).rho


@pytest.mark.parametrize("ballot", BALLOTS)
def test_names_are_drawn_by_that_law(ballot: ConfidentLabels) -> None:
    """Of 40,000 rows, each share is within seven standard errors: a false alarm has a chance below 1e-10.

    Noise of half the variance, or a check without noise, is off by twenty or more.
    """
    many, votes = 40_000, [3, 2]
    found = ConfidentLabels(ballot.variance, many, threshold=ballot.threshold, check=ballot.check).release(
        np.tile(votes, (many, 1))
    )
    for name, chance in zip((-1, 0, 1), law(ballot, votes), strict=True):
        assert (
            abs((found == name).sum() - many * chance)
            <= 7 * math.sqrt(many * max(chance, 1e-9) * (1 - chance)) + 1
        )


def test_what_is_named_stops_where_the_price_does() -> None:
    ballot = ConfidentLabels("1/100", 6, answers=2, threshold=5, check="1/100")
    votes = [[9, 0], [2, 2], [0, 9], [9, 0], [0, 9], [9, 0]]
    assert ballot.release(votes).tolist() == [0, -1, 1, -1, -1, -1]
    assert ballot.loss.rho == 2 * 100 + 6 * 50
    assert zcdp_of(ballot.event("add_remove")).rho == 500
