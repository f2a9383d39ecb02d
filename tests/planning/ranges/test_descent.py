"""The search for the least value: it finds it, it does not climb, and it is the same each time."""

from __future__ import annotations

import numpy as np

from discreet.planning.ranges.descent import least


def valley(place: np.ndarray) -> tuple[float, np.ndarray]:
    """Rosenbrock's function, of which (1, 1) is the least."""
    x, y = place
    slope = np.array([-400 * x * (y - x * x) - 2 * (1 - x), 200 * (y - x * x)])
    return float(100 * (y - x * x) ** 2 + (1 - x) ** 2), slope


def test_the_end_of_a_curved_valley_is_found() -> None:
    found = least(valley, np.array([-1.2, 1.0]), 200)
    assert np.allclose(found, 1, atol=1e-2)
    assert np.array_equal(found, least(valley, np.array([-1.2, 1.0]), 200))


def test_more_steps_are_never_worse() -> None:
    values = [valley(least(valley, np.array([-1.2, 1.0]), steps))[0] for steps in range(0, 60, 5)]
    assert values == sorted(values, reverse=True)


def test_a_place_without_a_value_is_not_taken() -> None:
    def cliff(place: np.ndarray) -> tuple[float, np.ndarray]:
        if place[0] < 1:
            return np.inf, np.zeros(1)
        return float(place[0] ** 2), 2 * place

    assert least(cliff, np.array([9.0]), 50)[0] >= 1
