"""Read the parameters that the samplers share."""

from __future__ import annotations

import operator
from fractions import Fraction
from typing import Final, SupportsIndex, TypeAlias

from discreet.errors import InvalidParameter
from discreet.rational import exact

Size: TypeAlias = int | tuple[int, ...] | None
"""The shape of the draws; None for a single value."""

SMALLEST: Final = Fraction(1, 1 << 10)
LARGEST: Final = Fraction(1 << 56)


def read_scale(scale: object, name: str = "scale") -> Fraction:
    """Read a scale at its exact value.

    Raises:
        InvalidParameter: not a number, or outside 2^-10 to 2^56.
    """
    value = exact(scale, name)
    if not SMALLEST <= value <= LARGEST:
        raise InvalidParameter(f"{name} is outside 2^-10 to 2^56.", "Choose parameters that bring it there.")
    return value


def read_size(size: Size) -> tuple[int, ...]:
    """Read a shape; None is the shape () of a single value.

    Raises:
        InvalidParameter: not an int or a tuple of ints, or negative.
    """
    if size is None:
        return ()
    try:
        shape = tuple(map(_index, size)) if isinstance(size, (tuple, list)) else (_index(size),)
    except TypeError:
        raise InvalidParameter("size is not a shape.", "Give an int, a tuple of ints or None.") from None
    if any(length < 0 for length in shape):
        raise InvalidParameter("size is negative.", "Give lengths of zero or more.")
    return shape


def _index(length: SupportsIndex) -> int:
    if isinstance(length, bool):
        raise TypeError
    return operator.index(length)
