"""Exact counts of the combinations that have rows, and their marginals. Never shown, logged or raised."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from discreet.synthetic.junction import Clique, cells_of

Integers = npt.NDArray[np.int64]


class Counts:
    """The rows of each combination of values.

    Args:
        cells: the numbers of combinations, int64 (k,), the last column fastest; one may come more than once.
        counts: the rows of each, int64 (k,).
        sizes: of the columns.
    """

    def __init__(self, cells: Integers, counts: Integers, sizes: Sequence[int]) -> None:
        self._sizes = tuple(sizes)
        self._counts = counts
        self._places: list[Integers] = []
        for size in reversed(self._sizes):
            cells, place = np.divmod(cells, size)
            self._places.insert(0, place)
        self._made: dict[Clique, Integers] = {}

    def marginal(self, columns: Clique) -> Integers:
        """The rows by some columns: int64 of their sizes. Each row is in one place of it."""
        if columns not in self._made:
            at = np.zeros(len(self._counts), np.int64)
            for column in columns:
                at = at * self._sizes[column] + self._places[column]
            out = np.zeros(cells_of(self._sizes, columns), np.int64)
            np.add.at(out, at, self._counts)
            self._made[columns] = out.reshape([self._sizes[column] for column in columns])
        return self._made[columns]
