"""Discrete Laplace noise of a scale without end, exactly, one integer at a time.

Let the scale be n/d. U uniform from 0 to n - 1 is kept with probability e^(-U/n), and V counts the successes before the
first failure of Bernoulli(e^-1): then U + n V has probabilities proportional to e^(-x/n), and its quotient by d has
those of e^(-y d/n). With a sign, of which minus zero begins again, it is the discrete Laplace variable (Canonne, Kamath
and Steinke 2020, algorithm 2). No probability is rounded. V is drawn bit by bit (`noise.geometric`), so that how long a
draw takes says nothing about its size.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from discreet.noise import entropy
from discreet.noise.entropy import RandomSource, undivided
from discreet.noise.geometric import draw as draw_geometric
from discreet.noise.geometric import plan
from discreet.noise.large.choice import below, is_below
from discreet.rational import Number, exact, positive

_WIDTH: Final = 64


@undivided
def large_laplace(scale: Number) -> int:
    """Draw an exact discrete Laplace variable: P(k) proportional to e^(-|k|/scale), k any integer.

    Args:
        scale: positive rational.

    Raises:
        InvalidParameter: the scale is not positive.
        EntropyError: the operating system gave no randomness.

    Example:
        >>> isinstance(large_laplace(10**40), int)
        True
    """
    return draw(entropy.system(), positive(exact(scale, "scale"), "scale"))


def draw(source: RandomSource, scale: Fraction, width: int = _WIDTH, bits: int | None = None) -> int:
    """The same from a source of random words; tests choose narrow ones, and few bits of V at once."""
    n, d = scale.numerator, scale.denominator
    chosen = plan(Fraction(1), False, width, width, bits)
    while True:
        inside = below(source, n, width)
        if not is_below(source, 0, 1, Fraction(inside, n), 0, width):
            continue
        size = (inside + n * int(draw_geometric(source, chosen, 1)[0])) // d
        if not int(source.words(1, width)[0]) & 1:
            return size
        if size:
            return -size
