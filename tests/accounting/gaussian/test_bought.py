"""The noise that a loss buys: all of the loss, and no more, however it is shared out."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet.accounting.events import Composed, Converted, DiscreteGaussianNoise
from discreet.accounting.gaussian.bought import gaussian_variances
from discreet.accounting.loss import Loss
from discreet.accounting.pricing import loss_of
from discreet.accounting.zcdp import ZCDP
from discreet.errors import InvalidParameter, UnsupportedEvent

LOSSES = [Loss(1, "1e-6"), Loss("0.1", "1e-9"), Loss(8, "1e-5")]
SQUARES = [Fraction(100), Fraction(7)]
PARTS = [Fraction(1, 5), Fraction(4, 5)]


def priced(variances: list[Fraction], loss: Loss) -> Loss:
    """The loss of such noise, which is seen to be implied."""
    noise = zip(variances, SQUARES, strict=True)
    events = [DiscreteGaussianNoise(one, square, neighbours="add_remove") for one, square in noise]
    return loss_of(Converted(Composed(events), loss))


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("parts", [None, PARTS], ids=["equal", "given"])
def test_the_noise_has_the_loss_and_less_noise_has_not(loss: Loss, parts: list[Fraction] | None) -> None:
    found = gaussian_variances(SQUARES, loss, parts)
    assert priced(found, loss) == loss
    with pytest.raises(UnsupportedEvent):  # the planted fault: a part in a thousand less
        priced([one * Fraction(999, 1000) for one in found], loss)


@pytest.mark.parametrize("loss", LOSSES[:2], ids=str)
def test_it_is_less_than_by_zcdp(loss: Loss) -> None:
    rho = ZCDP.bought(loss).rho
    found = gaussian_variances(SQUARES, loss, PARTS)
    plain = [square / (2 * part * rho) for square, part in zip(SQUARES, PARTS, strict=True)]
    assert all(0.8 < one / other < 0.97 for one, other in zip(found, plain, strict=True))


def test_noise_that_is_small_for_steps_is_bought_by_zcdp() -> None:
    loss = Loss(60, "1e-6")
    assert gaussian_variances([Fraction(1)], loss) == [1 / (2 * ZCDP.bought(loss).rho)]


@pytest.mark.parametrize("parts", [[1, 1], [Fraction(1)], [0, 1], ["1/2", "1/4"]], ids=str)
def test_parts_that_are_not_one_in_sum_are_refused(parts: list[Fraction]) -> None:
    with pytest.raises(InvalidParameter, match="parts"):
        gaussian_variances(SQUARES, LOSSES[0], [Fraction(one) for one in parts])
