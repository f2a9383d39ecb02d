"""Populations that records are sampled from, with the facts about them that have a closed form.

A population is anything with `sample(size)`. These draws imitate people; they are not noise, nothing is
hidden by them, and they come from NumPy's generator.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidParameter
from discreet.rational import exact
from discreet.records import dataclass, field

Floats: TypeAlias = npt.NDArray[np.float64]


@runtime_checkable
class Population(Protocol):
    """The source of records.

    Example:
        >>> class Dice:
        ...     def sample(self, size: int):
        ...         return np.random.default_rng().integers(1, 7, size)
        >>> isinstance(Dice(), Population)
        True
    """

    def sample(self, size: int) -> Any:
        """Draw `size` independent records: an array whose first axis has that length."""
        ...


@dataclass(frozen=True)
class Normal:
    """The normal distribution.

    Args:
        mean: finite.
        sd: the standard deviation, above zero, in the unit of the mean.

    Raises:
        InvalidParameter: a number is out of range.

    Example:
        >>> round(Normal(0, 1).mean_gap(), 6), Normal(0, 1).sample(3).shape
        (1.128379, (3,))
    """

    mean: float
    sd: float

    def __init__(self, mean: float, sd: float) -> None:
        object.__setattr__(self, "mean", float(exact(mean, "mean")))
        object.__setattr__(self, "sd", float(exact(sd, "sd")))
        if self.sd <= 0:
            raise InvalidParameter("sd must be above zero.", "Give a positive sd.")

    def sample(self, size: int) -> Floats:
        """Draw `size` values: float64 array (size,)."""
        return np.random.default_rng().normal(self.mean, self.sd, size)

    def mean_gap(self) -> float:
        """E|x - y| of two independent draws: 2 sd/sqrt(pi)."""
        return Mixture([self]).mean_gap()

    def gap_above(self, distance: float) -> float:
        """P(|x - y| > distance) of two independent draws."""
        return Mixture([self]).gap_above(distance)


@dataclass(frozen=True)
class Mixture:
    """A mixture of normal distributions.

    Args:
        parts: at least one `Normal`.
        weights: one for each part, not negative, not all zero; equal by default. They are scaled to sum to 1.

    Raises:
        InvalidParameter: there is no part, or a weight is out of range.

    Example:
        >>> heights = Mixture([Normal(178, 7), Normal(162, 6.5)])
        >>> heights.mean, round(heights.sd, 3), round(heights.mean_gap(), 4)
        (170.0, 10.47, 11.9939)
        >>> round(heights.gap_above(heights.mean_gap()), 3)
        0.437
    """

    parts: tuple[Normal, ...]
    weights: tuple[float, ...]

    def __init__(self, parts: Sequence[Normal], weights: Sequence[float] | None = None) -> None:
        shares = [float(exact(w, "A weight")) for w in ([1.0] * len(parts) if weights is None else weights)]
        if not parts or len(shares) != len(parts) or min(shares) < 0 or sum(shares) <= 0:
            raise InvalidParameter(
                "A mixture needs one weight for each of its parts, none below zero and not all zero.",
                "Leave the weights out for equal ones.",
            )
        object.__setattr__(self, "parts", tuple(parts))
        object.__setattr__(self, "weights", tuple(share / sum(shares) for share in shares))

    @property
    def mean(self) -> float:
        """The mean."""
        return math.fsum(w * part.mean for w, part in zip(self.weights, self.parts, strict=True))

    @property
    def sd(self) -> float:
        """The standard deviation: the variance within the parts, and that between their means."""
        around = ((part.mean - self.mean) ** 2 + part.sd**2 for part in self.parts)
        return math.sqrt(math.fsum(w * each for w, each in zip(self.weights, around, strict=True)))

    def sample(self, size: int) -> Floats:
        """Draw `size` values: float64 array (size,)."""
        rng = np.random.default_rng()
        of = rng.choice(len(self.parts), size, p=self.weights)
        means, sds = (np.array([getattr(part, what) for part in self.parts]) for what in ("mean", "sd"))
        return rng.normal(means[of], sds[of])

    def mean_gap(self) -> float:
        """E|x - y| of two independent draws x and y.

        x - y is a mixture of N(d, s^2) over all pairs of parts, and E|N(d, s^2)| = s sqrt(2/pi) e^(-d^2/2s^2)
        + d (1 - 2 Phi(-d/s)) (the folded normal distribution; Leone, Nelson and Nottingham 1961).
        """
        return math.fsum(
            w
            * (
                s * math.sqrt(2 / math.pi) * math.exp(-0.5 * (d / s) ** 2)
                + d * math.erf(d / s / math.sqrt(2))
            )
            for w, d, s in self._pairs()
        )

    def gap_above(self, distance: float) -> float:
        """P(|x - y| > distance) of two independent draws; distance at least 0."""
        far = float(exact(distance, "distance"))
        if far < 0:
            raise InvalidParameter("distance is below zero.", "Give a distance of at least 0.")
        return math.fsum(
            w * (math.erfc((far - d) / s / math.sqrt(2)) + math.erfc((far + d) / s / math.sqrt(2))) / 2
            for w, d, s in self._pairs()
        )

    def _pairs(self) -> list[tuple[float, float, float]]:
        both = list(zip(self.weights, self.parts, strict=True))
        return [(v * w, a.mean - b.mean, math.hypot(a.sd, b.sd)) for v, a in both for w, b in both]


@dataclass(frozen=True, eq=False)
class Empirical:
    """Records drawn with replacement from public data. Never give it private data: its draws reveal them.

    Args:
        records: an array or sequence; its first axis counts records. At least one.

    Raises:
        InvalidParameter: there is no record.

    Example:
        >>> set(Empirical([1, 2, 2]).sample(50).tolist()) <= {1, 2}
        True
    """

    records: npt.NDArray[Any] = field(repr=False)

    def __init__(self, records: npt.ArrayLike) -> None:
        array = np.asarray(records)
        if array.ndim == 0 or not len(array):
            raise InvalidParameter("There is no record to draw from.", "Give an array of public records.")
        object.__setattr__(self, "records", array)

    def sample(self, size: int) -> npt.NDArray[Any]:
        """Draw `size` records with replacement: an array of the records' dtype, (size, ...)."""
        return np.random.default_rng().choice(self.records, size, axis=0)


HEIGHTS: Final = Mixture([Normal(178, 7), Normal(162, 6.5)])
"""Heights of adults in cm: mean 170, standard deviation 10.470."""
