"""Reads the parameters of a plan: positive numbers, probabilities, numbers of people."""

from __future__ import annotations

import math

from discreet.errors import InvalidParameter
from discreet.rational import Number, decimal, epsilon_of, positive

SENSITIVITY = {"add_remove": 1, "replace_one": 2}
"""L1 sensitivity of a histogram, or of counts in any number of disjoint groups, when a unit has one row."""


LARGEST = 1e30
"""Numbers of a plan are from 1/LARGEST to this, so that squares and quotients of them are doubles."""
LARGEST_EPSILON = 1e6
"""A plan has an epsilon of at most this; the least noise that can be drawn has one of 1,024."""


def above_zero(value: Number, name: str) -> float:
    """A positive number as a float.

    Raises:
        InvalidParameter: zero, negative, not finite, no number, or outside 1e-30 to 1e30.
    """
    found = float(positive(decimal(value, name), name))
    if not 1 / LARGEST <= found <= LARGEST:
        raise InvalidParameter(f"{name} is outside 1e-30 to 1e30.", "Take another unit.")
    return found


def epsilon(value: Number) -> float:
    """An epsilon as a float.

    Raises:
        InvalidParameter: no positive number, or outside 1e-15 to 1e6.
    """
    found = float(epsilon_of(value))
    if not 1e-15 <= found <= LARGEST_EPSILON:
        raise InvalidParameter("epsilon is outside 1e-15 to 1e6.", "Choose one nearer to 1.")
    return found


def probability(value: Number, name: str) -> float:
    """A number strictly between 0 and 1.

    Raises:
        InvalidParameter: outside.
    """
    found = float(decimal(value, name))
    if not 0 < found < 1:
        raise InvalidParameter(f"{name} is not strictly between 0 and 1.", f"Give {name}=0.05, say.")
    return found


def people(value: object, name: str = "n") -> int:
    """A positive whole number.

    Raises:
        InvalidParameter: it is another value.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidParameter(f"{name} is not a positive whole number.", f"Give {name}=1000, say.")
    return value


def sensitivity_of(neighbours: str) -> int:
    """The L1 sensitivity of counts in disjoint groups: 1 when a unit is added or removed, 2 when it is replaced.

    Raises:
        InvalidParameter: it is neither add_remove nor replace_one.
    """
    if neighbours not in SENSITIVITY:
        raise InvalidParameter('neighbours is neither "add_remove" nor "replace_one".', "Choose one of them.")
    return SENSITIVITY[neighbours]


def least_whole(value: float) -> int:
    """The least whole number not below a value that floats may have put a little above one.

    Example:
        >>> least_whole(141.42), least_whole(100.00000000000001)
        (142, 100)
    """
    return max(1, math.ceil(value * (1 - 1e-12)))
