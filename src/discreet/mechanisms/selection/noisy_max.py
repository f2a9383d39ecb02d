"""Report noisy max: add noise to every score on the integer grid and name the k largest, in order.

Guarantee. Let Z_j be independent, of scale b = 2 k S/epsilon, discrete Laplace or geometric ("exponential");
S bounds how far one score moves between neighbours. Ties are broken by an order of the candidates that does not
depend on the data. Then the list (i_1, ..., i_k) of the k largest u_j + Z_j is epsilon-differentially private.

Proof. Fix such an order, and a vector z of noise that gives that list on D. Let z' equal z except that
z'_i = z_i + (u_i - u'_i) + S for i in the list. On D' with z' every score of the list stands exactly S higher than
on D with z, so that the list keeps its own order, ties included; every other score stands at most S higher, so
that none enters. So z' gives the same list. The map is one to one, it adds an integer from 0 to 2 S to k
coordinates, and P(Z = z + c) >= e^(-c/b) P(Z = z) for all integers z and c >= 0, for both kinds of noise. Summing
over z: P(list on D) <= e^(2 k S/b) P(list on D') = e^epsilon P(list on D'). An order drawn at random without the
data is a mixture of fixed ones, so ties cost nothing, however frequent they are.

Monotonic scores. If all scores move in one direction, say from u to u' >= u, use z'_i = z_i - (u'_i - u_i) + S
one way and z_i = z'_i + (u'_i - u_i) the other: the addend is from 0 to S, and b = k S/epsilon is enough.

Sources: Dwork and Roth 2014, section 3.3 (one winner); Dwork, Su, Zhang 2021 (k winners from one draw); Ding et
al. 2021 (exponential noise is permute-and-flip). k = 1 with exponential noise is the best known choice.

Numbers beyond int64 are neither cut off nor wrapped, but carried out in Python's integers: a draw that stands at
the end of int64 is continued there, for the tails of both laws have no memory.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidParameter
from discreet.mechanisms.mechanism import PureLoss
from discreet.mechanisms.parameters import (
    read_confidence,
    read_count,
    read_flag,
    read_granularity,
    read_sensitivity,
)
from discreet.mechanisms.selection import scores as candidates_scores
from discreet.noise import geometric, laplace, uniform
from discreet.noise.parameters import read_scale
from discreet.noise.unbounded import continued
from discreet.rational import Number, epsilon_of
from discreet.records import dataclass

Noise = Literal["exponential", "laplace"]

_END: Final = (1 << 63) - 1
_HALF: Final = 1 << 62


@dataclass(frozen=True)
class NoisyMax(PureLoss):
    """Name the k candidates whose scores are largest after noise.

    Privacy: one call of `release` is epsilon-differentially private (pure) if no single score moves by more
    than `sensitivity` between neighbouring data sets, and the candidates are fixed without the data. That
    premise is the caller's to answer for. It gives names and no scores: a score costs a release of its own.
    Source and proof: the module's text.

    The price of k: each of the k names gets epsilon/k, so the noise is k times as wide.

    Args:
        epsilon: positive rational, for all k names together; a float is its shortest decimal.
        sensitivity: positive rational, in the unit of the scores: the largest change of one score.
        k: how many names, in order.
        noise: "exponential" (less error) or "laplace".
        monotonic: True promises that between neighbours all scores move in one direction (or stay), as
            counts do when a unit is added or removed. Leave it False when neighbours replace a unit.
        granularity: None for integer scores; for reals the grid, a power of two from 2^-512 to 2^512.

    Raises:
        InvalidParameter: a parameter outside its range, or a scale outside 2^-10 to 2^56 steps.

    Example:
        >>> votes = {"Aquila": 31, "Orion": 27, "Lyra": 12, "Cetus": 3}
        >>> podium = NoisyMax(epsilon=1, k=2, monotonic=True)
        >>> podium.scale, len(podium.release(votes))
        (Fraction(2, 1), 2)
        >>> NoisyMax(epsilon=100).release(votes)
        'Aquila'
    """

    epsilon: Fraction
    sensitivity: Fraction
    k: int
    noise: Noise
    monotonic: bool
    granularity: Fraction | None

    def __init__(
        self,
        epsilon: Number,
        sensitivity: Number = 1,
        *,
        k: int = 1,
        noise: Noise = "exponential",
        monotonic: bool = False,
        granularity: Number | None = None,
    ) -> None:
        if noise not in ("exponential", "laplace"):
            raise InvalidParameter("noise is not known.", 'Give "exponential" or "laplace".')
        object.__setattr__(self, "epsilon", epsilon_of(epsilon))
        object.__setattr__(self, "sensitivity", read_sensitivity(sensitivity))
        object.__setattr__(self, "k", read_count(k, "k", "Give the number of names."))
        object.__setattr__(self, "noise", noise)
        object.__setattr__(self, "monotonic", read_flag(monotonic, "monotonic"))
        object.__setattr__(self, "granularity", read_granularity(granularity))
        read_scale(self._steps, "The scale, in steps of the scores,")

    @property
    def loss(self) -> Fraction:
        """The privacy loss of one release of all k names: pure epsilon."""
        return self.epsilon

    @property
    def scale(self) -> Fraction:
        """The scale of the noise of each score, in the unit of the scores."""
        moves = self.sensitivity
        if self.granularity is not None:
            moves = math.ceil(moves / self.granularity) * self.granularity
        return (1 if self.monotonic else 2) * self.k * moves / self.epsilon

    def release(self, scores: Any) -> Any:
        """Name the winner, or the list of the k winners in order. One call is one epsilon.

        Args:
            scores: a mapping from candidate to score, or a flat sequence or array of scores. Without
                granularity: integers, or floats that are whole. With granularity: ints, floats, Fractions.

        Returns:
            For k = 1 the key of the winner, or its place from 0; for k > 1 a list of k of them.

        Raises:
            InvalidParameter: fewer than k candidates, or a score that is NaN, infinite, a boolean, not a
                number, not whole without granularity, or 2^62 steps or more from zero. Nothing was drawn.
            EntropyError: the operating system gave no randomness.
        """
        read = candidates_scores.read(scores, self.granularity, rationals=False)
        if read.numbers.size < self.k:
            raise InvalidParameter("There are fewer than k candidates.", "Give more, or choose a smaller k.")
        noisy = self._noisy(read.numbers)
        order = uniform(_END, noisy.size)  # in case of ties
        names = [read.name(int(place)) for place in _largest(noisy, order, self.k)]
        return names[0] if self.k == 1 else names

    def error(self, candidates: int, confidence: Number = 0.95) -> float:
        """How far the r-th name's score may be below the r-th largest score, for all r <= k at once.

        With m the least multiple of the grid for which k n P(Z_1 - Z_2 >= m) <= 1 - confidence: if no
        candidate overtakes one of the k best from m or more below, the r-th name is less than m below the
        r-th best. In the unit of the scores; with granularity, rounding adds up to one step.

        Raises:
            InvalidParameter: candidates not an int of at least k, or a confidence not strictly in 0 to 1.
        """
        n = read_count(candidates, "candidates", "Give their number.", self.k)
        outside = float(1 - read_confidence(confidence)) / (self.k * n)
        low, high = 0, 1
        while self._overtakes(high) > outside:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._overtakes(middle) > outside else (low, middle)
        return float(high * (Fraction(1) if self.granularity is None else self.granularity))

    def half_width(self, confidence: Number = 0.95, candidates: int | None = None) -> float:
        """The same as `error`, by the name that every mechanism has; by default for one candidate more than names."""
        return self.error(self.k + 1 if candidates is None else candidates, confidence)

    @property
    def _steps(self) -> Fraction:
        return self.scale if self.granularity is None else self.scale / self.granularity

    def _overtakes(self, m: int) -> float:
        """P(Z_1 - Z_2 >= m) for m >= 1; with q = e^(-1/b) the law of the difference is a known sum."""
        rate = float(1 / self._steps)
        q, rest = math.exp(-rate), -math.expm1(-rate)
        if self.noise == "exponential":
            return math.exp(-rate * m) / (1 + q)
        same = (1 + q * q) / (rest * (1 + q))
        return (rest / (1 + q)) ** 2 * math.exp(-rate * m) * ((m + same) / rest + q / rest**2)

    def _noisy(self, numbers: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        draw = geometric if self.noise == "exponential" else laplace
        noise = draw(self._steps, numbers.shape)
        if np.abs(noise).max() < _HALF:  # all but always
            near: npt.NDArray[Any] = numbers + noise
            return near
        far: npt.NDArray[Any] = numbers.astype(object) + np.array(continued(noise, self._steps), object)
        return far


def _largest(noisy: npt.NDArray[Any], order: npt.NDArray[np.int64], k: int) -> list[int]:
    """The places of the k largest, largest first; equal ones by `order`."""
    if noisy.dtype == object:
        ranked = sorted(range(noisy.size), key=lambda j: (-noisy[j], order[j]))
        return ranked[:k]
    least = np.partition(noisy, noisy.size - k)[noisy.size - k]
    places = np.flatnonzero(noisy >= least)
    chosen = places[np.lexsort((order[places], -noisy[places]))][:k]
    return [int(place) for place in chosen]
