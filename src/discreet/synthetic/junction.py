"""Junction trees: an order in which a model of several marginals is summed exactly.

The sets of columns whose marginals a model holds are made into a tree of larger sets such that each column stands in
connected ones (Koller and Friedman 2009, chapter 10). Columns are eliminated one by one, the one first whose set is
smallest; a spanning tree with the largest overlaps joins the sets that are left.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TypeAlias

from discreet.records import dataclass

Clique: TypeAlias = "tuple[int, ...]"
"""Numbers of columns, in order."""


@dataclass(frozen=True)
class JunctionTree:
    """A junction tree.

    Attributes:
        cliques: from the root on, each after its parent.
        parents: of each clique the number of its parent; -1 of the root.
        overlaps: of each clique the columns that it shares with its parent.
        sizes: of the columns.
    """

    cliques: tuple[Clique, ...]
    parents: tuple[int, ...]
    overlaps: tuple[Clique, ...]
    sizes: tuple[int, ...]

    @cached_property
    def _sets(self) -> list[frozenset[int]]:
        return list(map(frozenset, self.cliques))

    @cached_property
    def cells(self) -> int:
        """How many numbers the model has."""
        return sum(cells_of(self.sizes, clique) for clique in self.cliques)

    def between(self, first: int, second: int) -> list[int]:
        """The numbers of the cliques on a path from one that holds a column to one that holds another.

        Empty where no path of overlaps joins them.
        """
        ways = [
            self._up(next(node for node, clique in enumerate(self.cliques) if column in clique))
            for column in (first, second)
        ]
        while len(ways[0]) > 1 and len(ways[1]) > 1 and ways[0][-2] == ways[1][-2]:
            for way in ways:
                way.pop()
        meeting = ways[0][-1]
        if meeting != ways[1][-1]:
            return []
        return [*ways[0], *ways[1][:-1]]

    def _up(self, node: int) -> list[int]:
        """A clique and those above it, as far as they share columns."""
        way = [node]
        while self.parents[node] >= 0 and self.overlaps[node]:
            node = self.parents[node]
            way.append(node)
        return way

    def holder(self, columns: Iterable[int]) -> int:
        """The number of the smallest clique that holds some columns; -1 where none does."""
        wanted = set(columns)
        found = [node for node, clique in enumerate(self._sets) if wanted <= clique]
        return min(found, key=lambda node: cells_of(self.sizes, self.cliques[node]), default=-1)


def cells_of(sizes: Sequence[int], columns: Iterable[int]) -> int:
    """The number of combinations of some columns."""
    return math.prod(sizes[column] for column in columns)


def junction_tree(cliques: Iterable[Clique], sizes: Sequence[int]) -> JunctionTree:
    """A junction tree whose cliques hold the ones that are given, and each column.

    Example:
        >>> junction_tree([(0, 1), (1, 2)], (2, 3, 4)).cliques
        ((0, 1), (1, 2))
    """
    return _joined(_maximal(_eliminated(cliques, sizes)), tuple(sizes))


def cells_needed(cliques: Iterable[Clique], sizes: Sequence[int]) -> int:
    """How many numbers a model has whose junction tree holds some cliques: `junction_tree(…).cells`."""
    return sum(cells_of(sizes, clique) for clique in _maximal(_eliminated(cliques, sizes)))


def _eliminated(cliques: Iterable[Clique], sizes: Sequence[int]) -> list[frozenset[int]]:
    near: dict[int, set[int]] = {column: set() for column in range(len(sizes))}
    for clique in cliques:
        for column in clique:
            near[column] |= set(clique) - {column}
    cells = {column: sizes[column] * cells_of(sizes, near[column]) for column in near}
    found = []
    while cells:
        column = min(cells, key=lambda candidate: (cells[candidate], candidate))
        del cells[column]
        others = near.pop(column)
        found.append(frozenset(others | {column}))
        for other in others:
            near[other] |= others
            near[other] -= {other, column}
            cells[other] = sizes[other] * cells_of(sizes, near[other])
    return found


def _maximal(sets: list[frozenset[int]]) -> list[Clique]:
    return sorted(tuple(sorted(clique)) for clique in set(sets) if not any(clique < other for other in sets))


def _joined(cliques: list[Clique], sizes: tuple[int, ...]) -> JunctionTree:
    """The spanning tree with the largest overlaps, from the first clique on (Prim)."""
    order, parents = [cliques[0]], [-1]
    overlaps: list[Clique] = [()]
    last = set(cliques[0])
    # Of each clique that is left, its largest overlap with one of the tree, and where that is.
    best = {clique: (len(last.intersection(clique)), 0) for clique in cliques[1:]}
    while best:
        clique = max(best, key=lambda candidate: best[candidate][0])
        _, parent = best.pop(clique)
        parents.append(parent)
        overlaps.append(tuple(sorted(set(clique).intersection(order[parent]))))
        order.append(clique)
        last = set(clique)
        for other, (size, _) in best.items():
            shared = len(last.intersection(other))
            if shared > size:
                best[other] = shared, len(order) - 1
    return JunctionTree(tuple(order), tuple(parents), tuple(overlaps), sizes)
