"""Exact counts of the combinations that have rows, and their marginals. Never shown, logged or raised."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.synthetic.junction import Clique, cells_of

Integers = npt.NDArray[np.int64]
Places = npt.NDArray[np.integer[Any]]


class Counts:
    """The rows of each combination of values.

    Args:
        cells: the numbers of combinations, int64 (k,) of each run of columns, the last column fastest; a combination
            may come more than once.
        counts: the rows of each, int64 (k,).
        runs: the sizes of the columns of each run.
    """

    def __init__(self, cells: Sequence[Integers], counts: Integers, runs: Sequence[Sequence[int]]) -> None:
        self._sizes = tuple(size for run in runs for size in run)
        self._counts = counts
        self._places: list[Places] = []
        for numbers, run in zip(cells, runs, strict=True):
            own: list[Places] = []
            for size in reversed(run):
                numbers, place = np.divmod(numbers, size)
                own.insert(0, place.astype(np.uint16 if size <= 1 << 16 else np.int64))
            self._places += own
        self._made: dict[Clique, Integers] = {}

    def marginal(self, columns: Clique) -> Integers:
        """The rows by some columns: int64 of their sizes. Each row is in one place of it."""
        if columns not in self._made:
            places = np.zeros(len(self._counts), np.int64)
            for column in columns:
                places = places * self._sizes[column] + self._places[column]
            out = np.zeros(cells_of(self._sizes, columns), np.int64)
            np.add.at(out, places, self._counts)
            self._made[columns] = out.reshape([self._sizes[column] for column in columns])
        return self._made[columns]
