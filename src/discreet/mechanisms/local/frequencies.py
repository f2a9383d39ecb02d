"""Counts of people from reports that were randomised, with intervals.

Every report supports some categories. A person's own category is supported with probability p, any other with
probability q < p, independently over people ("pure" protocols: Wang, Blocki, Li, Jha 2017). If C of n reports
support a category that m people have, E C = m p + (n - m) q, so (C - n q)/(p - q) is unbiased for m, with variance
(m p (1 - p) + (n - m) q (1 - q))/(p - q)^2, for any categories of the other people.

C is the sum of two independent binomial variables, Bin(m, p) + Bin(n - m, q), and it grows with m in distribution.
So the m at which neither P(C' <= C) nor P(C' >= C) is below (1 - confidence)/2 are an interval that holds at any
size of sample (Clopper and Pearson 1934, for this sum).
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidParameter
from discreet.mechanisms.arrays import masked
from discreet.mechanisms.parameters import read_confidence
from discreet.rational import Number
from discreet.records import dataclass

Floats: TypeAlias = npt.NDArray[np.float64]

_DEVIATIONS: Final = 12  # beyond, a binomial variable has less than 10^-30


@dataclass(frozen=True, eq=False)
class Frequencies:
    """How many people have each category, as estimated from their reports.

    Attributes:
        categories: their names.
        people: how many reports there were.
        support: int64 array (k,), how many reports support each category.
        own: p, the probability that a report supports its person's category.
        other: q, the probability that it supports another one.

    Example:
        >>> from discreet.mechanisms import RandomizedResponse
        >>> answers = RandomizedResponse(epsilon=2).estimate([1] * 40 + [0] * 60)
        >>> answers.counts.round(1).tolist(), answers.sd.round(1).tolist()
        ([63.1, 36.9], [4.3, 4.3])
        >>> answers.interval(1)
        (28, 45)
    """

    categories: Sequence[Any]
    people: int
    support: npt.NDArray[np.int64]
    own: float
    other: float

    @property
    def counts(self) -> Floats:
        """Unbiased estimates (k,) of the numbers of people; they may be negative, and that keeps sums unbiased."""
        seen: Floats = self.support.astype(np.float64)
        return (seen - self.people * self.other) / (self.own - self.other)

    @property
    def shares(self) -> Floats:
        """`counts` divided by the number of people."""
        return self.counts / self.people

    @property
    def sd(self) -> Floats:
        """Standard deviations (k,) of `counts`, with the estimates, put into 0 to n, in the place of the truth."""
        have = np.clip(self.counts, 0, self.people)
        own, other = self.own * (1 - self.own), self.other * (1 - self.other)
        sd: Floats = np.sqrt(have * own + (self.people - have) * other) / (self.own - self.other)
        return sd

    def interval(self, category: Any, confidence: Number = 0.95) -> tuple[int, int]:
        """The least and the most people who may have a category, at a confidence that holds for any sample.

        It covers the coins, not how the people were chosen.

        Raises:
            InvalidParameter: no such category, or a confidence that is not strictly between 0 and 1.
        """
        if category not in self.categories:
            raise InvalidParameter(
                "The category is not among those that were asked for.", "Give one of them."
            )
        rest = float(1 - read_confidence(confidence)) / 2
        seen, n = int(self.support[self.categories.index(category)]), self.people
        low = _first(n, lambda m: 1 - self._at_most(seen - 1, m) >= rest)
        high = _first(n, lambda m: self._at_most(seen, m) < rest) - 1
        return min(low, n), max(high, 0)

    def _at_most(self, seen: int, have: int) -> float:
        """P(Bin(have, p) + Bin(n - have, q) <= seen)."""
        start, first = _binomial(have, self.own)
        begin, second = _binomial(self.people - have, self.other)
        below = np.concatenate([[0.0], np.cumsum(second)])
        places = np.clip(seen - start - np.arange(first.size) - begin + 1, 0, second.size)
        return float(first @ below[places])


def hoeffding(own: float, other: float, people: int, confidence: Fraction) -> float:
    """Half-width for the share of one category that holds for all data (Hoeffding 1963)."""
    return math.sqrt(math.log(2 / (1 - confidence)) / (2 * people)) / (own - other)


def read_places(values: object, categories: Sequence[Any]) -> npt.NDArray[np.int64]:
    """Read the category of each person as its place from 0, int64 (n,).

    Raises:
        InvalidParameter: not a flat sequence, or a value that is not among the categories.
    """
    try:
        flat = not isinstance(values, (str, bytes)) and np.ndim(values) == 1  # type: ignore[arg-type]
    except ValueError:  # NumPy's word for a ragged list
        flat = False
    if not flat:
        raise InvalidParameter("The values are not a flat sequence.", "Give one value for each person.")
    if isinstance(values, np.ma.MaskedArray):
        raise masked()
    if isinstance(categories, range):
        array = np.asarray(values)
        if not array.size:
            return np.empty(0, np.int64)
        if array.dtype.kind in "iub" and array.min() >= 0 and array.max() < len(categories):
            return array.astype(np.int64)
    else:
        place = {category: index for index, category in enumerate(categories)}
        with contextlib.suppress(KeyError, TypeError):
            return np.array([place[value] for value in values], np.int64)  # type: ignore[attr-defined]
    raise InvalidParameter("A value is not among the categories.", "Declare it, or map it to one.")


def read_categories(categories: Any) -> Sequence[Any]:
    """Read a number of categories k as a range, for 0 to k - 1, or their names as a tuple.

    Raises:
        InvalidParameter: fewer than two, one that occurs twice, or one that cannot be a key.
    """
    few = InvalidParameter("categories are fewer than two, or not distinct.", "Give each of them once.")
    if isinstance(categories, (int, np.integer)) and not isinstance(categories, bool):
        if categories < 2:
            raise few
        return range(int(categories))
    try:
        names = tuple(categories)
        distinct = len(set(names)) == len(names)
    except TypeError:
        raise InvalidParameter(
            "categories is not a number or a sequence.", "Give 2, or their names."
        ) from None
    if isinstance(categories, (str, bytes)) or len(names) < 2 or not distinct:
        raise few
    return names


def _binomial(n: int, p: float) -> tuple[int, Floats]:
    """The first value and the probabilities (w,) of Bin(n, p), where they are not negligible."""
    reach = _DEVIATIONS * math.sqrt(n * p * (1 - p)) + 40
    start, end = max(0, math.floor(n * p - reach)), min(n, math.ceil(n * p + reach))
    k = np.arange(start, end)
    logs = np.log((n - k) / (k + 1)) + (math.log(p) - math.log1p(-p))
    ladder = np.concatenate([[0.0], np.cumsum(logs)])
    weights = np.exp(ladder - ladder.max())
    return start, weights / weights.sum()


def _first(n: int, holds: Callable[[int], bool]) -> int:
    """The least m from 0 to n with holds(m), which stays true once it is; n + 1 if there is none."""
    low, high = -1, n + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
