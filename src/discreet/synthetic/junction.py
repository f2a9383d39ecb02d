"""Junction trees: an order in which a model of several marginals is summed exactly.

The sets of columns whose marginals a model holds are made into a tree of larger sets such that each column stands in
connected ones (Koller and Friedman 2009, chapter 10). Columns are eliminated one by one, the one first whose set is
smallest; a spanning tree with the largest overlaps joins the sets that are left.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Clique: TypeAlias = "tuple[int, ...]"
"""Numbers of columns, in order."""


@dataclass(frozen=True)
class Tree:
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

    @property
    def cells(self) -> int:
        """How many numbers the model has."""
        return sum(cells_of(self.sizes, clique) for clique in self.cliques)

    def holder(self, columns: Iterable[int]) -> int:
        """The number of the smallest clique that holds some columns; -1 where none does."""
        wanted = set(columns)
        found = [at for at, clique in enumerate(self.cliques) if wanted <= set(clique)]
        return min(found, key=lambda at: cells_of(self.sizes, self.cliques[at]), default=-1)


def cells_of(sizes: Sequence[int], columns: Iterable[int]) -> int:
    """The number of combinations of some columns."""
    return math.prod(sizes[column] for column in columns)


def junction_tree(cliques: Iterable[Clique], sizes: Sequence[int]) -> Tree:
    """A junction tree whose cliques hold the ones that are given, and each column.

    Example:
        >>> junction_tree([(0, 1), (1, 2)], (2, 3, 4)).cliques
        ((0, 1), (1, 2))
    """
    near: dict[int, set[int]] = {column: set() for column in range(len(sizes))}
    for clique in cliques:
        for column in clique:
            near[column] |= set(clique) - {column}
    return _joined(_maximal(_eliminated(near, sizes)), tuple(sizes))


def _eliminated(near: dict[int, set[int]], sizes: Sequence[int]) -> list[frozenset[int]]:
    found = []
    while near:
        column = min(near, key=lambda one: (cells_of(sizes, near[one] | {one}), one))
        others = near.pop(column)
        found.append(frozenset(others | {column}))
        for other in others:
            near[other] |= others
            near[other] -= {other, column}
    return found


def _maximal(sets: list[frozenset[int]]) -> list[Clique]:
    return sorted(tuple(sorted(one)) for one in set(sets) if not any(one < other for other in sets))


def _joined(cliques: list[Clique], sizes: tuple[int, ...]) -> Tree:
    """The spanning tree with the largest overlaps, from the first clique on (Prim)."""
    order, parents = [cliques[0]], [-1]
    overlaps: list[Clique] = [()]
    left = cliques[1:]
    while left:
        shared, parent, clique = max(
            ((tuple(sorted(set(one) & set(order[at]))), at, one) for one in left for at in range(len(order))),
            key=lambda found: len(found[0]),
        )
        order.append(clique)
        parents.append(parent)
        overlaps.append(shared)
        left.remove(clique)
    return Tree(tuple(order), tuple(parents), tuple(overlaps), sizes)
