"""Trees of counts: their closed forms against plain linear algebra, by exact comparison up to rounding."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.sql.measures import count_tree as ct

SHAPES: list[ct.TreeShape] = [(1,), (5,), (4, 4), (3, 2, 4), (2, 3, 2, 3), (1, 7)]


def matrix(shape: ct.TreeShape) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Which leaf is below which node."""
    return np.asarray(ct.nodes(np.eye(math.prod(shape)), shape), dtype=np.float64).T


@pytest.mark.parametrize("shape", SHAPES)
def test_every_row_is_on_one_node_of_each_level(shape: ct.TreeShape) -> None:
    below = matrix(shape)
    assert below.shape == (ct.node_count(shape), math.prod(shape))
    for part in ct.levels_of(shape):
        assert np.array_equal(below[part].sum(axis=0), np.ones(math.prod(shape)))


@pytest.mark.parametrize("shape", SHAPES)
def test_the_fit_is_least_squares(shape: ct.TreeShape) -> None:
    noisy = np.random.default_rng(1).normal(size=(3, 2, ct.node_count(shape)))
    solved = np.linalg.lstsq(matrix(shape), noisy.reshape(6, -1).T, rcond=None)[0].T
    np.testing.assert_allclose(ct.fit(noisy, shape).reshape(6, -1), solved, atol=1e-10)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("q", [0.5, 0.1, 0.99])
def test_the_noise_of_a_rank_is_that_of_its_weights(shape: ct.TreeShape, q: float) -> None:
    solve = np.linalg.pinv(matrix(shape))
    deviation, effective = ct.rank_noise(shape, q)
    leaf = np.arange(math.prod(shape))
    for j in range(math.prod(shape) + 1):
        weights = np.where(leaf < j, 1 - q, -q) @ solve
        assert deviation[j] ** 2 == pytest.approx(2 * np.sum(weights**2))
        assert effective[j] == pytest.approx(np.sum(weights**2) ** 2 / np.sum(weights**4))


@pytest.mark.parametrize("leaves", [1, 2, 5, 16, 17, 101, 1000, 3125, 4096])
def test_a_shape_has_room_and_no_other_number_of_levels_is_better(leaves: int) -> None:
    shape = ct.shape_for(leaves)
    assert leaves <= math.prod(shape) <= 2 * leaves + 1
    if leaves == 4096:
        assert shape == (16, 16, 16)
        for other in [(64, 64), (8, 8, 8, 8), (4096,)]:
            assert ct.rank_variance(shape) < ct.rank_variance(other)


def test_increasing_ranks_stay() -> None:
    ranks = np.array([[0.0, 1, 1, 5], [0, 3, 1, 5]])
    assert ct.increasing(ranks).tolist() == [[0, 1, 1, 5], [0, 2, 2, 5]]
