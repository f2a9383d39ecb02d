"""Randomised response: everybody tells the truth or a lie, by a coin that nobody else sees.

With k categories the truth is reported with probability p = e^epsilon/(e^epsilon + k - 1), and each of the others
with q = 1/(e^epsilon + k - 1). For any report and any two values that a person may have, the probabilities have a
ratio of at most p/q = e^epsilon (Warner 1965 for k = 2; Kairouz, Bonawitz, Ramage 2016).

The coin is exact: the odds of a lie are (k - 1) e^-epsilon, and a lie is uniform among the other categories.

Error. For the share of a category that a fraction f of n people have, the variance is
(f p (1 - p) + (1 - f) q (1 - q))/(n (p - q)^2); for k = 2 it is e^epsilon/(n (e^epsilon - 1)^2) for every f. Against
the Laplace mechanism with a trusted curator, whose standard deviation falls with 1/n, this one falls with 1/sqrt(n):
half the error needs four times the people.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidParameter
from discreet.mechanisms.local.frequencies import Frequencies, read_categories, read_places
from discreet.mechanisms.local.frequency_oracle import FrequencyOracle
from discreet.mechanisms.parameters import read_coin_epsilon
from discreet.noise import bernoulli_odds, uniform
from discreet.rational import Number
from discreet.records import dataclass


@dataclass(frozen=True)
class RandomizedResponse(FrequencyOracle):
    """Let each person report one of k categories, the true one or by chance another.

    Privacy: each report is epsilon-differentially private for the person who gives it, against everybody,
    including those who collect it (the local model). A person who reports twice spends epsilon twice: release
    once and keep the report. Source and proof: the module's text.

    Args:
        epsilon: rational from 2^-30 to 32, for one report of one person; a float is its shortest decimal.
        categories: a number k of categories 0 to k - 1, or their names; 2 by default, which may be given as
            False and True.

    Raises:
        InvalidParameter: an epsilon outside its range, fewer than two categories, or one that occurs twice.

    Example:
        >>> survey = RandomizedResponse(epsilon=1)
        >>> answers = survey.estimate(survey.release([True] * 300 + [False] * 700))
        >>> low, high = answers.interval(True, 0.999999)
        >>> low <= 300 <= high
        True
        >>> survey.sample_size(0.01), RandomizedResponse(0.1).sample_size(0.01)
        (9207, 999168)
        >>> len(RandomizedResponse(1, ["bus", "bicycle", "car"]).release(["bus", "car"]))
        2
    """

    epsilon: Fraction
    categories: Sequence[Any]

    def __init__(self, epsilon: Number, categories: Any = 2) -> None:
        object.__setattr__(self, "epsilon", read_coin_epsilon(epsilon))
        object.__setattr__(self, "categories", read_categories(categories))

    @property
    def loss(self) -> Fraction:
        """The privacy loss of one report for the person who gives it: pure epsilon."""
        return self.epsilon

    @property
    def truth(self) -> float:
        """p, the probability of reporting the truth."""
        return 1 / (1 + (len(self.categories) - 1) * math.exp(-self.epsilon))

    @property
    def lie(self) -> float:
        """q, the probability of reporting one given other category."""
        return math.exp(-self.epsilon) * self.truth

    def release(self, values: Any) -> Any:
        """Randomise the values of many people, one for each, independently.

        Args:
            values: flat sequence or array of categories (n,), one entry for each person.

        Returns:
            The reports, in the same order: an int64 array for categories 0 to k - 1, else a list of names.

        Raises:
            InvalidParameter: not a flat sequence, or a value that is not a category. Nothing was drawn.
            EntropyError: the operating system gave no randomness.
        """
        places, k = read_places(values, self.categories), len(self.categories)
        # Both are drawn for everybody, so that the work says nothing about who lied.
        lies = bernoulli_odds(self.epsilon, places.size, weight=k - 1)
        others = uniform(k - 1, places.size)
        reports: npt.NDArray[np.int64] = np.where(lies, (places + 1 + others) % k, places)
        if isinstance(self.categories, range):
            return reports
        return [self.categories[place] for place in reports.tolist()]

    def estimate(self, reports: Any) -> Frequencies:
        """Estimate how many people have each category. Post-processing: it costs nothing.

        Raises:
            InvalidParameter: no report, or one that is not a category.
        """
        places = read_places(reports, self.categories)
        if not places.size:
            raise InvalidParameter("There is no report.", "Give one at least.")
        support = np.bincount(places, minlength=len(self.categories))
        return Frequencies(self.categories, places.size, support, self.truth, self.lie)

    @property
    def _support(self) -> tuple[float, float]:
        return self.truth, self.lie

    @property
    def _variance(self) -> float:
        """At the worst share; for k = 2 it is e^epsilon/(e^epsilon - 1)^2."""
        p, q = self.truth, self.lie
        if len(self.categories) == 2:  # p (1 - p) = q (1 - q); written without a difference of near numbers
            return 1 / (4 * math.sinh(float(self.epsilon) / 2) ** 2)
        return max(p * (1 - p), q * (1 - q)) / (p - q) ** 2
