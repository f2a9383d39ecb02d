"""Optimised unary encoding: counts of people over a large set of categories, in the local model.

A report has one bit for each category. The bit of a person's own category is 1 with probability 1/2, every other
with probability q = 1/(e^epsilon + 1), independently. Two values of a person differ in two bits only; for any report
the ratio of its probabilities is at most (1/2)/q * (1 - q)/(1/2) = (1 - q)/q = e^epsilon (Wang, Blocki, Li, Jha 2017).

Error. The variance of an estimated share is 4 e^epsilon/(n (e^epsilon - 1)^2), plus f/n for a share f, for any
number of categories; that of k-ary randomised response grows with k. It is the smaller of the two when
k > 3 e^epsilon + 2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidParameter
from discreet.mechanisms.local.frequencies import Frequencies, read_categories, read_places
from discreet.mechanisms.local.frequency_oracle import FrequencyOracle
from discreet.mechanisms.parameters import read_coin_epsilon
from discreet.noise import bernoulli, bernoulli_odds
from discreet.rational import Number
from discreet.records import dataclass

_BLOCK: Final = 1 << 22
"""Bits that are drawn at once."""


@dataclass(frozen=True)
class UnaryEncoding(FrequencyOracle):
    """Let each person report on all of many categories at once, most of it noise.

    Privacy: each report is epsilon-differentially private for the person who gives it, against everybody,
    including those who collect it (the local model). A person who reports twice spends epsilon twice. Source
    and proof: the module's text.

    Args:
        epsilon: rational from 2^-30 to 32, for one report of one person; a float is its shortest decimal.
        categories: a number k of categories 0 to k - 1, or their names.

    Raises:
        InvalidParameter: an epsilon outside its range, fewer than two categories, or one that occurs twice.

    Example:
        >>> words = UnaryEncoding(epsilon=2, categories=1000)
        >>> reports = words.release([17] * 300 + [18] * 200)
        >>> reports.shape, reports.dtype  # 1,000 bits each
        ((500, 125), dtype('uint8'))
        >>> low, high = words.estimate(reports).interval(17, 0.999999)
        >>> low <= 300 <= high
        True
    """

    epsilon: Fraction
    categories: Sequence[Any]

    def __init__(self, epsilon: Number, categories: Any) -> None:
        object.__setattr__(self, "epsilon", read_coin_epsilon(epsilon))
        object.__setattr__(self, "categories", read_categories(categories))

    @property
    def loss(self) -> Fraction:
        """The privacy loss of one report for the person who gives it: pure epsilon."""
        return self.epsilon

    @property
    def false(self) -> float:
        """q, the probability that the bit of another category is 1."""
        return 1 / (1 + math.exp(self.epsilon))

    def release(self, values: Any) -> npt.NDArray[np.uint8]:
        """Randomise the values of many people, one for each, independently.

        Args:
            values: flat sequence or array of categories (n,), one entry for each person.

        Returns:
            uint8 array (n, ceil(k/8)): the bits of each person's report, that of category 0 first and highest.

        Raises:
            InvalidParameter: not a flat sequence, or a value that is not a category. Nothing was drawn.
            EntropyError: the operating system gave no randomness.
        """
        places, k = read_places(values, self.categories), len(self.categories)
        reports = np.empty((places.size, -(-k // 8)), np.uint8)
        rows = max(1, _BLOCK // k)
        for start in range(0, places.size, rows):
            part = places[start : start + rows]
            bits = bernoulli_odds(self.epsilon, (part.size, k))
            bits[np.arange(part.size), part] = bernoulli(Fraction(1, 2), part.size)
            reports[start : start + rows] = np.packbits(bits, axis=1)
        return reports

    def estimate(self, reports: npt.NDArray[np.uint8]) -> Frequencies:
        """Estimate how many people have each category. Post-processing: it costs nothing.

        Raises:
            InvalidParameter: no report, or not a uint8 array (n, ceil(k/8)).
        """
        k = len(self.categories)
        if getattr(reports, "dtype", None) != np.uint8 or reports.ndim != 2:
            raise InvalidParameter(
                "The reports are not an array of bytes.", "Give the reports that release returned."
            )
        if reports.shape[1] != -(-k // 8) or not len(reports):
            raise InvalidParameter(
                "The reports are none, or of another length.", "Give the reports that release returned."
            )
        support = np.zeros(k, np.int64)
        rows = max(1, _BLOCK // k)
        for start in range(0, len(reports), rows):
            support += np.unpackbits(reports[start : start + rows], axis=1, count=k).sum(
                axis=0, dtype=np.int64
            )
        return Frequencies(self.categories, len(reports), support, 0.5, self.false)

    @property
    def _support(self) -> tuple[float, float]:
        return 0.5, self.false

    @property
    def _variance(self) -> float:
        """Of a rare category: 4 e^epsilon/(e^epsilon - 1)^2."""
        return 1 / math.sinh(float(self.epsilon) / 2) ** 2
