"""A graph as discreet counts in it: undirected, without loops, each edge once."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from discreet.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    Integers = npt.NDArray[np.int64]


class CountedGraph(Protocol):
    """A graph here, or in an engine."""

    @property
    def edges(self) -> int:
        """How many edges there are."""

    @property
    def degree_numbers(self) -> Mapping[int, int]:
        """By degree, how many vertices have it; those without edges may be left out."""


@dataclass(frozen=True, eq=False)
class Graph:
    """Vertices 0, 1, … in the order of their names, and edges between them. All of it is secret.

    Attributes:
        size: how many vertices have a number here; those without edges may have none.
        low: int64 array (m,): the lesser vertex of each edge, in ascending order of the edges.
        high: int64 array (m,): the greater one.
    """

    size: int
    low: Integers
    high: Integers

    @classmethod
    def of(cls, size: int, first: Any, second: Any) -> Graph:
        """Make a graph of pairs of vertices from 0 to size - 1, in any order, with repetitions and loops.

        Example:
            >>> Graph.of(3, [0, 1, 2, 2], [1, 0, 1, 2]).edges
            2
        """
        a, b = np.asarray(first, np.int64).ravel(), np.asarray(second, np.int64).ravel()
        low, high = np.minimum(a, b), np.maximum(a, b)
        edge = low < high
        key = np.unique(low[edge] * np.int64(max(1, size)) + high[edge])
        return cls(size, key // max(1, size), key % max(1, size))

    @property
    def edges(self) -> int:
        """How many edges there are."""
        return len(self.low)

    @cached_property
    def degrees(self) -> Integers:
        """The degree of each vertex: int64 array (size,)."""
        return np.bincount(self.low, minlength=self.size) + np.bincount(self.high, minlength=self.size)

    @cached_property
    def degree_numbers(self) -> Mapping[int, int]:
        """By degree, how many vertices have it."""
        many = np.bincount(self.degrees)
        return {int(degree): int(many[degree]) for degree in np.flatnonzero(many)}

    def matrix(self, low: Integers | None = None, high: Integers | None = None) -> Any:
        """A sparse matrix of ones at (low, high) of some edges, by default of all and in both directions."""
        from discreet.graphs.sparse import csr_array

        if low is None or high is None:
            low, high = np.concatenate([self.low, self.high]), np.concatenate([self.high, self.low])
        return csr_array((np.ones(len(low), np.int64), (low, high)), shape=(self.size, self.size))
