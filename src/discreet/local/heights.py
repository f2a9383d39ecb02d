"""The height experiment: 500 people report their heights with Laplace noise; how far off is the mean?

Each person adds noise of scale b = sensitivity/epsilon, so the mean of n reports is off by the mean of n
Laplace variables: about normal with standard deviation sqrt(2/n) b, and E|error| about 2 b/sqrt(pi n), which
is .0505 b for 500 people.

The sensitivities are guesses of how far apart two people are: E|x - y| = 11.99 cm, and one and two standard
deviations more. A report hides a difference of that size with epsilon; two people who are further apart, as
43.7 % of pairs are at 11.99, are hidden less. It is local differential privacy only where heights are clamped to
bounds of that width, as `LocalNode` does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Final

import numpy as np

from discreet.errors import InvalidParameter
from discreet.noise import laplace
from discreet.rational import Number, decimal, epsilon_of, positive
from discreet.records import dataclass
from discreet.sensitivity import HEIGHTS, Population
from discreet.sensitivity.sizes import whole_number

SENSITIVITIES: Final = tuple(round(HEIGHTS.mean_gap() + more * HEIGHTS.sd, 2) for more in range(3))
"""E|x - y| of two people, and one and two standard deviations more: 11.99, 22.46 and 32.93 cm."""
LOWEST, HIGHEST, PLACES = 0.001, 3.0, 25
_GRID: Final = Fraction(1, 1 << 30)


@dataclass(frozen=True)
class Point:
    """One point of the curve.

    Attributes:
        sensitivity: in cm.
        epsilon: of one report.
        scale: b = sensitivity/epsilon, in cm.
        error: the mean of |estimate - mean of the people| over the rounds, in cm.
        expected: the error by the formula, 2 b/sqrt(pi n), in cm.

    Example:
        >>> height_experiment(epsilons=[1], sensitivities=[10], rounds=1).points[0].scale
        10.0
    """

    sensitivity: float
    epsilon: float
    scale: float
    error: float
    expected: float


@dataclass(frozen=True)
class HeightExperiment:
    """A run and its results.

    Attributes:
        people: how many people reported.
        rounds: how often, for each point.
        mean: the mean height of these people, in cm.
        points: the curves, by sensitivity and then epsilon.

    Example:
        >>> run = height_experiment(epsilons=[0.1, 1], rounds=1)
        >>> run.people, len(run.points), 160 < run.mean < 180
        (500, 6, True)
    """

    people: int
    rounds: int
    mean: float
    points: tuple[Point, ...]

    @property
    def ratio(self) -> float:
        """The mean of error/scale over all points, about .0505 for 500 people."""
        return math.fsum(point.error / point.scale for point in self.points) / len(self.points)


def height_experiment(
    people: int = 500,
    rounds: int = 100,
    *,
    epsilons: Sequence[Number] | None = None,
    sensitivities: Sequence[Number] = SENSITIVITIES,
    population: Population = HEIGHTS,
    progress: Callable[[int, int], None] | None = None,
) -> HeightExperiment:
    """Run it.

    Args:
        people: how many people report, at least 1.
        rounds: how often, at least 1; the mean error of 100 rounds is off by about 8 %.
        epsilons: of a report; by default 25 from .001 to 3, evenly on a logarithmic axis.
        sensitivities: in the unit of the population.
        population: the source of the people.
        progress: called with the points done and the points wanted.

    Raises:
        InvalidParameter: a parameter is out of range.

    Example:
        >>> run = height_experiment(rounds=400, epsilons=[0.1, 1])
        >>> [round(point.expected, 2) for point in run.points]
        [6.05, 0.61, 11.33, 1.13, 16.62, 1.66]
        >>> 0.04 < run.ratio < 0.06
        True
    """
    whole_number(people, "people", 1, 10_000_000)
    whole_number(rounds, "rounds", 1, 10_000_000)
    if epsilons is None:
        epsilons = [float(f"{each:.3g}") for each in np.geomspace(LOWEST, HIGHEST, PLACES)]
    losses = [epsilon_of(each) for each in epsilons]
    sizes = [positive(decimal(each, "sensitivity"), "sensitivity") for each in sensitivities]
    if not losses or not sizes:
        raise InvalidParameter("There is no epsilon or no sensitivity.", "Give at least one of each.")
    heights = np.asarray(population.sample(people), np.float64)
    points: list[Point] = []
    for size in sizes:
        for loss in losses:
            scale = size / loss
            error = _error(heights, scale, rounds)
            expected = 2 * float(scale) / math.sqrt(math.pi * people)
            points.append(Point(float(size), float(loss), float(scale), error, expected))
            if progress is not None:
                progress(len(points), len(sizes) * len(losses))
    return HeightExperiment(people, rounds, float(heights.mean()), tuple(points))


def _error(heights: np.ndarray[tuple[int], np.dtype[np.float64]], scale: Fraction, rounds: int) -> float:
    """The mean error of the mean of noisy reports."""
    at_once = max(1, (1 << 20) // len(heights))
    errors = []
    for start in range(0, rounds, at_once):
        shape = (min(at_once, rounds - start), len(heights))
        reports = heights + laplace(scale / _GRID, shape) * float(_GRID)
        errors.append(np.abs(reports.mean(axis=1) - heights.mean()))
    return float(np.concatenate(errors).mean())
