"""Noise for vectors in a box: the K-norm mechanism whose ball is a cube, on integers.

Let f give m rows of d integers, of which neighbours differ by at most S, where a difference counts the largest change
of a coordinate in each row, added over the rows. Row i of the release is f_i + Y_i with P(Y_i = y) proportional to
e^(-max|y_j|/b), independent of each other. It is (S/b)-differentially private: for neighbours D, D' and any y,
P(y|D)/P(y|D') = exp(sum_i (|y_i - f_i(D')| - |y_i - f_i(D)|)/b) <= exp(sum_i |f_i(D) - f_i(D')|/b) <= e^(S/b), by the
triangle inequality of the maximum (Hardt and Talwar 2010, section 4). Sums saturate at +-(2^63 - 1): post-processing.

Error. Where each coordinate moves by at most S, the L1 sensitivity is d S, and Laplace noise has the standard deviation
sqrt(2) d S/epsilon. Here it is sqrt((d + 1) (d + 2)/3) S/epsilon: sqrt(6) = 2.45 times less for large d. With the
radius R of the cube (`noise.cube`) close to Gamma(d + 1, b), P(|Y_j| > t) = E max(0, 1 - t/R)
= Q(d + 1, t/b) - t/(b d) Q(d, t/b) for the upper tail Q(k, x) = e^-x (1 + x + ... + x^(k-1)/(k-1)!).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidParameter
from discreet.mechanisms.parameters import read_confidence, read_count, read_sensitivity
from discreet.mechanisms.values import integers
from discreet.noise.cube import cube
from discreet.noise.parameters import read_scale
from discreet.rational import Number
from discreet.records import dataclass

if TYPE_CHECKING:
    from discreet.accounting.events import Event, Neighbours

_LIMIT = (1 << 63) - 1


@dataclass(frozen=True)
class CubeVector:
    """Release rows of integers with noise for the largest change of a coordinate.

    Privacy: (sensitivity/scale)-differentially private (pure) for all calls of `release` together, if they have each
    row once, and neighbours differ by at most `sensitivity`: the largest change of a coordinate of each row, added over
    all rows. That premise is the caller's to answer for. Source and proof: the module's text.

    Args:
        scale: of the noise, rational from 2^-10 to 2^56.
        sensitivity: a positive rational.
        dimensions: how many numbers a row has, at least 1.

    Raises:
        InvalidParameter: a parameter is outside its range.

    Example:
        >>> vector = CubeVector(scale=2000, sensitivity=200, dimensions=3)
        >>> vector.loss
        Fraction(1, 10)
        >>> vector.release(np.zeros((2, 3), np.int64)).shape
        (2, 3)
    """

    scale: Fraction
    sensitivity: Fraction
    dimensions: int

    def __init__(self, scale: Number, sensitivity: Number, dimensions: int) -> None:
        object.__setattr__(self, "scale", read_scale(scale))
        object.__setattr__(self, "sensitivity", read_sensitivity(sensitivity))
        object.__setattr__(
            self, "dimensions", read_count(dimensions, "dimensions", "Give how many numbers a row has.")
        )

    @property
    def loss(self) -> Fraction:
        """The privacy loss of all rows together: pure epsilon."""
        return self.sensitivity / self.scale

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise on a number, for scales far above 1."""
        return float(self.scale) * math.sqrt((self.dimensions + 1) * (self.dimensions + 2) / 3)

    def event(self, neighbours: Neighbours) -> Event:
        """The event that accountants price.

        Args:
            neighbours: those for which the sensitivity holds.
        """
        from discreet.accounting.events import Released

        return Released(self.loss, neighbours=neighbours)

    def half_width(self, confidence: Number = 0.95) -> int:
        """An m with P(|noise| <= m) >= confidence for one number.

        The law of the module's text is that of noise without a grid. In the cell around a point its density is that of
        the point but for a factor of e^(1/(2b)), so a tail of the grid is at most e^(1/b) times that of the cells.
        """
        missed = float(1 - read_confidence(confidence)) * math.exp(-1 / float(self.scale))
        least, most = 0.0, 2.0 * (self.dimensions + 64)
        while most - least > 1e-9 * most:
            middle = (least + most) / 2
            least, most = (middle, most) if self._beyond(middle) > missed else (least, middle)
        return math.ceil(most * float(self.scale)) + 1

    def _beyond(self, x: float) -> float:
        """P(|Y_j| > x b)."""
        terms = np.arange(self.dimensions + 1)
        logs = terms * math.log(max(x, 1e-300)) - x - np.array([math.lgamma(k + 1) for k in terms])
        masses = np.exp(logs)
        return float(masses.sum() - x / self.dimensions * masses[:-1].sum())

    def release(self, exact: Any) -> npt.NDArray[np.int64]:
        """Return rows with noise: int64 (m, dimensions).

        Raises:
            InvalidParameter: a value is no integer, or rows have another length. No noise was drawn.
            EntropyError: the operating system gave no randomness.
        """
        given = exact if getattr(exact, "dtype", None) == np.int64 else integers(exact, "Round it.")
        if given.ndim != 2 or given.shape[1] != self.dimensions:
            raise InvalidParameter("The rows have another length.", f"Give {self.dimensions} numbers each.")
        drawn = cube(self.scale, len(given), self.dimensions)
        rows = [
            [min(max(value + noise, -_LIMIT), _LIMIT) for value, noise in zip(row, point, strict=True)]
            for row, point in zip(given.tolist(), drawn, strict=True)
        ]
        return np.array(rows, np.int64).reshape(given.shape)
