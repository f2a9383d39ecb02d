"""Put the values of a query onto a grid, exactly, before any noise is drawn.

Errors raised here depend on the values: these are building blocks, and the caller answers for giving them
finite numbers of the right kind. `discreet.protect` never passes anything else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidParameter
from discreet.mechanisms.arrays import take
from discreet.rational import exact

Steps: TypeAlias = npt.NDArray[np.int64]
BLOCK: Final = 1 << 18
"""How many values are read at a time."""

FARTHEST: Final = 1 << 62
"""Real values may lie this many grid steps from zero."""


def in_blocks(values: object, read: Callable[[object], Steps]) -> Iterator[tuple[slice, Steps]] | None:
    """A large array read onto its grid block by block, so that memory holds no second array of its size.

    Args:
        values: the values to read; anything but a large array of numbers is left to the caller.
        read: reads values, or raises; all of them are read once before this returns.

    Returns:
        For each block where it stands in the flat array, and its steps; None where there is no large array.
    """
    if type(values) is not np.ndarray or values.dtype.kind not in "iuf" or values.size <= BLOCK:
        return None
    flat = values.reshape(-1)
    places = [slice(start, start + BLOCK) for start in range(0, flat.size, BLOCK)]
    for place in places:  # any fault shows before any noise is drawn
        read(flat[place])
    return ((place, read(flat[place])) for place in places)


def gathered(
    shape: tuple[int, ...], blocks: Iterable[tuple[slice, Steps]], noisy: Callable[[Steps], Any], kind: Any
) -> npt.NDArray[Any]:
    """An array of the results of all blocks."""
    out = np.empty(shape, kind)
    flat = out.reshape(-1)
    for place, steps in blocks:
        flat[place] = noisy(steps)
    return out


def released(
    values: Any,
    read: Callable[[object], Steps],
    noise_for: Callable[[int], Callable[[Steps], Any]],
    whole: bool,
) -> Any:
    """Values with noise, block by block where the array is large: memory then holds the values and the answer alone.

    Args:
        values: a number, or numbers of any shape.
        read: reads values onto their grid, or raises before any noise is drawn.
        noise_for: given the number of values, the function that adds noise to steps.
        whole: whether the answer is of integers, rather than of floats.

    Returns:
        int or float for a single number, else int64 or float64 of the same shape.
    """
    blocks = in_blocks(values, read)
    if blocks is not None:
        return gathered(values.shape, blocks, noise_for(values.size), np.int64 if whole else np.float64)
    steps = read(values)
    noisy = noise_for(max(steps.size, 1))(steps)
    if not is_scalar(values):
        return noisy
    return int(noisy) if whole else float(noisy)


def is_scalar(values: object) -> bool:
    """Tell whether the answer is a single number."""
    if isinstance(values, (list, tuple)):
        return False
    return isinstance(values, (int, float)) or np.ndim(values) == 0  # type: ignore[arg-type]


def integers(values: object, fix: str) -> Steps:
    """Read integers, or floats that are whole, as int64 of the same shape.

    Raises:
        InvalidParameter: not whole (with `fix` as the remedy), not finite, outside int64, not numeric.
    """
    array = take(values)
    if array.dtype.kind == "f":
        array = _finite(array)
        if (array != np.floor(array)).any():
            raise InvalidParameter("A value is not a whole number.", fix)
        if (np.abs(array) >= 2.0**63).any():
            raise InvalidParameter("A value is outside int64.", "Clamp the values first.")
    elif array.dtype == object:
        rationals = [exact(v, "A value") for v in array.ravel().tolist()]
        if any(v.denominator != 1 for v in rationals):
            raise InvalidParameter("A value is not a whole number.", fix)
        return _int64([int(v) for v in rationals], (1 << 63) - 1, array.shape)
    elif array.dtype == np.uint64 and (array > np.uint64((1 << 63) - 1)).any():
        raise InvalidParameter("A value is outside int64.", "Clamp the values first.")
    return array.astype(np.int64)


def nearest(values: object, grid: Fraction) -> Steps:
    """Return floor(x/grid + 1/2) for each x, as int64 of the same shape; grid is a power of two.

    Halves go up, always. Rounding them to even would let two values one step apart land two steps apart,
    and the sensitivity that `Laplace` states would be wrong.

    Raises:
        InvalidParameter: not finite, not numeric, or more than 2^62 grid steps from zero.
    """
    array = take(values)
    if array.dtype.kind in "iu" and array.dtype != np.uint64:
        return _nearest_integers(array.astype(np.int64), grid)
    if array.dtype.kind != "f":
        half = Fraction(1, 2)
        rationals = [exact(v, "A value") for v in array.ravel().tolist()]
        return _int64([math.floor(v / grid + half) for v in rationals], FARTHEST, array.shape)
    with np.errstate(over="ignore", under="ignore"):
        scaled = _finite(array) / float(grid)  # exact: grid is a power of two; overflow is caught below
    if (np.abs(scaled) > float(FARTHEST)).any():
        raise _too_far()
    # scaled + 1/2 would round. The fraction above the floor is exact wherever it is near 1/2.
    floor = np.floor(scaled)
    steps: Steps = floor.astype(np.int64) + (scaled - floor >= 0.5)
    return steps


def _nearest_integers(array: Steps, grid: Fraction) -> Steps:
    finer, coarser = grid.denominator.bit_length() - 1, grid.numerator.bit_length() - 1
    if finer:
        limit = FARTHEST >> finer
        if ((array > limit) | (array < -limit)).any():
            raise _too_far()
        return array << min(finer, 62)
    # v/2^e + 1/2 rounded down is v >> e, and one more if the digit after the point is 1.
    half = array >> min(coarser - 1, 63) & 1 if coarser else np.zeros_like(array)
    steps: Steps = (array >> min(coarser, 63)) + half
    if (np.abs(steps // 2) > FARTHEST // 2).any():
        raise _too_far()
    return steps


def _finite(array: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    if not np.isfinite(array).all():
        raise InvalidParameter("A value is NaN or infinite.", "Drop or clamp such values first.")
    return array.astype(np.float64)


def _int64(steps: list[int], farthest: int, shape: tuple[int, ...]) -> Steps:
    if any(abs(step) > farthest for step in steps):
        raise _too_far()
    return np.array(steps, np.int64).reshape(shape)


def _too_far() -> InvalidParameter:
    return InvalidParameter(
        "A value is too far from zero.", "Clamp the values, or choose a coarser granularity."
    )
