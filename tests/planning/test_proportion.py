"""Sample sizes for a proportion, and randomised response by its coins."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet import planning as plan


def test_sample_sizes_of_a_proportion() -> None:
    for epsilon, laplace, local in ((0.1, 1414, 999_167), (1, 141, 9207)):
        sizes = plan.sample_sizes(0.01, epsilon)
        assert (round(sizes.laplace), round(sizes.randomised_response)) == (laplace, local)
        assert sizes.least_laplace == laplace + 1
        half = plan.sample_sizes(0.005, epsilon)
        assert half.laplace == pytest.approx(2 * sizes.laplace)
        assert half.randomised_response == pytest.approx(4 * sizes.randomised_response)


def test_randomised_response_by_its_coins() -> None:
    """The variance of the unbiased estimate, from the two outcomes of one person."""
    epsilon, n = 0.7, 100
    p = math.exp(epsilon) / (1 + math.exp(epsilon))
    values = np.array([(1 - (1 - p)) / (2 * p - 1), -(1 - p) / (2 * p - 1)])  # report 1 and 0, unbiased
    for share in (p, 1 - p):  # a person with 1 and one with 0
        weights = np.array([share, 1 - share])
        mean = float(weights @ values)
        variance = float(weights @ (values - mean) ** 2)
        assert math.sqrt(variance / n) == pytest.approx(plan.proportion_error(n, epsilon).randomised_response)
