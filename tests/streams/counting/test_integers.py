"""Integers of an engine are counted in open periods, and a unit adds no more than it may."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from discreet.streams.counting.integers import add_integers
from tests.streams.invented import policy, silent, spec


def test_sums_of_an_engine_are_added_and_held(tmp_path: Path) -> None:
    stream = silent(spec(policy("row"), method="period", sums=("cost",), means=("cost",)), tmp_path)
    lo, hi = stream.spec.measures[1].ends
    stream.progress.closed = 1
    table = {"t": [1, 2, 2, 9, 3], "slot": [0, 0, 1, 0, 2], "n": [5, 3, 4, 1, 1]}
    sums = {
        "s1": [1, 7, 10**9, 1, 1],
        "c1": [1, 2, 4, 1, 1],
        "s2": [1, 7, -(10**9), 1, 1],
        "c2": [1, 2, 9, 1, 1],
    }
    add_integers(stream.spec, stream.progress, pa.table({**table, **sums}))
    counts = stream.progress.counts
    assert counts["count"].sum(axis=1).tolist() == [0, 7, 0, 0, 0, 0, 0, 0]
    assert counts["sum_cost"][1].tolist() == [7, 4 * hi]
    assert counts["mean_cost"][1].tolist() == [7 - 2 * lo, 0, 2 * hi - 7, 4 * (hi - lo)]


def test_the_first_rows_of_a_unit_count_over_all_pieces(tmp_path: Path) -> None:
    stream = silent(spec(method="period", group=None), tmp_path)
    piece = {"t": [1, 1, 2, 4], "slot": [0] * 4, "u": [7, 8, 7, 7], "v": [1, 1, 1, 2], "n": [1, 1, 2, 1]}
    for _ in range(3):
        add_integers(stream.spec, stream.progress, pa.table(piece))
    assert stream.progress.counts["count"][:, 0].tolist() == [1 + 2, 1, 0, 2, 0, 0, 0, 0]
    assert sorted(stream.progress.seen.values()) == [2, 2, 2]
    assert all(len(one) == 16 for one in stream.progress.seen)
