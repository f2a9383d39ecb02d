"""The error of a randomiser whose reports support categories: a frequency oracle (Wang, Blocki, Li, Jha 2017).

It is known before anybody is asked, from the probabilities p and q that a report supports its person's category or
another one.
"""

from __future__ import annotations

import math
from abc import abstractmethod

from discreet.mechanisms.local.frequencies import hoeffding
from discreet.mechanisms.mechanism import OfPeople, PureLoss
from discreet.mechanisms.parameters import read_confidence, read_count
from discreet.rational import Number, decimal, positive


class FrequencyOracle(OfPeople, PureLoss):
    """A local randomiser that counts the people of each category."""

    @property
    @abstractmethod
    def _support(self) -> tuple[float, float]:
        """P and q, the probabilities that a report supports its person's category, and another one."""

    @property
    @abstractmethod
    def _variance(self) -> float:
        """The variance of an estimated share times the number of people."""

    def rms(self, people: int) -> float:
        """Root mean square error of the estimated share of one category; the randomiser says of which."""
        return math.sqrt(self._variance / read_count(people, "people", "Give their number."))

    def error(self, people: int, confidence: Number = 0.95) -> float:
        """Half-width of an interval for one share that holds for all data, known before anybody is asked.

        `Frequencies.interval` is narrower once reports are there.
        """
        n = read_count(people, "people", "Give their number.")
        return hoeffding(*self._support, n, read_confidence(confidence))

    def sample_size(self, error: Number) -> int:
        """How many people are needed for an `rms` of at most `error`.

        Raises:
            InvalidParameter: an error that is not positive.
        """
        wanted = float(positive(decimal(error, "error"), "error"))
        return math.ceil(self._variance / wanted**2)
