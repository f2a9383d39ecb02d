"""Noisy labels: the winner of each of many votes, with exact noise, as one release (Papernot et al. 2017).

Guarantee. A row of votes counts the voters of each class. Between neighbours one voter votes otherwise, so in each row
one count falls by one and another rises by one. Each row is one noisy maximum with sensitivity 1 that is not monotonic
(`NoisyMax`): Laplace or exponential noise of scale 2/epsilon, which is 1/gamma for gamma = epsilon/2. Rows compose in
sequence.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidParameter
from discreet.mechanisms.parameters import read_count
from discreet.mechanisms.selection.noisy_max import NoisyMax
from discreet.rational import Number

if TYPE_CHECKING:
    from discreet.accounting.events import Event, Neighbours


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
        rows = np.asarray(votes)
        if rows.ndim != 2 or len(rows) != self.count:
            raise InvalidParameter(
                "There are not as many votes as labels.", "Give a row of votes for each label."
            )
        ballot = NoisyMax(self.epsilon)
        return np.array([ballot.release(row) for row in rows], np.int64)
