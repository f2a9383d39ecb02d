"""Read the scores of candidates, one number each, as exact numbers.

Errors raised here depend on the scores: these are building blocks, and the caller answers for giving them
finite numbers of the right kind.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidParameter
from discreet.mechanisms import values as grid_values
from discreet.mechanisms.arrays import take
from discreet.rational import exact
from discreet.records import dataclass

_FARTHEST: Final = 1 << 62
"""Scores lie nearer to zero than this many steps, so that the difference of two is below 2^63."""


@dataclass(frozen=True, eq=False)
class Scores:
    """The scores that were read.

    Attributes:
        numbers: int64 array (n,) in steps of the grid, or an object array (n,) of Fractions.
        names: the name of each candidate; None for its place from 0.
    """

    numbers: npt.NDArray[Any]
    names: tuple[Any, ...] | None

    @property
    def gaps(self) -> npt.NDArray[Any]:
        """How far each score is below the largest: all >= 0, one of them 0."""
        gaps: npt.NDArray[Any] = self.numbers.max() - self.numbers
        return gaps

    def name(self, place: int) -> Any:
        """The candidate at a place."""
        return place if self.names is None else self.names[place]


def read(scores: object, granularity: Fraction | None, *, rationals: bool) -> Scores:
    """Read scores: a mapping from candidate to score, or a sequence or array (n,).

    With a granularity they are rounded to it, halves up, and counted in its steps. Without one they are
    integers, or, where `rationals` says so, exact rationals (Fraction, Decimal, a string such as "1/3").

    Raises:
        InvalidParameter: no candidate; not one number each; NaN, infinite, a boolean; not whole; too far.
    """
    names: tuple[Any, ...] | None = None
    if isinstance(scores, Mapping):
        names, scores = tuple(scores), list(scores.values())
    elif isinstance(scores, np.ndarray) and scores.dtype == object and scores.ndim == 1:
        scores = scores.tolist()
    numbers: npt.NDArray[Any]
    if (
        granularity is None
        and rationals
        and isinstance(scores, (list, tuple))
        and not all(map(_plain, scores))
    ):
        numbers = _fractions(scores)
    else:
        array = take(scores)
        if array.ndim != 1:
            raise InvalidParameter(
                "The scores are not one number for each candidate.", "Give a flat sequence."
            )
        if granularity is not None:
            numbers = grid_values.nearest(array, granularity)
        else:
            fix = "Round the scores, or give the mechanism a granularity."
            numbers = grid_values.integers(array, fix)
    if numbers.size == 0:
        raise InvalidParameter("There is no candidate.", "Give one at least.")
    if numbers.dtype != object and (numbers.max() >= _FARTHEST or numbers.min() <= -_FARTHEST):
        raise InvalidParameter("A score is too far from zero.", "Clamp the scores to below 2^62.")
    return Scores(numbers, names)


def _plain(score: object) -> bool:
    return isinstance(score, (int, float, np.integer, np.floating))


def _fractions(scores: list[Any] | tuple[Any, ...]) -> npt.NDArray[Any]:
    read = [exact(score, "A score") for score in scores]
    if any(isinstance(score, (float, np.floating)) and score % 1 for score in scores):
        raise InvalidParameter("A score is a float that is not whole.", "Give it as a Fraction or a string.")
    array = np.empty(len(read), object)
    array[:] = read
    return array


def utility_bound(scale: Fraction, candidates: int, confidence: Fraction) -> float:
    """Return scale (ln candidates + ln 1/(1 - confidence)), rounded up; the proof is in `exponential`."""
    return float(scale) * (math.log(candidates) - math.log(1 - confidence)) * (1 + 2**-50)
