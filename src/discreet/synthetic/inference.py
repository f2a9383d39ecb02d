"""The marginals of a graphical model, exactly: sums and products along its junction tree, in logarithms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.synthetic.junction import Clique, JunctionTree, cells_of

Floats: TypeAlias = npt.NDArray[np.float64]


def spread(table: Floats, columns: Clique, onto: Clique) -> Floats:
    """A table of some columns, to be broadcast onto more of them."""
    sizes = iter(table.shape)
    return table.reshape([next(sizes) if column in columns else 1 for column in onto])


def log_sum(table: Floats, columns: Clique, kept: Sequence[int]) -> Floats:
    """The logarithm of the sum of e^table over all columns but some."""
    over = tuple(axis for axis, column in enumerate(columns) if column not in kept)
    if not over:
        return table
    most = table.max(axis=over, keepdims=True)
    with np.errstate(under="ignore"):
        total = np.log(np.exp(table - most).sum(axis=over)) + most.reshape(
            [size for axis, size in enumerate(table.shape) if axis not in over]
        )
    return np.asarray(total)


class MarginalModel:
    """A distribution over all columns, as the marginals of the cliques of its tree.

    Args:
        tree: of the columns.
        potentials: of each clique the logarithm of its factor, float64 of the sizes of its columns.
    """

    def __init__(self, tree: JunctionTree, potentials: Sequence[Floats]) -> None:
        self.tree = tree
        up = [np.array(potential) for potential in potentials]
        told: list[Floats] = [np.zeros(())] * len(up)
        for node in range(len(up) - 1, 0, -1):
            parent, shared = tree.parents[node], tree.overlaps[node]
            told[node] = log_sum(up[node], tree.cliques[node], shared)
            up[parent] += spread(told[node], shared, tree.cliques[parent])
        self.log_total = float(log_sum(up[0], tree.cliques[0], ()))
        up[0] -= self.log_total
        with np.errstate(
            divide="ignore", under="ignore"
        ):  # an overlap without a chance has the logarithm -inf
            self.beliefs = [np.exp(up[0])]
            for node in range(1, len(up)):
                parent, shared = tree.parents[node], tree.overlaps[node]
                down = np.log(self.held(shared, parent)) - told[node]
                self.beliefs.append(np.exp(up[node] + spread(down, shared, tree.cliques[node])))

    def held(self, columns: Clique, holder: int) -> Floats:
        """The marginal of columns that a clique holds."""
        over = tuple(axis for axis, column in enumerate(self.tree.cliques[holder]) if column not in columns)
        return np.asarray(self.beliefs[holder].sum(axis=over))

    def marginal(self, columns: Clique) -> Floats:
        """The marginal of any columns: float64 of their sizes, sums to 1."""
        holder = self.tree.holder(columns)
        if holder >= 0:
            return self.held(columns, holder)
        return self._across(columns)

    def _across(self, columns: Clique) -> Floats:
        """The marginal of columns of several cliques: the smallest subtree that holds them, summed from its leaves."""
        tree, wanted = self.tree, set(columns)
        needed = _subtree(tree, wanted)
        tables: dict[int, tuple[Clique, Floats]] = {}
        for node in sorted(needed, reverse=True):
            axes, table = tree.cliques[node], self.beliefs[node]
            for child in sorted(child for child in needed if tree.parents[child] == node):
                axes, table = _product(axes, table, *tables.pop(child))
            top = node == min(needed)
            kept = tuple(
                column for column in axes if column in wanted or (not top and column in tree.overlaps[node])
            )
            table = table.sum(axis=tuple(place for place, column in enumerate(axes) if column not in kept))
            if not top:
                shared = tree.overlaps[node]
                own = self.held(shared, node)
                with np.errstate(divide="ignore", invalid="ignore"):
                    table = np.where(spread(own, shared, kept) > 0, table / spread(own, shared, kept), 0.0)
            tables[node] = kept, table
        (_, found) = tables.popitem()[1]
        return found


def _subtree(tree: JunctionTree, wanted: set[int]) -> set[int]:
    """The cliques of the smallest part of a tree that holds some columns: leaves are cut that hold no more of them."""
    beside: list[set[int]] = [set() for _ in tree.cliques]
    for node, parent in enumerate(tree.parents):
        if parent >= 0:
            beside[node].add(parent)
            beside[parent].add(node)
    needed = set(range(len(tree.cliques)))
    leaves = [node for node in needed if len(beside[node]) == 1]
    while leaves:
        node = leaves.pop()
        if len(beside[node]) != 1:
            continue  # the last but this one was cut
        (other,) = beside[node]
        if wanted.intersection(tree.cliques[node]) <= set(tree.cliques[other]):
            needed.remove(node)
            beside[other].remove(node)
            beside[node].clear()
            if len(beside[other]) == 1:
                leaves.append(other)
    return needed


def _product(left_axes: Clique, left: Floats, right_axes: Clique, right: Floats) -> tuple[Clique, Floats]:
    axes = tuple(sorted({*left_axes, *right_axes}))
    return axes, spread(left, left_axes, axes) * spread(right, right_axes, axes)


def uniform(tree: JunctionTree) -> MarginalModel:
    """The model of nothing known."""
    return MarginalModel(
        tree, [np.zeros([tree.sizes[column] for column in clique]) for clique in tree.cliques]
    )


__all__ = ["Floats", "MarginalModel", "cells_of", "spread", "uniform"]
