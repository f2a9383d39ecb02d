"""How much an answer with Laplace noise says, in nats, when neighbours differ by the whole sensitivity.

With epsilon = sensitivity/b, the divergence of the two densities is KL = epsilon - 1 + e^-epsilon, about epsilon^2/2,
and none of smaller distance has more. A bit that says which of the two neighbours it was has, given the answer, the
mutual information I(epsilon) = ln 2 - E[ln(1 + e^-L)], L the privacy loss: about epsilon^2/8.

Rate and distortion: with distortion D = E Z^2 = 2 b^2, rate R = I and the squared distance D_f^2 of the two values, the
product D R/D_f^2 = 2 I(epsilon)/epsilon^2 tends to 1/4: less noise is more information, at an almost fixed rate.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.planning import read
from discreet.rational import Number

_NODES = 80


def divergence(epsilon: Number) -> float:
    """The largest KL divergence between the answers on neighbours: epsilon - 1 + e^-epsilon, in nats.

    Example:
        >>> round(divergence(1), 4)
        0.3679
    """
    e = read.epsilon(epsilon)
    # expm1 alone loses half of the digits of a small epsilon
    return e * e / 2 - e**3 / 6 + e**4 / 24 - e**5 / 120 if e < 1e-3 else e + math.expm1(-e)


def information(epsilon: Number) -> float:
    """The mutual information of the answer and a fair bit that chose between two neighbours, in nats.

    Half of the answers lie beyond the true value, where L = epsilon; the rest is integrated by Gauss and Legendre.

    Example:
        >>> round(information(1), 4), information(40) <= math.log(2)
        (0.0885, True)
    """
    e = read.epsilon(epsilon)
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    # Two pieces, so that the bend of ln(1 + e^-L) at L = 0, sharp for a large epsilon, is at an end.
    total = math.log(2) - math.log1p(math.exp(-e)) / 2 - math.exp(-e) * np.logaddexp(0, e) / 2
    for low, high in ((0.0, 0.5), (0.5, 1.0)):
        u = low + (high - low) * (nodes + 1) / 2
        inside = e / 2 * np.exp(-e * u) * np.logaddexp(0, -e * (1 - 2 * u))
        total -= float((weights * inside).sum()) * (high - low) / 2
    return max(0.0, float(total))


def rate_distortion(epsilon: Number) -> float:
    """D R/D_f^2 = 2 I(epsilon)/epsilon^2, without unit; 1/4 in the limit of a small epsilon.

    Example:
        >>> [round(rate_distortion(e), 3) for e in (0.1, 1)]
        [0.242, 0.177]
    """
    return 2 * information(epsilon) / read.epsilon(epsilon) ** 2
