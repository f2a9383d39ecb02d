"""Matrices for Gaussian noise: their lengths, their exact sums, and their errors against the known ones."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.planning.ranges.families import EACH, RUNNING, RangeFamily, WindowFrame
from discreet.planning.ranges.lengths import (
    MOST_VALUES,
    UNIT_LENGTH,
    Lengths,
    for_families,
    for_tables,
    in_units,
)

ASKED: list[tuple[RangeFamily, ...]] = [(RUNNING,), (EACH, RUNNING), (WindowFrame(6, 0),)]


def found_for(size: int, families: tuple[RangeFamily, ...]) -> Lengths:
    found = for_families(size, families)
    assert found is not None
    return found


@pytest.mark.parametrize("families", ASKED)
@pytest.mark.parametrize("size", [1, 30])
def test_no_value_moves_the_sums_by_more_than_the_length(
    size: int, families: tuple[RangeFamily, ...]
) -> None:
    """All neighbours: one row more in each of the values."""
    found = found_for(size, families)
    moved = found.measured(np.eye(size, dtype=np.int64))
    lengths = (moved**2).sum(axis=1)
    assert lengths.max() == found.length
    assert np.abs(moved).sum(axis=1).max() == found.norm
    assert math.isclose(in_units(found), 1, abs_tol=0.02)


def test_a_longer_column_is_seen() -> None:
    """The planted fault: a matrix whose length is that of another one."""
    found = found_for(9, (RUNNING,))
    assert Lengths(found.rows * 2).length == 4 * found.length


@pytest.mark.parametrize("size", [48, 80])
def test_running_totals_err_less_than_by_the_root_of_the_matrix_of_ones(size: int) -> None:
    """Henzinger and Upadhyay's factor, each column as long as its longest; and no less than Li and Miklau's bound."""
    found = found_for(size, (RUNNING,))
    own = math.sqrt(found.variance(RUNNING) / 2) * in_units(found)
    root = np.cumprod([1.0, *((2 * k - 1) / (2 * k) for k in range(1, size))])
    known = math.sqrt((root**2).sum() * np.cumsum(root**2).mean())
    spectrum = np.linalg.svd(np.tril(np.ones((size, size))), compute_uv=False)
    bound = spectrum.sum() / size
    assert bound < own < 0.96 * known
    assert own < 1.04 * bound  # which is not reached


def test_estimates_and_variances_are_those_of_the_inverse() -> None:
    found = found_for(30, (EACH, RUNNING))
    exact = np.random.default_rng(1).integers(0, 10**6, (2, 30))
    assert np.allclose(found.estimate(found.measured(exact).astype(float)), exact)
    weights = found.weights(np.arange(30))
    assert np.allclose(weights @ found.rows / UNIT_LENGTH, np.eye(30), atol=1e-9)
    assert np.isclose(found.variance(EACH), 2 * (weights**2).sum(axis=1).mean())
    assert np.allclose(found.of_sums(np.eye(30)), 2 * found.law[0])
    assert found.measured(np.full(30, 2**62)).max() == 2**62
    assert found.known_as != found_for(30, (RUNNING,)).known_as


def test_tables_are_the_same_as_families_and_many_values_have_none() -> None:
    table = tuple(tuple(range(at + 1)) for at in range(20))
    assert for_tables(20, (table,)).known_as == found_for(20, (RUNNING,)).known_as
    assert for_families(MOST_VALUES + 1, (RUNNING,)) is None


@pytest.mark.filterwarnings("error")
def test_a_table_need_not_hold_all_values() -> None:
    found = for_tables(4, (((0, 3),), ((1,), (2,))))
    assert np.diag(found.rows).min() > 0
