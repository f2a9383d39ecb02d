"""The matrix of windows: its norm, its exact sums, its estimates and their variances."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.planning.ranges.factors import WHOLE_WEIGHT, Factors, error, single
from discreet.planning.ranges.families import EACH, RUNNING, WindowFrame, sums

SOME = [
    Factors(*one)
    for one in (
        (1, ()), (9, ()), (8, ((2, 100),)), (8, ((30, 127),)), (8, ((30, 127),), 1), (30, ((3, 20), (11, 90)), 1),
        (30, ((3, 20), (11, 90)), -1), (30, ((3, 1), (4, 1), (29, 1)), 0), (365, ((15, 42), (147, 42)), 1),
    )
]  # fmt: skip


def matrix(factors: Factors) -> np.ndarray:
    """B, column by column: of each value by itself."""
    return factors.measured(np.eye(factors.size, dtype=np.int64)).T


def norm(found: np.ndarray) -> int:
    """By how much the sums move where a value moves by one, in L1, at most."""
    return int(np.abs(found).sum(axis=0).max())


@pytest.mark.parametrize("factors", SOME, ids=repr)
def test_no_value_moves_the_sums_by_more_than_the_units(factors: Factors) -> None:
    found = matrix(factors)
    assert found.shape == (factors.nodes, factors.size)
    assert (found >= 0).all()
    assert (factors.own >= 1).all()
    assert (found.sum(axis=0) == WHOLE_WEIGHT).all()


def test_a_hat_too_many_is_seen() -> None:
    """The planted fault: a hat that is measured and not counted in the weight of its values."""
    factors = SOME[5]
    more = np.concatenate([matrix(factors), factors.hats[:1]])
    assert norm(matrix(factors)) == WHOLE_WEIGHT < norm(more)


@pytest.mark.parametrize("factors", SOME[2:], ids=repr)
def test_integers_are_exact_and_saturate(factors: Factors) -> None:
    random = np.random.default_rng(2)
    values = random.integers(-(2**52), 2**52, (2, factors.size))
    exact = values.astype(object) @ matrix(factors).T.astype(object)
    assert (factors.measured(values).astype(object) == exact).all()
    ends = np.full(factors.size, 2**62)
    assert factors.measured(ends).max() == 2**62
    assert factors.measured(-ends).min() == -(2**62)


@pytest.mark.parametrize("factors", SOME, ids=repr)
def test_estimates_are_those_of_least_squares(factors: Factors) -> None:
    found = matrix(factors) / WHOLE_WEIGHT
    inverse = np.linalg.inv(found.T @ found)
    noisy = np.random.default_rng(3).normal(size=(2, 3, factors.nodes)) * WHOLE_WEIGHT
    assert np.allclose(factors.estimate(noisy), noisy / WHOLE_WEIGHT @ found @ inverse)
    weights = inverse @ found.T
    squares, fourths = factors.law
    assert np.allclose(squares, (weights**2).sum(axis=1))
    assert np.allclose(fourths, (weights**4).sum(axis=1))
    for family in (EACH, RUNNING, WindowFrame(0, None), WindowFrame(2, 1)):
        assert np.isclose(factors.variance(family), 2 * (sums(weights, family) ** 2).sum() / factors.size)


def test_exact_sums_are_estimated_exactly() -> None:
    values = np.random.default_rng(4).integers(0, 10**6, (3, 365))
    factors = SOME[-1]
    assert np.allclose(factors.estimate(factors.measured(values).astype(float)), values, atol=1e-6)


def test_errors_are_geometric_means() -> None:
    assert np.isclose(error(single(365), [RUNNING]), np.sqrt(366))
    assert np.isclose(error(single(365), [EACH, RUNNING]) ** 4, 2 * 366)
