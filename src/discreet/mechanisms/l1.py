"""L1 sensitivities: how far the answer moves between neighbours, summed over all its coordinates.

They are upper bounds over all pairs of neighbouring data sets, never computed from the data at hand. `Laplace` takes
the sensitivity of the whole vector: the change by one unit in all coordinates together. Where only a bound for each
coordinate is known, `vector` adds them up.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Literal, get_args

from discreet.errors import InvalidParameter
from discreet.mechanisms.parameters import read_count
from discreet.rational import Number, decimal

Neighbours = Literal["add_remove", "replace_one"]
"""Which data sets are neighbours: one unit more or less, or one unit exchanged."""


def distance(one: Iterable[Number], other: Iterable[Number]) -> Fraction:
    """The L1 distance of two answers, exactly: the sum of |one_i - other_i|.

    Raises:
        InvalidParameter: different lengths, or an entry that is not a finite number.

    Example:
        >>> distance([1, 1, 1, 1, 1], [0, 0, 0, 0, 0])
        Fraction(5, 1)
    """
    first, second = ([decimal(x, "An entry") for x in side] for side in (one, other))
    if len(first) != len(second):
        raise InvalidParameter("The answers have different lengths.", "Compare answers to one question.")
    return sum((abs(a - b) for a, b in zip(first, second, strict=True)), Fraction(0))


def vector(each: Iterable[Number]) -> Fraction:
    """The sensitivity of a vector whose i-th coordinate moves by at most each[i]: their sum.

    It is the sensitivity that `Laplace` wants for a vector, and is right even if one unit can move all coordinates at
    once.

    Raises:
        InvalidParameter: an entry that is negative or not a finite number, or no entry above zero.

    Example:
        >>> vector([1] * 5), vector(["1/2", 3])
        (Fraction(5, 1), Fraction(7, 2))
    """
    bounds = [decimal(bound, "A sensitivity") for bound in each]
    if any(bound < 0 for bound in bounds) or not any(bounds):
        raise InvalidParameter("A sensitivity is negative, or all are zero.", "Give upper bounds.")
    return sum(bounds, Fraction(0))


def count(most: int = 1, neighbours: Neighbours = "add_remove") -> Fraction:
    """The sensitivity of one count to which a unit adds at most `most` rows: most, whichever the neighbours.

    Example:
        >>> count(), count(most=3)
        (Fraction(1, 1), Fraction(3, 1))
    """
    _known(neighbours)
    return Fraction(read_count(most, "most", "Give how many rows of a unit count."))


def histogram(neighbours: Neighbours, most: int = 1) -> Fraction:
    """The sensitivity of all the bins of a histogram together, in which a unit is counted at most `most` times.

    `most` when neighbours add or remove a unit, twice that when they replace one: a row leaves one bin and
    enters another. The number of bins does not matter.

    Raises:
        InvalidParameter: neighbours of another kind, or most not a positive int.

    Example:
        >>> histogram("add_remove"), histogram("replace_one")
        (Fraction(1, 1), Fraction(2, 1))
    """
    return _known(neighbours) * Fraction(read_count(most, "most", "Give how often a unit is counted."))


def proportion(n: int) -> Fraction:
    """The sensitivity of a proportion of n rows, n public, when neighbours replace a row: 1/n.

    Example:
        >>> proportion(200)
        Fraction(1, 200)
    """
    return average(0, 1, n)


def average(low: Number, high: Number, n: int) -> Fraction:
    """The sensitivity of the average of n values in [low, high], n public, when neighbours replace one.

    It is (high - low)/n, for values that are clamped to the bounds. When n is private, release a sum and a
    count instead.

    Raises:
        InvalidParameter: bounds that are not finite or not in order, or n not a positive int.

    Example:
        >>> average(0, 100, 400)
        Fraction(1, 4)
    """
    rows = read_count(n, "n", "Give the public number of rows.")
    width = decimal(high, "high") - decimal(low, "low")
    if width <= 0:
        raise InvalidParameter("low is not below high.", "Give the bounds in order.")
    return width / rows


def total(low: Number, high: Number, neighbours: Neighbours = "add_remove") -> Fraction:
    """The sensitivity of a sum of values in [low, high], one of each unit.

    The larger of |low| and |high| when neighbours add or remove a unit; high - low when they replace one.

    Raises:
        InvalidParameter: bounds that are not finite or not in order.

    Example:
        >>> total(-10, 200), total(100, 110, "replace_one")
        (Fraction(200, 1), Fraction(10, 1))
    """
    least, most = decimal(low, "low"), decimal(high, "high")
    if least >= most:
        raise InvalidParameter("low is not below high.", "Give the bounds in order.")
    return most - least if _known(neighbours) == 2 else max(abs(least), abs(most))


def _known(neighbours: Neighbours) -> int:
    if neighbours not in get_args(Neighbours):
        raise InvalidParameter("neighbours is not known.", 'Give "add_remove" or "replace_one".')
    return 2 if neighbours == "replace_one" else 1
