"""Every marginal of a model is that of its whole table."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from discreet.synthetic.inference import Model
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
    made = Model(tree, [np.array([[1e6, 0], [0, -1e6]])])
    assert made.marginal((0,)).tolist() == [1, 0]
