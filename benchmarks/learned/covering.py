"""How often the intervals of coefficients hold the truth: people drawn anew and noise drawn anew, many times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.learned.data import CENSUS
from discreet.learning import LinearRegression

WEIGHTS = (1.0, -2.0, 0.5)
INCOMES = (18.0, 90.0), (0.0, 20.0)
RISES, BASE, SPREAD = (400.0, 3000.0), 5000.0, 0.8
MOST_INCOME = 400_000.0


class Population(NamedTuple):
    """People to draw, the coefficients of least squares among all of them, and public bounds."""

    draw: Callable[[int, np.random.Generator], tuple[Any, Any]]
    truth: Any
    bounds: list[tuple[float, float]]
    target_bounds: tuple[float, float]


def normal() -> Population:
    """Leftovers of one variance, normal."""

    def draw(rows: int, rng: np.random.Generator) -> tuple[Any, Any]:
        x = rng.uniform(-2, 6, (rows, 3))
        x[:, 1] = 0.5 * x[:, 0] + 0.5 * x[:, 1]
        return x, x @ WEIGHTS + 4 + rng.normal(0, 1, rows)

    return Population(draw, np.array([*WEIGHTS, 4.0]), [(-2, 6)] * 3, (-15, 20))


def lognormal() -> Population:
    """Incomes by age and years: the larger they are expected to be, the further they lie off, most of them below."""

    def draw(rows: int, rng: np.random.Generator) -> tuple[Any, Any]:
        x = np.column_stack([rng.uniform(*ends, rows) for ends in INCOMES])
        income = (x @ RISES + BASE) * np.exp(rng.normal(-(SPREAD**2) / 2, SPREAD, rows))
        return x, np.minimum(income, MOST_INCOME)

    return Population(draw, _least_squares(*_expected()), [*INCOMES], (0, MOST_INCOME))


def _expected() -> tuple[Any, Any]:
    """Ages and years of a fine grid, and the mean of all incomes there, none above the most."""
    from scipy.special import ndtr

    steps = (np.arange(500) + 0.5) / 500
    x = np.stack(np.meshgrid(*(low + (high - low) * steps for low, high in INCOMES)), axis=-1).reshape(-1, 2)
    mean = x @ RISES + BASE
    far = np.log(MOST_INCOME / mean) / SPREAD
    return x, mean * ndtr(far - SPREAD / 2) + MOST_INCOME * ndtr(-far - SPREAD / 2)


def census(most: float = 200_000, names: tuple[str, ...] = ("age", "educ", "married")) -> Population:
    """Incomes of the census extract, by age, education and marriage; a draw is one with replacement."""
    known = {"age": (18.0, 95.0), "educ": (1.0, 16.0), "married": (0.0, 1.0)}
    rows = np.genfromtxt(CENSUS, delimiter=",", names=True)
    x = np.column_stack([np.clip(rows[name], *known[name]) for name in names])
    y = np.clip(rows["income"], 0, most)

    def draw(count: int, rng: np.random.Generator) -> tuple[Any, Any]:
        at = rng.integers(0, len(x), count)
        return x[at], y[at]

    return Population(draw, _least_squares(x, y), [known[name] for name in names], (0, most))


def _least_squares(x: Any, y: Any) -> Any:
    return np.linalg.lstsq(np.column_stack([x, np.ones(len(x))]), y, rcond=None)[0]


def coverage(
    population: Population, rows: int, epsilon: float, runs: int, confidence: float = 0.95
) -> tuple[Any, float, float]:
    """The share of intervals of each coefficient that hold, of fits with ends; their share; and their median width."""
    held, widths = [], []
    known: dict[str, Any] = {"bounds": population.bounds, "target_bounds": population.target_bounds}
    for run in range(runs):
        x, y = population.draw(rows, np.random.default_rng(run))
        ends = LinearRegression(epsilon, whole=True, **known).fit(x, y).intervals(confidence)
        if np.isfinite(ends).all():
            held.append((ends[:, 0] <= population.truth) & (population.truth <= ends[:, 1]))
            widths.append(ends[0, 1] - ends[0, 0])
    if not held:
        return np.ones(len(population.truth)), 0.0, float("inf")
    return np.mean(held, axis=0), len(held) / runs, float(np.median(widths))
