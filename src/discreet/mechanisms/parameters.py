"""Read the parameters that mechanisms share."""

from __future__ import annotations

import operator
from fractions import Fraction
from typing import SupportsIndex

import numpy as np

from discreet.errors import InvalidParameter
from discreet.rational import Number, decimal, epsilon_of, exact, positive

_FINEST, _COARSEST = -512, 512


def read_sensitivity(sensitivity: object) -> Fraction:
    """Read a sensitivity: a positive rational, a float as its shortest decimal.

    Raises:
        InvalidParameter: zero, negative, not finite, or a sequence: one number is meant.
    """
    if isinstance(sensitivity, (list, tuple, np.ndarray)) and np.ndim(sensitivity):
        raise InvalidParameter(
            "sensitivity is a sequence; one number for all coordinates together is meant.",
            "Add the bounds of the coordinates up with l1.vector.",
        )
    return positive(decimal(sensitivity, "sensitivity"), "sensitivity")


def read_coin_epsilon(epsilon: Number) -> Fraction:
    """Read an epsilon of coins, from 2^-30 to 32: beyond, their probabilities are 1/2 or 1 to all digits of a float.

    The coins themselves would be exact everywhere; estimates and their errors are floats.

    Raises:
        InvalidParameter: outside that range.
    """
    value = epsilon_of(epsilon)
    if not Fraction(1, 1 << 30) <= value <= 32:
        raise InvalidParameter("epsilon is outside 2^-30 to 32.", "Choose one in that range.")
    return value


def read_granularity(granularity: Number | None) -> Fraction | None:
    """Read the grid for reals: a power of two from 2^-512 to 2^512, or None for integers.

    Raises:
        InvalidParameter: not a power of two, or outside the range.
    """
    if granularity is None:
        return None
    grid = positive(exact(granularity, "granularity"), "granularity")
    exponent = grid.numerator.bit_length() - grid.denominator.bit_length()
    if grid != Fraction(2) ** exponent or not _FINEST <= exponent <= _COARSEST:
        raise InvalidParameter(
            "granularity is not a power of two from 2^-512 to 2^512.", "Give 2**-10, say, or 1."
        )
    return grid


def read_count(value: SupportsIndex, name: str, fix: str, least: int = 1) -> int:
    """Read an int of at least `least`.

    Raises:
        InvalidParameter: not an int, a boolean, or below `least`.
    """
    try:
        count = operator.index(value)
    except TypeError:
        count = least - 1
    if count < least or isinstance(value, bool):
        kind = "a positive int" if least == 1 else f"an int of {least} or more"
        raise InvalidParameter(f"{name} is not {kind}.", fix)
    return count


def read_confidence(confidence: Number) -> Fraction:
    """Read a confidence level strictly between 0 and 1; a float is its shortest decimal.

    Raises:
        InvalidParameter: outside.
    """
    level = decimal(confidence, "confidence")
    if not 0 < level < 1:
        raise InvalidParameter("confidence is not strictly between 0 and 1.", "Give 0.95, say.")
    return level


def read_flag(value: object, name: str) -> bool:
    """Read True or False and nothing else: a string that means no must not switch noise off.

    Raises:
        InvalidParameter: not a bool.
    """
    if not isinstance(value, bool):
        raise InvalidParameter(f"{name} is not True or False.", "Give one of them.")
    return value
