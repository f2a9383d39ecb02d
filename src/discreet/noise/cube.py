"""Noise that is as likely as its largest coordinate is small: P(y) proportional to e^(-max|y_j|/s), y integers.

Let q = e^(-1/s). Because q^m = (1 - q) (q^m + q^(m+1) + ...), the law is a mixture: draw a radius R with
P(R = r) proportional to (2r + 1)^d q^r, and then y uniformly from the (2R + 1)^d points of the cube {-R, ..., R}^d; a
point of largest coordinate m is in the cubes of all r >= m.

The radius. A sum R of d + 1 geometric variables has P(R = r) = (1 - q)^(d+1) q^r (r + 1) ... (r + d)/d!. Keep it with
probability (2R + 1)^d/((2R + 2) (2R + 4) ... (2R + 2d)), a product of d rational coins, else begin again. The number
of attempts is independent of the radius that is kept, and all but always one where s is large beside d^2.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from discreet.noise import entropy
from discreet.noise.entropy import RandomSource, undivided
from discreet.noise.geometric import draw as geometric_of
from discreet.noise.geometric import plan
from discreet.noise.large.choice import below

Integers = npt.NDArray[np.int64]


@undivided
def cube(scale: Fraction, count: int, dimensions: int) -> list[list[int]]:
    """Draw exact points (count, dimensions) with P(y) proportional to e^(-max|y_j|/scale), independent of each other.

    Args:
        scale: that was read already, at least 2^-10.
        count: how many points.
        dimensions: of each, at least 1.

    Raises:
        EntropyError: the operating system gave no randomness.
    """
    return [draw(entropy.system(), scale, dimensions) for _ in range(count)]


def draw(source: RandomSource, scale: Fraction, dimensions: int, width: int = 64) -> list[int]:
    """Return one point, from words of `width` bits; tests choose narrow ones."""
    planes = plan(scale, False, width)
    while True:
        radius = sum(geometric_of(source, planes, dimensions + 1).tolist())
        if accepted(source, radius, dimensions, width):
            return [below(source, 2 * radius + 1, width) - radius for _ in range(dimensions)]


def accepted(source: RandomSource, radius: int, dimensions: int, width: int = 64) -> bool:
    """Toss the coins of the module's text."""
    coins = [below(source, 2 * radius + 2 * i, width) <= 2 * radius for i in range(1, dimensions + 1)]
    return all(coins)


def chance(radius: int, dimensions: int) -> Fraction:
    """The chance that a radius is kept."""
    found = Fraction(1)
    for i in range(1, dimensions + 1):
        found *= Fraction(2 * radius + 1, 2 * radius + 2 * i)
    return found
