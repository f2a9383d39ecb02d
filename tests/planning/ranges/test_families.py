"""Families of sums: which values each of them adds up."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.planning.ranges.families import (
    EACH,
    RUNNING,
    RangeFamily,
    Ranges,
    WindowFrame,
    counted,
    number,
    sums,
)

FAMILIES = [
    EACH,
    RUNNING,
    WindowFrame(0, None),
    WindowFrame(None, None),
    WindowFrame(2, 0),
    WindowFrame(1, 3),
    WindowFrame(-1, 2),
    Ranges(((0, 3), (2, 9))),
]


def matrix(family: RangeFamily, size: int) -> np.ndarray:
    """The sums as rows of zeros and ones, one value after the other."""
    first, last = family.ends(size)
    at = np.arange(size)
    return ((at >= first[:, None]) & (at < last[:, None])).astype(float)


@pytest.mark.parametrize("family", FAMILIES, ids=repr)
def test_sums_and_counts_are_those_of_the_matrix(family: RangeFamily) -> None:
    table = np.random.default_rng(1).normal(size=(9, 2))
    whole = matrix(family, 9)
    assert np.allclose(sums(table, family), whole @ table)
    assert np.array_equal(counted(family, 9), whole.sum(axis=0))
    assert number(family, 9) == len(whole)
    assert np.array_equal(counted(family, 9, 2), whole[::2].sum(axis=0))


def test_frames_are_those_of_sql() -> None:
    assert np.array_equal(matrix(RUNNING, 4), np.tril(np.ones((4, 4))))
    assert matrix(WindowFrame(1, 0), 3).tolist() == [[1, 0, 0], [1, 1, 0], [0, 1, 1]]
    assert [one.words for one in (EACH, RUNNING, WindowFrame(6, 0), WindowFrame(None, None), Ranges(()))] == [
        "single groups", "running totals", "sums of 7", "totals", "ranges",
    ]  # fmt: skip
