"""Counts by group and leaf: in order, each leaf once, and nothing of the engine is believed."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from discreet.errors import InvalidParameter
from discreet.mechanisms.ranks import quantile
from discreet.mechanisms.ranks.leaf_measure import LeafMeasure
from discreet.mechanisms.ranks.quantiles_with_ends import QuantilesWithEnds
from discreet.mechanisms.ranks.sparse_counts import MOST, SparseCounts


def made(*rows: tuple[int, int, int], groups: int = 4, leaves: int = 10) -> SparseCounts:
    table = np.array(rows, np.int64).reshape(-1, 3)
    return SparseCounts.of(groups, leaves, table[:, 0], table[:, 1], table[:, 2])


def test_counts_come_into_order_and_add_up() -> None:
    found = made((2, 5, 1), (0, 9, 4), (2, 3, 2), (2, 5, 10))
    assert found.starts.tolist() == [0, 1, 1, 3, 3]
    assert (found.leaf.tolist(), found.count.tolist()) == ([9, 3, 5], [4, 2, 11])
    assert found.group.tolist() == [0, 2, 2]
    assert found.size == 4


def test_some_groups_are_those_groups() -> None:
    found = made((2, 5, 1), (0, 9, 4), (3, 3, 2))[1:3]
    assert (found.groups, found.starts.tolist(), found.leaf.tolist()) == (2, [0, 0, 1], [5])


def test_leaves_beyond_the_ends_and_wild_counts_do_no_harm() -> None:
    found = made((0, -5, 1), (0, 99, 2), (1, 1, 0), (1, 1, -3), (2, 2, 2**62))
    assert (found.leaf.tolist(), found.count.tolist()) == ([0, 9, 2], [1, 2, MOST])


def test_wrong_arrays_are_refused() -> None:
    with pytest.raises(InvalidParameter):
        SparseCounts.of(1, 5, *(np.zeros(many, np.int64) for many in (2, 1, 2)))
    with pytest.raises(InvalidParameter):
        made((4, 1, 1))


def test_a_draw_takes_little_memory_for_each_leaf() -> None:
    # 8 bytes a leaf for the counts, their leaves and the rows before them, twice that while they are put in order;
    # 400 with candidates for all of them, as a reach of all rows gives.
    leaves = np.random.default_rng(1).permutation(1 << 20)[: 1 << 18].astype(np.int64)
    group, rows = np.zeros_like(leaves), np.ones_like(leaves)

    def peak() -> float:
        tracemalloc.start()
        counts = SparseCounts.of(1, 1 << 20, group, leaves, rows)
        QuantilesWithEnds(1, [0.5], LeafMeasure.over(1 << 20)).release(counts)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most / len(leaves)

    assert peak() < 64
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(quantile, "REACH", 1 << 40)
        assert peak() > 200
