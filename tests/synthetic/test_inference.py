"""Every marginal of a model is that of its whole table."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from discreet.synthetic.inference import MarginalModel
from discreet.synthetic.junction import Clique, junction_tree
from tests.synthetic.models import SHAPES, SIZES, model, summed


@pytest.mark.parametrize("cliques", SHAPES)
def test_marginals(cliques: list[Clique]) -> None:
    made, table = model(cliques)
    for order in (1, 2, 3):
        for columns in itertools.combinations(range(len(SIZES)), order):
            assert np.allclose(made.marginal(columns), summed(table, columns), atol=1e-12), columns


def test_large_factors_do_not_overflow() -> None:
    tree = junction_tree([(0, 1)], (2, 2))
    made = MarginalModel(tree, [np.array([[1e6, 0], [0, -1e6]])])
    assert made.marginal((0,)).tolist() == [1, 0]


def test_an_overlap_without_a_chance_leaves_no_nan() -> None:
    """Its logarithm is -inf: what follows from it has no chance, and the rest adds up to 1."""
    tree = junction_tree([(0, 1), (1, 2)], (2, 2, 2))
    made = MarginalModel(tree, [np.array([[1e6, 0], [1e6, -1e6]]), np.array([[0.0, 0], [1e6, 0]])])
    for columns in itertools.chain(*(itertools.combinations(range(3), order) for order in (1, 2, 3))):
        table = made.marginal(columns)
        assert np.isfinite(table).all()
        assert abs(table.sum() - 1) < 1e-9
