"""The classical survey with two coins, whose epsilon follows from the coins.

The first coin says truth with probability t; otherwise the second says yes with probability y, whether it is true or
not. P(yes | yes) = t + (1 - t) y, P(yes | no) = (1 - t) y, and epsilon is the largest of |ln| of the ratio of the two
and of the ratio of their complements (Warner 1965; Dwork and Roth 2014, section 3.2, for two fair coins, ln 3). It
changes with the coins: a coin that nearly always says truth is worth a large epsilon, and a second coin that never says
yes is worth none, for then a yes is proof.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Final

import numpy as np

from discreet.errors import InvalidParameter
from discreet.mechanisms.local.frequencies import Frequencies, hoeffding, read_places
from discreet.mechanisms.mechanism import OfPeople, PureLoss
from discreet.mechanisms.parameters import read_confidence, read_count
from discreet.noise import bernoulli
from discreet.rational import Number, decimal
from discreet.records import dataclass

_UNIT: Final = 1 << 40


@dataclass(frozen=True)
class TwoCoins(OfPeople, PureLoss):
    """Randomised response by two coins with rational probabilities.

    `RandomizedResponse` has less error at the same epsilon; this is for surveys done with real coins.

    Privacy: each report is differentially private for the person who gives it, with the epsilon `loss`, which
    is computed from the coins. Source and proof: the module's text.

    Args:
        truth: the probability of answering with the truth, strictly between 0 and 1.
        yes: the probability of yes otherwise, strictly between 0 and 1.

    Raises:
        InvalidParameter: a probability that is not strictly between 0 and 1: no epsilon is finite, or no
            report says anything.

    Example:
        >>> coins = TwoCoins()
        >>> round(float(coins.loss), 4), round(float(TwoCoins(truth=0.9).loss), 4)  # ln 3, ln 19
        (1.0986, 2.9444)
        >>> coins.estimate(coins.release([True] * 30)).people
        30
    """

    truth: Fraction
    yes: Fraction

    def __init__(self, truth: Number = 0.5, yes: Number = 0.5) -> None:
        for name, given in (("truth", truth), ("yes", yes)):
            value = decimal(given, name)
            if not 0 < value < 1:
                raise InvalidParameter(f"{name} is not strictly between 0 and 1.", "Give 0.5, say.")
            object.__setattr__(self, name, value)

    @property
    def loss(self) -> Fraction:
        """The privacy loss of one report: epsilon, rounded up by less than 2^-38."""
        own, other = self._probabilities
        ratio = max(own / other, (1 - other) / (1 - own))
        return Fraction(math.ceil(math.log(ratio) * _UNIT) + 1, _UNIT)

    def release(self, values: Any) -> Any:
        """Randomise the answers of many people, one for each: bools (n,) from bools or 0 and 1 (n,).

        Raises:
            InvalidParameter: not a flat sequence of truth values. Nothing was drawn.
            EntropyError: the operating system gave no randomness.
        """
        places = read_places(values, (False, True))
        truth, yes = bernoulli(self.truth, places.size), bernoulli(self.yes, places.size)
        return np.where(truth, places == 1, yes)

    def estimate(self, reports: Any) -> Frequencies:
        """Estimate how many people would truly say no and yes. Post-processing: it costs nothing.

        Raises:
            InvalidParameter: no report, or one that is not a truth value.
        """
        places = read_places(reports, (False, True))
        if not places.size:
            raise InvalidParameter("There is no report.", "Give one at least.")
        own, other = self._probabilities
        return Frequencies((True,), places.size, np.array([places.sum()]), float(own), float(other))

    def error(self, people: int, confidence: Number = 0.95) -> float:
        """Half-width of an interval for the share of yes that holds for all data, known before anybody is asked."""
        own, other = map(float, self._probabilities)
        n = read_count(people, "people", "Give their number.")
        return hoeffding(own, other, n, read_confidence(confidence))

    @property
    def _probabilities(self) -> tuple[Fraction, Fraction]:
        """P(yes | yes) and P(yes | no)."""
        other = (1 - self.truth) * self.yes
        return self.truth + other, other
