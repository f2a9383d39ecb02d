"""Prices of events known in zCDP: the loss that they imply, and the rho that a loss buys."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet.accounting import events as ev
from discreet.accounting.gaussian.gdp import GDP, smoothing
from discreet.accounting.loss import Loss
from discreet.accounting.pricing import loss_of, rho_of, zcdp_of
from discreet.accounting.zcdp import ZCDP
from discreet.errors import InvalidParameter, UnsupportedEvent

LAPLACE = ev.LaplaceNoise(10, neighbours="add_remove")


def gaussian(rho: Fraction) -> ev.Concentrated:
    return ev.Concentrated(rho, neighbours="add_remove")


@pytest.mark.parametrize("delta", ["1e-15", "1e-9", "1e-4"])
@pytest.mark.parametrize("epsilon", ["1e-3", "0.05", "1", "30", "1000"])
def test_a_loss_buys_the_largest_rho_that_converts_to_it(epsilon: str, delta: str) -> None:
    loss = Loss(epsilon, delta)
    bought = ZCDP.bought(loss)
    assert bought.loss(delta).within(loss)
    # A part in 10^6 more is more than the loss.
    assert not ZCDP(bought.rho * (1 + Fraction(1, 10**6))).loss(delta).within(loss)
    assert bought.rho.denominator <= 10**30


@pytest.mark.parametrize("loss", [Loss(1), Loss(0, "1e-6"), Loss(1, 1)])
def test_without_epsilon_or_delta_nothing_is_bought(loss: Loss) -> None:
    with pytest.raises(InvalidParameter):
        ZCDP.bought(loss)


def test_the_event_of_a_question_has_its_loss_and_its_rho() -> None:
    rest = Loss("0.9", "1e-9")
    event = ev.Composed([LAPLACE, ev.Converted(gaussian(ZCDP.bought(rest).rho), rest)])
    assert loss_of(event) == Loss(1, "1e-9")
    assert rho_of(event) == ZCDP.bought(rest).rho + Fraction(1, 200)
    assert rho_of(ev.Composed([LAPLACE, LAPLACE])) is None


def test_an_event_that_says_less_than_its_loss_has_no_price() -> None:
    rest = Loss(1, "1e-9")
    more = gaussian(ZCDP.bought(rest).rho * (1 + Fraction(1, 10**8)))
    for wrong in (ev.Converted(more, rest), ev.Converted(gaussian(Fraction(1, 100)), Loss(1))):
        with pytest.raises(UnsupportedEvent):
            loss_of(ev.Composed([LAPLACE, wrong]))


def test_alternatives_cost_the_largest_rho() -> None:
    assert zcdp_of(ev.Alternatives([gaussian(Fraction(1, 9)), gaussian(Fraction(1, 7))])) == ZCDP("1/7")
    pure = [ev.LaplaceNoise(scale, neighbours="add_remove") for scale in (2, 4)]
    assert zcdp_of(ev.Alternatives(pure)) == ZCDP.of(loss_of(ev.Alternatives(pure)))


def test_gaussian_noise_implies_its_loss_by_the_better_of_its_two_prices() -> None:
    loss = Loss(1, "1e-6")
    square = Fraction(50)
    variance = square / GDP.bought(loss).square + smoothing(square)
    event = ev.DiscreteGaussianNoise(variance, square, neighbours="add_remove")
    assert loss_of(ev.Converted(event, loss)) == loss
    assert not zcdp_of(event).loss("1e-6").within(loss)  # by its rho alone it has more
    assert rho_of(ev.Converted(event, loss)) == square / (2 * variance)
    # Planted faults: a little less noise; a bare rho that no curve is known of.
    less = ev.DiscreteGaussianNoise(variance * (1 - Fraction(1, 10**7)), square, neighbours="add_remove")
    for wrong in (less, gaussian(square / (2 * variance))):
        with pytest.raises(UnsupportedEvent, match="larger loss"):
            loss_of(ev.Converted(wrong, loss))
    # Noise that is too small for the curve is priced by its rho still.
    small = ev.DiscreteGaussianNoise(1, neighbours="add_remove")
    assert loss_of(ev.Converted(small, Loss(6, "1e-6"))) == Loss(6, "1e-6")
