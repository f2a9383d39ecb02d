"""The Laplace mechanism, in exact integers.

Integers. With f integer-valued and of L1 sensitivity S, f(D) + Z with Z discrete Laplace of scale
b = S/epsilon in each coordinate is epsilon-differentially private: for neighbours D and D' and any
output y, P(y|D)/P(y|D') = exp((|y - f(D')|_1 - |y - f(D)|_1)/b) <= exp(|f(D) - f(D')|_1/b) <= e^epsilon by
the triangle inequality (Dwork, McSherry, Nissim, Smith 2006; Ghosh, Roughgarden, Sundararajan 2009).

Reals. Each coordinate is rounded to the grid of granularity g before the noise: t = floor(x/g + 1/2). As
floor(a + h) - floor(a) <= ceil(h), a coordinate that moves by y_i g moves by at most ceil(y_i) steps. In a
vector of d coordinates with sum y_i <= S/g, sum ceil(y_i) < S/g + d, because ceil(y) < y + 1; the left
side is an integer, so it is at most ceil(S/g) + d - 1. It is attained: let d - 1 coordinates cross a
rounding boundary by next to nothing and the last one take the rest. So the integer vector t has that L1
sensitivity, and the first paragraph applies to it. The output lies on the grid: the low bits of a float,
which betray the input under naive sampling (Mironov 2012), say nothing.

Sums saturate at +-(2^63 - 1) steps, as a function of the exact sum: post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, SupportsIndex

from discreet.errors import InvalidParameter
from discreet.mechanisms import values as grid_values
from discreet.mechanisms.numeric.laplace_error import ExpectedLaplaceError
from discreet.mechanisms.parameters import read_confidence, read_count, read_granularity, read_sensitivity
from discreet.noise import add_laplace
from discreet.noise.digits import enclose_exp
from discreet.noise.distribution import DiscreteLaplace
from discreet.noise.parameters import read_scale
from discreet.rational import Number, decimal, epsilon_of
from discreet.records import dataclass, field

if TYPE_CHECKING:
    from discreet.accounting.events import Event, Neighbours


@dataclass(frozen=True)
class Laplace:
    """Release numbers with discrete Laplace noise of scale sensitivity/epsilon.

    Privacy: one call of `release` is epsilon-differentially private (pure), for all values, if they
    come from a function whose L1 sensitivity over neighbouring data sets is at most `sensitivity`.
    That premise is the caller's to answer for. Source and proof: the module's text.

    A vector counts as one release: `sensitivity` is that of all coordinates together, the sum over all of
    them of the change that one unit can make. If it is known for each coordinate only, it is `l1.vector` of those
    bounds: five counts that one person can all change by 1 have sensitivity 5, not 1. A sequence is refused
    in its place.

    Args:
        epsilon: positive rational; a float is its shortest decimal, so 0.1 is 1/10.
        sensitivity: positive rational, in the unit of the values, read in the same way.
        granularity: None for integer values; for reals the grid, a power of two from 2^-512 to 2^512
            in the unit of the values. A fine choice is about scale/2^20.

    Raises:
        InvalidParameter: a parameter outside its range, or a scale outside 2^-10 to 2^56 grid steps.

    Example:
        >>> count = Laplace(epsilon="1/10")
        >>> count.scale, count.error(0.95)
        (Fraction(10, 1), 30)
        >>> isinstance(count.release(1234), int)
        True
        >>> mean = Laplace(0.1, sensitivity=0.02, granularity=2**-22)
        >>> (mean.release([0.25, 0.5]) * 2**22 % 1 == 0).all()
        np.True_
    """

    epsilon: Fraction
    sensitivity: Fraction
    granularity: Fraction | None
    _grid: Fraction = field(init=False, repr=False, compare=False)

    def __init__(self, epsilon: Number, sensitivity: Number = 1, granularity: Number | None = None) -> None:
        grid = read_granularity(granularity)
        object.__setattr__(self, "epsilon", epsilon_of(epsilon))
        object.__setattr__(self, "sensitivity", read_sensitivity(sensitivity))
        object.__setattr__(self, "granularity", grid)
        object.__setattr__(self, "_grid", Fraction(1) if grid is None else grid)
        read_scale(self.scale / self._grid, "sensitivity/epsilon, in grid steps,")

    @property
    def scale(self) -> Fraction:
        """The scale of the noise of a single number, in the unit of the values."""
        return self.scale_for(1)

    def scale_for(self, d: int) -> Fraction:
        """The scale of the noise of each coordinate of a vector of d, in the unit of the values.

        For integers it does not depend on d; for reals rounding adds d - 1 grid steps to the sensitivity.

        Raises:
            InvalidParameter: d is not a positive int.
        """
        count = _count(d)
        if self.granularity is None:
            return self.sensitivity / self.epsilon
        return (math.ceil(self.sensitivity / self._grid) + count - 1) * self._grid / self.epsilon

    @property
    def loss(self) -> Fraction:
        """The privacy loss of one release: pure epsilon."""
        return self.epsilon

    def event(self, neighbours: Neighbours) -> Event:
        """The event to price: for integers the noise itself, for reals, whose rounding depends on d, its epsilon.

        Args:
            neighbours: those for which the sensitivity holds.
        """
        from discreet.accounting.events import LaplaceNoise, Released

        if self.granularity is not None:
            return Released(self.epsilon, neighbours=neighbours)
        grid = 1 if self.sensitivity.denominator == 1 else None
        return LaplaceNoise(self.scale, self.sensitivity, grid, neighbours=neighbours)

    @property
    def distribution(self) -> DiscreteLaplace:
        """The distribution of the noise of a single number."""
        return self.distribution_for(1)

    def distribution_for(self, d: int) -> DiscreteLaplace:
        """The distribution of the noise of each coordinate of a vector of d."""
        return DiscreteLaplace(self.scale_for(d), self._grid)

    def release(self, values: Any) -> Any:
        """Return the values with noise; one call is one epsilon, however many values.

        Args:
            values: a number, or an array or sequence of them of any shape. Without granularity: integers,
                or floats that are whole. With granularity: ints, floats, Fractions; rounded to the grid.

        Returns:
            Without granularity int, or an int64 array of the same shape. With granularity float, or a
            float64 array of the same shape, every entry exactly a multiple of the granularity.

        Raises:
            InvalidParameter: a value is NaN, infinite, a boolean, not a number, outside int64, more than
                2^62 grid steps from zero, or not whole without granularity. No noise was drawn.
            EntropyError: the operating system gave no randomness.
        """
        return grid_values.released(
            values,
            self._steps,
            lambda d: partial(self._noisy, scale=self._drawn_at(d)),
            self.granularity is None,
        )

    def _steps(self, values: object) -> grid_values.Steps:
        if self.granularity is None:
            return grid_values.integers(values, self._advice())
        return grid_values.nearest(values, self.granularity)

    def _drawn_at(self, d: int) -> Fraction:
        return read_scale(self.scale_for(d) / self._grid, "The scale, in grid steps,")

    def _noisy(self, steps: grid_values.Steps, scale: Fraction) -> Any:
        noisy = add_laplace(steps, scale)
        # An integer of 64 bits rounds to 53 here, which leaves it an integer: still on the grid.
        return noisy if self.granularity is None else noisy * float(self.granularity)

    def error(self, confidence: Number = 0.95, d: int = 1) -> int | float:
        """Half-width of the interval of one coordinate of a vector of d, in the unit of the values.

        The least multiple m of the grid with P(|noise| <= m) >= confidence, decided in exact arithmetic.
        For reals the rounding of the value itself, at most granularity/2, comes on top.

        Raises:
            InvalidParameter: a confidence that is not strictly between 0 and 1, or a d below 1.
        """
        return self._half_width(confidence, d, 1)

    def half_width(self, confidence: Number = 0.95, d: int = 1) -> int | float:
        """The same as `error`, by the name that every mechanism has."""
        return self.error(confidence, d)

    def max_error(self, d: int, confidence: Number = 0.95) -> int | float:
        """The least multiple m of the grid with P(all |noise| of d coordinates <= m) >= confidence.

        Arguments, unit and errors are those of `error`.
        """
        return self._half_width(confidence, d, _count(d))

    def expected(self, d: int = 1) -> ExpectedLaplaceError:
        """Expected errors of a vector of d: mean, mean square, sum and largest, of the continuous formulas.

        Raises:
            InvalidParameter: d is not a positive int.

        Example:
            >>> round(Laplace(0.1, sensitivity=2).expected(d=3143).mean_max, 2)
            172.61
        """
        return ExpectedLaplaceError(self.scale_for(d), _count(d))

    def loss_of(self, output: Any, one: Any, other: Any) -> Fraction:
        """The privacy loss of one output: ln of its probability on one data set over that on the other, exactly.

        It is the sum of (|output - other| - |output - one|)/scale over the coordinates, from -epsilon to epsilon
        when one and other are answers to neighbours. For the discrete law all three are meant on the grid.

        Args:
            output: a number, or a sequence of d of them; a float is its shortest decimal.
            one: the answer on the data set, in the same form.
            other: the answer on a neighbour of it.

        Raises:
            InvalidParameter: not finite numbers, or different lengths.

        Example:
            >>> Laplace(epsilon=0.5).loss_of(38.2, one=37.9, other=38.9)
            Fraction(1, 5)
        """
        sides = [
            side if isinstance(side, Iterable) and not isinstance(side, str) else [side]
            for side in (output, one, other)
        ]
        y, here, there = ([decimal(x, "A value") for x in side] for side in sides)
        if not len(y) == len(here) == len(there):
            raise InvalidParameter(
                "The answers have different lengths.", "Give one number for each coordinate."
            )
        nearer = sum((abs(x - b) - abs(x - a) for x, a, b in zip(y, here, there, strict=True)), Fraction(0))
        return nearer / self.scale_for(len(y))

    def _half_width(self, confidence: Number, d: int, together: int) -> int | float:
        level = read_confidence(confidence)
        scale = self.scale_for(d) / self._grid
        steps = least_half_width(scale, together, level)
        return steps if self.granularity is None else _upward(steps * self.granularity)

    def _advice(self) -> str:
        exponent = math.floor(math.log2(self.scale)) - 20
        return f"Round the values, or give the mechanism a grid for reals, granularity=2**{exponent}."


def least_half_width(scale: Fraction, together: int, level: Fraction) -> int:
    """The least m with P(all |Z| of so many discrete Laplace variables <= m) >= level, decided in exact arithmetic."""
    return _least(lambda m: _covers(scale, m, together, level), _guess(scale, together, level))


def _count(d: SupportsIndex) -> int:
    return read_count(d, "d", "Give the number of coordinates.")


def _covers(scale: Fraction, m: int, together: int, level: Fraction) -> bool:
    """Whether P(|Z| <= m)^together >= level is proven; P(|Z| > m) = 2 q^(m+1)/(1 + q), q = e^(-1/scale)."""
    precision = 192 + together.bit_length() + level.denominator.bit_length()
    unit = 1 << precision
    _, tail = enclose_exp((m + 1) / scale, precision)
    least, _ = enclose_exp(1 / scale, precision)
    inside = max(0, unit - -(-2 * tail * unit // (unit + least)))  # rounded down, as is each product below
    power = unit
    for digit in f"{together:b}":
        power = power * power >> precision
        if digit == "1":
            power = power * inside >> precision
    return power * level.denominator >= level.numerator << precision


def _guess(scale: Fraction, together: int, level: Fraction) -> int:
    """About the half-width; only the speed of `_least` depends on it."""
    return float_half_width(max(float(scale), 1e-300), max(-math.expm1(math.log(level) / together), 1e-300))


def float_half_width(scale: float, outside: float) -> int:
    """The least m with P(|Z| > m) <= outside for a discrete Laplace variable Z, in floats, within parts in 10^12.

    P(|Z| > m) = 2 q^(m+1)/(1 + q) with q = e^(-1/scale).
    """
    m = scale * math.log(2 / (1 + math.exp(-1 / scale)) / outside) - 1
    return max(0, math.ceil(m - 1e-12))


def _least(holds: Callable[[int], bool], guess: int) -> int:
    """The least m >= 0 with holds(m), for a condition that stays true once it is."""
    step = 1
    low, high = guess - 1, guess
    while not holds(high):
        low, high, step = high, high + step, 2 * step
    while low >= 0 and holds(low):
        low, high, step = low - step, low, 2 * step
    low = max(low, -1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _upward(value: Fraction) -> float:
    nearest = float(value)
    return nearest if nearest >= value else math.nextafter(nearest, math.inf)
