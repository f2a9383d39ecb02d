"""The law of tables of pieces: their groups, their draws, and sums that saturate."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from discreet.planning.ranges.pieces import Pieces
from discreet.sql.plan.workloads.pieced import Parted, Pieced, added

MATRIX = Pieces(3, ((40, 40, 40), (0, 30, 30)))
PARTED = Parted(MATRIX, 2, (0, -1, 1, 1, 2))
LAW = Pieced(PARTED, (0, 0, 1, 2, 2, -1), 3, (Fraction(2),))
"""Groups of two series of three pieces: {0, 1} and {2} of the first, {0, 1} of the second."""


def test_cells_become_pieces_and_pieces_groups() -> None:
    table = np.arange(20).reshape(10, 2)
    pieces = PARTED.pieces_of(table)
    assert pieces.shape == (2, 2, 3)
    assert pieces[0].tolist() == [[0, 10, 8], [1, 12, 9]]
    assert pieces[1].tolist() == [[10, 30, 18], [11, 32, 19]]
    assert LAW.as_groups(pieces).tolist() == [[10, 13], [8, 9], [40, 43]]


def test_sums_saturate_and_are_exact_before() -> None:
    values = np.array([2**62, 2**62, -(2**62), 2**61, 2**61 - 3])
    place = np.array([0, 0, 1, 2, 2])
    assert added(values, place, 4).tolist() == [2**62, -(2**62), 2**62 - 3, 0]
    assert added(-values[:2], np.array([0, 0]), 1).tolist() == [-(2**62)]


def test_draws_have_the_variance_that_is_stated_and_tables_the_same_noise() -> None:
    """20,000 draws: the standard error of a mean square is below 2 %."""
    drawn = LAW.again(0, 1, 20_000, 3)
    assert drawn.shape == (20_000, 3, 1)
    assert np.isclose(np.mean(drawn**2), 4 * LAW.variance, rtol=0.12)
    other = Pieced(PARTED, (0, 1, 2, 3, 4, 5), 6, (Fraction(2),)).again(0, 1, 20_000, 3)
    assert np.allclose(drawn[:, 0], other[:, 0] + other[:, 1])


def test_the_interval_is_that_of_the_group_with_the_most_noise() -> None:
    sums = np.array([[1.0, 1, 0], [0, 0, 1]])
    assert np.isclose(2 * np.sum(LAW.heaviest**2), MATRIX.of_sums(sums).max())
    assert LAW.drawn_cells == 2 * 5
    assert LAW.bits(0) > 0
    assert Pieced(Parted(Pieces(3), 2, PARTED.of), LAW.place, 3, LAW.scales).bits(0) == 0
