"""Marginals of counts are those of the rows."""

from __future__ import annotations

import itertools

import numpy as np

from discreet.synthetic.counts import Counts
from tests.synthetic.models import SIZES, rows


def test_marginals() -> None:
    counts, table = rows(count=300)
    for columns in itertools.chain(*(itertools.combinations(range(5), order) for order in (1, 2, 3))):
        by_hand = np.zeros([SIZES[column] for column in columns], np.int64)
        for row in table:
            by_hand[tuple(row[list(columns)])] += 1
        assert (counts.marginal(columns) == by_hand).all()


def test_cells_that_come_twice_and_no_rows() -> None:
    counts = Counts([np.array([3, 3])], np.array([2, 5]), [(2, 2)])
    assert counts.marginal((0, 1)).tolist() == [[0, 0], [0, 7]]
    assert Counts([np.zeros(0, np.int64)], np.zeros(0, np.int64), [(2, 2)]).marginal((1,)).tolist() == [0, 0]
