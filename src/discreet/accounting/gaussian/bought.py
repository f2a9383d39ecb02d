"""The variances of Gaussian noise that a loss of some epsilon and delta buys for several vectors."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction

from discreet.accounting.gaussian.gdp import GDP, smoothing
from discreet.accounting.loss import Loss
from discreet.accounting.zcdp import ZCDP
from discreet.errors import InvalidParameter


def gaussian_variances(
    squares: Sequence[Fraction], loss: Loss, parts: Sequence[Fraction] | None = None
) -> list[Fraction]:
    """The variances of discrete Gaussian noise on vectors that share a loss, each later one chosen by earlier answers.

    An epsilon and a delta buy a size of noise in two ways, by zCDP and by the exact curve of normal noise, which needs
    5 to 15 % less. By the curve each variance is a little larger than that of the normal noise, as ours is discrete
    (`accounting.gaussian.gdp`). All vectors together are a Gaussian again, so the gate finds the loss in their noise.

    Args:
        squares: of their L2 sensitivities, in steps.
        loss: of all of them, with a delta above 0.
        parts: of the loss that each takes, positive, 1 in sum; by default equal ones.

    Raises:
        InvalidParameter: so little buys nothing.

    Example:
        >>> (tight,) = gaussian_variances([Fraction(1)], Loss(1, 1e-6))
        >>> round(float(tight / (1 / (2 * ZCDP.bought(Loss(1, 1e-6)).rho))), 3)
        0.932
    """
    shares = [Fraction(1, len(squares))] * len(squares) if parts is None else list(parts)
    if len(shares) != len(squares) or min(shares) <= 0 or sum(shares) != 1:
        raise InvalidParameter("The parts of the loss are not 1 in sum.", "Give a positive part to each.")
    rho = ZCDP.bought(loss).rho
    both = list(zip(squares, shares, strict=True))
    plain = [square / (2 * part * rho) for square, part in both]
    with suppress(InvalidParameter):
        bought = GDP.bought(loss, len(squares))
        tight = [square / (part * bought.square) + smoothing(square) for square, part in both]
        if all(own <= other for own, other in zip(tight, plain, strict=True)):
            return tight
    return plain
