"""Noisy labels: the winner of each of many votes, with exact noise, as one release (Papernot et al. 2017 and 2018).

Guarantee. A row of votes counts the voters of each class. Between neighbours one voter votes otherwise, so in each row
one count falls by one and another rises by one. Each row is one noisy maximum with sensitivity 1 that is not monotonic
(`NoisyMax`): Laplace or exponential noise of scale 2/epsilon, which is 1/gamma for gamma = epsilon/2. Rows compose in
sequence.

With discrete Gaussian noise of parameter v on each count (GNMax), a row moves by the root of 2 in L2, so that its noisy
counts, and the winner of them, are (1/v)-zCDP. Whether the most votes, with noise of parameter c, reach a threshold is
(1/2c)-zCDP, as the most moves by at most 1. A row is named only where they do, and at most so many rows are.

These are two vectors with noise, the second chosen by the first: the most votes of all rows, which move by the root of
their number in L2; and, for all values of these, the counts of those rows that are named, which move by the root of
twice their number. The names follow from both. So they compose in zCDP, and by the exact curve of Gaussian noise
(`accounting.gaussian.gdp`: the squares add up, also where a later vector depends on earlier answers).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidParameter
from discreet.mechanisms.numeric.gaussian_vector import GaussianVector
from discreet.mechanisms.parameters import read_confidence, read_count
from discreet.mechanisms.selection.noisy_max import NoisyMax
from discreet.noise import uniform
from discreet.rational import Number
from discreet.records import dataclass

if TYPE_CHECKING:
    from discreet.accounting.events import Event, Neighbours
    from discreet.accounting.zcdp import ZCDP


@dataclass(frozen=True)
class NoisyLabels:
    """Name the winner of each of some votes.

    Privacy: one call of `release` costs `count` times `epsilon`, pure, if between neighbours one voter changes
    its vote, in every row. Accountants price it as so many releases.

    Args:
        epsilon: positive rational, of one label.
        count: how many labels are released.

    Raises:
        InvalidParameter: a parameter outside its range.

    Example:
        >>> NoisyLabels(50, count=2).release([[90, 3, 7], [1, 2, 97]]).tolist()
        [0, 2]
    """

    epsilon: Fraction
    count: int

    def __init__(self, epsilon: Number, count: int) -> None:
        object.__setattr__(self, "epsilon", NoisyMax(epsilon).epsilon)
        object.__setattr__(self, "count", read_count(count, "count", "Give the number of labels."))

    @property
    def loss(self) -> Fraction:
        """The loss of all labels in sequence: pure epsilon."""
        return self.count * self.epsilon

    def event(self, neighbours: Neighbours) -> Event:
        """The event that accountants price: so many labels."""
        from discreet.accounting.events import Released, Repeated

        return Repeated(Released(self.epsilon, neighbours=neighbours), self.count)

    def half_width(self, confidence: Number = 0.95) -> float:
        """How many votes the winner may stand below the most, for two classes; see `NoisyMax.error` for more."""
        return NoisyMax(self.epsilon).error(2, confidence)

    def release(self, votes: Any) -> npt.NDArray[np.int64]:
        """The places of the winners.

        Args:
            votes: whole numbers (count, classes).

        Raises:
            InvalidParameter: another number of rows. Nothing was drawn.
            EntropyError: the operating system gave no randomness.
        """
        rows = _rows(votes, self.count)
        ballot = NoisyMax(self.epsilon)
        return np.array([ballot.release(row) for row in rows], np.int64)


@dataclass(frozen=True)
class ConfidentLabels:
    """Name the winners of those votes on which many voters agree, with Gaussian noise (GNMax, Papernot et al. 2018).

    Privacy: one call of `release` is (answers/variance + count/(2 check))-zCDP, without the second term where there is
    no threshold, if between neighbours one voter changes its vote, in every row; by the exact curve of Gaussian noise
    it is somewhat more private. Source and proof: the module's text.

    Args:
        variance: the parameter of the noise on each count of a row that is named.
        count: how many rows of votes there are.
        answers: how many of them are named at most; by default all.
        threshold: how many votes the winner needs, after noise, for a name; None where every row is named.
        check: the parameter of the noise on the most votes, where they are compared with the threshold.

    Raises:
        InvalidParameter: a parameter outside its range.

    Example:
        >>> ballot = ConfidentLabels(4, count=3, answers=2, threshold=80, check=9)
        >>> ballot.release([[99, 1], [50, 50], [0, 100]]).tolist(), ballot.loss
        ([0, -1, 1], ZCDP(0.666666667))
    """

    variance: Fraction
    count: int
    answers: int
    threshold: int | None
    check: Fraction

    def __init__(
        self,
        variance: Number,
        count: int,
        answers: int | None = None,
        threshold: int | None = None,
        check: Number = 1,
    ) -> None:
        object.__setattr__(self, "variance", GaussianVector(variance).variance)
        object.__setattr__(self, "count", read_count(count, "count", "Give the number of rows."))
        most = self.count if answers is None else read_count(answers, "answers", "Give the most names.")
        object.__setattr__(self, "answers", min(most, self.count))
        wanted = None if threshold is None else read_count(threshold, "threshold", "Give a number of votes.")
        object.__setattr__(self, "threshold", wanted)
        object.__setattr__(self, "check", GaussianVector(check).variance)

    @property
    def loss(self) -> ZCDP:
        """The loss of all checks and names, in zCDP."""
        from discreet.accounting.zcdp import ZCDP

        checks = Fraction(0) if self.threshold is None else self.count / (2 * self.check)
        return ZCDP(self.answers / self.variance + checks)

    def event(self, neighbours: Neighbours) -> Event:
        """The event that accountants price: the noise of the names, and before it that of the checks."""
        from discreet.accounting.events import Composed, DiscreteGaussianNoise

        names = DiscreteGaussianNoise(self.variance, 2 * self.answers, neighbours=neighbours)
        if self.threshold is None:
            return names
        return Composed([DiscreteGaussianNoise(self.check, self.count, neighbours=neighbours), names])

    def half_width(self, confidence: Number = 0.95) -> float:
        """How many votes the winner may stand below the most, for two classes, by the tail that such noise is below."""
        return math.sqrt(-4 * float(self.variance) * math.log(1 - float(read_confidence(confidence))))

    def release(self, votes: Any) -> npt.NDArray[np.int64]:
        """The places of the winners; -1 where too few agree, and after the last name that is paid for.

        Args:
            votes: whole numbers (count, classes).

        Raises:
            InvalidParameter: another number of rows. Nothing was drawn.
            EntropyError: the operating system gave no randomness.
        """
        rows = _rows(votes, self.count)
        noisy = GaussianVector(self.variance, 2).release(rows)
        reached = np.ones(len(rows), bool)
        if self.threshold is not None:
            reached = GaussianVector(self.check).release(rows.max(axis=1)) >= self.threshold
        named = reached & (np.cumsum(reached) <= self.answers)
        order = uniform(_TIES, noisy.shape)  # in case of ties
        best = np.where(noisy == noisy.max(axis=1, keepdims=True), order, -1).argmax(axis=1)
        return np.where(named, best, -1).astype(np.int64)


_TIES: Final = (1 << 62) - 1


def _rows(votes: Any, count: int) -> npt.NDArray[np.int64]:
    rows = np.asarray(votes)
    if rows.ndim != 2 or len(rows) != count:
        raise InvalidParameter(
            "There are not as many votes as labels.", "Give a row of votes for each label."
        )
    return rows
