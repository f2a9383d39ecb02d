"""Numbers that the steward computes, released with noise for a sensitivity that the steward vouches for.

Nothing is derived here: the L1 sensitivity is the caller's word, or a sampled one where the policy allows
random differential privacy. What is kept of the contract: the charge comes first, the noise is exact, the
answer carries its error, and it says whose word it rests on.

The numbers are read exactly, an integer as that integer, and the noise is added to integers without end, so that no
number is too far out to be answered. What is shown is the double next to the noisy number, and its interval is widened
by as much as that and the grid may have moved it.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import EngineError, InvalidParameter
from discreet.mechanisms import Laplace
from discreet.mechanisms import values as grid_values
from discreet.mechanisms.arrays import take
from discreet.noise import laplace
from discreet.rational import exact
from discreet.release.answer import Release

_FINE = 20
"""The grid is this many powers of two below the scale, so that rounding is far below the noise."""

_NEAR = 1 << 60
"""Numbers of so many steps are added up in 64 bits, others in Python's integers."""


def mechanism(sensitivity: Fraction, epsilon: Fraction) -> Laplace:
    """The Laplace mechanism on a grid that is fine for this scale.

    Raises:
        InvalidParameter: there is no noise of that scale.
    """
    scale = sensitivity / epsilon
    exponent = scale.numerator.bit_length() - scale.denominator.bit_length() - 1
    return Laplace(epsilon, sensitivity, Fraction(2) ** min(512, max(-512, exponent - _FINE)))


def answer(compute: Callable[[], Any], noise: Laplace, confidence: float, what: str, note: str) -> Release:
    """Compute the numbers, add the noise, and say what it is.

    Raises:
        EngineError: they could not be computed, or are not finite numbers. What was raised is withheld.
    """
    import pyarrow as pa

    try:
        values = take(compute())
        if values.ndim > 1 or not values.size:
            raise InvalidParameter("These are no numbers.")
        noisy = _with_noise(values.ravel(), noise)
    except Exception:
        noisy = None
    if noisy is None:  # raised here, so that no traceback leads to a value
        raise EngineError(
            "The numbers could not be computed, or are not a number or a row of finite numbers.",
            "The charge stays; try the function on invented data first.",
        )
    assert noise.granularity is not None
    grid = noise.granularity
    # A number is moved by half a step when it is put on the grid; from here on all is counted in half steps.
    width = int(Fraction(noise.error(Fraction(str(confidence)), len(noisy))) / grid * 2) + 1
    halves = 2 * noisy
    shown = _doubles(halves, grid / 2)
    columns = {"value": shown} if values.ndim == 0 else {"at": np.arange(len(shown)), "value": shown}
    low, high = (_doubles(halves + sign * width, grid / 2, sign * np.inf) for sign in (-1, 1))
    return Release(
        question=what,
        values=pa.table(columns),
        low={"value": pa.array(low)},
        high={"value": pa.array(high)},
        confidence=confidence,
        epsilon=noise.epsilon,
        notes=(f"hides one unit as far as its sensitivity holds: {note}",),
        made=dt.datetime.now(dt.UTC).replace(microsecond=0),
    )


def _with_noise(values: npt.NDArray[Any], noise: Laplace) -> npt.NDArray[Any]:
    """The numbers on the grid, in its steps, plus noise: int64 where they are near, else Python's integers.

    Raises:
        InvalidParameter: a value is no finite number.
    """
    assert noise.granularity is not None
    steps: npt.NDArray[Any]
    try:
        steps = grid_values.nearest(values, noise.granularity)
    except InvalidParameter:  # beyond 2^62 steps, or no number, at which exact() raises
        half = Fraction(1, 2)
        whole = [(exact(value) / noise.granularity + half).__floor__() for value in values.tolist()]
        steps = np.array(whole, object)
    drawn = laplace(noise.scale_for(len(steps)) / noise.granularity, len(steps))
    if any(abs(each).max() >= _NEAR for each in (steps, drawn)):
        steps = steps.astype(object)
    noisy: npt.NDArray[Any] = steps + drawn.astype(steps.dtype)
    return noisy


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
