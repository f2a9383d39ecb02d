"""The utility of the exponential mechanism: how far below the best the chosen candidate may be.

Pr(y) proportional to e^(epsilon u(y)/(2 du)) is epsilon-private, and with probability at least 1 - e^-t the chosen
candidate's utility is within (2 du/epsilon)(ln |Y| + t) of the best (McSherry and Talwar 2007; Dwork and Roth 2014,
corollary 3.12). The term ln |Y| is part of the bound.
"""

from __future__ import annotations

import math

from discreet.planning import read
from discreet.rational import Number


def selection_loss(
    candidates: int, epsilon: Number, confidence: Number = 0.95, sensitivity: Number = 1
) -> float:
    """The loss of utility that the choice stays within with a confidence: (2 du/eps)(ln |Y| + ln(1/(1 - confidence))).

    Args:
        candidates: |Y|.
        epsilon: of the choice.
        confidence: strictly between 0 and 1.
        sensitivity: du, by how much one unit moves a utility.

    Example:
        >>> round(selection_loss(4, epsilon=1, confidence=0.95), 2)
        8.76
    """
    t = -math.log1p(-read.probability(confidence, "confidence"))
    return (
        2
        * read.above_zero(sensitivity, "sensitivity")
        / read.epsilon(epsilon)
        * (math.log(read.people(candidates, "candidates")) + t)
    )


def epsilon_for_selection(
    loss: Number, candidates: int, confidence: Number = 0.95, sensitivity: Number = 1
) -> float:
    """The least epsilon that keeps the choice within a loss of utility with a confidence.

    Example:
        >>> round(epsilon_for_selection(8.76, 4), 2)
        1.0
    """
    return selection_loss(candidates, 1, confidence, sensitivity) / read.above_zero(loss, "loss")
