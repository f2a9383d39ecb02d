"""Looks for neighbours that break a claimed sensitivity. Finding none proves nothing; finding one does."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidParameter
from discreet.rational import Number, decimal, exact, positive
from discreet.records import dataclass, field
from discreet.sensitivity.sampled import Neighbours, Query
from discreet.sensitivity.sizes import whole_number

Data: TypeAlias = npt.NDArray[np.float64]

TRIES: Final = 2000
_ROUNDING: Final = 1e-9
"""A distance counts as larger only beyond this share of the claim: answers in floats round."""


@dataclass(frozen=True, eq=False)
class Found:
    """The worst pair of neighbours that a search came across.

    Attributes:
        claimed: the sensitivity that was claimed.
        largest: the largest distance of two answers that was found; infinite when an answer was not a number.
        pair: the two data sets, within the bounds; None when no pair had different answers.
        tries: how many pairs were looked at.
        norm: 1 or 2.

    Example:
        >>> print(Found(claimed=1.0, largest=2.0, pair=None, tries=12, norm=1))
        broken: a pair of neighbours is 2 apart in L1, and 1 was claimed (12 pairs tried)
    """

    claimed: float
    largest: float
    pair: tuple[Data, Data] | None = field(repr=False)
    tries: int
    norm: int

    @property
    def broken(self) -> bool:
        """Whether the claim is wrong: a pair of neighbours is further apart."""
        return self.largest > self.claimed * (1 + _ROUNDING)

    def __str__(self) -> str:
        if self.broken:
            return (
                f"broken: a pair of neighbours is {self.largest:.6g} apart in L{self.norm}, and {self.claimed:.6g} "
                f"was claimed ({self.tries:,} pairs tried)"
            )
        return (
            f"not broken: the furthest of {self.tries:,} pairs is {self.largest:.6g} apart in L{self.norm}, and "
            f"{self.claimed:.6g} was claimed; this is no proof"
        )


def search(
    query: Query,
    sensitivity: Number,
    bounds: tuple[Number, Number] | Sequence[tuple[Number, Number]],
    records: int,
    *,
    norm: int = 1,
    neighbours: Neighbours = "replace_one",
    tries: int = TRIES,
    progress: Callable[[int, int], None] | None = None,
) -> Found:
    """Search for neighbouring data sets whose answers are further apart than claimed.

    It starts from data sets at the bounds, in the middle, equal and spread, and climbs: records are moved
    to a bound, to the place of another record or anywhere, and a move that does not bring the answers
    nearer is kept. It stops at the first pair that breaks the claim by more than a factor of two, or after
    `tries` pairs.

    Args:
        query: data set -> number or array of numbers. A data set is a float64 array (records,), or
            (records, columns) when bounds are given by column.
        sensitivity: the claim, above zero.
        bounds: (least, greatest), or a pair for each column.
        records: the number of records, at least 1; of the larger data set under add_remove.
        norm: 1 or 2.
        neighbours: "replace_one" or "add_remove".
        tries: how many pairs to look at, at least 1.
        progress: called with the pairs done and the pairs wanted.

    Raises:
        InvalidParameter: a parameter is out of range. An error of the query goes through.

    Example:
        >>> found = search(np.sum, 10, bounds=(0, 10), records=5)
        >>> found.broken, round(found.largest, 6)
        (False, 10.0)
        >>> search(np.sum, 10, bounds=(-10, 10), records=5).broken  # replaced, not removed: the width counts
        True
        >>> search(np.median, 0.5, bounds=(0, 1), records=5).broken
        True
    """
    claimed = float(positive(decimal(sensitivity, "sensitivity"), "sensitivity"))
    if norm not in (1, 2) or neighbours not in ("replace_one", "add_remove"):
        raise InvalidParameter("norm or neighbours is unknown.", 'Write norm=1, neighbours="replace_one".')
    whole_number(records, "records")
    whole_number(tries, "tries")
    look = _PairSearch(query, claimed, _ends(bounds), records, norm, neighbours, tries, progress)
    look.run()
    return Found(claimed, look.largest, look.pair, look.done, norm)


class _PairSearch:
    """The state of one search."""

    def __init__(
        self,
        query: Query,
        claimed: float,
        ends: tuple[Data, Data, bool],
        records: int,
        norm: int,
        neighbours: Neighbours,
        tries: int,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        self.largest, self.done = 0.0, 0
        self.pair: tuple[Data, Data] | None = None
        self._query, self._claimed, self._norm, self._tries = query, claimed, norm, tries
        self._low, self._high, self._flat = ends
        self._records, self._neighbours, self._progress = records, neighbours, progress
        self._rng = np.random.default_rng()

    def run(self) -> None:
        """Climb from one start after another."""
        start = 0
        while not self._over():
            data, other = self._start(start), self._record(start + start // 6)
            best, idle = self._distance(data, other), 0
            while idle < 40 and not self._over():
                moved, instead = self._move(data, other)
                distance = self._distance(moved, instead)
                idle = 0 if distance > best else idle + 1
                if distance >= best:
                    data, other, best = moved, instead, distance
            start += 1

    def _over(self) -> bool:
        return self.done >= self._tries or self.largest > 2 * self._claimed

    def _start(self, number: int) -> Data:
        shape = (self._records, len(self._low))
        middle = (self._low + self._high) / 2
        spread = self._rng.uniform(self._low, self._high, shape)
        ends = np.where(self._rng.random(shape) < 0.5, self._low, self._high)
        halves = np.where((np.arange(self._records) < self._records // 2)[:, None], self._low, self._high)
        plain = [np.tile(self._low, (self._records, 1)), np.tile(self._high, (self._records, 1)), halves]
        return np.array([*plain, np.tile(middle, (self._records, 1)), spread, ends][number % 6])

    def _record(self, number: int) -> Data:
        return np.array([self._high, self._low, self._anywhere()][number % 3])

    def _anywhere(self) -> Data:
        return self._rng.uniform(self._low, self._high)

    def _move(self, data: Data, other: Data) -> tuple[Data, Data]:
        moved, instead = data.copy(), other.copy()
        how = self._rng.integers(5)
        rows = self._rng.integers(
            self._records, size=1 if self._rng.random() < 0.7 else 1 + self._records // 4
        )
        column = self._rng.integers(len(self._low))
        to = [self._low[column], self._high[column], self._anywhere()[column],
              data[self._rng.integers(self._records), column], other[column]][how]  # fmt: skip
        if self._rng.random() < 0.3:
            instead[column] = to
        else:
            moved[rows, column] = to
        return moved, instead

    def _distance(self, data: Data, other: Data) -> float:
        """The distance of the answers on the data set, and with its first record replaced or removed."""
        if self._neighbours == "add_remove":
            near = data[1:]
        else:
            near = data.copy()
            near[0] = other
        pair = tuple((each[:, 0] if self._flat else each).copy() for each in (data, near))
        with np.errstate(all="ignore"):
            answers = [np.asarray(self._query(each.copy()), np.float64).ravel() for each in pair]
        self.done += 1
        if self._progress is not None and self.done % 100 == 0:
            self._progress(min(self.done, self._tries), self._tries)
        if answers[0].shape != answers[1].shape or not all(np.isfinite(answer).all() for answer in answers):
            distance = math.inf
        else:
            distance = float(np.linalg.norm(answers[0] - answers[1], ord=self._norm))
        if distance > self.largest:
            self.largest, self.pair = distance, (pair[0], pair[1])
        return distance


def _ends(bounds: Any) -> tuple[Data, Data, bool]:
    """The least and greatest values by column, and whether a data set has one column only, without its axis."""
    flat = len(bounds) == 2 and all(np.ndim(end) == 0 for end in bounds)
    columns = [bounds] if flat else list(bounds)
    pairs = [(float(exact(lo, "A bound")), float(exact(hi, "A bound"))) for lo, hi in columns]
    if not pairs or any(lo > hi for lo, hi in pairs):
        raise InvalidParameter("A lower bound is above its upper one.", "Write bounds=(least, greatest).")
    low, high = np.array(pairs, np.float64).T
    return low, high, flat
