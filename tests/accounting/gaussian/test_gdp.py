"""The discrete Gaussian beside the claim: its exact curve, enumerated in decimals of eighty digits, is never above."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from decimal import Decimal, getcontext, localcontext
from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting import events as ev
from discreet.accounting.gaussian.curve import delta_of
from discreet.accounting.gaussian.gdp import GDP, SLACK, gdp_of, smoothing
from discreet.accounting.loss import Loss
from discreet.accounting.zcdp import ZCDP
from discreet.errors import InvalidParameter, UnsupportedEvent
from tests.depth import in_turn

SHIFTS = [(1,), (2,), (3,), (7,), (1, 1), (2, 1), (1, 1, 1), (3, 2, 1), (1,) * 8, (4, 1, 1, 1)]


def law(variance: Fraction, step: int) -> dict[int, Decimal]:
    """The law of step times a discrete Gaussian variable, but for a tail below 10^-70."""
    far = math.ceil(math.sqrt(340 * float(variance))) + 1
    two = Decimal(2 * variance.numerator) / variance.denominator
    weights = {k: (-Decimal(k * k) / two).exp() for k in range(-far, far + 1)}
    total = sum(weights.values())
    return {step * k: weight / total for k, weight in weights.items()}


def summed(variance: Fraction, shift: tuple[int, ...]) -> dict[int, Decimal]:
    """The law of the sum of shift_i Z_i, on which the loss of the shift depends."""
    found = {0: Decimal(1)}
    for step in shift:
        added: dict[int, Decimal] = {}
        one = law(variance, step)
        for left, p in found.items():
            for right, q in one.items():
                added[left + right] = added.get(left + right, Decimal(0)) + p * q
        found = {at: p for at, p in added.items() if p > Decimal("1e-60")}
    return found


def exact(variance: Fraction, shift: tuple[int, ...], epsilons: list[Fraction]) -> Iterator[Decimal]:
    """Delta at each epsilon: with W the sum, P(W > e v - S^2/2) - e^epsilon P(W > e v + S^2/2)."""
    found = summed(variance, shift)
    square = sum(step * step for step in shift)
    for epsilon in epsilons:
        near, far = epsilon * variance - Fraction(square, 2), epsilon * variance + Fraction(square, 2)
        grown = (Decimal(epsilon.numerator) / epsilon.denominator).exp()
        yield sum((p for at, p in found.items() if at > near), Decimal(0)) - grown * sum(
            (p for at, p in found.items() if at > far), Decimal(0)
        )


def excess(variance: Fraction, shift: tuple[int, ...], square_of_mu: Fraction) -> float:
    """The most by which the exact delta is above the claimed one, as a part of it: 0 or less where the claim holds."""
    epsilons = [Fraction(k, 4) for k in range(1, 25)]
    with localcontext() as context:
        context.prec = 80
        worst = -math.inf
        for epsilon, delta in zip(epsilons, exact(variance, shift, epsilons), strict=True):
            claimed = delta_of(square_of_mu, epsilon - SLACK) * (1 + SLACK)
            if claimed > Fraction(1, 10**30):
                worst = max(worst, float(Fraction(delta) / claimed) - 1)
        assert getcontext().prec == 80
    return worst


# A deep run asks all shifts at each variance.
@pytest.mark.parametrize(
    ("shift", "variance"), in_turn(SHIFTS, [Fraction(2), Fraction(7, 2), Fraction(12)]), ids=str
)
def test_the_exact_curve_is_never_above_the_claim(variance: Fraction, shift: tuple[int, ...]) -> None:
    square = Fraction(sum(step * step for step in shift))
    noise = gdp_of(ev.DiscreteGaussianNoise(variance, square, neighbours="add_remove"))
    assert excess(variance, shift, noise.square) <= 0


def test_without_the_smoothing_it_would_be_above() -> None:
    """The planted fault: noise on integers is not as private as normal noise of its own variance."""
    variance = Fraction(2)
    worst = {
        shift: excess(variance, shift, Fraction(sum(s * s for s in shift)) / variance) for shift in SHIFTS
    }
    assert max(worst.values()) > 0.02
    assert worst[1,] > 0


def test_the_smoothing_is_as_large_as_the_proof_needs() -> None:
    for square in (1, 2, 50, 10**6, 2**60, Fraction(101, 2)):
        r = float(smoothing(square))
        q = math.exp(-2 * math.pi**2 * r)
        assert q < 0.1
        assert 2 * sum(q ** (j * j) for j in range(1, 4)) < 3 * q
        assert 9 * math.floor(square) * q <= float(SLACK)
        assert 9 * math.floor(square) * math.exp(-2 * math.pi**2 * (r - 0.1)) > float(
            SLACK
        )  # and not much larger


def test_the_convolution_is_the_discrete_law_within_its_factors() -> None:
    """The step of the proof that is not the textbook's, by numeric integration; r is small so that it can be seen."""
    s, r = 1.0, 0.35
    q = math.exp(-2 * math.pi**2 * r * r)
    x = np.linspace(-12, 12, 48_001)
    density = np.exp(-(x**2) / (2 * s * s)) / math.sqrt(2 * math.pi) / s
    around = np.arange(-20, 21)
    rounded = np.exp(-((around[:, None] - x) ** 2) / (2 * r * r))
    mixed = np.trapezoid(density * rounded / rounded.sum(0), x, axis=1)
    weights = np.exp(-(around**2) / (2 * (s * s + r * r)))
    ratio = (mixed / (weights / weights.sum()))[14:27]
    assert 1 / (1 + 3 * q) <= ratio.min() < ratio.max() <= 1 / (1 - 3 * q)
    assert ratio.max() - ratio.min() > q / 10  # the factors are not for show


@pytest.mark.parametrize("delta", ["1e-12", "1e-6", "1e-2"])
@pytest.mark.parametrize("epsilon", ["1e-4", "0.1", "1", "8", "150"])
def test_a_loss_buys_the_largest_square_that_implies_it(epsilon: str, delta: str) -> None:
    loss = Loss(epsilon, delta)
    bought = GDP.bought(loss, 3)
    assert bought.within(loss)
    assert not GDP(bought.square * (1 + Fraction(1, 10**6)), 3).within(loss)
    assert bought.square > 2 * ZCDP.bought(loss).rho  # more than by the conversion of zCDP


@pytest.mark.parametrize(
    "loss", [Loss(1), Loss(0, "1e-6"), Loss(1, 1), Loss(201, "1e-6"), Loss("1e-12", "1e-6")]
)
def test_what_buys_nothing(loss: Loss) -> None:
    with pytest.raises(InvalidParameter):
        GDP.bought(loss)
    assert not GDP(Fraction(1), 1).within(loss) or loss.epsilon == 201 or loss.delta == 1


def test_events_add_up() -> None:
    one = ev.DiscreteGaussianNoise(100, 4, neighbours="add_remove")
    two = ev.DiscreteGaussianNoise(30, 9, neighbours="add_remove")
    a, b = gdp_of(one).square, gdp_of(two).square
    assert a == 4 / (100 - smoothing(4))
    assert gdp_of(ev.Composed([ev.Repeated(one, 3), two])) == GDP(3 * a + b, 4)
    assert gdp_of(ev.Alternatives([one, two])) == GDP(b, 2)
    for other in (
        ev.Concentrated(1, neighbours="add_remove"),
        ev.Composed([one, ev.Released(1, neighbours="add_remove")]),
        ev.ReplaceOne(one),
        ev.DiscreteGaussianNoise(1, 4, neighbours="add_remove"),
        ev.DiscreteGaussianNoise(9, "1/2", neighbours="add_remove"),
    ):
        with pytest.raises(UnsupportedEvent):
            gdp_of(other)


def test_two_draws_together_are_within_what_is_claimed_for_both() -> None:
    """Two vectors of other variances: their losses add, so that the curve is that of the sum of both."""
    left, right = Fraction(3), Fraction(5)
    square = sum(
        (gdp_of(ev.DiscreteGaussianNoise(v, 1, neighbours="add_remove")).square for v in (left, right)),
        Fraction(0),
    )
    with localcontext() as context:
        context.prec = 60
        losses = [
            ((Fraction(1, 2) + z) / left + (Fraction(1, 2) + w) / right, p * q)
            for (z, p), (w, q) in itertools.product(law(left, 1).items(), law(right, 1).items())
            if p * q > Decimal("1e-40")
        ]
        for epsilon in (Fraction(1, 2), Fraction(1), Fraction(3)):
            total = Decimal(0)
            for loss, mass in losses:
                if loss > epsilon:
                    less = epsilon - loss
                    total += mass * (1 - (Decimal(less.numerator) / less.denominator).exp())
            assert Fraction(total) <= delta_of(square, epsilon - 2 * SLACK) * (1 + 2 * SLACK)
