"""Rows follow their model to within rounding: an even draw leaves hardly any noise of its own."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.synthetic.drawing import sample_rows
from discreet.synthetic.junction import Clique, cells_of
from tests.synthetic.models import SHAPES, SIZES, model, summed

ROWS = 20_000


@pytest.mark.parametrize("cliques", SHAPES)
def test_rows_follow_the_model(cliques: list[Clique]) -> None:
    made, table = model(cliques)
    found = sample_rows(made, ROWS, np.random.default_rng(5))
    assert found.shape == (ROWS, len(SIZES))
    for clique in made.tree.cliques:
        sizes = [SIZES[column] for column in clique]
        at = np.ravel_multi_index(tuple(found[:, clique].T), sizes)
        counts = np.bincount(at, minlength=cells_of(SIZES, clique)).reshape(sizes)
        # Each line of each clique on the way is off by one row at most; with random rows it would be by a root.
        assert np.abs(counts - ROWS * summed(table, clique)).max() < 40


def test_no_rows_and_one_row() -> None:
    made, _ = model(SHAPES[1])
    assert sample_rows(made, 0, np.random.default_rng(5)).shape == (0, 5)
    assert sample_rows(made, 1, np.random.default_rng(5)).shape == (1, 5)
