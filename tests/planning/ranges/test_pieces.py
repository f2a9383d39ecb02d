"""Matrices over pieces: their norm, their estimates, and their errors against the known ones."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.planning.ranges.factors import WHOLE_WEIGHT
from discreet.planning.ranges.pieces import Pieces, Tables, _PieceSearch, of_table, pieces


def prefixes(size: int) -> Tables:
    """All running totals as one table."""
    return (tuple(tuple(range(at + 1)) for at in range(size)),)


def asked(seed: int) -> tuple[int, Tables]:
    """Ranges, tables of single pieces and totals at random."""
    random = np.random.default_rng(seed)
    size = int(random.integers(2, 60))
    tables: list[tuple[tuple[int, ...], ...]] = []
    for _ in range(int(random.integers(2, 9))):
        first, last = sorted(random.integers(0, size, 2).tolist())
        some = tuple((at,) for at in range(size)), (tuple(range(size)),), (tuple(range(first, last + 1)),)
        tables.append(some[int(random.integers(0, 3))])
    return size, tuple(tables)


SOME = [asked(seed) for seed in range(6)] + [(30, prefixes(30))]


@pytest.mark.parametrize(("size", "tables"), SOME, ids=lambda one: "" if isinstance(one, tuple) else str(one))
def test_no_row_moves_the_sums_by_more_than_the_units(size: int, tables: Tables) -> None:
    """All neighbours: one row more in each of the pieces."""
    found = pieces(size, tables)
    moved = found.measured(np.eye(size, dtype=np.int64))
    assert (moved >= 0).all()
    assert (found.own >= 1).all()
    assert (moved.sum(axis=1) == found.units).all()
    assert found.units == (WHOLE_WEIGHT if found.rows else 1)


def test_a_row_that_is_not_in_the_weights_is_seen() -> None:
    """The planted fault: a row that is measured beside those that the weights were chosen for."""
    found = pieces(*SOME[-1])
    moved = found.measured(np.eye(30, dtype=np.int64))
    more = np.concatenate([moved, found.hats[:1].T], axis=1)
    assert more.sum(axis=1).max() > found.units


def test_variances_are_those_of_least_squares() -> None:
    size, tables = SOME[-1]
    found = pieces(size, tables)
    matrix = found.measured(np.eye(size, dtype=np.int64)).T / found.units
    sums = of_table(size, tables[0])
    inverse = np.linalg.inv(matrix.T @ matrix)
    assert np.allclose(found.of_sums(sums), 2 * np.sum((sums @ inverse) * sums, axis=1))
    assert np.allclose(found.weights(np.arange(size)), inverse @ matrix.T)
    exact = np.arange(size) ** 3
    assert np.allclose(found.estimate(found.measured(exact).astype(float)), exact)


def test_the_gradient_is_that_of_the_error() -> None:
    search = _PieceSearch(*SOME[3])
    place = np.random.default_rng(1).uniform(0.1, 1, (3, search.size))
    value, slope = search._error(place)
    for at in range(0, place.size, 7):
        step = np.zeros(place.size)
        step[at] = 1e-6
        near = search._error(place + step.reshape(place.shape))[0]
        assert math.isclose((near - value) / 1e-6, slope[at], rel_tol=1e-3, abs_tol=1e-5)


@pytest.mark.parametrize(("size", "known"), [(48, 4.94), (100, 5.96)])
def test_running_totals_err_no_more_than_the_best_that_is_known(size: int, known: float) -> None:
    """Those of a search over all entries of such matrices, which takes minutes (docs/workloads.md)."""
    found = pieces(size, prefixes(size))
    assert math.sqrt(found.of_sums(of_table(size, prefixes(size)[0])).mean()) < 1.01 * known


@pytest.mark.parametrize("seed", range(8))
def test_no_table_is_worse_than_apart(seed: int) -> None:
    size, tables = asked(100 + seed)
    found = pieces(size, tables)
    for table in tables:
        assert found.of_sums(of_table(size, table)).mean() <= 2.04 * len(tables) ** 2


def test_disjoint_pieces_are_measured_by_themselves_and_stay_whole() -> None:
    found = pieces(5, tuple(((at,),) for at in range(5)))
    assert found == Pieces(5)
    assert found.measured(np.arange(5)).tolist() == [0, 1, 2, 3, 4]
    assert pieces(1, (((0,),), ((0,),))) == Pieces(1)


def test_a_matrix_without_rows_has_the_errors_of_single_pieces() -> None:
    assert Pieces(8).of_sums(of_table(8, prefixes(8)[0])).tolist() == [2.0 * at for at in range(1, 9)]
