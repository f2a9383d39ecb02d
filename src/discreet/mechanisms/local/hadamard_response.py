"""Hadamard response: counts of people over any number of categories, from reports of one bit.

Let K = 2^m be the least power of two above k. A person draws a row j uniformly from 0 to K - 1, without looking at the
value, and reports j and one bit: the parity of j AND (x + 1) for the value x, told wrongly with probability
1/(1 + e^epsilon). Given j, two values give the same bit or opposite ones, so that the probabilities of a report have a
ratio of at most e^epsilon: randomised response with one coin (Bassily and Smith 2015; Acharya, Sun, Zhang 2019).

A report supports every category whose parity with j is the bit. Its own one has p = e^epsilon/(1 + e^epsilon). For
x != y the parities of x and y differ where j AND ((x + 1) XOR (y + 1)) has odd parity, which is exactly half of all
rows, so q = 1/2: reports are those of `frequencies`. All supports together are one fast Hadamard transform.

Error. The variance of an estimated share is (e^epsilon + 1)^2/(n (e^epsilon - 1)^2) and less for a share that is not
rare, for every k. Against `UnaryEncoding` that is 1.3 times as much at epsilon 1, twice at 1.8; a report takes one
number in the place of k bits.
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
class HadamardResponse(FrequencyOracle):
    """Let each person report one bit about a value from a set of any size, up to millions.

    Privacy: each report is epsilon-differentially private for the person who gives it, against everybody,
    including those who collect it (the local model). A person who reports twice spends epsilon twice. Source
    and proof: the module's text.

    Args:
        epsilon: rational from 2^-30 to 32, for one report of one person; a float is its shortest decimal.
        categories: a number k of categories 0 to k - 1, at most 2^26, or their names.

    Raises:
        InvalidParameter: an epsilon outside its range, fewer than two categories, one that occurs twice,
            or too many.

    Example:
        >>> pages = HadamardResponse(epsilon=1, categories=100_000)
        >>> reports = pages.release([17] * 3000 + [18] * 2000)
        >>> reports.shape, reports.dtype
        ((5000,), dtype('int64'))
        >>> low, high = pages.estimate(reports).interval(17, 0.999999)
        >>> low <= 3000 <= high
        True
    """

    epsilon: Fraction
    categories: Sequence[Any]

    def __init__(self, epsilon: Number, categories: Any) -> None:
        object.__setattr__(self, "epsilon", read_coin_epsilon(epsilon))
        if isinstance(categories, (int, np.integer)) and categories > 1 << 26:
            raise InvalidParameter("categories are more than 2^26.", "Group them.")
        object.__setattr__(self, "categories", read_categories(categories))

    @property
    def loss(self) -> Fraction:
        """The privacy loss of one report for the person who gives it: pure epsilon."""
        return self.epsilon

    @property
    def truth(self) -> float:
        """p, the probability that the bit is told rightly."""
        return 1 / (1 + math.exp(-self.epsilon))

    @property
    def rows(self) -> int:
        """K, how many rows there are to draw from."""
        return 1 << len(self.categories).bit_length()

    def release(self, values: Any) -> npt.NDArray[np.int64]:
        """Randomise the values of many people, one for each, independently.

        Args:
            values: flat sequence or array of categories (n,), one entry for each person.

        Returns:
            int64 array (n,): twice the row, plus the bit.

        Raises:
            InvalidParameter: not a flat sequence, or a value that is not a category. Nothing was drawn.
            EntropyError: the operating system gave no randomness.
        """
        places = read_places(values, self.categories)
        rows = uniform(self.rows, places.size)
        wrong = bernoulli_odds(self.epsilon, places.size)
        bits = (np.bitwise_count(rows & (places + 1)) & 1).astype(np.int64) ^ wrong
        reports: npt.NDArray[np.int64] = 2 * rows + bits
        return reports

    def estimate(self, reports: Any) -> Frequencies:
        """Estimate how many people have each category. Post-processing: it costs nothing.

        Raises:
            InvalidParameter: no report, or one that `release` cannot have made.
        """
        array = np.asarray(reports)
        if array.ndim != 1 or not array.size or array.dtype.kind not in "iu":
            raise InvalidParameter(
                "The reports are none, or not integers.", "Give the reports that release returned."
            )
        if array.min() < 0 or array.max() >= 2 * self.rows:
            raise InvalidParameter("A report is out of range.", "Give the reports that release returned.")
        # Sum over reports of (-1)^(bit + parity): supports less contradictions.
        signs = np.bincount(array >> 1, weights=1 - 2.0 * (array & 1), minlength=self.rows)
        margins = _transform(np.rint(signs).astype(np.int64))[1 : len(self.categories) + 1]
        return Frequencies(self.categories, array.size, (array.size + margins) // 2, self.truth, 0.5)

    @property
    def _support(self) -> tuple[float, float]:
        return self.truth, 0.5

    @property
    def _variance(self) -> float:
        """Of a rare category: ((e^epsilon + 1)/(e^epsilon - 1))^2."""
        return 1 / math.tanh(float(self.epsilon) / 2) ** 2


def _transform(values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The sums over j of values[j] (-1)^parity(j AND c) for every c: the fast Walsh-Hadamard transform."""
    out, half = values.copy(), 1
    while half < out.size:
        pairs = out.reshape(-1, 2, half)
        first, second = pairs[:, 0].copy(), pairs[:, 1].copy()
        pairs[:, 0], pairs[:, 1] = first + second, first - second
        half *= 2
    return out
