"""How many people for a proportion: a trusted curator with Laplace noise against randomised response at home.

Curator: a proportion of n people moves by 1/n when one is replaced, so rms = sqrt(2)/(n epsilon). Randomised response:
each tells the truth with probability e^eps/(1 + e^eps); the unbiased estimate has the variance
e^eps/(n (e^eps - 1)^2) of the coins alone, for any answers. The error of drawing the n people from a larger
population, at most 1/(2 sqrt(n)), comes on top of both and is not counted here.
"""

from __future__ import annotations

import math

from discreet.planning import read
from discreet.rational import Number
from discreet.records import dataclass


@dataclass(frozen=True)
class SampleSizes:
    """Numbers of people for one rms error.

    Attributes:
        laplace: by the formula, for a trusted curator: sqrt(2)/(error epsilon).
        randomised_response: by the formula, without one: e^eps/(error^2 (e^eps - 1)^2).

    Example:
        >>> SampleSizes(laplace=141.4, randomised_response=9206.7).least_laplace
        142
    """

    laplace: float
    randomised_response: float

    @property
    def least_laplace(self) -> int:
        """The least whole number of people that keeps within the error."""
        return read.least_whole(self.laplace)

    @property
    def least_randomised_response(self) -> int:
        """The least whole number of people that keeps within the error."""
        return read.least_whole(self.randomised_response)


def sample_sizes(error: Number, epsilon: Number) -> SampleSizes:
    """How many people keep the rms error of a proportion at `error`.

    Args:
        error: root mean square error of the proportion, such as 0.01.
        epsilon: of each person.

    Example:
        >>> sizes = sample_sizes(0.01, 0.1)
        >>> round(sizes.laplace), round(sizes.randomised_response)
        (1414, 999167)
    """
    alpha, e = read.above_zero(error, "error"), read.epsilon(epsilon)
    return SampleSizes(math.sqrt(2) / (alpha * e), math.exp(-e) / (alpha * -math.expm1(-e)) ** 2)


@dataclass(frozen=True)
class ProportionError:
    """The rms errors of a proportion at a number of people.

    Attributes:
        laplace: sqrt(2)/(n epsilon).
        randomised_response: e^(eps/2)/(sqrt(n) (e^eps - 1)).

    Example:
        >>> ProportionError(laplace=0.6, randomised_response=2.0).useless
        True
    """

    laplace: float
    randomised_response: float

    @property
    def useless(self) -> bool:
        """Whether even the curator's error is at least 1/2, that of saying one half without asking anybody."""
        return self.laplace >= 0.5


def proportion_error(n: int, epsilon: Number) -> ProportionError:
    """The rms errors of a proportion of n people at an epsilon.

    With epsilon = 1/n the error is sqrt(2), of a number from 0 to 1: useless, and `useless` says so.

    Example:
        >>> found = proportion_error(1000, "1/1000")
        >>> round(found.laplace, 3), found.useless
        (1.414, True)
    """
    people, e = read.people(n), read.epsilon(epsilon)
    return ProportionError(
        math.sqrt(2) / (people * e), math.exp(-e / 2) / (math.sqrt(people) * -math.expm1(-e))
    )


def epsilon_for_proportion(error: Number, n: int) -> tuple[float, float]:
    """The least epsilon for an rms error with n people: (curator, randomised response).

    The second solves e^eps/(e^eps - 1)^2 = n error^2, that is 4 sinh(eps/2)^2 = 1/(n error^2).

    Example:
        >>> [round(e, 3) for e in epsilon_for_proportion(0.01, 9207)]
        [0.015, 1.0]
    """
    alpha, people = read.above_zero(error, "error"), read.people(n)
    return math.sqrt(2) / (people * alpha), 2 * math.asinh(1 / (2 * math.sqrt(people) * alpha))
