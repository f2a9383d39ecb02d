"""Moments around private means: no pair of rows moves them further, and they are near the truth."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

pytest.importorskip("sklearn")

from discreet.learning import LearningBudget
from discreet.learning.centred import (
    LENGTHS,
    REACH,
    UNIT,
    centred,
    length_for,
    moves,
    products,
    shortened,
    spectral,
)
from discreet.learning.statistics import STEPS

RNG = np.random.default_rng(3)


@pytest.mark.parametrize("columns", [1, 2, 5])
@pytest.mark.parametrize("share", LENGTHS)
def test_no_pair_of_rows_moves_the_products_further(columns: int, share: Fraction) -> None:
    """2,000 rows in the corners and anywhere, with centres and spreads of all kinds; each against the next."""
    length = max(int(share * columns * UNIT), REACH * UNIT // 2)
    rows = RNG.choice([-STEPS, 0, 1, 777, STEPS], (2000, columns))
    rows[::2] = RNG.integers(-STEPS, STEPS, (1000, columns))
    whole = shortened(rows, RNG.uniform(-1, 1, columns), RNG.uniform(0.05, 1, columns), length)
    assert np.abs(whole[:, 1:]).sum(axis=1).max() <= length
    assert np.abs(whole[:, 1:]).max() <= REACH * UNIT
    first, second = np.triu_indices(columns + 1)
    parts = whole[:, first] * whole[:, second]
    change = np.abs(np.diff(parts, axis=0)).sum(axis=1)
    assert change.max() <= moves(length)
    assert change.max() > moves(length) / 5, "the bound is of that size"


def test_a_row_that_is_not_shortened_is_found() -> None:
    """Planted: a length for which nothing is shortened, under the bound of a smaller one."""
    rows = np.full((1, 5), STEPS)
    whole = shortened(rows, np.zeros(5), np.full(5, 0.3), 3 * 5 * UNIT)
    assert 2 * np.abs(products(whole)).sum() > moves(length_for(0.001, 10, 5))


def test_moments_are_near_the_truth() -> None:
    """At epsilon 10^4 noise and shortening are small: no row of 4,000 normal ones is as long as B."""
    rows = np.rint(np.clip(RNG.normal([0.2, -0.1], 0.1, (4000, 2)), -1, 1) * STEPS).astype(np.int64)
    found = centred(rows, Fraction(10**4), LearningBudget(10**4), "test")
    assert np.abs(found.middle - [0.2, -0.1]).max() < 0.02
    assert np.abs(found.spread - 0.1).max() < 0.02
    assert abs(found.matrix[0, 0] / 4000 - 1) < 0.02
    assert np.abs(np.diag(found.matrix)[1:] / 4000 - 1).max() < 0.3


def test_rows_are_longer_where_noise_is_quiet() -> None:
    assert length_for(0.01, 100, 4) < length_for(1, 10_000, 4) < length_for(100, 10**6, 4) == 12 * UNIT
    assert spectral(2, 4, UNIT) * 2 == spectral(1, 4, UNIT)
