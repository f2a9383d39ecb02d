"""Numbers that the steward computes, released with noise for a sensitivity that the steward vouches for.

Nothing is derived here: the L1 sensitivity is the caller's word, or a sampled one where the policy allows
random differential privacy. The rest of the contract is kept: the charge comes first, the noise is exact, the
answer carries its error, and it says whose word it rests on.

The numbers are read exactly, an integer as that integer, and the noise is added to integers without end, so that no
number is too far out to be answered. The double next to the noisy number is shown, and its interval is widened by as
much as that rounding and the grid may have moved it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import EngineError, InvalidParameter
from discreet.mechanisms.arrays import take
from discreet.mechanisms.numeric.unbounded_laplace import UnboundedLaplace
from discreet.records import dataclass
from discreet.release.answer import Release
from discreet.release.bill import charged_at

_FINE = 20
"""The grid is this many powers of two below the scale, so that rounding is far below the noise."""


@dataclass(frozen=True)
class Numbers:
    """Noisy numbers.

    Attributes:
        steps: of the grid (d,): int64 or Python's integers.
        scalar: whether it is one number and no row.
    """

    steps: npt.NDArray[Any]
    scalar: bool


def mechanism(sensitivity: Fraction, epsilon: Fraction) -> UnboundedLaplace:
    """The Laplace mechanism on a grid that is fine for this scale.

    Raises:
        InvalidParameter: there is no noise of that scale.
    """
    scale = sensitivity / epsilon
    exponent = scale.numerator.bit_length() - scale.denominator.bit_length() - 1
    return UnboundedLaplace(epsilon, sensitivity, Fraction(2) ** min(512, max(-512, exponent - _FINE)))


def computed(compute: Callable[[], Any], draw: Callable[[Any], Any]) -> Numbers:
    """Compute the numbers, and have the noise drawn on them.

    Args:
        compute: returns them.
        draw: given an array (d,), returns the result of `UnboundedLaplace.release`.

    Raises:
        EngineError: they could not be computed, or are not finite numbers. The error that was raised is withheld.
    """
    try:
        values = take(compute())
        if values.ndim > 1 or not values.size:
            raise InvalidParameter("These are no numbers.")
        noisy = Numbers(draw(values.ravel()), values.ndim == 0)
    except Exception:
        noisy = None
    if noisy is None:  # raised here, so that no traceback leads to a value
        raise EngineError(
            "The numbers could not be computed, or are not a number or a row of finite numbers.",
            "The charge stays; try the function on invented data first.",
        )
    return noisy


def answer(
    numbers: Numbers, noise: UnboundedLaplace, confidence: float, statistic: str, note: str
) -> Release:
    """Noisy numbers with their intervals, and their description."""
    import pyarrow as pa

    assert noise.granularity is not None
    grid, noisy = noise.granularity, numbers.steps
    # A number is moved by half a step when it is put on the grid; from here on all is counted in half steps.
    width = int(Fraction(noise.error(Fraction(str(confidence)), len(noisy))) / grid * 2) + 1
    halves = 2 * noisy
    shown = _doubles(halves, grid / 2)
    columns = {"value": shown} if numbers.scalar else {"at": np.arange(len(shown)), "value": shown}
    low, high = (_doubles(halves + sign * width, grid / 2, sign * np.inf) for sign in (-1, 1))
    return Release(
        question=statistic,
        values=pa.table(columns),
        low={"value": pa.array(low)},
        high={"value": pa.array(high)},
        confidence=confidence,
        epsilon=noise.epsilon,
        notes=(f"hides one unit as far as its sensitivity holds: {note}",),
        made=charged_at(),
    )


def _doubles(
    counts: npt.NDArray[Any], unit: Fraction, towards: float | None = None
) -> npt.NDArray[np.float64]:
    """The doubles nearest to so many units, a power of two; with `towards`, none that is short of them."""
    if counts.dtype == object:
        exactly = [count * unit for count in counts]
        near = np.array([_double(value) for value in exactly])
        if towards is not None:
            pairs = [(Fraction(double), value) for double, value in zip(near, exactly, strict=True)]
            short = [double < value if towards > 0 else double > value for double, value in pairs]
            near = np.where(short, np.nextafter(near, towards), near)
        return near
    near = counts.astype(np.float64)
    if towards is not None:
        back = near.astype(np.int64)
        near = np.where(back < counts if towards > 0 else back > counts, np.nextafter(near, towards), near)
    doubles: npt.NDArray[np.float64] = near * float(unit)
    return doubles


def _double(value: Fraction) -> float:
    """The nearest double; at the end of their range, the last one."""
    try:
        return float(value)
    except OverflowError:
        return math.copysign(float(np.finfo(np.float64).max), 1 if value > 0 else -1)
