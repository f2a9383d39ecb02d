"""Amplification by sampling: a release from a secret random part of the data loses less.

Poisson sampling keeps each unit by a coin of its own with probability q; its statement is for neighbours that differ
by adding or removing a unit. Sampling a fixed number m of n units without replacement has q = m/n, and its statement
is for neighbours that differ by replacing one. In both, (epsilon, delta) becomes (ln(1 + q (e^epsilon - 1)), q delta)
(Li, Qardaji and Su 2012; Balle, Barthe and Gaboardi 2018, theorems 8 and 9). The other pairings have other formulas: a
loss for replace-one does not fall in this way under Poisson sampling. Which units were in the sample must stay secret.
"""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.accounting.loss import LARGEST, Loss
from discreet.accounting.rounding import MARGIN, down, fraction_of_one, up
from discreet.rational import Number


def amplified(loss: Loss, rate: Number) -> Loss:
    """The loss of a release from a sample: (ln(1 + q (e^eps - 1)), q delta), rounded up, never above the loss.

    Args:
        loss: the loss of the release, if it were from the whole data.
        rate: q, the probability that a unit is in the sample: 0 to 1, exact.

    Raises:
        InvalidParameter: a rate outside 0 to 1.

    Example:
        >>> [round(float(amplified(Loss(e), 0.05).epsilon), 4) for e in (1, 0.5)]
        [0.0824, 0.0319]
    """
    q = fraction_of_one(rate, "rate")
    if q in (0, 1) or loss.epsilon == 0:
        return Loss(loss.epsilon if q else 0, q * loss.delta)
    e, p = float(loss.epsilon), float(q)
    # Beyond 700, e^e would overflow, and 1 - q is lost beside q e^e.
    value = math.log1p(p * math.expm1(e)) if e <= 700 else e + math.log(p + (1 - p) * math.exp(-e))
    return Loss(min(loss.epsilon, up(value)), q * loss.delta)


def before_sampling(loss: Loss, rate: Number) -> Loss:
    """The largest loss of a release that loses at most this when it is made from a sample; rounded down.

    The inverse of `amplified`: (ln(1 + (e^eps - 1)/q), delta/q), delta at most 1.

    Args:
        loss: the loss that the release from the sample may have.
        rate: q, above 0 and at most 1, exact.

    Raises:
        InvalidParameter: a rate outside its range.

    Example:
        >>> allowed = before_sampling(Loss(0.0824), 0.05)
        >>> round(float(allowed.epsilon), 3), amplified(allowed, 0.05).within(Loss(0.0824))
        (1.0, True)
    """
    q = fraction_of_one(rate, "rate", zero=False)
    delta = min(loss.delta / q, max(Fraction(1), loss.delta))
    if q == 1 or loss.epsilon == 0:
        return Loss(loss.epsilon, delta)
    e, p = float(loss.epsilon), float(q)
    value = math.log1p(math.expm1(e) / p) if e <= 300 else e - math.log(p) - (1 - p) * math.exp(-e)
    # The second margin pays for the rounding up in `amplified`, so that there and back again stays within.
    return Loss(min(Fraction(LARGEST), down(value) * (1 - 2 * MARGIN)), delta)
