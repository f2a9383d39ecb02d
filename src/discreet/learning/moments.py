"""The loss of many noisy maxima by their moments, for all votes alike (Papernot et al. 2017, theorem 2).

A label with noise of scale 1/gamma is 2 gamma differentially private, so that its moment of order l is at most
2 gamma^2 l (l + 1), and moments add up. The loss at a delta is the least over whole l of
(queries * 2 gamma^2 l (l + 1) + ln(1/delta)) / l.
"""

from __future__ import annotations

import math
from typing import Final

from discreet.errors import InvalidParameter
from discreet.rational import Number, decimal

ORDERS: Final = 4096
"""Orders that are tried; beyond the best one the loss only grows."""


def data_independent(gamma: Number, queries: int, delta: Number) -> float:
    """The epsilon at a delta of so many labels.

    Args:
        gamma: the noise on a vote has scale 1/gamma.
        queries: how many labels there are, at least 1.
        delta: strictly between 0 and 1.

    Raises:
        InvalidParameter: an argument outside its range.

    Example:
        >>> round(data_independent(0.05, 100, 1e-5), 2), round(data_independent(0.05, 1000, 1e-5), 2)
        (5.3, 20.76)
    """
    rate, chance = float(decimal(gamma, "gamma")), float(decimal(delta, "delta"))
    if rate <= 0:
        raise InvalidParameter("gamma must be above zero.", "Give gamma=0.05.")
    if queries < 1:
        raise InvalidParameter("queries must be at least 1.", "Give queries=100.")
    if not 0 < chance < 1:
        raise InvalidParameter("delta must be above 0 and below 1.", "Give delta=1e-5.")
    moment = 2 * rate * rate * queries
    found = ((moment * order * (order + 1) - math.log(chance)) / order for order in range(1, ORDERS + 1))
    return min(min(found), 2 * rate * queries)  # and never more than the sum
