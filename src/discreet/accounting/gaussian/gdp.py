"""The discrete Gaussian is as private as the continuous one of a slightly smaller variance.

Let f give a vector of integers of which neighbours differ by at most S in L2, and let each coordinate get independent
discrete Gaussian noise of parameter v = s^2 + r^2. For a q = e^(-2 pi^2 r^2) below 1/10 let b = 3q.

Claim. If normal noise of variance s^2 is (epsilon, delta)-private for this S, the discrete noise is private with
epsilon + 3db and (1 + 3db) delta, where d = floor(S^2), as long as 3db <= 1.

Proof. Take two neighbours, which differ in at most d coordinates: each of these differs by at least 1. The others have
the same law on both sides, and are left out. Draw X normal of variance s^2 around f, and Y_i discrete Gaussian of
parameter r^2 around X_i: P(Y_i = y) is proportional to e^(-(y - X_i)^2/2r^2), y any integer. Y is post-processing of X,
so it is (epsilon, delta)-private. By Poisson's formula the sum of e^(-(y - x)^2/2r^2) over all integers y is
root(2 pi) r times a number within 1 -+ b for each x, since 2 (q + q^4 + q^9 + ...) < b. Two normal densities of
variances s^2 and r^2 convolve to one of v, so P(Y_i = y) is that density at y, within the factors 1/(1 + b) and
1/(1 - b). The discrete Gaussian of v has that density at y over 1 + c, with c the same sum for v, 0 <= c < b. Hence the
two laws differ in each coordinate by a factor within (1 + c)/(1 + b) and (1 + c)/(1 - b), for each f. For all sets
of outcomes T, P(T) <= ((1 + b)/(1 + c))^d P_Y(T) <= ((1 + b)/(1 + c))^d (e^epsilon P'_Y(T) + delta), and P'_Y(T) <=
((1 + c)/(1 - b))^d P'(T); and d ln((1 + b)/(1 - b)) <= 3db, (1 + b)^d <= 1 + 3db. (The same convolution is theorem 3.1
of Peikert 2010.)

Several vectors with noise of their own compose: the squares of S/s add up (Dong, Roth and Su 2022, corollary 3.3, also
where a later vector depends on earlier answers), and so do the losses 3db, as the factors multiply. `smoothing` is an
r^2 for which 3db <= 2^-32.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache, singledispatch
from typing import Final

from discreet.accounting import events as ev
from discreet.accounting.gaussian.curve import MOST_EPSILON, delta_of
from discreet.accounting.loss import Loss
from discreet.accounting.zcdp import ZCDP
from discreet.errors import InvalidParameter, UnsupportedEvent
from discreet.records import dataclass

_BITS: Final = 32
SLACK: Final = Fraction(1, 2**_BITS)
"""Each vector with discrete noise adds this to epsilon, and this part to delta."""
_MOST: Final = 2**20


def smoothing(square: Fraction | int) -> Fraction:
    """The variance r^2 by which discrete noise is larger than the normal noise that it is priced as.

    Args:
        square: of the L2 sensitivity in steps, at least 1.

    Example:
        >>> float(smoothing(50))  # 2 pi^2 > 28 ln 2, so q < 2^-28r^2, and 9dq <= 2^-32
        1.4642857142857142
    """
    return Fraction((9 * math.floor(square)).bit_length() + _BITS, 28)


@dataclass(frozen=True)
class GDP:
    """A privacy loss in Gaussian differential privacy: no easier to tell neighbours apart than N(0, 1) and N(mu, 1).

    Attributes:
        square: of mu; squares add up.
        draws: how many vectors got discrete noise, each with a slack of 2^-32.

    Example:
        >>> bought = GDP.bought(Loss(1, 1e-6))
        >>> round(float(bought.square), 4), bought.within(Loss(1, 1e-6)), bought.within(Loss(0.99, 1e-6))
        (0.056, True, False)
    """

    square: Fraction
    draws: int

    @classmethod
    def bought(cls, loss: Loss, draws: int = 1) -> GDP:
        """The largest square, but for a part in 10^9, that a loss of some epsilon and delta allows.

        Args:
            loss: with a delta above 0.
            draws: how many vectors share it.

        Raises:
            InvalidParameter: so little buys nothing, or epsilon is above 200.
        """
        return _bought(loss, draws)

    def within(self, loss: Loss) -> bool:
        """Say whether it implies a loss of some epsilon and delta."""
        spare = loss.epsilon - self.draws * SLACK
        if not 0 <= spare <= MOST_EPSILON or self.draws > _MOST or loss.delta <= 0:
            return False
        return delta_of(self.square, spare) * (1 + self.draws * SLACK) <= loss.delta


@lru_cache(maxsize=256)
def _bought(loss: Loss, draws: int) -> GDP:
    """See `GDP.bought`: a secant in the logarithms of mu and delta, from below, then some parts in 10^9 less."""
    spare = loss.epsilon - draws * SLACK
    if not 0 < spare <= MOST_EPSILON or not 0 < loss.delta < 1:
        raise InvalidParameter("So small a loss buys no Gaussian noise.", "Give more epsilon or more delta.")
    wanted = math.log(loss.delta.numerator) - math.log(loss.delta.denominator)

    def off(log_square: float) -> float:
        found = delta_of(Fraction(math.exp(log_square)), spare)
        return math.log(found.numerator) - math.log(found.denominator) - wanted

    low = math.log(2 * float(ZCDP.bought(Loss(spare, loss.delta)).rho))
    high, below = low + 0.1, off(low)
    for _ in range(40):
        above = off(high)
        if abs(above) < 1e-12 or above == below:
            break
        low, below, high = high, above, high - above * (high - low) / (above - below)
    for steps in (1, 10, 1000):
        found = GDP(Fraction(f"{math.exp(high) * (1 - steps * 1e-10):.12g}"), draws)
        if found.square > 0 and found.within(loss):
            return found
    raise InvalidParameter("So small a loss buys no Gaussian noise.", "Give more epsilon or more delta.")


def gdp_of(event: ev.Event) -> GDP:
    """The Gaussian differential privacy of an event.

    Raises:
        UnsupportedEvent: none is known.

    Example:
        >>> noise = ev.DiscreteGaussianNoise(900, 50, neighbours="add_remove")
        >>> round(float(gdp_of(ev.Repeated(noise, 3)).square), 4)
        0.1669
    """
    return _gdp(event)


@singledispatch
def _gdp(event: ev.Event) -> GDP:
    raise UnsupportedEvent(
        f"{type(event).__name__} has no price in Gaussian differential privacy.", "Price it in zCDP."
    )


@_gdp.register
def _(event: ev.DiscreteGaussianNoise) -> GDP:
    left = event.variance - smoothing(event.square)
    if event.square < 1 or left <= 0:
        raise UnsupportedEvent("The noise is too small for its normal part.", "Price it in zCDP.")
    return GDP(event.square / left, 1)


@_gdp.register
def _(event: ev.GaussianPrivate) -> GDP:
    return GDP(event.square, event.draws)


@_gdp.register
def _(event: ev.Repeated) -> GDP:
    loss = _gdp(event.event)
    return GDP(event.count * loss.square, event.count * loss.draws)


@_gdp.register
def _(event: ev.Composed) -> GDP:
    found = [_gdp(part) for part in event.events]
    return GDP(sum((loss.square for loss in found), Fraction(0)), sum(loss.draws for loss in found))


@_gdp.register
def _(event: ev.Alternatives) -> GDP:
    """The squares of the parts that move add up to one at most, and so do the parts of the largest square."""
    found = [_gdp(part) for part in event.events]
    return GDP(max(loss.square for loss in found), sum(loss.draws for loss in found))
