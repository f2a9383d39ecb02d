"""The common part of mechanisms that choose one candidate by its score: parameters, reading, error."""

from __future__ import annotations

import math
from abc import abstractmethod
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.mechanisms.mechanism import OfCandidates, PureLoss
from discreet.mechanisms.parameters import (
    read_confidence,
    read_count,
    read_flag,
    read_granularity,
    read_sensitivity,
)
from discreet.mechanisms.selection import scores as candidates_scores
from discreet.noise.parameters import read_scale
from discreet.rational import Number, epsilon_of
from discreet.records import dataclass

Floats: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Selection(OfCandidates, PureLoss):
    """Choose one of many candidates by a score for each: `Exponential` and `PermuteAndFlip`.

    Attributes:
        epsilon: the privacy loss of one release.
        sensitivity: how far any one score moves between neighbours, at most; see the classes.
        monotonic: whether between neighbours no two scores move in opposite directions.
        granularity: the grid that scores are rounded to; None for exact scores.
    """

    epsilon: Fraction
    sensitivity: Fraction
    monotonic: bool
    granularity: Fraction | None

    def __init__(
        self,
        epsilon: Number,
        sensitivity: Number = 1,
        *,
        monotonic: bool = False,
        granularity: Number | None = None,
    ) -> None:
        object.__setattr__(self, "epsilon", epsilon_of(epsilon))
        object.__setattr__(self, "sensitivity", read_sensitivity(sensitivity))
        object.__setattr__(self, "monotonic", read_flag(monotonic, "monotonic"))
        object.__setattr__(self, "granularity", read_granularity(granularity))
        read_scale(self.scale / self._grid, "The scale, in steps of the scores,")

    @property
    def loss(self) -> Fraction:
        """The privacy loss of one release: pure epsilon."""
        return self.epsilon

    @property
    def scale(self) -> Fraction:
        """A score that is lower by this much is e times less likely, or its coin is; in the unit of the scores."""
        # Rounding to a grid moves a score by at most ceil(sensitivity/granularity) steps.
        moves = self.sensitivity
        if self.granularity is not None:
            moves = math.ceil(moves / self.granularity) * self.granularity
        return (1 if self.monotonic else 2) * moves / self.epsilon

    def release(self, scores: Any) -> Any:
        """Choose a candidate. One call is one epsilon and gives one candidate.

        Args:
            scores: a mapping from candidate to score, or a flat sequence or array of scores. Without
                granularity: integers, floats that are whole, or exact rationals (Fraction, Decimal, text
                such as "1/3"). With granularity: any of them and floats, rounded to the grid.

        Returns:
            The key of the candidate chosen, or its place from 0 as an int when there are no keys.

        Raises:
            InvalidParameter: no candidate, or a score that is NaN, infinite, a boolean, not a number, not
                whole without granularity, or 2^62 steps or more from zero. Nothing was drawn.
            EntropyError: the operating system gave no randomness.
        """
        read = candidates_scores.read(scores, self.granularity, rationals=True)
        return read.name(self._choose(read.gaps, self.scale / self._grid))

    def probabilities(self, scores: Any) -> Floats:
        """The law of `release`: the probability of each candidate, as float64 (n,), right to about 1e-12.

        It is a function of the scores and therefore not private: use it on scores that are invented or
        public. Arguments and errors are those of `release`.
        """
        read = candidates_scores.read(scores, self.granularity, rationals=True)
        return self._law(read.gaps.astype(np.float64) / float(self.scale / self._grid))

    def expected_error(self, scores: Any) -> float:
        """How far the score of the candidate chosen is below the largest, in the mean. Not private either."""
        read = candidates_scores.read(scores, self.granularity, rationals=True)
        law = self._law(read.gaps.astype(np.float64) / float(self.scale / self._grid))
        return float(law @ read.gaps.astype(np.float64)) * float(self._grid)

    def error(self, candidates: int, confidence: Number = 0.95) -> float:
        """How far the chosen score may be below the largest, with the confidence given, for all scores.

        It is scale (ln candidates + ln 1/(1 - confidence)), in the unit of the scores: the logarithm of the
        number of candidates is a part of it. With granularity, rounding adds up to one step.

        Raises:
            InvalidParameter: candidates not a positive int, or a confidence not strictly between 0 and 1.
        """
        count = read_count(candidates, "candidates", "Give their number.")
        return candidates_scores.utility_bound(self.scale, count, read_confidence(confidence))

    @property
    def _grid(self) -> Fraction:
        return Fraction(1) if self.granularity is None else self.granularity

    @abstractmethod
    def _choose(self, gaps: npt.NDArray[Any], scale: Fraction) -> int:
        """Draw the place of one candidate."""

    @abstractmethod
    def _law(self, gaps: Floats) -> Floats:
        """The probabilities at gaps measured in scales."""
